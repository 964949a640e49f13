// What screen readers announce: completed messages, questions and ends of turns, never deltas.
import { html, signal } from './html.js'
import { endOf, whyOf } from './states.js'
import { cut, oneLine } from './text.js'

const most = 30
const lines = signal([])
let n = 0

export function announce(text) {
  lines.value = [...lines.value, { n: ++n, text }].slice(-most)
}

// announceNew announces what happens in a thread after the page has begun to read it.
export function announceNew(loader) {
  let told
  return loader.version.subscribe(() => {
    const t = loader.timeline
    if (!t) return
    let newest = Math.max(told ??= loader.began, t.cursor)
    for (const e of t.entries.slice(-20)) {
      const at = e.item?.updated_seq || e.seq
      if (at <= told) continue
      newest = Math.max(newest, at) // a row may be ahead of the events
      if (e.item?.type === 'agent_message' && e.item.status === 'completed') announce('Agent: ' + cut(oneLine(String(e.item.body)), 2000))
      if (e.end) announce(`The turn ${ended(e.end)}.`)
    }
    told = newest
  })
}

function ended(turn) {
  const state = endOf(turn)
  return state === 'early' ? `stopped early: ${whyOf(turn)}` : ['interrupted', 'blocked', 'rejected'].includes(state) ? 'was ' + state : state
}

export const Announcements = () => html`<div class="aside" role="log" aria-live="polite" aria-label="Announcements">${lines.value.map(l => html`<p key=${l.n}>${l.text}</p>`)}</div>`
