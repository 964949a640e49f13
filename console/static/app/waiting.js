// The page of all that waits for a person, questions and reviews, the longest wait first, with
// their answers.
import { html, useState } from './html.js'
import { waits, known, more } from './waits.js'
import { thread } from './threads.js'
import { ThreadName } from './thread_name.js'
import { Question } from './ask.js'
import { Review } from './review.js'
import { Loading } from './parts.js'
import { oneLine, plural } from './text.js'
import { to } from './router.js'

// first is how many are drawn at once: each question needs a request for its item.
const first = 20

export function Waiting() {
  const [most, setMost] = useState(first)
  if (!known.value) return html`<${Loading} />`
  const all = waits.value, from = new Set(all.map(w => w.thread)).size
  return html`<div class="page"><h1>Waiting for you${from < all.length && html` <span class="quiet">${all.length} in ${plural(from, 'thread')}</span>`}</h1>
    ${!all.length && html`<p class="quiet">Nothing waits.</p>`}
    ${all.slice(0, most).map((w, i, drawn) => {
      const t = thread(w.thread)
      const head = html`<p class="facts"><a href=${to('thread', w.thread)}><${ThreadName} id=${w.thread} /></a>${t ? html`<span>${oneLine(t.agent)}</span>` : null}</p>`
      const place = drawn.slice(0, i).map(w => w.key).join()
      return w.turn ? html`<${Review} key=${w.key} turn=${w.turn} head=${head} place=${place} />`
        : html`<${Question} key=${w.key} item=${w.question} cwd=${t?.summary.cwd} head=${head} place=${place} />`
    })}
    ${all.length > most && html`<p><button type="button" onClick=${() => setMost(most + first)}>Show more (${all.length - most})</button></p>`}
    ${more.value && html`<p class="quiet">There are more. They appear when you have answered these.</p>`}</div>`
}
