// The server: status, the stream card, limits, lag and sizes, and the sign-ins.
import { html, signal, useEffect } from './html.js'
import { call, change, get, may, limited, server, who, signedIn, keep } from './session.js'
import { listen, cursor } from './live.js'
import { refresher } from './refresh.js'
import { StreamCard } from './stream_card.js'
import { Act, Ask, At, Failure, Loading, Since } from './parts.js'
import { bytes, clean, count, exact, oneLine, plural } from './text.js'

const status = signal(null)
const metrics = signal(null)
const signins = signal(null)
const failed = signal(null)

async function load() {
  try {
    if (!limited()) status.value = await call('holon/status')
    signins.value = (await call('signin/list', { limit: 100 })).signins
    if (!limited()) metrics.value = await readMetrics()
    failed.value = null
  } catch (error) {
    failed.value = error
    throw error
  }
}

// readMetrics returns the values of metrics. A metric with labels gets the sum of its values.
async function readMetrics() {
  const values = new Map()
  for (const line of (await get('/metrics')).split('\n')) {
    const m = /^(holon_[a-z_]+|go_memstats_heap_inuse_bytes)(?:\{[^}]*\})? ([-+0-9.eE]+)$/.exec(line)
    if (m) values.set(m[1], (values.get(m[1]) || 0) + Number(m[2]))
  }
  return values
}

// One read takes three requests, and no number here is urgent.
const again = refresher(load, 2000)
let shown = 0
listen(events => { if (shown && events.some(e => /^(holon|turn|thread|token)\//.test(e.method))) again() })

export function Server() {
  useEffect(() => {
    shown++
    again()
    return () => { shown-- }
  }, [])
  const s = status.value, m = metrics.value, who_ = who.value
  const row = (name, value) => value === undefined || value === null || value === '' ? null : html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`
  const metric = (name, show) => m?.has(name) ? show(m.get(name)) : undefined
  return html`<div class="page"><h1>Server</h1><${Failure} error=${failed.value} />
    <${StreamCard} />
    <section><h2>You</h2><p>${who_.name === 'owner' ? 'the owner of this server' : html`<strong>${clean(who_.name)}</strong>, who may ${rolesSay[who_.role] || who_.role}`}${who_.limited ? `, in ${plural(who_.limited.length, 'thread')} and their child threads` : ''}</p>
      ${signedIn.value && html`<p><${Act} run=${signOut}>Sign out<//></p>`}</section>
    ${s && html`<section><h2>Status</h2><table>
      ${row('State', html`${s.state}${s.paused_at ? html` since <${At} at=${s.paused_at} />` : ''} ${may('operate') && (s.state === 'paused' ? html`<${Act} kind="small" run=${() => change('holon/resume', {})}>Resume<//>` : s.state === 'running' ? html`<${Act} kind="small" run=${() => change('holon/pause', {})}>Pause<//>` : null)}`)}
      ${row('Version', clean(s.version))}
      ${row('Running since', html`<${At} at=${s.started_at} /> (<${Since} at=${s.started_at} />)`)}
      ${row('Log', html`<code>${clean(s.log_id)}</code>, seq ${s.first_seq} to ${s.latest_seq}`)}
      ${row('Threads', s.threads)}
      ${row('Turns', `${s.turns.active} active (${s.turns.waiting} of them waiting), ${s.turns.queued} queued`)}
      ${row('Streams', s.streams)}
      ${row('Largest stream lag', metric('holon_stream_lag_events', n => plural(n, 'event')))}
      ${row('Database', metric('holon_database_bytes', bytes))}
      ${row('Write-ahead log', metric('holon_wal_bytes', bytes))}
      ${row('Memory', metric('go_memstats_heap_inuse_bytes', bytes))}
    </table></section>`}
    ${signins.value && html`<${SignIns} rows=${signins.value} />`}
    ${server.value && html`<details><summary>Limits</summary><table>${Object.entries(server.value.limits).map(([name, value]) => row(name, value))}</table></details>`}
  </div>`
}

const rolesSay = { read: 'read', respond: 'read and answer', work: 'read, answer and start work', operate: 'do everything but tokens, secrets and pruning' }

async function signOut() {
  try {
    await change('signin/delete', { name: who.value.name })
  } finally {
    keep('')
    location.hash = ''
    location.reload()
  }
}

const SignIns = ({ rows }) => {
  const live = rows.filter(r => r.state === 'live')
  return html`<section><h2>Sign-ins</h2>
    ${!live.length && html`<p class="quiet">No browser is signed in from elsewhere. <code>holon open --qr</code> signs in a phone.</p>`}
    <ul class="cards">${live.map(r => html`<li class="card" key=${r.name}>
      <span class="title">${clean(r.name)}${r.current ? html` <span class="quiet">this browser</span>` : null}</span>
      <span class="meta">${r.role}${r.limited_to ? ` · ${plural(r.limited_to.length, 'thread')}` : ''} · until <${At} at=${r.expires_at} />${r.last_used_at ? html` · used <${At} at=${r.last_used_at} />` : ''}</span>
      <span class="tools"><${Act} run=${async () => { if (r.current) return signOut(); await change('signin/delete', { name: r.name }); again() }}>Sign out<//></span></li>`)}</ul>
    ${live.length > 1 && html`<p><${Act} kind="danger" run=${async () => { await change('signin/delete', { all: true }); if (signedIn.value) { keep(''); location.reload() } else again() }}>Sign out everywhere<//></p>`}</section>`
}
