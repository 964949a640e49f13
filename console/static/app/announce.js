// What screen readers are told: completed messages, questions, ends. Never deltas.
import { html, signal } from './html.js'

const most = 30
const lines = signal([])
let n = 0

export function announce(text) {
  lines.value = [...lines.value, { n: ++n, text }].slice(-most)
}

export const Announcements = () => html`<div class="aside" role="log" aria-live="polite" aria-label="What happens">${lines.value.map(l => html`<p key=${l.n}>${l.text}</p>`)}</div>`
