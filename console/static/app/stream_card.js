// The stream card: where the log is, where this page began, and whether it follows.
import { html } from './html.js'
import { stream, cursor, ended, retryNow } from './live.js'
import { Since, now } from './parts.js'
import { clock, span, words } from './text.js'

const says = {
  connecting: 'connecting', waiting: 'waiting for the first frame', connected: 'connected', reconnecting: 'reconnecting', off: 'off',
}

export const stateOf = () => ended.value ? 'off' : stream.value.state

export function StreamCard() {
  const s = stream.value, state = stateOf()
  return html`<section class="card stream-card" data-state=${state === 'connected' ? 'idle' : state === 'off' ? 'failed' : 'waiting'} aria-label="Stream">
    <span class="title">Stream: ${says[state]}</span>
    <span class="meta">for <${Since} at=${new Date(s.since).toISOString()} /></span>
    <span class="facts"><span>latest seq ${Math.max(s.latest_seq || 0, cursor.value)}</span><span>this page began at seq ${s.began_at}</span><span>shown up to seq ${cursor.value}</span></span>
    ${s.error && state !== 'connected' && html`<span class="doing">${words(s.error)} <button type="button" class="small" onClick=${retryNow}>Try now</button></span>`}
  </section>`
}

// Offline says since when the page shows old things.
export function Offline() {
  const s = stream.value
  if (ended.value) return html`<p class="banner" role="status">This page follows the server no more: ${words(ended.value)} What you see is as of ${clock(s.since)}. <button type="button" class="small" onClick=${retryNow}>Try now</button></p>`
  if (stateOf() !== 'reconnecting' || now.value - new Date(s.since) < 1500) return null
  return html`<p class="banner" role="status">Offline since ${clock(s.since)} (${span(now.value - new Date(s.since))}). What you see is as of then; what you type stays. <button type="button" class="small" onClick=${retryNow}>Try now</button></p>`
}
