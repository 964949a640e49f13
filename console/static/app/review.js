// A result that waits for a review, and its verdicts.
import { html } from './html.js'
import { may } from './session.js'
import { Panel } from './ask.js'
import { Ask } from './parts.js'
import { reviewOf } from './question.js'
import { decide, noteOf } from './reviews.js'
import { endOf } from './states.js'

// Review asks for a verdict. place is that of Question; with bare what the agent said is shown
// elsewhere on the page.
export function Review({ turn, head, place = '', bare }) {
  const words = reviewOf({ turn, early: endOf(turn) === 'early' })
  const lines = bare ? words.lines.filter(l => l.kind !== 'message') : words.lines
  return html`<${Panel} id=${turn.turn_id} kind="Review" phrase=${words.phrase} lines=${lines} since=${turn.completed_at} asked=${[turn.turn_id, turn.attempt, place].join()} head=${head}
    answers=${props => may('work') ? html`<${Verdicts} turn=${turn} verdicts=${words.verdicts} ...${props} />` : html`<p class="quiet">A verdict needs the role work.</p>`} />`
}

function Verdicts({ turn, verdicts, off, answer }) {
  const about = v => `${turn.turn_id}-${v.verdict}`
  return html`${verdicts.map(v => v.does && html`<p class="quiet" id=${about(v)}>“${v.name}”: ${v.does}.</p>`)}
    <div class="options">${verdicts.map(v => {
      const kind = v.verdict === 'approved' ? 'first' : 'danger'
      if (!v.note) return html`<button type="button" class=${kind} disabled=${off} aria-describedby=${v.does ? about(v) : undefined} onClick=${() => answer(() => decide(turn, v.verdict), v.verdict === 'approved')}>${v.name}</button>`
      return html`<${Ask} kind=${kind} title="What should be better?" label="Reject" disabled=${off} draft=${[noteOf(turn), String(turn.attempt)]} run=${note => decide(turn, v.verdict, note)}>${v.name}<//>`
    })}</div>`
}
