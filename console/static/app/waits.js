// What waits for a person, of all threads: questions and reviews, the longest wait first.
import { computed } from './html.js'
import * as questions from './questions.js'
import * as reviews from './reviews.js'
import { phraseOf, reviewOf } from './question.js'
import { endOf } from './states.js'
import { thread } from './threads.js'

const titleIfKnown = id => thread(id)?.summary.title

// waits are {key, thread, at, title(), says, asks} with the question or the turn. A turn that is
// tried again waits anew. says and asks are the heads of its announcement and its notification.
export const waits = computed(() => [
  ...questions.questions.value.map(q => ({ key: q.item_id, thread: q.thread_id, at: q.created_at, question: q, title: () => phraseOf(q.content), says: 'A question', asks: 'An agent asks' })),
  ...reviews.reviews.value.map(t => ({ key: t.turn_id + t.attempt, thread: t.thread_id, at: t.completed_at, turn: t, title: () => reviewOf({ turn: { title: titleIfKnown(t.thread_id), ...t }, early: endOf(t) === 'early' }).phrase, says: 'A result waits', asks: 'A result waits for you' })),
].sort((a, b) => Date.parse(a.at) - Date.parse(b.at)))

// known reports whether all of them were read, as far as they are read; more whether there are others.
export const known = computed(() => questions.known.value && reviews.reviewsKnown.value)
export const more = computed(() => questions.surplus.value || reviews.moreReviews.value)
