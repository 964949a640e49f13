// The threads of the overview: rows with summaries, which are read again when an event
// concerns them, and how many there are.
import { signal, computed } from './html.js'
import { call, change, who } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'
import { isStuck } from './states.js'

const pageSize = 200
const mostIds = 100 // of one request
// How many rows are kept. Those of threads that are done or closed are removed first, then
// those of threads that have failed.
const maxKept = 2000
// The statuses of which all threads are read, and the rest, of which the newest are.
const wanted = ['needs_you', 'working', 'failed'], rest = ['done', 'closed']

// Rows by id; the map is replaced when rows have changed.
export const threads = signal(new Map())
export const loaded = signal(false)
export const failed = signal(null)
// counts are the server's numbers of threads by status; null if it does not count them.
const counts = signal(null)
// Whether the rows of all wanted threads are kept.
const whole = signal(false)
const next = signal('')
// Whether as many are kept as may be, and whether older ones can be read.
export const full = computed(() => next.value !== '' && threads.value.size >= maxKept)
export const more = computed(() => next.value !== '' && !full.value)
// Whether the server searches and counts; an older one does not.
export const searches = computed(() => counts.value !== null)

// statusOf is the status by which the server lists and counts a thread.
export const statusOf = t => ({ waiting: 'needs_you', idle: 'done' })[t.summary.status] || t.summary.status
const since = t => t.summary.since || t.started_at

// isCounted reports whether a thread is one of those that the server counts: not those of
// mailboxes, and child threads only if they need somebody.
export const isCounted = t => t.agent !== 'mailbox' && (!t.level || statusOf(t) === 'needs_you')

// grouped are the threads that pass, by status: those that need the user, the longest wait
// first; those that work, by start; the others, the newest first, but before that what only a
// person has told what is new.
export function grouped(passes) {
  const groups = { needs_you: [], working: [], failed: [], done: [], closed: [] }
  for (const t of threads.value.values()) if (passes(t)) groups[statusOf(t)]?.push(t)
  const old = (a, b) => since(a) < since(b) ? -1 : since(a) > since(b) ? 1 : a.latest_seq - b.latest_seq
  for (const [status, rows] of Object.entries(groups)) rows.sort(status === 'needs_you' || status === 'working' ? old : (a, b) => isStuck(b.summary) - isStuck(a.summary) || old(b, a))
  return groups
}

export const groups = computed(() => grouped(isCounted))

// sums are how many threads there are by status, and since when the one that has waited longest
// waits. Where all rows of a status are kept they are counted here, so that what is listed is
// what is counted. at_least has the statuses of which there may be more.
export const sums = computed(() => {
  const g = groups.value, c = counts.value
  const rows = { waiting_since: g.needs_you[0] && since(g.needs_you[0]), at_least: {} }
  for (const [status, list] of Object.entries(g)) {
    const counted = c && !(whole.value && wanted.includes(status))
    rows[status] = !counted ? list.length : c.at_least ? Math.max(c[status], list.length) : c[status]
    rows.at_least[status] = Boolean(counted && c.at_least)
  }
  return c && !whole.value ? { ...rows, waiting_since: c.waiting_since } : rows
})

// sumOf is a sum in words, '' if it is not known: the server found none, and did not look at all.
export const sumOf = status => {
  const { [status]: n, at_least } = sums.value
  return !at_least[status] ? String(n) : n ? n + '+' : ''
}

// keep are the ids of rows that are not removed, however old they are: what a search has found,
// and the mailboxes that were read.
const keep = new Set(), boxes = new Set()
const mostBoxes = maxKept / 4
const nextBoxes = signal(null) // the cursor; null before a page was read
export const knowsMailboxes = computed(() => nextBoxes.value !== null)
export const fullMailboxes = computed(() => Boolean(nextBoxes.value) && boxes.size >= mostBoxes)
export const moreMailboxes = computed(() => Boolean(nextBoxes.value) && !fullMailboxes.value)

function take(rows) {
  const all = new Map(threads.value)
  // Answers may arrive out of order.
  for (const t of rows) if (t.summary && !(all.get(t.thread_id)?.latest_seq > t.latest_seq)) all.set(t.thread_id, t)
  const over = all.size - maxKept
  if (over > 0) {
    const hasFailed = t => Number(statusOf(t) === 'failed')
    const resting = [...all.values()].filter(t => !keep.has(t.thread_id) && !boxes.has(t.thread_id) && (hasFailed(t) || rest.includes(statusOf(t))))
    resting.sort((a, b) => hasFailed(a) - hasFailed(b) || a.updated_seq - b.updated_seq)
    for (const t of resting.slice(0, over)) {
      all.delete(t.thread_id)
      if (hasFailed(t)) whole.value = false
    }
  }
  threads.value = all
}

const summaries = params => call('thread/list', { view: 'summary', ...params })

// load reads all threads that need the user, work or have failed, and the newest others. Of a
// server that does not count it reads the newest only.
export async function load() {
  try {
    const first = await newest()
    threads.value = new Map()
    take(first.threads)
    next.value = first.next_cursor || ''
    counts.value = first.counts || null
    whole.value = searches.value && await readWanted()
    loaded.value = true
    failed.value = null
  } catch (error) {
    failed.value = error
    throw error
  }
}

async function newest() {
  const page = { order: 'desc', limit: pageSize }
  try {
    const first = await summaries({ ...page, status: rest, counts: true })
    if (first.counts) return first
  } catch (error) {
    if (error.kind !== 'invalid_params') throw error
  }
  return summaries(page)
}

// readWanted reads all wanted threads, those that need the user first if there are many. It
// reports whether all are kept.
async function readWanted() {
  const first = await summaries({ status: wanted, order: 'desc', limit: pageSize })
  take(first.threads)
  if (!first.next_cursor) return true
  let left = maxKept
  for (const status of wanted) {
    for (let cursor; ;) {
      const page = await summaries({ status: [status], order: 'desc', limit: pageSize, cursor })
      take(page.threads)
      left -= page.threads.length
      cursor = page.next_cursor
      if (!cursor) break
      if (left <= 0) return false
    }
  }
  return left >= 0
}

// unreadable are ids of threads that the server does not have, or does not show to this user.
export const unreadable = signal(new Set())

async function readAgain(ids) {
  for (let i = 0; i < ids.length; i += mostIds) {
    const part = ids.slice(i, i + mostIds)
    const page = await summaries({ thread_ids: part, limit: part.length })
    take(page.threads)
    if (page.next_cursor) continue // the page was full before all were in it
    const missing = part.filter(id => !threads.value.has(id) && !unreadable.value.has(id))
    if (missing.length) unreadable.value = new Set([...unreadable.value, ...missing].slice(-maxKept))
  }
}

// readSight reads these rows again, and the counts.
export async function readSight(ids) {
  if (!ids.length && !searches.value) return
  const page = await summaries({ thread_ids: ids.length ? ids : undefined, limit: ids.length || 1, counts: searches.value || undefined })
  take(page.threads)
  counts.value = page.counts || null
}

export async function loadMore() {
  const page = await summaries({ order: 'desc', limit: pageSize, cursor: next.value, status: searches.value ? rest : undefined })
  take(page.threads)
  next.value = page.next_cursor || ''
}

// search reads a page of the threads that a text finds, the newest first; their rows are
// kept until another search begins. It returns the cursor of the next page, '' if there is none.
export async function search(text, cursor) {
  const page = await summaries({ text, order: 'desc', limit: pageSize, cursor: cursor || undefined })
  if (!cursor) keep.clear()
  for (const t of page.threads) if (keep.size < maxKept / 2) keep.add(t.thread_id)
  take(page.threads)
  return page.next_cursor || ''
}

// readMailboxes reads the newest mailboxes that are open, or with older the next page of them.
export async function readMailboxes(older) {
  const page = await summaries({ agent: 'mailbox', status: searches.value ? wanted.concat('done') : undefined, order: 'desc', limit: pageSize, cursor: older ? nextBoxes.value : undefined })
  if (!older) boxes.clear()
  for (const t of page.threads) boxes.add(t.thread_id)
  take(page.threads)
  nextBoxes.value = page.next_cursor || ''
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
