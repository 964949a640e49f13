// The page of all that waits for a person, questions and reviews, the longest wait first, with
// their answers.
import { html, useState } from './html.js'
import { questions, known, surplus } from './questions.js'
import { reviews, reviewsKnown, moreReviews } from './reviews.js'
import { threads, readThreads } from './threads.js'
import { Question } from './ask.js'
import { Review } from './review.js'
import { Loading } from './parts.js'
import { cut, oneLine } from './text.js'
import { to } from './router.js'

// first is how many are drawn at once: each question needs a request for its item.
const first = 20

export function Waiting() {
  const [most, setMost] = useState(first)
  if (!known.value || !reviewsKnown.value) return html`<${Loading} />`
  const all = [
    ...questions.value.map(q => ({ key: q.item_id, thread: q.thread_id, at: q.created_at, question: q })),
    ...reviews.value.map(t => ({ key: t.turn_id + t.attempt, thread: t.thread_id, at: t.completed_at, turn: t })),
  ].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const missing = all.map(w => w.thread).filter(id => !threads.value.has(id))
  if (missing.length) readThreads(...new Set(missing))
  return html`<div class="page"><h1>Waiting for you</h1>
    ${!all.length && html`<p class="quiet">Nothing waits.</p>`}
    ${all.slice(0, most).map((w, i, drawn) => {
      const t = threads.value.get(w.thread)
      const head = html`<p class="facts"><a href=${to('thread', w.thread)}>${cut(oneLine(t?.summary.title || ''), 80) || w.thread.slice(-8)}</a>${t ? html`<span>${oneLine(t.agent)}</span>` : null}</p>`
      const place = drawn.slice(0, i).map(w => w.key).join()
      return w.turn ? html`<${Review} key=${w.key} turn=${w.turn} head=${head} place=${place} />`
        : html`<${Question} key=${w.key} item=${w.question} cwd=${t?.summary.cwd} head=${head} place=${place} />`
    })}
    ${all.length > most && html`<p><button type="button" onClick=${() => setMost(most + first)}>Show more (${all.length - most})</button></p>`}
    ${(surplus.value || moreReviews.value) && html`<p class="quiet">There are more. They appear when you have answered these.</p>`}</div>`
}
