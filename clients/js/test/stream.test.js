// The stream against a server that misbehaves.

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'

import { Client } from '../index.js'
import { FakeClock, cut, event, fails, finish, html, line, opened, refuse, serve, stream, take, upTo } from './fake.js'

const asked = (request) => request.url.searchParams.get('after_seq')

// rest answers with the events after the cursor that was asked for.
function rest(last, end) {
  return async (response, request) => {
    const after = Number(new URL(request.url, 'http://fake').searchParams.get('after_seq').split(':').pop())
    const events = upTo(last).slice(after).map((n) => event(n, 'zwölf 😀'))
    await stream([opened(after, last), ...events], end)(response)
  }
}

const log = [opened(0, 3), event(1, '…😀'), event(2, 'zwölf'), event(3)].map(line).join('')

test('a connection may be cut at any byte, and its bytes may come in any pieces: every event comes once', async () => {
  const bytes = new TextEncoder().encode(log)
  for (let at = 0; at <= bytes.length; at++) {
    const urls = []
    const broken = async (url) => {
      urls.push(url)
      const after = Number(/after_seq=(?:log%3A)?(.*)/.exec(url)[1])
      const pieces = urls.length === 1 ? [bytes.subarray(0, at)] : [bytes.subarray(0, at), bytes.subarray(at)]
      if (urls.length > 1) pieces.unshift(new TextEncoder().encode(line(opened(after, 3))))
      const body = new ReadableStream({
        pull: (c) => (pieces.length > 0 ? c.enqueue(pieces.shift()) : c.error(new TypeError('terminated'))),
      })
      return new Response(body, { headers: { 'Content-Type': 'application/x-ndjson' } })
    }
    const clock = new FakeClock()
    const s = new Client({ url: 'http://fake', fetch: broken, clock }).stream({ after_seq: 0 })
    const events = []
    for await (const e of s) if (events.push(e) === 3) break
    assert.deepEqual(events.map((e) => e.params.delta.text), ['…😀', 'zwölf', 'word 3'], `cut after ${at} bytes`)
    assert.equal(clock.pending.size, 0)
  }
})

test('a connection is cut in a line, and in a character', async (t) => {
  for (const at of [log.indexOf('zw') + 3, log.indexOf('"offset') + 2]) {
    const { url, requests } = await serve(t, stream([Buffer.from(log).subarray(0, at)], cut), rest(3))
    assert.deepEqual(await take(new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 }), 3), upTo(3))
    assert.match(asked(requests[1]), /^0$|^log:\d$/)
  }
})

test('what has come is not given out again', async (t) => {
  const { url } = await serve(
    t,
    stream([opened(0, 5), event(1), event(2), event(3)], finish),
    stream([opened(0, 5), event(1), event(2), event(3), event(4), event(4), event(2), event(5)]),
  )
  const got = await take(new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 }), 5)
  assert.deepEqual(got, upTo(5))
})

test('a stream that is silent for 2.5 heartbeats is a broken one', async (t) => {
  const { url, requests } = await serve(t, stream([opened(0, 3), event(1)]), stream([opened(1, 3)]), rest(3))
  const clock = new FakeClock()
  const states = []
  const s = new Client({ url, clock }).stream({ after_seq: 0, onState: (x) => states.push(x) })
  const got = take(s, 3)
  for (let connection = 0; connection < 2; connection++) {
    await clock.fire((ms) => ms === 37_500)
  }
  assert.deepEqual(await got, upTo(3))
  assert.deepEqual(requests.map(asked), ['0', 'log:1', 'log:1'])
  assert.deepEqual(states.filter((x) => x.retry_at).map((x) => x.error.kind), ['silent', 'silent'])
})

test('before the first line the silence may last 45 s', async (t) => {
  for (const silent of [() => {}, stream([])]) {
    const { url, arrived } = await serve(t, silent, rest(2))
    const clock = new FakeClock()
    const got = take(new Client({ url, clock }).stream({ after_seq: 0 }), 2)
    await arrived(1)
    await clock.fire((ms) => ms === 45_000)
    assert.deepEqual(await got, upTo(2))
  }
})

test('a refusal that does not end is a broken connection', async () => {
  const clock = new FakeClock()
  let n = 0
  const stuck = async () => (++n === 1 ? new Response(new ReadableStream({}), { status: 503 }) : Response.json({ error: { data: { kind: 'forbidden' } } }, { status: 403 }))
  const states = []
  const s = new Client({ url: 'http://fake', fetch: stuck, clock }).stream({ onState: (x) => x.error && states.push(x.error.kind) })
  const failed = fails(take(s), 'forbidden')
  while (n === 0) await new Promise((resolve) => setImmediate(resolve))
  await clock.fire((ms) => ms === 45_000) // the head has come, its body does not
  await failed
  assert.ok(states.includes('silent'), states.join())
})

test('503 is waited for as long as the server says, whatever retryNow wants', async (t) => {
  const { url } = await serve(t, refuse(503, 'unavailable', { retryable: true, retry_after_ms: 7000 }), html(503), rest(2))
  const clock = new FakeClock()
  const states = []
  const s = new Client({ url, clock }).stream({ after_seq: 0, onState: (x) => states.push(x) })
  const got = take(s, 2)
  const wait = await clock.until((ms) => ms === 7000)
  s.retryNow()
  assert.ok(clock.pending.has(wait), 'retryNow ends the wait that the server wants')
  await clock.fire((ms) => ms === 7000)
  assert.deepEqual(await got, upTo(2))
  const lost = states.filter((x) => x.retry_at)
  assert.deepEqual(lost.map((x) => [x.error.kind, x.error.status, x.attempt, x.retry_at.getTime()]), [['unavailable', 503, 1, 7000], ['unavailable', 503, 2, 7500]])
  assert.deepEqual(lost.map((x) => x.since.getTime()), [0, 0], 'since when it is offline')
})

test('what cannot heal ends the stream', async (t) => {
  for (const [status, kind] of [[409, 'cursor_ahead'], [409, 'log_changed'], [410, 'cursor_expired'], [401, 'unauthorized'], [403, 'forbidden'], [400, 'invalid_params'], [400, 'invalid_cursor']]) {
    for (const answers of [[refuse(status, kind, { latest_seq: 7 })], [stream([opened(0), event(1)], cut), refuse(status, kind, { latest_seq: 7 })]]) {
      const { url, requests } = await serve(t, ...answers)
      const clock = new FakeClock()
      const states = []
      const s = new Client({ url, clock }).stream({ after_seq: 0, onState: (x) => states.push(x) })
      const error = await fails(take(s), kind)
      assert.deepEqual([error.status, error.code, error.data.latest_seq], [status, -32005, 7])
      assert.equal(requests.length, answers.length)
      assert.deepEqual([states.at(-1).state, states.at(-1).error], ['off', error])
      assert.equal(clock.pending.size, 0)
    }
  }
})

test('a page of HTML: a wrong address at the beginning, something on the way later', async (t) => {
  for (const [status, kind] of [[200, 'not_a_stream'], [404, 'http_404'], [401, 'unauthorized']]) {
    const wrong = await serve(t, html(status))
    await fails(take(new Client({ url: wrong.url, clock: new FakeClock() }).stream()), kind)
    const later = await serve(t, stream([opened(0), event(1)], cut), html(status), html(502), rest(3))
    const got = take(new Client({ url: later.url, clock: new FakeClock() }).stream({ after_seq: 0 }), 3)
    assert.deepEqual(await got, upTo(3))
  }
})

test('a line that is too long ends the stream, and is not held', async (t) => {
  const { url } = await serve(t, stream([opened(0), event(1)], (response) => {
    const more = () => response.write('x'.repeat(64 << 10), more)
    more()
  }))
  const s = new Client({ url, clock: new FakeClock(), maxLineBytes: 1 << 20 }).stream({ after_seq: 0 })
  const seqs = []
  await fails(async () => {
    for await (const e of s) seqs.push(e.params.seq)
  }, 'frame_too_large')
  assert.deepEqual(seqs, [1])
})

test('a line that is no JSON breaks the connection', async (t) => {
  const { url } = await serve(t, stream([opened(0), event(1), 'null\n']), stream([opened(1), '{"method":\n']), rest(2))
  assert.deepEqual(await take(new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 }), 2), upTo(2))
})

test('stream/closing says whether to come back', async (t) => {
  const closing = (more) => ({ method: 'stream/closing', params: { code: 'server_stopping', reason: 'stopping', reconnect: true, retry_after_ms: 0, seq: 1, ...more } })
  const stopping = await serve(t, stream([opened(0), event(1), closing({ retry_after_ms: 6000 })]), rest(2))
  const clock = new FakeClock({ auto: (ms) => ms <= 6000 })
  assert.deepEqual(await take(new Client({ url: stopping.url, clock }).stream({ after_seq: 0 }), 2), upTo(2))
  assert.deepEqual(clock.waits, [6000])

  const expired = await serve(t, stream([opened(0), event(1), closing({ code: 'cursor_expired', reconnect: false })]))
  const s = new Client({ url: expired.url, clock: new FakeClock() }).stream({ after_seq: 0 })
  await fails(take(s), 'cursor_expired')
  assert.equal(s.cursor, 1)
  assert.equal(expired.requests.length, 1)
})

test('an unfiltered stream is dense: a gap is read again, and the same gap twice is an error', async (t) => {
  for (const second of [event(3), { method: 'stream/heartbeat', params: { seq: 2 } }]) {
    const healed = await serve(t, stream([opened(0), event(1), second]), rest(3))
    assert.deepEqual(await take(new Client({ url: healed.url, clock: new FakeClock() }).stream({ after_seq: 0 }), 3), upTo(3))
    const stays = await serve(t, stream([opened(0), event(1), second]))
    await fails(take(new Client({ url: stays.url, clock: new FakeClock() }).stream({ after_seq: 0 })), 'gap')
    assert.equal(stays.requests.length, 2)
  }
})

test('a filtered stream has gaps, and heartbeats move its cursor', async (t) => {
  const { url, requests } = await serve(
    t,
    stream([opened(2), event(5), { method: 'stream/heartbeat', params: { seq: 9 } }], finish),
    stream([opened(9), { method: 'stream/closing', params: { code: 'server_stopping', reconnect: true, retry_after_ms: 0, seq: 11 } }]),
    stream([opened(11), event(12)]),
  )
  const states = []
  const s = new Client({ url, clock: new FakeClock(), token: 'secret' }).stream({
    after_seq: 2, log_id: 'log', thread_ids: ['a', 'b'], within_thread_ids: ['c'], methods: ['item/*'], collapse: true,
    content: 'summary', whole_thread_ids: ['d', 'e'], onState: (x) => states.push(x),
  })
  assert.deepEqual(await take(s, 2), [5, 12])
  assert.deepEqual(requests.map(asked), ['log:2', 'log:9', 'log:11'])
  assert.equal(
    requests[0].url.search,
    '?thread_id=a&thread_id=b&within_thread_id=c&method=item%2F*&whole_thread_id=d&whole_thread_id=e&collapse=superseded&content=summary&after_seq=log%3A2',
  )
  assert.deepEqual(requests.map((r) => r.headers.authorization), Array(3).fill('Bearer secret'))
  assert.ok(states.some((x) => x.state === 'connected' && x.cursor === 9), 'a heartbeat is told')
})

test('a live stream begins where the server says', async (t) => {
  const { url, requests } = await serve(t, stream([opened(40)], finish), stream([opened(40), event(41)]))
  const states = []
  const s = new Client({ url, clock: new FakeClock() }).stream({ onState: (x) => states.push(x) })
  assert.equal(s.cursor, undefined)
  assert.deepEqual(await take(s, 1), [41])
  assert.deepEqual([s.cursor, s.log_id], [41, 'log'])
  assert.deepEqual(requests.map(asked), [null, 'log:40'])
  assert.deepEqual(states.map((x) => x.state), ['connecting', 'waiting', 'connected', 'reconnecting', 'reconnecting', 'waiting', 'connected', 'off'])
  assert.deepEqual(states.at(-1), { state: 'off', since: new Date(250), error: undefined, attempt: 0, retry_at: undefined, began_at: 40, cursor: 41, latest_seq: 41, log_id: 'log' })
})

test('notifications that are not in the log are not given out', async (t) => {
  const { url } = await serve(t, stream([{ method: 'thread/started', params: { thread_id: 'default' } }, opened(0), { method: 'holon/log', params: { position: 1 } }, { id: 1, result: {} }, event(1)]))
  assert.deepEqual(await take(new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 }), 1), [1])
})

test('waits double up to 5 s, and are shorter by up to half', async () => {
  for (const [random, want] of [[0, [250, 500, 1000, 2000, 4000, 5000, 5000]], [1, [125, 250, 500, 1000, 2000, 2500, 2500]]]) {
    const clock = new FakeClock({ random })
    const states = []
    const offline = () => Promise.reject(new TypeError('fetch failed'))
    const s = new Client({ url: 'http://127.0.0.1:1', fetch: offline, clock }).stream({
      onState: (x) => {
        if (x.retry_at) states.push(x)
        if (states.length > want.length) s.close()
      },
    })
    assert.deepEqual(await take(s), [])
    assert.deepEqual(clock.waits, want)
    assert.deepEqual(states.map((x) => x.attempt), upTo(want.length + 1))
    assert.ok(states.every((x) => x.error.kind === 'offline' && x.error.retryable))
    assert.equal(clock.pending.size, 0)
  }
})

test('a server that closes every stream at once is asked less and less often', async (t) => {
  const { url } = await serve(t, stream([opened(0)], finish))
  const clock = new FakeClock()
  const s = new Client({ url, clock }).stream({ after_seq: 0, onState: (x) => clock.waits.length === 4 && s.close() })
  assert.deepEqual(await take(s), [])
  assert.deepEqual(clock.waits, [250, 500, 1000, 2000])
})

test('a connection that lasts, or that had a heartbeat, begins the waits anew', async (t) => {
  const clock = new FakeClock()
  const lasting = (response) => {
    clock.time += 5000
    response.end()
  }
  for (const lives of [stream([opened(0)], lasting), stream([opened(0), { method: 'stream/heartbeat', params: { seq: 0 } }], finish)]) {
    const { url } = await serve(t, lives)
    clock.waits = []
    const s = new Client({ url, clock }).stream({ after_seq: 0, onState: () => clock.waits.length === 3 && s.close() })
    assert.deepEqual(await take(s), [])
    assert.deepEqual(clock.waits, [250, 250, 250])
  }
})

test('retryNow and the browser’s word that it is online end a wait', async (t) => {
  const browser = new EventTarget()
  globalThis.addEventListener = browser.addEventListener.bind(browser)
  globalThis.removeEventListener = browser.removeEventListener.bind(browser)
  t.after(() => {
    delete globalThis.addEventListener
    delete globalThis.removeEventListener
  })
  const { url } = await serve(t, stream([], finish), stream([], finish), rest(1))
  const clock = new FakeClock({ auto: () => false })
  const s = new Client({ url, clock }).stream({ after_seq: 0 })
  const got = take(s, 1)
  await clock.until((ms) => ms === 250)
  s.retryNow()
  await clock.until((ms) => ms === 500)
  browser.dispatchEvent(new Event('online'))
  assert.deepEqual(await got, [1])
  assert.deepEqual(clock.waits, [])
  assert.equal(getEventListeners(browser, 'online').length, 0)
})

test('retryNow gives up an attempt that nobody answers', async (t) => {
  const silent = (response) => t.after(() => response.destroy())
  const silentToo = (response) => {
    silent(response)
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.flushHeaders()
  }
  const { url, requests, arrived } = await serve(t, silent, silentToo, rest(2))
  const clock = new FakeClock({ auto: (ms) => ms === 0 })
  let resolve
  const waiting = new Promise((done) => { resolve = done })
  const s = new Client({ url, clock }).stream({ after_seq: 0, onState: (x) => x.state === 'waiting' && resolve() })
  const got = take(s, 2)
  await arrived(1)
  s.retryNow()
  await arrived(2)
  await waiting
  s.retryNow()
  assert.deepEqual(await got, upTo(2))
  assert.deepEqual(clock.waits, [0, 0])
  assert.equal(requests.length, 3)
  s.retryNow() // what has ended stays so
})

test('retryNow leaves a connection alone that has brought something', async (t) => {
  let release
  const more = new Promise((done) => { release = done })
  const { url, requests } = await serve(t, stream([opened(0), event(1)], async (response) => {
    await more
    response.write(line(event(2)))
  }))
  const s = new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 })
  const seqs = []
  for await (const e of s) {
    if (seqs.push(e.params.seq) === 2) break
    s.retryNow()
    release()
  }
  assert.deepEqual(seqs, upTo(2))
  assert.equal(requests.length, 1)
})

test('the token is asked for before each attempt; a token that cannot be had ends the stream', async (t) => {
  const { url, requests } = await serve(t, stream([opened(0), event(1)], cut), rest(2))
  let n = 0
  const s = new Client({ url, clock: new FakeClock(), token: async () => `secret-${++n}` }).stream({ after_seq: 0 })
  await take(s, 2)
  assert.deepEqual(requests.map((r) => r.headers.authorization), ['Bearer secret-1', 'Bearer secret-2'])
  const mistake = new Error('no token')
  const none = new Client({ url, clock: new FakeClock(), token: () => Promise.reject(mistake) })
  await assert.rejects(take(none.stream()), mistake)
  assert.equal(requests.length, 2)
})

test('a redirect is not followed: it would carry the token along', async (t) => {
  const other = await serve(t, rest(1))
  const { url } = await serve(t, (response) => {
    response.writeHead(307, { Location: other.url })
    response.end()
  })
  await fails(take(new Client({ url, token: 'secret', clock: new FakeClock() }).stream()), 'redirected')
  await fails(new Client({ url, token: 'secret' }).call('holon/status'), 'redirected')
  assert.equal(other.requests.length, 0)
})

// At each stage the stream can be ended, and nothing is left running: no connection
// (serve waits for that), no timer, no listener.
const stages = {
  'before it begins': { answer: () => {}, when: (s, abort) => abort() },
  'while it connects': { answer: (response, request, n, abort) => abort() },
  'while a refusal comes': {
    answer: (response, request, n, abort) => {
      response.writeHead(503)
      response.write('x', () => setImmediate(abort))
    },
  },
  'while it waits for the first line': { answer: stream([]), when: (s, abort, state) => state === 'waiting' && abort() },
  'when it is connected': { answer: stream([opened(0)]), when: (s, abort, state) => state === 'connected' && setImmediate(abort) },
  'in the loop': { answer: stream([opened(0), event(1), event(2)]), loop: (abort) => abort() },
  'after a part of a line': { answer: stream([opened(0), event(1), '{"met']), loop: (abort) => setImmediate(abort) },
  'while it waits to reconnect': { answer: cut, auto: () => false, when: (s, abort, state) => state === 'reconnecting' && setImmediate(abort) },
}

for (const [stage, { answer, when = () => {}, loop = () => {}, auto }] of Object.entries(stages)) {
  for (const way of ['abort', 'close']) {
    test(`${way} ${stage} leaves nothing behind`, async (t) => {
      const aborter = new AbortController()
      const reason = new Error('enough')
      const end = () => (way === 'abort' ? aborter.abort(reason) : s.close())
      const { url } = await serve(t, (response, request, n) => answer(response, request, n, end))
      const clock = new FakeClock({ auto })
      const states = []
      const s = new Client({ url, clock }).stream({
        after_seq: 0, signal: aborter.signal,
        onState: (x) => {
          states.push(x.state)
          when(s, end, x.state)
        },
      })
      if (stage === 'before it begins') end()
      const read = async () => {
        for await (const _ of s) loop(end)
      }
      if (way === 'abort') await assert.rejects(read, reason)
      else await read()
      assert.equal(clock.pending.size, 0)
      assert.equal(getEventListeners(aborter.signal, 'abort').length, 0)
      assert.equal(states.filter((x) => x === 'off').length, 1)
      assert.equal(states.at(-1), 'off')
    })
  }
}

test('a loop that is left, also by an exception, leaves nothing behind', async (t) => {
  const { url } = await serve(t, stream([opened(0), event(1), event(2)]))
  const clock = new FakeClock()
  const aborter = new AbortController()
  const mistake = new Error('in the loop')
  await assert.rejects(async () => {
    for await (const _ of new Client({ url, clock }).stream({ signal: aborter.signal })) throw mistake
  }, mistake)
  assert.equal(clock.pending.size, 0)
  assert.equal(getEventListeners(aborter.signal, 'abort').length, 0)
})

test('it reads no more than the loop takes', async (t) => {
  let written = 0
  const { url } = await serve(t, stream([opened(0)], (response) => {
    const text = 'x'.repeat(100_000)
    const more = () => written < 2000 && response.write(line(event(++written, text)), more)
    more()
  }))
  const s = new Client({ url, clock: new FakeClock() }).stream({ after_seq: 0 })
  const it = s[Symbol.asyncIterator]()
  await it.next()
  // The server stops when what lies between is full. It has stopped when a while of
  // turns of the loop brings nothing more.
  for (let same = 0, before = -1; same < 200; same++) {
    if (written !== before) same = 0
    before = written
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.ok(written < 1000, `${written} of 2,000 lines of 100 kB were sent to a loop that took one`)
  assert.equal((await it.next()).value.params.seq, 2)
  await it.return()
})
