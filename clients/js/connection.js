import { HolonError, refusalOf } from './error.js'
import { Lines } from './lines.js'

// A heartbeat may come late once, not twice.
const heartbeatsMissed = 2.5
const silenceUnknown = 45_000

// An error of the protocol is a few hundred bytes, a proxy's page may be endless.
const mostRefusal = 1 << 20

/**
 * Connection is one GET /rpc/stream: it opens it, reads its lines and ends it when it
 * is silent. Only waiting for the server counts as silence, not the time that the
 * reader takes. Once closed it holds nothing.
 */
export class Connection {
  #request
  #clock
  #lines
  #abort = new AbortController()
  #reader
  #limit = silenceUnknown
  #silent // the error, once nothing came in time

  constructor({ request, clock, maxLineBytes }) {
    this.#request = request
    this.#clock = clock
    this.#lines = new Lines(maxLineBytes)
  }

  /** expectHeartbeats sets the silence after which the connection counts as broken. */
  expectHeartbeats(seconds) {
    if (seconds > 0) this.#limit = seconds * heartbeatsMissed * 1000
  }

  /** open sends the request and returns when the server has accepted it. */
  async open(query) {
    const response = await this.#watched(() =>
      this.#request(`/rpc/stream?${query}`, { headers: { Accept: 'application/x-ndjson' }, signal: this.#abort.signal }),
    )
    this.#reader = response.body?.getReader()
    if (this.#abort.signal.aborted) this.close() // while the answer came
    const type = response.headers.get('Content-Type') ?? ''
    if (response.status !== 200) throw refusalOf(response.status, await this.#readRefusal())
    if (!type.startsWith('application/x-ndjson')) {
      throw new HolonError('not_a_stream', `the server answered ${type || 'something'} where a stream was asked for`, { status: 200 })
    }
  }

  /** read returns the lines of the next chunk. It throws when the connection has ended. */
  async read() {
    const { done, value } = await this.#readChunk()
    if (done) throw new HolonError('offline', 'the connection ended')
    try {
      return this.#lines.push(value)
    } catch (cause) {
      throw new HolonError('frame_too_large', cause.message, { cause })
    }
  }

  async #readRefusal() {
    const decoder = new TextDecoder()
    let text = ''
    while (this.#reader && text.length < mostRefusal) {
      const { done, value } = await this.#readChunk()
      if (done) break
      text += decoder.decode(value, { stream: true })
    }
    return text
  }

  #readChunk() {
    return this.#watched(() =>
      this.#reader.read().catch((cause) => {
        throw new HolonError('offline', 'the connection broke', { cause })
      }),
    )
  }

  /** close ends the connection and what waits for it. It may be called at any time, and again. */
  close() {
    this.#abort.abort()
    // A fetch that ignores the signal ends here.
    this.#reader?.cancel().catch(() => {})
  }

  /** giveUp ends a connection from which nothing has come yet, as silence would later. */
  giveUp() {
    this.#silent = new HolonError('silent', 'nothing has come yet')
    this.close()
  }

  // watched ends the connection if what it waits for does not come in time.
  async #watched(wait) {
    const timer = this.#clock.setTimeout(() => {
      this.#silent = new HolonError('silent', `nothing came for ${this.#limit / 1000} s, not even a heartbeat`)
      this.close()
    }, this.#limit)
    try {
      const value = await wait()
      if (this.#silent) throw this.#silent
      return value
    } catch (error) {
      throw this.#silent ?? error
    } finally {
      this.#clock.clearTimeout(timer)
    }
  }
}
