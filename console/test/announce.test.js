// What screen readers are told of a thread: all that has happened since the page began to
// read it, and each thing once.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Announcements, announceNew } from '../app/announce.js'
import { Loader } from '../app/thread_load.js'

const thread_id = 'thread_1', turn_id = 'turn_1'
const lineage = [{ step: '', epoch: 1 }]
const content = text => ({ type: 'agent_message', role: 'assistant', content: [{ type: 'output_text', text }] })
const row = (n, seq = n) => ({ item_id: 'item_' + n, thread_id, turn_id, attempt: 1, lineage, type: 'agent_message', status: 'completed', content: content('text ' + n), created_seq: n, updated_seq: seq })
const event = (method, seq, n, more) => ({ method, params: { seq, thread_id, turn_id, attempt: 1, lineage, timestamp: '2026-01-01T00:00:00Z', item_id: 'item_' + n, ...more } })

test('what comes while a thread is read is told, what was there is not, and nothing twice', async () => {
  let hear
  const answers = { 'thread/read': { thread: { thread_id, state: 'running' }, latest_seq: 100 }, 'item/list': { items: [row(112, 113), row(90)] }, 'turn/list': { turns: [] } }
  const loader = new Loader(thread_id, { call: async method => answers[method], listen: f => { hear = f; return () => {} }, seen: () => {} })
  const stop = announceNew(loader)
  const loading = loader.load()
  hear([event('item/created', 110, 110, { status: 'completed', content: content('text 110') })])
  await loading
  hear([event('item/created', 111, 111, { status: 'in_progress', content: content('a') })])
  hear([event('item/delta', 114, 111, { offset: 1, delta: { text: 'b' } })])
  hear([event('item/updated', 115, 111, { status: 'completed', content: content('ab') })])
  stop()
  hear([event('item/created', 120, 120, { status: 'completed', content: content('text 120') })])
  const root = place()
  render(html`<${Announcements} />`, root)
  await drawn()
  assert.deepEqual(root.all('p').map(p => p.textContent), ['Agent: text 110', 'Agent: text 112', 'Agent: ab'])
})
