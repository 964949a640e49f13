// How ended turns look: one that stopped early is not done.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Mark } from '../app/parts.js'
import { doing, endOf, looks, queueOf, retryOf, whyOf } from '../app/states.js'
import { stopsEarly } from '../app/text.js'

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
  assert.equal(looks({ status: 'idle', turn_id: 'turn_1' }), 'idle')
  assert.equal(looks({ status: 'idle' }), 'new', 'one without a turn has done nothing')
  const root = place()
  render(html`<${Mark} state="early" />`, root)
  await drawn()
  assert.match(root.textContent, /■\s+stopped early/)
})

// Texts are those of the server (turns/now.go).
test('what the state and the queue of a thread say is not said again', () => {
  const ended = { status: 'idle', turn_id: 'turn_1', queued: 0 }
  const says = s => [looks(s), queueOf(s), doing(s, () => Date.parse('2026-11-27T10:01:00Z'))]
  for (const [s, want] of [
    [{ ...ended, interrupted: true, reason: 'requested by a client', text: 'interrupted: requested by a client; last: Half.' }, ['interrupted', '', 'last: Half.']],
    [{ ...ended, interrupted: true, reason: 'requested by a client', text: 'interrupted: requested by a client' }, ['interrupted', '', '']],
    [{ ...ended, interrupted: true, reason: 'server restarted', text: 'interrupted: server restarted; last: Half.' }, ['interrupted', '', 'server restarted; last: Half.']],
    [{ ...ended, interrupted: true, text: 'interrupted; last: Half.' }, ['interrupted', '', 'last: Half.']],
    [{ ...ended, stop_reason: 'max_tokens', text: 'stopped early (max_tokens); last: Half.' }, ['early', '', 'out of tokens; last: Half.']],
    [{ ...ended, stop_reason: 'a $& of its own', text: 'stopped early (a $& of its own)' }, ['early', '', 'a $& of its own']],
    [{ ...ended, status: 'failed', review: 'blocked', text: 'blocked: bad; last: Half.' }, ['blocked', '', 'bad; last: Half.']],
    [{ ...ended, status: 'failed', review: 'rejected', text: 'rejected' }, ['rejected', '', '']],
    [{ ...ended, status: 'failed', text: 'blocked: by the model' }, ['failed', '', 'blocked: by the model']],
    [{ status: 'working', queued: 0, text: '' }, ['working', '', '']],
    [{ status: 'working', queued: 2, text: '', updated_at: '2026-11-27T10:00:30.001Z' }, ['working', '2 queued', '']],
    [{ status: 'working', queued: 0, text: '', updated_at: '2026-11-27T10:00:15Z' }, ['working', '', 'silent for 45 s: holon doctor checks its agent']],
    [{ status: 'working', queued: 0, text: 'go test', updated_at: '2026-11-27T10:00:15Z' }, ['working', '', 'go test']],
    [{ status: 'working', queued: 0, text: '', updated_at: '2026-11-27T10:00:15Z', children: { working: 1, waiting: 0 } }, ['working', '', '']],
    [{ status: 'idle', turn_id: 'turn_1', queued: 0, text: '', updated_at: '2026-11-27T10:00:15Z' }, ['idle', '', '']],
    [{ status: 'working', queued: 2, text: '2 turns wait in the queue' }, ['queued', '2 turns', '']],
    [{ status: 'working', queued: 1, text: '1 turn waits in the queue' }, ['queued', '', '']],
    [{ status: 'working', queued: 3, text: '2 turns wait in the queue' }, ['working', '3 queued', '2 turns wait in the queue']],
    [{ status: 'waiting', queued: 1, text: 'interrupted: may I?' }, ['waiting', '1 queued', 'interrupted: may I?']],
    [{ status: 'closed', queued: 1, text: 'Done.' }, ['closed', '', 'Done.']],
  ]) assert.deepEqual(says(s), want)
})

test('why a turn ended is said in words, and not if it says nothing', () => {
  assert.equal(whyOf({ state: 'completed', stop_reason: 'max_turn_requests' }), 'out of requests')
  assert.equal(whyOf({ state: 'completed', stop_reason: 'tired' }), 'tired')
  assert.equal(whyOf({ state: 'completed', stop_reason: 'end_turn' }), '')
  assert.equal(whyOf({ state: 'interrupted', reason: 'requested by a client' }), '')
  assert.equal(whyOf({ state: 'interrupted', reason: 'server restarted' }), 'server restarted')
  assert.equal(endOf({ state: 'completed', review: { state: 'blocked' } }), 'blocked')
  assert.equal(endOf({ state: 'completed', stop_reason: 'refusal', review: { state: 'approved' } }), 'early')
  assert.equal(whyOf({ state: 'completed', review: { state: 'blocked', note: 'bad' } }), 'bad')
})

test('why a try was given up is said in words', () => {
  assert.equal(retryOf('step_started'), 'the step was started again')
  assert.equal(retryOf('I did not like it'), 'I did not like it')
})
