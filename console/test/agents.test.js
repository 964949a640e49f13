// What the page of agents says of each.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Agents } from '../app/agents.js'

test('an agent says how much memory its processes have, where that is known', async () => {
  const agent = more => ({ kind: 'acp', state: 'ready', sessions: 2, processes: 1, capabilities: {}, ...more })
  globalThis.fetch = async () => new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { agents: [agent({ name: 'coder', memory_bytes: 740_300_000 }), agent({ name: 'other' }), agent({ name: 'echo', kind: 'echo', sessions: 0, processes: 0 })] } }))
  const root = place()
  render(html`<${Agents} />`, root)
  for (let i = 0; i < 20 && !root.all('li').length; i++) await drawn()
  const [coder, other, echo] = root.all('li').map(li => li.textContent)
  assert.match(coder, /2 sessions in 1 process, 740\.3 MB of memory/)
  assert.match(other, /2 sessions in 1 process(?!,)/)
  assert.doesNotMatch(echo, /session|process/, 'one without processes says nothing of them')
  render(null, root) // it asks no more
})
