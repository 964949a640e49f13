// The page of bridges: all subscriptions with their states and cursors, and their
// deliveries, which can be sent again.
import { html, signal, useEffect, useState } from './html.js'
import { call, change, may } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'
import { ThreadName } from './thread_name.js'
import { Act, Ask, At, Failure, Loading, now } from './parts.js'
import { clean, clock, oneLine, plural, span } from './text.js'
import { to } from './router.js'

const bridges = signal(null)
const subscriptions = signal(null)
const more = signal(false)
const mismatches = signal(new Map())
const failed = signal(null)
const latest = signal(0)

async function load() {
  try {
    const [b, s] = await Promise.all([call('bridge/list', { limit: 200 }), call('subscription/list', { include_deleted: true, order: 'desc', limit: 200 })])
    const wrong = new Map()
    if (s.subscriptions.some(x => x.cursor.last_error || x.pending)) {
      const m = await call('delivery/list', { state: 'mismatch', limit: 200 })
      for (const d of m.deliveries) wrong.set(d.subscription_id, [...(wrong.get(d.subscription_id) || []), d])
    }
    bridges.value = b.bridges
    subscriptions.value = s.subscriptions
    more.value = Boolean(s.next_cursor)
    mismatches.value = wrong
    latest.value = s.latest_seq
    failed.value = null
  } catch (error) {
    failed.value = error
    throw error
  }
}

const again = refresher(load)
let shown = 0

listen(events => {
  if (shown && events.some(e => /^(bridge|subscription|delivery|turn|item)\//.test(e.method) && e.method !== 'item/delta')) again()
})

export function Bridges() {
  useEffect(() => {
    shown++
    again()
    // A delivery that succeeds makes no event, so the page polls while some are pending.
    const timer = setInterval(() => { if (!document.hidden && subscriptions.value?.some(s => s.pending || s.next_attempt_at)) again() }, 2000)
    return () => { shown--; clearInterval(timer) }
  }, [])
  if (!subscriptions.value) return html`<div class="page"><h1>Bridges</h1><${Loading} error=${failed.value} /></div>`
  const bridgeOf = s => bridges.value.find(b => b.bridge_id === s.bridge_id)
  const shows = s => order.indexOf(stateOf(s, mismatches.value.get(s.subscription_id), bridgeOf(s)))
  const all = [...subscriptions.value].sort((a, b) => shows(a) - shows(b))
  return html`<div class="page"><h1>Bridges</h1><${Failure} error=${failed.value} />
    ${!bridges.value.length && html`<p class="quiet">No bridge yet. <code>holon notify --all --bridge ntfy --on final,questions</code> creates one that notifies your phone.</p>`}
    ${bridges.value.length > 0 && !all.length && html`<p class="quiet">No subscription yet. <code>holon notify --all --bridge ${bridges.value[0].bridge_id}</code> creates one.</p>`}
    ${all.length > 0 && html`<h2>Subscriptions <span class="quiet">${all.filter(s => s.state !== 'deleted').length}</span></h2>
      <ul class="cards subscriptions">${all.map(s => html`<${Subscription} key=${s.subscription_id} s=${s} bridge=${bridgeOf(s)} />`)}</ul>`}
    ${more.value && html`<p class="quiet">The newest 200 are shown. <code>holon notify list</code> lists all.</p>`}
    ${bridges.value.length > 0 && html`<h2>Bridges <span class="quiet">${bridges.value.length}</span></h2><ul class="cards">${bridges.value.map(b => html`<${Bridge} key=${b.bridge_id} b=${b} />`)}</ul>`}
  </div>`
}

function Bridge({ b }) {
  return html`<li class="card" data-state=${b.state === 'active' ? 'idle' : 'waiting'}>
    <span class="title">${clean(b.bridge_id)} <span class="quiet">${b.kind}</span></span>
    <span class="meta">${b.state}${b.reason ? `: ${reasons[b.reason] || oneLine(b.reason)}` : ''}${b.held_until ? html`, waits until ${clock(b.held_until)}` : ''}</span>
    <span class="facts">${(b.url || b.server || b.api_url) && html`<span>${oneLine(b.url || b.server || b.api_url)}</span>`}${b.secret_hint && html`<span>secret ${oneLine(b.secret_hint)}</span>`}${b.configured && html`<span>from the configuration</span>`}</span>
    ${may('operate') && html`<span class="tools">
      ${b.state === 'active' ? html`<${Act} run=${() => change('bridge/pause', { bridge_id: b.bridge_id })}>Pause<//>` : html`<${Act} run=${() => change('bridge/resume', { bridge_id: b.bridge_id })}>Resume<//>`}
      ${(b.kind === 'webhook' || b.kind === 'ntfy' || b.kind === 'command') && html`<${Test} id=${b.bridge_id} />`}</span>`}
  </li>`
}

function Test({ id }) {
  const [result, setResult] = useState(null)
  return html`<${Act} run=${async () => setResult(await call('bridge/test', { bridge_id: id }))}>Send a test<//>${
    result && html` <span class=${result.delivered ? 'quiet' : 'failure'} role="status">${result.delivered ? `arrived after ${result.latency_ms} ms` : `did not arrive: ${oneLine(result.error || 'status ' + result.status)}`}</span>`}`
}

const reasons = { gone: 'the target no longer accepts messages', failing: 'it has failed for days', secret_missing: 'its secret is missing', not_configured: 'it is not in the configuration any more', restored: 'the log was restored from a backup' }

// stateOf returns the one state that the page shows for a subscription. It also depends on
// the bridge and on mismatches.
export function stateOf(s, wrong, bridge) {
  if (s.state === 'deleted') return 'deleted'
  if (s.state === 'disabled' || s.state === 'paused') return s.state
  if (s.state === 'held' || wrong?.length) return 'held' // somebody must decide, whatever its bridge does
  if (bridge?.state === 'disabled' || bridge?.state === 'paused') return bridge.state
  if (s.next_attempt_at || s.cursor.last_error) return 'failing'
  return s.cursor.last_delivery_id || s.cursor.last_sequence ? 'steady' : 'zero'
}

// What needs a decision comes first.
const order = ['held', 'failing', 'disabled', 'paused', 'steady', 'zero', 'deleted']
const looks = { zero: 'idle', steady: 'idle', failing: 'failed', held: 'waiting', disabled: 'failed', paused: 'queued', deleted: 'closed' }

function Subscription({ s, bridge }) {
  const wrong = mismatches.value.get(s.subscription_id)
  const state = stateOf(s, wrong, bridge)
  const c = s.cursor
  const id = { subscription_id: s.subscription_id }
  const reset = html`<${Ask} title=${`Reset to a seq (0 to ${latest.value}) and say why, such as: 120 the page was empty`} hint="SEQ reason" run=${text => {
    const [, seq, reason] = /^(\d+)\s+(.+)$/s.exec(text) || []
    if (!reason) throw new Error('Write a seq and a reason, such as: 120 the page was empty')
    return change('subscription/reset', { ...id, to_seq: Number(seq), reason })
  }}>Reset …<//>`
  return html`<li class="card subscription" data-state=${looks[state]} data-subscription=${s.subscription_id} data-shows=${state}>
    <span class="title">${s.thread_id ? html`<a href=${to('thread', s.thread_id)}><${ThreadName} id=${s.thread_id} longest=${60} /></a>` : 'All threads'} → ${clean(s.bridge_id)}${targetOf(s.target)}</span>
    <span class="meta"><span class="pill" data-state=${looks[state]}>${state}</span> ${headline(state, s, bridge)}</span>
    <span class="doing">${story(state, s, wrong)}</span>
    <span class="facts"><span>seq ${c.last_sequence}</span>${c.last_delivery_id && html`<span title=${clean(c.last_delivery_id)}>last delivery ${oneLine(c.last_delivery_id).replace(/^notif:/, '')}</span>`}
      ${c.last_delivered_at && html`<span>delivered <${At} at=${c.last_delivered_at} /></span>`}
      ${s.pending > 0 && html`<span>${s.pending} waiting</span>`}${s.dead > 0 && html`<span class="failure">${s.dead} given up</span>`}
      <span>${(s.on || []).concat(s.methods || []).join(', ')}</span><span>${clean(s.subscription_id)}</span>${s.generation > 1 && html`<span>generation ${s.generation}</span>`}</span>
    ${wrong?.map(d => html`<p class="failure" key=${d.delivery_id}>seq ${d.seq}: ${oneLine(d.reason || 'the event and the rows of its turn disagree')} ${may('operate') && html`<${Ask} title="Why do you skip it?" run=${reason => change('subscription/skip', { ...id, seq: d.seq, reason })}>Skip …<//>`}</p>`)}
    ${may('operate') && html`<span class="tools">
      ${state === 'held' && !wrong?.length && html`<${Act} run=${() => change('subscription/resume', id)}>Send all<//> <${Ask} title="Why do you give up what waits?" run=${reason => change('subscription/skip', { ...id, reason })}>Give up …<//>`}
      ${(s.state === 'disabled' || s.state === 'paused') && html`<${Act} run=${() => change('subscription/resume', id)}>Resume<//>`}
      ${(state === 'steady' || state === 'zero' || state === 'failing') && html`<${Act} run=${() => change('subscription/pause', id)}>Pause<//>`}
      ${state === 'deleted' ? html`<${Act} run=${() => change('subscription/create', recreated(s))}>Create it again<//>` : html`${reset} <${Ask} kind="danger" title="Why do you delete it?" needed=${false} run=${reason => change('subscription/delete', { ...id, reason: reason || undefined })}>Delete …<//>`}</span>`}
    <${Deliveries} s=${s} />
  </li>`
}

// recreated returns the params that create a deleted subscription again. It keeps its id, so
// it continues at its cursor.
const recreated = s => ({ subscription_id: s.subscription_id, bridge_id: s.bridge_id, target: s.target, thread_id: s.thread_id, on: s.on, methods: s.methods, include_text: s.include_text, order: s.order })

const targetOf = t => t ? html` <span class="quiet">${oneLine(t.topic || t.channel || (t.repository ? `${t.repository}#${t.number}` : ''))}</span>` : null

function headline(state, s, bridge) {
  switch (state) {
    case 'zero': return 'nothing delivered yet'
    case 'failing': return s.next_attempt_at ? html`next attempt ${inTime(s.next_attempt_at)}` : 'the last attempt failed'
    case 'steady': return ''
  }
  if (s.state === 'active' && bridge && bridge.state !== 'active') return `its bridge is ${bridge.state}${bridge.reason ? ': ' + (reasons[bridge.reason] || oneLine(bridge.reason)) : ''}`
  return s.reason ? reasons[s.reason] || oneLine(s.reason) : ''
}

const inTime = at => { const ms = Date.parse(at) - now.value; return ms > 0 ? `in ${span(ms)}` : 'now' }

function story(state, s, wrong) {
  if (s.cursor.last_error && state !== 'deleted') return html`<span class="failure">${oneLine(s.cursor.last_error)}</span>`
  switch (state) {
    case 'zero': return `Its cursor is at seq ${s.cursor.last_sequence}. No event has matched since.`
    case 'held': return wrong?.length ? 'The event of a turn and the stored rows of that turn disagree, so nothing is sent. Repair the store, skip the event, or reset.' : 'Too many deliveries wait, or they wait too long. Send all of them or give them up.'
    case 'disabled': return s.state === 'disabled' ? 'Nothing is sent until it is resumed.' : 'Nothing is sent until its bridge is resumed.'
    case 'deleted': return `Its target was removed. Its cursor is kept at seq ${s.cursor.last_sequence}: if you create it again, it continues there.`
  }
  return ''
}

function Deliveries({ s }) {
  const [open, setOpen] = useState(false)
  const [rows, setRows] = useState(null)
  const [error, setError] = useState(null)
  async function read() {
    try {
      setRows((await call('delivery/list', { subscription_id: s.subscription_id, order: 'desc', limit: 20 })).deliveries)
      setError(null)
    } catch (e) {
      setError(e)
    }
  }
  useEffect(() => { if (open) read() }, [open, s.cursor.last_sequence, s.pending, s.dead, s.next_attempt_at])
  return html`<details class="contents" onToggle=${e => setOpen(e.target.open)}><summary>Deliveries</summary>
    <${Failure} error=${error} />
    ${open && !rows && !error && html`<p class="quiet">reading …</p>`}
    ${rows?.length === 0 && html`<p class="quiet">No deliveries are kept.</p>`}
    <ul class="deliveries">${rows?.map(d => html`<${Delivery} key=${d.delivery_id + d.generation} d=${d} read=${read} />`)}</ul></details>`
}

const deliveryMarks = { delivered: 'completed', dead: 'failed', pending: 'pending', mismatch: 'waiting', suppressed: 'cancelled', superseded: 'interrupted' }

function Delivery({ d, read }) {
  const [tries, setTries] = useState(null)
  return html`<li data-delivery=${d.delivery_id}><span class="mark" data-state=${deliveryMarks[d.state]}>${d.state}</span> ${d.event_type} <span class="quiet">seq ${d.seq} · <${At} at=${d.settled_at || d.created_at} />${d.attempts ? ` · ${plural(d.attempts, 'attempt')}` : ''}${d.next_attempt_at ? ` · next ${inTime(d.next_attempt_at)}` : ''}${d.reason ? ` · ${oneLine(d.reason)}` : ''}</span>
    ${d.thread_id && html` <a href=${to('thread', d.thread_id)}>thread</a>`}
    ${d.attempts > 0 && !tries && html` <${Act} kind="small" run=${async () => setTries((await call('delivery/read', { delivery_id: d.delivery_id })).delivery.tries || [])}>Attempts<//>`}
    ${may('operate') && ['delivered', 'dead', 'pending'].includes(d.state) && html` <${Act} kind="small" run=${async () => { await change('delivery/redeliver', { delivery_id: d.delivery_id }); await read() }} done="sent again">Redeliver<//>`}
    ${tries && html`<ul>${tries.map(t => html`<li class="quiet"><${At} at=${t.at} /> ${t.outcome || 'under way'}${t.status ? ` · status ${t.status}` : ''}${t.error ? ` · ${oneLine(t.error)}` : ''} · ${t.latency_ms} ms</li>`)}</ul>`}
  </li>`
}
