// What the page of agents says of each.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Agents } from '../app/agents.js'

test('an agent says how much memory its processes have, where that is known', async () => {
  const agent = more => ({ kind: 'acp', state: 'ready', sessions: 2, processes: 1, capabilities: {}, ...more })
  globalThis.fetch = async () => new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { agents: [agent({ name: 'coder', memory_bytes: 740_300_000 }), agent({ name: 'other' })] } }))
  const root = place()
  render(html`<${Agents} />`, root)
  for (let i = 0; i < 20 && !root.all('li').length; i++) await drawn()
  const [coder, other] = root.all('li').map(li => li.textContent)
  assert.match(coder, /2 sessions in 1 process, 740\.3 MB of memory/)
  assert.match(other, /2 sessions in 1 process(?!,)/)
  render(null, root) // it asks no more
})
