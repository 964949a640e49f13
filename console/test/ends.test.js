// How ended turns look: one that stopped early is not done.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { looks } from '../app/overview.js'
import { Mark } from '../app/parts.js'
import { endOf, stopsEarly } from '../app/text.js'

test('stop reasons are judged as the server judges them', () => {
  const vectors = Object.entries(JSON.parse(readFileSync(new URL('../turns/stop_reasons.json', import.meta.url), 'utf8')))
  assert.ok(vectors.length > 5)
  for (const [reason, early] of vectors) assert.equal(stopsEarly(reason), early, reason)
  assert.equal(stopsEarly(undefined), false)
})

test('only a turn that completed can have stopped early', () => {
  assert.equal(endOf({ state: 'completed', stop_reason: 'refusal' }), 'early')
  assert.equal(endOf({ state: 'completed', stop_reason: 'end_turn' }), 'completed')
  assert.equal(endOf({ state: 'failed', stop_reason: 'error' }), 'failed')
  assert.equal(endOf({ state: 'active' }), 'active')
})

test('a thread looks as its last turn ended', async () => {
  assert.equal(looks({ status: 'idle', stop_reason: 'refusal' }), 'early')
  assert.equal(looks({ status: 'idle', interrupted: true }), 'interrupted')
  assert.equal(looks({ status: 'working', stop_reason: 'refusal' }), 'working')
  assert.equal(looks({ status: 'idle' }), 'idle')
  const root = place()
  render(html`<${Mark} state="early" />`, root)
  await drawn()
  assert.match(root.textContent, /■\s+stopped early/)
})
