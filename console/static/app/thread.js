// The page of one thread: its head, its timeline, its pending questions, and the input line.
import { html, useEffect, useMemo, useState } from './html.js'
import { show } from './live.js'
import { Loader } from './thread_load.js'
import { Head } from './thread_head.js'
import { Lines } from './thread_lines.js'
import { Question } from './ask.js'
import { Composer } from './composer.js'
import { Review } from './review.js'
import { waits } from './waits.js'
import { thread as rowOf, readThreads } from './threads.js'
import { Failure, Loading } from './parts.js'
import { announceNew } from './announce.js'
import { WholeText } from './whole_text.js'
import { current } from './view.js'

export function Thread({ id }) {
  const loader = useMemo(() => new Loader(id), [id])
  useEffect(() => announceNew(loader), [loader])
  useEffect(() => {
    current.value = loader
    show(id)
    loader.load()
    readThreads(id)
    return () => {
      loader.close()
      if (current.value === loader) current.value = null
      show(null)
    }
  }, [loader])
  const [asText, setAsText] = useState(false)
  const t = loader.thread.value
  if (!t) return html`<div class="page"><${Loading} error=${loader.failed.value} />${loader.failed.value && html`<p><a href="#/">All threads</a> <button type="button" onClick=${() => loader.load()}>Try again</button></p>`}</div>`
  return html`<div class="page thread">
    <${Head} t=${t} loader=${loader} asText=${asText} setAsText=${setAsText} />
    <${Failure} error=${loader.failed.value} />
    ${asText ? html`<${WholeText} id=${id} />` : html`<${Lines} loader=${loader} />`}
    <${Waiting} id=${id} t=${t} />
    <${Composer} loader=${loader} t=${t} />
  </div>`
}

// Waiting is what the thread needs a person for. What the agent said is in the timeline above.
function Waiting({ id, t }) {
  const all = waits.value.filter(w => w.thread === id)
  const cwd = rowOf(id)?.summary.cwd || t.cwd
  const place = all.map(w => w.key).join()
  return html`${all.map(w => w.turn ? html`<${Review} key=${w.key} turn=${w.turn} place=${place} bare />`
    : html`<${Question} key=${w.key} item=${w.question} cwd=${cwd} place=${place} />`)}`
}
