import { HolonError, errorOf, read, refusalOf } from './error.js'
import { stringify } from './json.js'
import { Stream } from './stream.js'
import { wellFormed } from './text.js'
import { Silence, backoff, pause, systemClock } from './wait.js'

// The server's frames end at max_frame_bytes, 4 MiB unless configured larger. A
// stream's line is one frame, with room for what a proxy may add.
const maxLineBytes = 8 << 20

// How often a request with a key is repeated: for 20 to 45 seconds.
const maxRepeats = 12

/** Client talks to one server. It holds no connection of its own. */
export class Client {
  #url
  #token
  #fetch
  #clock
  #maxLineBytes

  /**
   * url is where the server listens; in a browser the page's own origin by default.
   * token is a string, or a function that returns one or a promise of one; it is asked
   * before every request. fetch and clock are for tests; maxLineBytes is for a server
   * whose max_frame_bytes is above 8 MiB.
   */
  constructor({ url = globalThis.location?.origin, token, fetch, clock, maxLineBytes: most } = {}) {
    this.#url = checked(url)
    this.#token = token
    // A browser's fetch must be called with no other object than the window.
    this.#fetch = fetch ?? ((...args) => globalThis.fetch(...args))
    this.#clock = clock ?? systemClock
    this.#maxLineBytes = most ?? maxLineBytes
  }

  get url() {
    return this.#url
  }

  /**
   * call sends one request over POST /rpc and returns its result. It throws a
   * HolonError, or the signal's reason when that aborts.
   *
   * With key: true it adds an idempotency_key of its own (a string is the key), and
   * repeats the request over a broken connection until it is answered, for 20 to 45
   * seconds. Without a key a request is never repeated.
   *
   * With keepalive: true a browser sends it even if the page that has called this goes
   * away before it was answered. Such a request may have at most 64 KiB.
   *
   * Half of a surrogate pair in params becomes U+FFFD, because a server refuses it. In a
   * directory, a title, a name or an id it is an error of the kind bad_name, and nothing is
   * sent: the name could be that of something else.
   *
   * With silence_ms the connection counts as broken when nothing of the answer comes for
   * so long. Methods that wait, such as turn/interrupt, are silent until they answer.
   */
  async call(method, params = {}, { signal, key, keepalive, silence_ms } = {}) {
    if (key) params = { ...params, idempotency_key: typeof key === 'string' ? key : (params.idempotency_key ?? newKey()) }
    const body = encode(method, params)
    for (let attempt = 1; ; attempt++) {
      try {
        const how = { signal, keepalive }
        return await (silence_ms > 0 ? this.#watched(method, body, how, silence_ms) : this.#post(method, body, how))
      } catch (error) {
        if (signal?.aborted) throw signal.reason
        if (!key || attempt > maxRepeats || !unanswered(error)) throw error
        const wait = Math.max(backoff(attempt, this.#clock), error.retry_after_ms)
        await pause(wait, this.#clock, { signals: [signal], online: error.retry_after_ms === 0 })
      }
    }
  }

  /** stream follows the log: see Stream. Iterating starts it, once. */
  stream(options = {}) {
    return new Stream(
      { request: (path, init) => this.#request(path, init), clock: this.#clock, maxLineBytes: this.#maxLineBytes },
      options,
    )
  }

  async #watched(method, body, { signal, keepalive }, ms) {
    const broken = new HolonError('offline', `nothing of the answer to ${method} came for ${ms / 1000} s`)
    const silence = new Silence(ms, this.#clock, broken, signal)
    try {
      return await this.#post(method, body, { signal: silence.signal, keepalive }, (response) => silence.textOf(response))
    } finally {
      silence.end()
    }
  }

  async #post(method, body, how, textOf = (response) => response.text()) {
    const response = await this.#request('/rpc', { method: 'POST', body, ...how, headers: { 'Content-Type': 'application/json' } })
    let text
    try {
      text = await textOf(response)
    } catch (cause) {
      throw new HolonError('offline', `the connection broke before ${method} was answered`, { cause, status: response.status })
    }
    if (!response.ok) throw refusalOf(response.status, text)
    const answer = read(text)
    if (answer?.error) throw errorOf(answer.error, response.status)
    if (answer?.result === undefined) {
      throw new HolonError('bad_answer', `the answer to ${method} is not JSON-RPC`, { status: response.status })
    }
    return answer.result
  }

  // request sends one HTTP request with the token. A redirect would carry the token to
  // wherever it points, so that none is followed.
  async #request(path, { headers = {}, ...init }) {
    const token = typeof this.#token === 'function' ? await this.#token() : this.#token
    if (token) {
      mayGetToken(this.#url, token)
      headers = { ...headers, Authorization: `Bearer ${token}` }
    }
    let response
    try {
      response = await this.#fetch(this.#url + path, { ...init, headers, redirect: 'manual', cache: 'no-store' })
    } catch (cause) {
      if (init.signal?.aborted) throw init.signal.reason
      throw new HolonError('offline', `no server answers at ${this.#url}`, { cause })
    }
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel()
      throw new HolonError('redirected', `${this.#url} redirects elsewhere: use the address where the server is`, { status: response.status })
    }
    return response
  }
}

// unanswered reports whether the server may not have got the request, or could not accept it.
function unanswered(error) {
  return error.kind === 'offline' || error.kind === 'unavailable' || (error.code === 0 && [502, 503, 504].includes(error.status))
}

function checked(url) {
  const text = String(url ?? '')
  if (!/^https?:\/\/[^@?#]+$/i.test(text)) {
    throw new TypeError('the url of a Holon server is http://HOST:PORT or https://HOST:PORT, without a user, a query or a fragment')
  }
  return text.replace(/\/+$/, '')
}

// mayGetToken refuses to send a token over plain http to another machine, where others
// could read it. The server of the page itself is one that the person has chosen.
function mayGetToken(url, token) {
  if (!/^[\w\-.~+/=]{1,4096}$/.test(token)) throw new TypeError('a token is made of letters, digits and -._~+/=')
  const { protocol, hostname, origin } = new URL(url)
  if (protocol === 'https:' || origin === globalThis.location?.origin) return
  if (!/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) {
    throw new HolonError('clear_text', `${url} is plain http to another machine, so the token was not sent`)
  }
}

// encode is the body of a request. stringify writes an escape for half of a pair.
function encode(method, params) {
  for (const [member, value] of Object.entries(params ?? {})) {
    if (typeof value === 'string' && isName.test(member) && wellFormed(value) !== value) {
      throw new HolonError('bad_name', `${member} is not Unicode, and a name is not changed: it could be that of something else`)
    }
  }
  return stringify({ jsonrpc: '2.0', id: 1, method, params }).replace(/(\\\\)|\\ud[89a-f][0-9a-f]{2}/g, (_, backslash) => backslash ?? '\ufffd')
}

// isName finds the members of params that name something.
const isName = /^(?:cwd|title|name)$|_id$/

/** newKey makes a unique key. */
export function newKey() {
  const bytes = new Uint8Array(16) // crypto.randomUUID exists on https only
  if (globalThis.crypto?.getRandomValues) globalThis.crypto.getRandomValues(bytes)
  else bytes.forEach((_, i) => (bytes[i] = 256 * Math.random())) // Node 18
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('')
}
