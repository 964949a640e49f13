// The one stream of the page. It brings summaries of all events, and whole events of the
// thread that is shown. Events are handed out once in each animation frame.
import { signal, batch } from './html.js'
import { client, credential, signedOut } from './session.js'
import { counters } from './counters.js'
import { now } from './parts.js'

// The position of the stream, for the stream card and the offline banner:
// {state, since, began_at, cursor, latest_seq, error?, retry_at?}.
export const stream = signal({ state: 'off', since: new Date(), began_at: 0, cursor: 0 })
// The seq up to which events were handed out.
export const cursor = signal(0)
// Why the stream has ended and will not reconnect; null while it has not.
export const ended = signal(null)

const listeners = new Set()
let queue = []
let handle = null
let whole = null
let began = 0
let logId = ''
let stopping = null

// Above this many events that wait for a frame, because the page is hidden, they are handed
// out at once.
const maxQueue = 2000

// listen calls f(events) once in each frame, with events in the order of the log.
export function listen(f) {
  listeners.add(f)
  return () => listeners.delete(f)
}

// follow starts the stream after a seq.
export function follow(log, after) {
  queue = []
  logId = log
  began = after
  cursor.value = after
  connect()
  restLater()
}

// show makes the stream bring whole events of one thread; null: of none.
export function show(threadId) {
  if (whole === threadId) return
  whole = threadId
  if (logId && !rested) connect()
}

// retryNow tries again at once, also after the stream has ended.
export function retryNow() {
  if (!ended.value) return handle?.retryNow()
  ended.value = null
  connect()
}

function connect() {
  stopping?.abort()
  const abort = stopping = new AbortController()
  const used = credential()
  tabs?.postMessage('a stream')
  flush()
  handle = client.stream({
    after_seq: cursor.value, log_id: logId, content: 'summary', whole_thread_ids: whole ? [whole] : undefined,
    signal: abort.signal,
    onState(s) {
      if (abort.signal.aborted) return
      if (s.state === 'connecting') counters.connections++
      stream.value = { ...s, began_at: began }
      if (!queue.length && s.cursor > cursor.value) cursor.value = s.cursor // of a heartbeat
    },
  })
  read(handle, abort, used)
}

async function read(from, abort, used) {
  try {
    for await (const event of from) {
      if (abort.signal.aborted) return
      counters.events++
      queue.push(event)
      if (queue.length > maxQueue) flush()
      else schedule()
    }
  } catch (error) {
    if (abort.signal.aborted) return
    if (error.kind === 'unauthorized') signedOut(error, used)
    ended.value = error
  }
}

// A page that was frozen, or a machine that slept, may hold a connection that is dead and
// reports no error. So it asks for the stream again, from where it was.
const slept = 30_000

function wake() {
  if (logId && !rested && !ended.peek()) connect()
}

document.addEventListener('resume', wake)
let seenAt = Infinity
now.subscribe(at => {
  if (at - seenAt > slept) wake()
  seenAt = at
})

let due = null // cancels the timer or the frame that will call flush

// A hidden page gets no frames, so a timer hands out events, for notifications.
function schedule() {
  if (due) return
  // Ids of timers and of frames overlap, so each needs its own function to cancel it.
  if (document.hidden) {
    const timer = setTimeout(flush, 500)
    due = () => clearTimeout(timer)
  } else {
    const frame = requestAnimationFrame(flush)
    due = () => cancelAnimationFrame(frame)
  }
}

// Without TLS a browser has six connections to a server, for all its tabs. So a hidden page
// closes its stream after a while, or at once if another tab opens one, and resumes it when it is
// visible again. The hidden page that holds the lock keeps its stream, to notify of what waits.
const restAfter = 30_000
let resting = 0, rested = false, release = null
const tabs = globalThis.BroadcastChannel && new BroadcastChannel('holon.tabs')
tabs?.addEventListener('message', rest)

async function rest() {
  clearTimeout(resting)
  if (!document.hidden || !logId || rested || release) return
  if (globalThis.navigator?.locks && globalThis.Notification?.permission === 'granted') {
    const mine = await new Promise(done => navigator.locks.request('holon.alerts', { ifAvailable: true }, lock => {
      done(Boolean(lock))
      return lock && new Promise(free => { release = free })
    }))
    if (!document.hidden) release?.()
    if (mine || !document.hidden) return
  }
  rested = true
  flush()
  stopping?.abort()
  stream.value = { ...stream.value, state: 'off', since: new Date(), error: undefined }
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(resting)
  release?.()
  release = null
  if (document.hidden) restLater()
  else if (rested) {
    rested = false
    connect()
  }
  if (due) { // a frame never comes while the page is hidden
    due()
    due = null
    schedule()
  }
})

// restLater is also for a page that is opened in the background.
function restLater() {
  clearTimeout(resting)
  if (document.hidden) resting = setTimeout(rest, restAfter)
}

function flush() {
  due?.()
  due = null
  if (!queue.length) return
  counters.frames++
  const events = queue
  queue = []
  batch(() => {
    for (const f of listeners) {
      try {
        f(events)
      } catch (mistake) { // the other listeners still get the events
        queueMicrotask(() => { throw mistake })
      }
    }
    cursor.value = events[events.length - 1].params.seq
  })
}
