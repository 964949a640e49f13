// The page of all pending questions, the oldest first, with their answers.
import { html, useState } from './html.js'
import { questions, known, surplus } from './questions.js'
import { threads, readThreads } from './threads.js'
import { Question } from './ask.js'
import { Loading } from './parts.js'
import { cut, oneLine } from './text.js'
import { to } from './router.js'

// first is how many questions are drawn at once: each needs a request for its item.
const first = 20

export function Waiting() {
  const [most, setMost] = useState(first)
  if (!known.value) return html`<${Loading} />`
  const missing = questions.value.map(q => q.thread_id).filter(id => !threads.value.has(id))
  if (missing.length) readThreads(...new Set(missing))
  const reviews = [...threads.value.values()].filter(t => t.summary.reviews)
  return html`<div class="page"><h1>Waiting for you</h1>
    ${reviews.length > 0 && html`<ul class="cards">${reviews.map(t => html`<li class="card" key=${t.thread_id} data-state="waiting">
      <a class="whole" href=${to('thread', t.thread_id)}><span class="title">${cut(oneLine(t.summary.title), 80) || t.thread_id.slice(-8)}</span></a>
      <span class="doing">${t.summary.reviews === 1 ? 'A result waits' : `${t.summary.reviews} results wait`} for your review.</span></li>`)}</ul>`}
    ${!questions.value.length && !reviews.length && html`<p class="quiet">Nothing waits.</p>`}
    ${questions.value.slice(0, most).map((q, i, drawn) => {
      const t = threads.value.get(q.thread_id)
      const head = html`<p class="facts"><a href=${to('thread', q.thread_id)}>${cut(oneLine(t?.summary.title || ''), 80) || q.thread_id.slice(-8)}</a>${t ? html`<span>${oneLine(t.agent)}</span>` : null}</p>`
      return html`<${Question} key=${q.item_id} item=${q} cwd=${t?.summary.cwd} head=${head} place=${drawn.slice(0, i).map(q => q.item_id).join()} />`
    })}
    ${questions.value.length > most && html`<p><button type="button" onClick=${() => setMost(most + first)}>Show more (${questions.value.length - most})</button></p>`}
    ${surplus.value && html`<p class="quiet">There are more questions. They appear when you have answered these.</p>`}</div>`
}
