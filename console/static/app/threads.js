// The threads of the overview: rows with summaries, which are read again when an event
// concerns them.
import { signal, computed } from './html.js'
import { call, change, who } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'

const pageSize = 200
const mostIds = 100 // of one request
// How many rows are kept. Those of threads that neither wait nor work are removed first.
const maxKept = 2000

// Rows by id; the map is replaced when rows have changed.
export const threads = signal(new Map())
export const loaded = signal(false)
export const failed = signal(null)
const next = signal('')
// Whether as many are kept as may be, and whether older ones can be read.
export const full = computed(() => next.value !== '' && threads.value.size >= maxKept)
export const more = computed(() => next.value !== '' && !full.value)

export const statusOf = t => t.summary.status
const rank = { waiting: 0, working: 1, failed: 2, idle: 2, closed: 3 }
const since = t => t.summary.since || t.started_at

// groups are what the overview shows: threads that wait for the user, the longest wait first;
// those that work, by start; those that are done, the newest first.
export const groups = computed(() => {
  const all = [...threads.value.values()].filter(t => t.agent !== 'mailbox')
  const of = n => all.filter(t => rank[statusOf(t)] === n)
  const old = (a, b) => since(a) < since(b) ? -1 : since(a) > since(b) ? 1 : a.latest_seq - b.latest_seq
  return {
    waiting: of(0).sort(old),
    working: of(1).sort(old),
    done: of(2).sort((a, b) => old(b, a)),
    closed: of(3).sort((a, b) => old(b, a)),
  }
})

export const mailboxes = computed(() => [...threads.value.values()].filter(t => t.agent === 'mailbox' && t.state !== 'closed'))

function take(rows) {
  const all = new Map(threads.value)
  // Answers may arrive out of order.
  for (const t of rows) if (t.summary && !(all.get(t.thread_id)?.latest_seq > t.latest_seq)) all.set(t.thread_id, t)
  if (all.size > maxKept) {
    const resting = [...all.values()].filter(t => rank[statusOf(t)] > 1).sort((a, b) => a.updated_seq - b.updated_seq)
    for (const t of resting.slice(0, all.size - maxKept)) all.delete(t.thread_id)
  }
  threads.value = all
}

const summaries = params => call('thread/list', { view: 'summary', ...params })

// load reads the newest threads, and all that wait or work. It returns the seq after which
// events say what has changed.
export async function load() {
  try {
    const first = await summaries({ order: 'desc', limit: pageSize })
    threads.value = new Map()
    take(first.threads)
    next.value = first.next_cursor || ''
    loaded.value = true
    failed.value = null
    if (first.next_cursor) await loadOldOnes()
    return first.latest_seq
  } catch (error) {
    failed.value = error
    throw error
  }
}

// loadOldOnes reads the threads that wait or work and are not among the newest.
async function loadOldOnes() {
  const [pending, active] = await Promise.all([
    call('item/list', { status: 'pending', limit: 500 }),
    call('turn/list', { state: 'active', limit: 500 }),
  ])
  const ids = [...pending.items, ...active.turns].map(row => row.thread_id)
  await readAgain([...new Set(ids)].filter(id => !threads.value.has(id)))
}

async function readAgain(ids) {
  for (let i = 0; i < ids.length; i += mostIds) {
    const part = ids.slice(i, i + mostIds)
    take((await summaries({ thread_ids: part, limit: part.length })).threads)
  }
}

export async function loadMore() {
  const page = await summaries({ order: 'desc', limit: pageSize, cursor: next.value })
  take(page.threads)
  next.value = page.next_cursor || ''
}

const again = refresher(ids => readAgain([...ids]))
export const readThreads = again

listen(events => {
  for (const { method, params } of events) {
    if (params.thread_id && method !== 'item/delta') again(params.thread_id)
  }
})

// thread returns a row, or undefined if it is not kept.
export const thread = id => threads.value.get(id)

// seen stores that the user has looked at a thread up to a seq.
const looked = new Map()
export async function seen(id, seq) {
  if (!(seq > Math.max(looked.get(id) || 0, thread(id)?.summary.seen_seq || 0))) return
  looked.set(id, seq)
  if (looked.size > 500) looked.delete(looked.keys().next().value)
  try {
    await change('cursor/advance', { consumer_id: 'seen:' + who.value.seen, stream_name: 'events', subject_id: id, last_sequence: seq })
    again(id)
  } catch { /* another tab has advanced the cursor further */ }
}

// unseen reports whether a thread has events after the seq that the user has looked at.
export const unseen = t => t.summary.status !== 'closed' && t.latest_seq > t.summary.seen_seq && t.summary.seen_seq > 0

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
