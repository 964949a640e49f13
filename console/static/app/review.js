// The verdict on a result that waits for one.
import { html, useRef } from './html.js'
import { change } from './session.js'
import { forget } from './drafts.js'
import { Ask, Failure, useAct, useSettled } from './parts.js'

// noteOf names what one has written about the newest end of a thread, and not sent.
const noteOf = id => 'review.' + id
export const forgetNote = id => forget(noteOf(id))

export function Review({ turn }) {
  const at = useRef(null)
  const off = !useSettled(turn.turn_id + turn.attempt, { at })
  const { busy, error, act } = useAct()
  const give = (verdict, note) => change('turn/review', { turn_id: turn.turn_id, attempt: turn.attempt, verdict, note: note || undefined })
  const verdict = (name, kind, run) => html`<button type="button" class=${kind} disabled=${off || busy} onClick=${() => act(run)}>${name}</button>`
  return html`<div class="review tools" role="group" aria-label="Review" ref=${at}>The result waits for your review.
    ${verdict('Approve', 'first', () => give('approved'))}
    <${Ask} title="What should be better?" disabled=${off} draft=${[noteOf(turn.thread_id), `${turn.turn_id} ${turn.attempt}`]} run=${note => give('rejected', note)}>Reject<//>
    ${verdict('Block', 'danger', () => give('blocked'))}
    <${Failure} error=${error} /></div>`
}
