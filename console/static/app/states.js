// The states of threads, turns and items: which one is shown, its sign and its word, and what a
// thread does beside what these say.
import { clean, clock, cut, oneLine, plural, span, stopsEarly } from './text.js'

const signs = { waiting: '?', working: '▸', active: '▸', in_progress: '▸', failed: '✗', idle: '✓', completed: '✓', interrupted: '■', early: '■', queued: '…', pending: '?', declined: '✗', blocked: '⊘', rejected: '⊘', untold: '…' }
const words = { early: 'stopped early', idle: 'completed', in_progress: 'running', active: 'working', untold: 'idle' }

export const signOf = state => signs[state] || '·'
export const wordOf = state => words[state] || state

// isOver reports whether a thread in this state does nothing: what is known of it is an age.
export const isOver = state => !['waiting', 'working', 'queued', 'untold'].includes(state)

// inQueue is what the server says a thread does of which no turn is active (turns/now.go).
const inQueue = s => s.queued > 0 && s.text === plural(s.queued, 'turn waits', 'turns wait') + ' in the queue'

// looks is the state that is shown of a thread with this summary.
export function looks(s) {
  if (s.status === 'working') return inQueue(s) ? 'queued' : 'working'
  if (s.status === 'failed' && s.review) return s.review
  if (s.status !== 'idle') return s.status
  return s.interrupted ? 'interrupted' : s.stop_reason ? 'early' : notTold(s) ? 'untold' : s.turn_id ? 'idle' : 'new'
}

// notTold says how many new entries of its inbox a thread is not told, and why; '' if none
// (inbox/wakes.go).
export const notTold = ({ wakes: w }) => w?.waiting > 0 ? `${w.waiting} new, not told: ${whyNotTold(w)}` : ''

const bounds = { silent: '5 wakes without a word', rate: '30 wakes within an hour', chain: '16 wakes caused each other' }
const whyNotTold = w => w.state === 'held' ? 'it was interrupted' : (bounds[w.reason] || oneLine(w.reason)) + (w.until ? `, until ${clock(w.until)}` : '')

// isStuck reports whether only a person has a thread told what is new, who may not know: a rate
// ends with time, and what is interrupted is so by a person.
export const isStuck = s => s.status === 'idle' && s.wakes?.state === 'stalled' && ['silent', 'chain'].includes(s.wakes.reason) && notTold(s) !== ''

// queueOf says how many turns of a thread wait for a place, '' if there is nothing to say.
export function queueOf(s) {
  if (!s.queued || s.status === 'closed') return ''
  if (looks(s) !== 'queued') return `${s.queued} queued`
  return s.queued > 1 ? plural(s.queued, 'turn') : ''
}

// silentAfter is how many milliseconds an agent may say nothing at all before a person is told
// (turns/now.go).
const silentAfter = 30_000

// doing is what a thread does, asks or has said last, without what its state and its queue say.
// now returns the time: it is asked only if that matters, so that a card is not drawn each second.
export function doing(s, now) {
  const text = oneLine(s.text)
  switch (looks(s)) {
    case 'queued': return ''
    case 'working': return text || silence(s, now)
    case 'interrupted': return text.replace(/^interrupted(?:: )?/, '').replace(/^(?:requested by a client)?(?:; |$)/, '')
    case 'blocked': case 'rejected': return text.replace(/^(?:blocked|rejected)(?::|;|$) ?/, '')
    case 'early': return text.replace(/^stopped early \(.*?\)(?=;|$)/, () => stopOf(s.stop_reason))
  }
  return text
}

// silence says that nothing has happened for long in a thread that works, '' if something has.
function silence(s, now) {
  if (!s.updated_at || s.children?.working || s.children?.waiting) return ''
  const silent = now() - Date.parse(s.updated_at)
  return silent < silentAfter ? '' : `silent for ${span(silent)}: holon doctor checks its agent`
}

// reasonOf is why a turn was interrupted, '' if that says no more than that it was.
const reasonOf = reason => reason === 'requested by a client' ? '' : clean(reason)

const retries = {
  agent_crash: 'the agent crashed', transient: 'a failure that may pass', server_restarted: 'the server restarted', lease_expired: 'its worker was silent for too long',
  requested: 'it was retried', step_started: 'the step was started again',
}

// retryOf is why a try was given up: a reason that the server gives, or one of a person.
export const retryOf = reason => retries[reason] || clean(reason)

const stops = { max_tokens: 'out of tokens', max_turn_requests: 'out of requests', refusal: 'the model refused', error: 'the agent says that it failed' }

// stopOf is why a turn stopped early. Agents choose the word; of those that are known it is said
// in other words.
const stopOf = reason => stops[reason] || cut(oneLine(reason), 100)

// refusedBy is how the review of an ended turn has refused the end, '' if it did not.
const refusedBy = turn => ['blocked', 'rejected'].includes(turn.review?.state) ? turn.review.state : ''

// endOf is the state of an ended turn as it is shown.
export const endOf = turn => refusedBy(turn) || (turn.state === 'completed' && stopsEarly(turn.stop_reason) ? 'early' : turn.state)

// whyOf is why an ended turn did not come to its own end, '' if it did or there is no more to say.
export function whyOf(turn) {
  if (refusedBy(turn)) return clean(turn.review.note || '')
  const state = endOf(turn)
  return state === 'early' ? stopOf(turn.stop_reason) : state === 'interrupted' ? reasonOf(turn.reason) : ''
}
