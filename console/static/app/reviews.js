// The results that wait for a review, of all threads: read again when an event says that one
// has come or gone.
import { signal } from './html.js'
import { call, change, limited } from './session.js'
import { drafted, forget } from './drafts.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'

const most = 50 // each has a message

export const reviews = signal([])
export const reviewsKnown = signal(false)
// There are more than were read.
export const moreReviews = signal(false)

// noteOf names what one has written about a result, and not sent.
export const noteOf = turn => 'review.' + turn.turn_id

export async function load() {
  const drafts = drafted('review.')
  const page = await call('turn/list', { review: 'pending', limit: most })
  const before = new Set(reviews.value.map(noteOf)), now = new Set(page.turns.map(noteOf))
  const all = !page.next_cursor && !limited()
  for (const name of drafts) if (!now.has(name) && (all || before.has(name))) forget(name)
  reviews.value = page.turns
  moreReviews.value = Boolean(page.next_cursor)
  reviewsKnown.value = true
}

const again = refresher(load)

listen(events => {
  const waiting = new Set(reviews.value.map(t => t.turn_id))
  const begins = p => p.review?.state === 'pending'
  if (events.some(({ method, params: p }) => method.startsWith('turn/') && (method === 'turn/reviewed' || begins(p)) || /^(turn|stream)\//.test(method) && waiting.has(p.turn_id))) again()
})

// decide gives the verdict about the attempt that was looked at.
export const decide = (turn, verdict, note) => change('turn/review', { turn_id: turn.turn_id, attempt: turn.attempt, verdict, note: note || undefined })
