// Closing a thread, which can be undone for a while.
import { signal } from './html.js'
import { change } from './session.js'
import { failed } from './threads.js'

const closing = signal(new Map())
const undoTime = 5000

// close closes a thread after undoTime, in which the user can undo it.
export function close(id) {
  if (!isClosing(id)) closing.value = new Map(closing.value).set(id, setTimeout(closeNow, undoTime, id))
}

async function closeNow(id) {
  undoClose(id)
  try {
    await change('thread/close', { thread_id: id }, { keepalive: true })
  } catch (error) {
    failed.value = error
  }
}

export function undoClose(id) {
  const left = new Map(closing.value)
  clearTimeout(left.get(id))
  left.delete(id)
  closing.value = left
}

export const isClosing = id => closing.value.has(id)

// Who leaves the page can take nothing back there. A phone may never run the page again once
// it is hidden, and says nothing when it ends it.
const closeAll = () => { for (const id of closing.value.keys()) closeNow(id) }
addEventListener('pagehide', closeAll)
document.addEventListener('visibilitychange', () => { if (document.hidden) closeAll() })
