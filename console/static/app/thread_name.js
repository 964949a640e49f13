// The name of a thread by its id, wherever only that is known.
import { html, useEffect } from './html.js'
import { thread, readThreads, unreadable } from './threads.js'
import { cut, oneLine, shortId } from './text.js'

// titleOf is the title of a thread, given its row. Several may have none.
export const titleOf = t => oneLine(t.summary?.title || t.title || '') || `Untitled ${shortId(t.thread_id)}`

// ThreadName is the title of a thread. Until it was read its place is held, with no id that is
// replaced; of a thread that cannot be read the end of its id is the only name.
export function ThreadName({ id, longest = 80 }) {
  const t = thread(id), unread = unreadable.value.has(id)
  useEffect(() => { if (!t && !unread) readThreads(id) }, [id, !t, unread])
  if (t) return cut(titleOf(t), longest)
  return unread ? `Thread ${shortId(id)}` : html`<span class="soon"><span class="aside">reading its title …</span></span>`
}
