import { HolonError, refusalOf } from './error.js'
import { Lines } from './lines.js'

// A heartbeat may come late once, not twice.
const heartbeatsMissed = 2.5
const silenceUnknown = 45_000

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
  #broken // why it ended by itself

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
    const type = response.headers.get('Content-Type') ?? ''
    if (response.status === 200 && type.startsWith('application/x-ndjson')) {
      this.#reader = response.body.getReader()
      if (this.#abort.signal.aborted) this.close() // while the answer came
      return
    }
    if (response.status === 200) {
      this.close()
      throw new HolonError('not_a_stream', `the server answered ${type || 'something'} where a stream was asked for`, { status: 200 })
    }
    throw refusalOf(response.status, await this.#watched(() => response.text().catch(broken)))
  }

  /** read returns the lines of the next chunk. It throws when the connection has ended. */
  async read() {
    const { done, value } = await this.#watched(() => this.#reader.read().catch(broken))
    if (this.#broken) throw this.#broken
    if (done) throw new HolonError('offline', 'the connection ended')
    try {
      return this.#lines.push(value)
    } catch (cause) {
      throw new HolonError('frame_too_large', cause.message, { cause })
    }
  }

  /** close ends the connection and what waits for it. It may be called at any time, and again. */
  close() {
    this.#abort.abort()
    // A fetch that ignores the signal ends here.
    this.#reader?.cancel().catch(() => {})
  }

  async #watched(wait) {
    const timer = this.#clock.setTimeout(() => {
      this.#broken = new HolonError('silent', `nothing came for ${this.#limit / 1000} s, not even a heartbeat`)
      this.close()
    }, this.#limit)
    try {
      return await wait()
    } catch (error) {
      throw this.#broken ?? error
    } finally {
      this.#clock.clearTimeout(timer)
    }
  }
}

function broken(cause) {
  throw new HolonError('offline', 'the connection broke', { cause })
}
