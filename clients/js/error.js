import { parse } from './json.js'

/**
 * HolonError is what a server answered instead of a result, or why there was no
 * answer. Switch on kind: message is for people and may change. The kinds of the
 * protocol are in its table of errors; those of this client are
 *   offline       no server answered, or the connection broke
 *   http_<status> an HTTP status without a JSON-RPC error, such as http_502
 *   clear_text    the token would have gone to another machine over plain http
 *   redirected    a redirect is not followed, since it would carry the token along
 *   bad_name      a name in the params has half of a character; nothing was sent
 *   bad_answer    what answered does not speak this protocol
 *   not_a_stream  something else than a stream answered, such as a page of HTML
 *   silent        not even a heartbeat came in time
 *   gap           an unfiltered stream left out events, twice at the same place
 */
export class HolonError extends Error {
  /** code is that of JSON-RPC, 0 if there was none; data is error.data as received; status is the HTTP status, 0 if there was none. */
  constructor(kind, message, { code = 0, data, status = 0, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'HolonError'
    this.kind = kind
    this.code = code
    this.data = data
    this.status = status
  }

  /** retryable tells whether the same request may succeed later. */
  get retryable() {
    if (typeof this.data?.retryable === 'boolean') return this.data.retryable
    return this.status >= 500 || this.status === 429 || this.kind === 'offline' || this.kind === 'silent'
  }

  /** retry_after_ms is how long the server wants the client to wait, 0 if it did not say. */
  get retry_after_ms() {
    const ms = this.data?.retry_after_ms
    return ms > 0 ? ms : 0
  }
}

/** errorOf is the HolonError for the error member of a JSON-RPC answer. */
export function errorOf(error, status = 0) {
  const { code = 0, message = '', data } = error
  const kind = typeof data?.kind === 'string' ? data.kind : ''
  return new HolonError(kind, String(message), { code, data, status })
}

const kindOfStatus = { 401: 'unauthorized', 403: 'forbidden', 503: 'unavailable' }

/** refusalOf reads the JSON-RPC error out of a body, or names the HTTP status when there is none, as in a proxy's page. */
export function refusalOf(status, body) {
  const answer = read(body)
  if (answer?.error) return errorOf(answer.error, status)
  return new HolonError(kindOfStatus[status] ?? `http_${status}`, `HTTP status ${status}`, { status })
}

/** read parses JSON without an exception: undefined for what is no JSON. */
export function read(text) {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
