// The agents: what each is, can do and is doing.
import { html, signal, useEffect } from './html.js'
import { call } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'
import { Failure, Loading } from './parts.js'
import { bytes, clean, cut, oneLine, plural } from './text.js'

// measured is how often the server measures the memory of agents, while somebody looks.
const measured = 10_000

export const agents = signal(null)
const failed = signal(null)

async function load() {
  try {
    agents.value = (await call('agent/list')).agents
    failed.value = null
  } catch (error) {
    failed.value = error
    throw error
  }
}

let asked = false
const again = refresher(load, 1000)
export function readAgents() {
  if (asked) return
  asked = true
  again()
}

listen(events => {
  if (agents.value && events.some(e => /^(turn\/(started|completed|failed|interrupted)|thread\/(started|closed|updated))$/.test(e.method))) again()
})

export function Agents() {
  useEffect(() => {
    again()
    const timer = setInterval(() => { if (!document.hidden) again() }, measured)
    return () => clearInterval(timer)
  }, [])
  if (!agents.value) return html`<${Loading} error=${failed.value} />`
  return html`<div class="page"><h1>Agents</h1><${Failure} error=${failed.value} />
    <ul class="cards">${agents.value.map((a, i) => html`<li class="card" key=${a.name} data-state=${a.state === 'failed' ? 'failed' : 'idle'}>
      <span class="title">${clean(a.name)}${i === 0 ? html` <span class="quiet">the default</span>` : null}</span>
      <span class="meta">${a.state}</span>
      <span class="doing">${a.last_error || a.warning ? html`<span class="failure">${cut(oneLine(a.last_error || a.warning), 400)}</span>` : a.processes > 0 && `${plural(a.sessions, 'session')} in ${plural(a.processes, 'process', 'processes')}${a.memory_bytes ? `, ${bytes(a.memory_bytes)} of memory` : ''}`}</span>
      <span class="facts"><span>${a.kind}</span>${a.version && html`<span>${clean(a.version)}</span>`}${can(a.capabilities)}
        ${a.mode && html`<span>opens in ${clean(a.mode)}</span>`}
        ${a.capabilities.models?.length > 0 && html`<span>models: ${a.capabilities.models.slice(0, 8).map(clean).join(', ')}</span>`}
        ${a.capabilities.modes?.length > 0 && html`<span>modes: ${a.capabilities.modes.slice(0, 8).map(clean).join(', ')}</span>`}</span>
    </li>`)}</ul></div>`
}

const abilities = { steering: 'can be steered', load: 'loads conversations', resume: 'resumes conversations', fork: 'forks', images: 'sees images' }
const can = c => Object.keys(abilities).filter(k => c[k]).map(k => html`<span>${abilities[k]}</span>`)
