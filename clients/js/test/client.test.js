// Requests, their repetition and their errors.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { Client, HolonError } from '../index.js'
import { FakeClock, cut, fails, html, refuse, serve, take } from './fake.js'

const answer = (result, more = {}) => (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result, ...more }))
}

const half = (response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 100 })
  response.write('{"jsonrpc":"2.0","id":1,"res', () => response.destroy())
}

const sent = (request) => JSON.parse(request.body)

test('call sends a request with its token and returns the result', async (t) => {
  const { url, requests } = await serve(t, answer({ turn_id: 'turn_1' }))
  const params = { thread_id: 'thread_1', input: [{ content: '…😀' }] }
  const client = new Client({ url: url + '/', token: () => 'secret' })
  assert.deepEqual(await client.call('turn/start', params), { turn_id: 'turn_1' })
  const [request] = requests
  assert.deepEqual([request.method, request.url.pathname, request.headers.authorization], ['POST', '/rpc', 'Bearer secret'])
  assert.deepEqual(sent(request), { jsonrpc: '2.0', id: 1, method: 'turn/start', params })
  assert.deepEqual(await client.call('holon/status'), { turn_id: 'turn_1' })
  assert.deepEqual(sent(requests[1]).params, {})
  await new Client({ url }).call('holon/status')
  assert.ok(!('authorization' in requests[2].headers), 'without a token none is sent')
})

test('what a server refuses is mended before it is sent', async (t) => {
  const { url, requests } = await serve(t, answer({}))
  const client = new Client({ url })
  const params = { text: 'x\ud83d \\ud83d \\\ud83d \ude00😀', n: [NaN, -Infinity], inner: { title: '\ud83d', '\ude00': 1 } }
  await client.call('turn/start', params)
  assert.deepEqual(sent(requests[0]).params, { text: 'x\ufffd \\ud83d \\\ufffd \ufffd😀', n: [null, null], inner: { title: '\ufffd', '\ufffd': 1 } })
  for (const name of ['cwd', 'title', 'name', 'thread_id']) await fails(client.call('thread/start', { [name]: '/src/\udcff' }), 'bad_name')
  assert.equal(requests.length, 1)
  await client.call('thread/start', { cwd: '/src/\ufffd' })
  assert.equal(sent(requests[1]).params.cwd, '/src/\ufffd')
})

test('a result may be anything but nothing', async (t) => {
  for (const result of [null, 0, false, '', []]) {
    const { url } = await serve(t, answer(result))
    assert.deepEqual(await new Client({ url }).call('x/y'), result)
  }
  const { url } = await serve(t, answer(undefined))
  await fails(new Client({ url }).call('x/y'), 'bad_answer')
})

test('a method’s error is typed', async (t) => {
  const data = { kind: 'overloaded', retryable: true, retry_after_ms: 50, field: 'input' }
  const { url } = await serve(t, answer(undefined, { error: { code: -32001, message: 'full', data } }))
  const error = await fails(new Client({ url }).call('turn/start'), 'overloaded')
  assert.ok(error instanceof HolonError && error instanceof Error)
  assert.deepEqual([error.code, error.message, error.data, error.status, error.retryable, error.retry_after_ms], [-32001, 'full', data, 200, true, 50])
})

test('an HTTP status is typed, with an error of the protocol or without', async (t) => {
  for (const [reply, kind, status, code, retryable] of [
    [refuse(401, 'unauthorized'), 'unauthorized', 401, -32005, false],
    [refuse(413, 'frame_too_large'), 'frame_too_large', 413, -32005, false],
    [html(401), 'unauthorized', 401, 0, false],
    [html(403), 'forbidden', 403, 0, false],
    [html(404), 'http_404', 404, 0, false],
    [html(502), 'http_502', 502, 0, true],
    [html(503), 'unavailable', 503, 0, true],
    [html(200), 'bad_answer', 200, 0, false],
  ]) {
    const { url } = await serve(t, reply)
    const error = await fails(new Client({ url }).call('x/y'), kind)
    assert.deepEqual([error.status, error.code, error.retryable], [status, code, retryable])
  }
})

test('no server is an offline error with its cause, and so is a broken answer', async (t) => {
  const nobody = new Client({ url: 'http://127.0.0.1:1' })
  const error = await fails(nobody.call('x/y'), 'offline')
  assert.ok(error.cause instanceof Error)
  for (const reply of [cut, half]) {
    const { url, requests } = await serve(t, reply)
    await fails(new Client({ url }).call('x/y', { idempotency_key: 'mine' }), 'offline')
    assert.equal(requests.length, 1, 'without key a request is not repeated')
  }
})

test('with a key a request is repeated, with the same key, until it is answered', async (t) => {
  const clock = new FakeClock()
  const { url, requests } = await serve(t, cut, half, html(502), refuse(503, 'unavailable', { retryable: true }), html(504), answer('done'))
  const client = new Client({ url, clock })
  assert.equal(await client.call('turn/start', { thread_id: 't' }, { key: true }), 'done')
  const keys = new Set(requests.map((r) => sent(r).params.idempotency_key))
  assert.equal(requests.length, 6)
  assert.equal(keys.size, 1)
  assert.match([...keys][0], /^[0-9a-f]{32}$/)
  assert.equal(sent(requests[5]).params.thread_id, 't')
  assert.deepEqual(clock.waits, [250, 500, 1000, 2000, 4000])
  await client.call('turn/start', {}, { key: true })
  assert.ok(!keys.has(sent(requests[6]).params.idempotency_key), 'another call has another key')
})

test('a key may be given', async (t) => {
  const { url, requests } = await serve(t, cut, answer('done'))
  const client = new Client({ url, clock: new FakeClock() })
  const params = {}
  await client.call('x/y', params, { key: 'mine' })
  assert.deepEqual(params, {}, 'the params of the caller are not changed')
  await client.call('x/y', { idempotency_key: 'theirs' }, { key: true })
  assert.deepEqual(requests.map((r) => sent(r).params.idempotency_key), ['mine', 'mine', 'theirs'])
})

test('an answer is not repeated, whatever it says', async (t) => {
  for (const [reply, kind] of [[refuse(200, 'overloaded', { retryable: true }), 'overloaded'], [refuse(401, 'unauthorized'), 'unauthorized'], [html(200), 'bad_answer'], [html(500), 'http_500']]) {
    const { url, requests } = await serve(t, reply)
    await fails(new Client({ url, clock: new FakeClock() }).call('x/y', {}, { key: true }), kind)
    assert.equal(requests.length, 1)
  }
})

test('repetition is bounded', async () => {
  const clock = new FakeClock()
  let n = 0
  const offline = () => Promise.reject(new TypeError(`fetch failed ${++n}`))
  const client = new Client({ url: 'http://fake', fetch: offline, clock })
  const error = await fails(client.call('x/y', {}, { key: true }), 'offline')
  assert.equal(error.cause.message, 'fetch failed 13')
  assert.equal(clock.waits.length, 12)
  assert.ok(clock.time <= 60_000)
})

test('the server’s wait is kept', async (t) => {
  const clock = new FakeClock({ auto: () => true })
  const { url } = await serve(t, refuse(503, 'unavailable', { retryable: true, retry_after_ms: 9000 }), answer('done'))
  assert.equal(await new Client({ url, clock }).call('x/y', {}, { key: true }), 'done')
  assert.deepEqual(clock.waits, [9000])
})

test('a call can be aborted at any time', async (t) => {
  const reason = new Error('enough')
  const never = await serve(t, () => {})
  for (const stage of ['before', 'sent', 'waiting']) {
    const aborter = new AbortController()
    const clock = new FakeClock({ auto: () => false })
    const offline = () => Promise.reject(new TypeError('fetch failed'))
    const client = new Client({ url: never.url, clock, fetch: stage === 'waiting' ? offline : undefined })
    if (stage === 'before') aborter.abort(reason)
    const call = client.call('x/y', {}, { key: true, signal: aborter.signal })
    const failed = assert.rejects(call, reason)
    if (stage === 'sent') await never.arrived(1)
    if (stage === 'waiting') await clock.until((ms) => ms === 250)
    aborter.abort(reason)
    await failed
    assert.equal(clock.pending.size, 0)
    if (stage === 'waiting') assert.equal(getEventListeners(aborter.signal, 'abort').length, 0)
  }
})

test('a connection that says nothing is broken: with a key the request is repeated', async (t) => {
  const clock = new FakeClock()
  const silent = (response) => t.after(() => response.destroy())
  const { url, requests, arrived } = await serve(t, silent, answer('done'))
  const call = new Client({ url, clock }).call('x/y', {}, { key: true, silence_ms: 20_000 })
  await arrived(1)
  await clock.fire((ms) => ms === 20_000)
  assert.equal(await call, 'done')
  assert.equal(new Set(requests.map((r) => sent(r).params.idempotency_key)).size, 1)
  assert.deepEqual(clock.waits, [20_000, 250])
  assert.equal(clock.pending.size, 0)
})

test('an answer that comes slowly is not silent', async () => {
  const clock = new FakeClock({ auto: () => false })
  let body
  const fetch = async () => new Response(new ReadableStream({ start: (c) => { body = c } }))
  const call = new Client({ url: 'http://fake', fetch, clock }).call('x/y', {}, { silence_ms: 20_000 })
  const seen = new Set()
  for (const piece of ['{"jsonrpc":"2.0",', '"id":1,"result":"s', 'low … ', '😀"}']) {
    seen.add(await clock.until((ms) => ms === 20_000 && ![...clock.pending.keys()].every((id) => seen.has(id))))
    while (!body) await new Promise(setImmediate)
    body.enqueue(new TextEncoder().encode(piece))
  }
  await clock.until(() => ![...clock.pending.keys()].every((id) => seen.has(id)))
  assert.equal(clock.pending.size, 1, 'each piece begins the time anew')
  body.close()
  assert.equal(await call, 'slow … 😀')
  assert.equal(clock.pending.size, 0)
})

test('an answer that stops in its middle is broken', async () => {
  const clock = new FakeClock({ auto: () => false })
  let waits
  const fetch = async (_, { signal }) => new Response(new ReadableStream({
    start: (c) => { c.enqueue(new TextEncoder().encode('{"json')); signal.addEventListener('abort', () => c.error(signal.reason)); waits = true },
  }))
  const call = new Client({ url: 'http://fake', fetch, clock }).call('x/y', {}, { silence_ms: 20_000 })
  const failed = fails(call, 'offline')
  while (!waits) await new Promise(setImmediate)
  await clock.fire((ms) => ms === 20_000)
  await failed
  assert.equal(clock.pending.size, 0)
})

test('a url that is none is refused at once', () => {
  for (const url of [undefined, '', 'localhost:8080', 'unix:/run/holon.sock', 'http://user:password@host', 'http://host?x', 'http://host#x', 'file:///etc']) {
    assert.throws(() => new Client({ url }), /http:\/\/HOST:PORT/)
  }
  assert.equal(new Client({ url: 'https://host/holon//' }).url, 'https://host/holon')
})

test('a token does not go over plain http to another machine', async (t) => {
  let sent = 0
  const fetch = async () => {
    sent++
    return Response.json({ result: 1 })
  }
  const client = (url, token = 'secret') => new Client({ url, token, fetch, clock: new FakeClock() })
  for (const url of ['http://example.org', 'http://10.0.0.1:8080', 'http://localhost.example.org', 'http://127.0.0.1.example.org']) {
    await fails(client(url).call('x/y', {}, { key: true }), 'clear_text')
    await fails(take(client(url).stream()), 'clear_text')
  }
  assert.equal(sent, 0)
  for (const url of ['https://example.org', 'http://localhost:1', 'http://127.0.0.1:1', 'http://127.1:1', 'http://[::1]:1']) await client(url).call('x/y')
  await client('http://example.org', '').call('x/y')
  globalThis.location = { origin: 'http://example.org' }
  t.after(() => delete globalThis.location)
  await client('http://example.org').call('x/y')
  await new Client({ token: 'secret', fetch }).call('x/y') // the page's own server
  assert.equal(sent, 8)
  await assert.rejects(client('https://example.org', 'se\ncret').call('x/y'), /letters/)
})
