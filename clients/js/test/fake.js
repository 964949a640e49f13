// A server that misbehaves as it is told, and a clock that does not pass by itself.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'

/**
 * FakeClock fires by itself what is to wait as long as auto says; other timers wait for
 * fire. waits has how long each fired timer was to wait.
 */
export class FakeClock {
  time = 0
  waits = []
  pending = new Map()
  #watchers = []
  #next = 1

  constructor({ auto = (ms) => ms <= 5000, random = 0 } = {}) {
    this.auto = auto
    this.share = random
  }

  now() {
    return this.time
  }

  random() {
    return this.share
  }

  setTimeout(f, ms) {
    const id = this.#next++
    this.pending.set(id, { f, ms })
    if (this.auto(ms)) setImmediate(() => this.#run(id))
    for (const look of this.#watchers.splice(0)) look()
    return id
  }

  clearTimeout(id) {
    this.pending.delete(id)
  }

  #run(id) {
    const timer = this.pending.get(id)
    if (!timer) return
    this.pending.delete(id)
    this.waits.push(timer.ms)
    this.time += timer.ms
    timer.f()
  }

  /** until waits for a timer that is to wait so long, and returns its id. */
  async until(matches) {
    for (;;) {
      for (const [id, { ms }] of this.pending) if (matches(ms)) return id
      await new Promise((resolve) => this.#watchers.push(resolve))
    }
  }

  /** fire lets the time of the first such timer come. */
  async fire(matches) {
    this.#run(await this.until(matches))
  }
}

/**
 * serve starts a server that answers the connections one after the other, the last
 * answer for all further ones, and returns { url, requests, arrived }. arrived(n) waits for
 * the n-th request. The test ends only when every answer has ended, on both sides.
 */
export async function serve(t, ...answers) {
  const requests = []
  const watchers = []
  const server = http.createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const n = requests.length
    requests.push({ url: new URL(request.url, 'http://fake'), method: request.method, headers: request.headers, body: Buffer.concat(chunks).toString() })
    unused.delete(request.socket)
    for (const look of watchers.splice(0)) look()
    // A connection that is kept for the next request would look like one left behind.
    response.setHeader('Connection', 'close')
    try {
      await answers[Math.min(n, answers.length - 1)](response, request, n)
    } catch (error) {
      if (!response.destroyed) throw error
    }
  })
  // Node's fetch opens connections before it needs them.
  const unused = new Set()
  let over = false
  server.on('connection', (socket) => (over ? socket.destroy() : unused.add(socket)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => new Promise((resolve) => {
    over = true
    server.close(resolve)
    for (const socket of unused) socket.destroy()
  }))
  const arrived = async (n) => {
    while (requests.length < n) await new Promise((resolve) => watchers.push(resolve))
  }
  return { url: `http://127.0.0.1:${server.address().port}`, requests, arrived }
}

/** stream answers with these lines or bytes, and then does what end says: nothing by default. */
export function stream(pieces, end = () => {}) {
  return async (response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.flushHeaders()
    for (const piece of pieces) {
      await new Promise((resolve) => response.write(typeof piece === 'object' && !(piece instanceof Uint8Array) ? line(piece) : piece, resolve))
    }
    await end(response)
  }
}

/** cut breaks the connection. */
export const cut = (response) => response.destroy()
/** finish ends the answer without a word. */
export const finish = (response) => response.end()

export function line(message) {
  return JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n'
}

export function opened(after, latest = after, more = {}) {
  return {
    method: 'stream/opened',
    params: { log_id: 'log', after_seq: after, latest_seq: latest, first_seq: 1, protocol_version: '2026-11-23', server: {}, heartbeat_seconds: 15, ...more },
  }
}

export function event(seq, text = `word ${seq}`) {
  return { method: 'item/delta', params: { seq, thread_id: 't', turn_id: 'u', item_id: 'i', delta: { text }, offset: 0 } }
}

/** refuse answers with a JSON-RPC error and a status. */
export function refuse(status, kind, data = {}) {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'no', data: { kind, retryable: false, ...data } } }))
  }
}

/** html answers with a page, as a proxy does. */
export function html(status) {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'text/html' })
    response.end('<!doctype html><title>Not what you want</title>')
  }
}

/** take reads events until there are n, or the stream ends. */
export async function take(stream, n) {
  const seqs = []
  for await (const e of stream) {
    seqs.push(e.params.seq)
    if (seqs.length === n) break
  }
  return seqs
}

/** upTo is [1, 2, …, n]. */
export const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1)

/** fails runs f and returns the error, which must have this kind. */
export async function fails(f, kind) {
  let error
  await assert.rejects(f, (e) => {
    error = e
    return true
  })
  assert.equal(error.kind, kind, String(error.stack))
  return error
}
