// The stream card: the newest seq of the log, the seq at which this page began, and the state
// of the stream.
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

// Offline says since when the page is out of date.
export function Offline() {
  const s = stream.value
  if (ended.value) return html`<p class="banner" role="status">This page no longer follows the server: ${words(ended.value)} The page shows the state of ${clock(s.since)}. <button type="button" class="small" onClick=${retryNow}>Try now</button></p>`
  if (stateOf() !== 'reconnecting' || now.value - new Date(s.since) < 1500) return null
  return html`<p class="banner" role="status">Offline since ${clock(s.since)} (${span(now.value - new Date(s.since))}). The page shows the state of that time. What you type is kept. <button type="button" class="small" onClick=${retryNow}>Try now</button></p>`
}
