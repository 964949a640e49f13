// The stream of the page, and the rows that follow it.
import './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HolonError } from '../client/index.js'
import { heals, reading, refresher } from '../app/refresh.js'
import { cursor, ended, follow, listen } from '../app/live.js'
import { Offline } from '../app/stream_card.js'
import { now } from '../app/parts.js'

const soon = ms => new Promise(resolve => setTimeout(resolve, ms))

test('what the server refuses is not asked for again, what fails is', async () => {
  const refused = new HolonError('not_found', 'no', { code: -32001, data: { retryable: false } })
  assert.deepEqual([refused, new TypeError('x'), new HolonError('offline', 'x'), new HolonError('http_502', 'x', { status: 502 }), new HolonError('overloaded', 'x', { code: -32010, data: { retryable: true } })].map(heals), [false, false, true, true, true])
  let reads = 0
  const again = refresher(async () => { reads++; throw refused }, 1)
  again()
  await soon(900)
  assert.equal(reads, 1)
  assert.equal(reading.value, false)
  const tries = []
  let broken = true
  const other = refresher(async ids => { tries.push([...ids]); if (broken) { broken = false; throw new HolonError('offline', 'x') } })
  other('a')
  await soon(900)
  assert.deepEqual(tries, [['a'], ['a']])
  assert.equal(reading.value, false)
})

test('two readings of one thing are never under way, and the last event is read', async () => {
  let running = 0, most = 0, reads = 0
  const again = refresher(async () => { most = Math.max(most, ++running); reads++; await soon(20); running-- }, 1)
  for (let n = 0; n < 5; n++) {
    again()
    await soon(5)
  }
  await soon(700)
  assert.equal(most, 1)
  assert.equal(reads, 2)
})

const line = (method, params) => JSON.stringify({ jsonrpc: '2.0', method, params }) + '\n'

test('a part of the page that fails takes no events from the others; an end says so', async t => {
  let send
  const streams = []
  globalThis.fetch = async url => url.endsWith('/rpc') ? new Response('{"result":{"threads":[]}}') : streams.push(url) && new Response(new ReadableStream({ start(c) { send = text => c.enqueue(new TextEncoder().encode(text)) } }), { headers: { 'Content-Type': 'application/x-ndjson' } })
  const mistakes = [], real = globalThis.queueMicrotask
  const got = []
  t.after(listen(() => { throw new Error('mistake') }))
  t.after(listen(events => got.push(...events.map(e => e.params.seq))))
  follow('log', 10)
  await soon(20)
  send(line('stream/opened', { log_id: 'log', after_seq: 10, latest_seq: 11, heartbeat_seconds: 15 }))
  globalThis.queueMicrotask = f => { try { f() } catch (e) { mistakes.push(e.message) } }
  t.after(() => { globalThis.queueMicrotask = real })
  send(line('item/updated', { seq: 11, thread_id: 'thread_1' }))
  await soon(50)
  assert.deepEqual(got, [11])
  assert.equal(cursor.value, 11)
  assert.ok(mistakes.includes('mistake'))

  // A frame that waits while the page is hidden is no timer of that number.
  const cleared = [], frames = globalThis.requestAnimationFrame, clear = globalThis.clearTimeout
  globalThis.requestAnimationFrame = () => 7
  globalThis.clearTimeout = id => { cleared.push(id); clear(id) }
  t.after(() => Object.assign(globalThis, { requestAnimationFrame: frames, clearTimeout: clear }))
  send(line('item/updated', { seq: 12, thread_id: 'thread_1' }))
  await soon(20)
  document.hidden = true
  document.fire('visibilitychange')
  await soon(600)
  document.hidden = false
  document.fire('visibilitychange')
  assert.deepEqual(got, [11, 12])
  assert.ok(!cleared.includes(7))

  // Whoever slept asks for the stream anew, once, from where it was.
  const opened = () => send(line('stream/opened', { log_id: 'log', after_seq: 12, latest_seq: 12, heartbeat_seconds: 15 }))
  for (const wake of [() => document.fire('resume'), () => { now.value += 3_600_000 }]) {
    const before = streams.length
    wake()
    now.value += 1000
    await soon(50)
    assert.equal(streams.length, before + 1)
    assert.match(decodeURIComponent(streams.at(-1)), /after_seq=log:12/)
    opened()
  }
  now.value = Date.now() // a clock that is put right
  await soon(50)

  assert.equal(Offline(), null)
  send(line('stream/closing', { code: 'frame_too_large', reason: 'a line is too long', reconnect: false, seq: 12 }))
  await soon(50)
  assert.equal(ended.value?.kind, 'frame_too_large')
  assert.match(JSON.stringify(Offline().props), /no longer follows the server/)
})
