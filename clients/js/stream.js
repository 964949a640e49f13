import { Connection } from './connection.js'
import { HolonError, read } from './error.js'
import { backoff, pause } from './wait.js'

// How long a connection must last before its loss counts as a new one, with the wait
// starting small again.
const steadyAfter = 5000

/**
 * Stream follows a server's log: an async iterable of events ({ method, params }),
 * each once and in the order of their seq, whatever happens to connections. It
 * reconnects by itself and resumes after its cursor. The iteration ends
 *   when close is called or the loop is left;
 *   with the signal's reason, when the signal aborts;
 *   with a HolonError that no retry fixes: cursor_expired, log_changed, cursor_ahead,
 *   unauthorized, forbidden, invalid_params, and what a wrong address answers.
 *
 * It reads no more than the loop takes. A loop that is slow delays nobody.
 */
export class Stream {
  #transport
  #options
  #unfiltered
  #iterator

  #cursor
  #logID
  #latest
  #began
  #error // why the connection was lost, or the stream ended

  #connection
  #stop = new AbortController()
  #wake = new AbortController() // ends a wait for the next attempt
  #opened = false // whether any connection was ever opened
  #opening = false // whether a connection was asked for and has brought nothing yet
  #hurried = false // whether the next attempt is not to wait
  #attempt = 0
  #gapAt = -1 // the seq before the last gap seen

  #state
  #since
  #lostAt

  constructor(transport, options) {
    this.#transport = transport
    this.#options = options
    this.#cursor = options.after_seq
    this.#logID = options.log_id
    const { thread_ids, within_thread_ids, methods, collapse, content } = options
    this.#unfiltered = !thread_ids?.length && !within_thread_ids?.length && !methods?.length && !collapse && !content
  }

  /** cursor is the seq after which the stream resumes: that of the last event it gave out, or of a heartbeat. undefined as long as a live stream has not connected. */
  get cursor() {
    return this.#cursor
  }

  /** log_id is the log to which the cursor belongs, undefined before it is known. */
  get log_id() {
    return this.#logID
  }

  /** close ends the stream and its connection at once; the loop then ends without an error. */
  close() {
    this.#end(undefined)
  }

  /**
   * retryNow makes the next attempt at once. A wait that the server itself wants is kept.
   * An attempt that is under way and was not answered is given up for the next one: its
   * connection may have died without a word.
   */
  retryNow() {
    this.#wake.abort()
    if (!this.#opening) return
    this.#hurried = true
    this.#connection.giveUp()
  }

  [Symbol.asyncIterator]() {
    this.#iterator ??= this.#run()
    return this.#iterator
  }

  get #stopped() {
    return this.#stop.signal.aborted
  }

  #end(error) {
    if (this.#stopped) return
    this.#stop.abort()
    this.#connection?.close()
    this.#error = error
    this.#tell('off')
  }

  async *#run() {
    const { signal } = this.#options
    const abort = () => this.close()
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
    try {
      while (!this.#stopped) {
        const connected = this.#transport.clock.now()
        this.#connection = new Connection(this.#transport)
        let error
        try {
          await this.#open()
          while (!this.#stopped) {
            for (const line of await this.#connection.read()) {
              const event = this.#take(line)
              if (event) yield event
              if (this.#stopped) break
            }
          }
        } catch (e) {
          error = e
        } finally {
          this.#opening = false
          this.#connection.close()
        }
        if (!this.#stopped) await this.#lost(error, connected)
      }
      if (signal?.aborted) throw signal.reason
    } finally {
      signal?.removeEventListener('abort', abort)
      this.close()
    }
  }

  async #open() {
    this.#tell(this.#lostAt === undefined ? 'connecting' : 'reconnecting')
    this.#opening = true
    await this.#connection.open(this.#query())
    if (!this.#stopped) this.#tell('waiting')
  }

  // lost waits for the next attempt, or throws an error that no retry fixes.
  async #lost(error, connected) {
    const { clock } = this.#transport
    if (!this.#heals(error)) {
      this.#end(error)
      throw error
    }
    this.#error = error
    if (clock.now() - connected >= steadyAfter) this.#attempt = 0
    this.#attempt++
    this.#lostAt ??= new Date(clock.now())
    const wanted = error.retry_after_ms
    const wait = this.#hurried ? 0 : Math.max(backoff(this.#attempt, clock), wanted)
    this.#hurried = false
    this.#wake = new AbortController()
    const signals = [this.#stop.signal, wanted > 0 ? undefined : this.#wake.signal]
    const waited = pause(wait, clock, { signals, online: wanted === 0 })
    this.#tell('reconnecting', new Date(clock.now() + wait))
    await waited
  }

  // heals reports whether another attempt may succeed.
  #heals(error) {
    if (!(error instanceof HolonError)) return false // not of the connection: a mistake in this program
    if (error.closing) return error.closing.reconnect === true
    switch (error.kind) {
      case 'frame_too_large':
        return false
      case 'gap': {
        const again = this.#gapAt === error.data.after
        this.#gapAt = error.data.after
        return !again
      }
      case 'bad_answer':
        return true
    }
    if (error.retryable || error.status >= 500) return true
    // An answer without an error of the protocol comes from a proxy or a portal. Another
    // attempt may succeed, unless the server was never reached.
    return error.code === 0 && this.#opened
  }

  #query() {
    const o = this.#options
    const query = new URLSearchParams()
    for (const id of o.thread_ids ?? []) query.append('thread_id', id)
    for (const id of o.within_thread_ids ?? []) query.append('within_thread_id', id)
    for (const method of o.methods ?? []) query.append('method', method)
    for (const id of o.whole_thread_ids ?? []) query.append('whole_thread_id', id)
    if (o.collapse) query.set('collapse', 'superseded')
    if (o.content) query.set('content', o.content)
    if (this.#cursor !== undefined) query.set('after_seq', this.#logID ? `${this.#logID}:${this.#cursor}` : `${this.#cursor}`)
    return query
  }

  // take acts on one line: it returns an event, or undefined for what is none.
  #take(line) {
    const message = read(line)
    if (message === null || typeof message !== 'object') {
      throw new HolonError('bad_answer', 'the server sent a line that is not JSON-RPC')
    }
    const { method, params = {} } = message
    switch (method) {
      case 'stream/opened':
        return this.#takeOpened(params)
      case 'stream/heartbeat':
        return this.#takeHeartbeat(params)
      case 'stream/closing':
        if (!this.#unfiltered) this.#advance(params.seq)
        throw closing(params)
    }
    const seq = params.seq
    if (typeof method !== 'string' || !Number.isSafeInteger(seq) || seq <= 0) return undefined // not of the log
    if (this.#cursor !== undefined && seq <= this.#cursor) return undefined // given out before
    if (this.#unfiltered && this.#cursor !== undefined && seq !== this.#cursor + 1) throw gap(this.#cursor, seq)
    this.#opened = true
    this.#attempt = 0
    this.#advance(seq)
    return { method, params }
  }

  #takeOpened(params) {
    this.#opening = false
    this.#connection.expectHeartbeats(params.heartbeat_seconds)
    this.#logID = params.log_id
    this.#advance(params.after_seq)
    this.#began ??= this.#cursor
    this.#opened = true
    this.#lostAt = this.#error = undefined
    if (!(this.#latest > params.latest_seq)) this.#latest = params.latest_seq
    this.#tell('connected')
  }

  #takeHeartbeat({ seq }) {
    // Without a filter every event comes, so that a heartbeat ahead of the cursor means
    // that one is missing.
    if (this.#unfiltered && this.#cursor !== undefined && seq > this.#cursor) throw gap(this.#cursor, seq)
    this.#attempt = 0
    this.#advance(seq)
    this.#tell('connected')
  }

  // advance moves the cursor, never back.
  #advance(seq) {
    if (!Number.isSafeInteger(seq)) return
    if (this.#cursor === undefined || seq > this.#cursor) this.#cursor = seq
    if (this.#latest === undefined || seq > this.#latest) this.#latest = seq
  }

  #tell(state, retryAt) {
    if (state !== this.#state) {
      this.#state = state
      this.#since = new Date(this.#transport.clock.now())
    }
    const { onState } = this.#options
    if (!onState) return
    const told = {
      state,
      since: state === 'reconnecting' ? this.#lostAt : this.#since,
      error: this.#error,
      attempt: this.#attempt,
      retry_at: retryAt,
      began_at: this.#began,
      cursor: this.#cursor,
      latest_seq: this.#latest,
      log_id: this.#logID,
    }
    try {
      onState(told)
    } catch (mistake) {
      // A mistake in the callback is no reason to lose the connection.
      queueMicrotask(() => {
        throw mistake
      })
    }
  }
}

function closing(params) {
  const { code = 'internal', reason, retry_after_ms } = params
  const error = new HolonError(code, reason || `the server closed the stream (${code})`, { data: { kind: code, retry_after_ms } })
  error.closing = params
  return error
}

function gap(after, got) {
  return new HolonError('gap', `the stream is not dense: seq ${got} came after ${after}`, { data: { kind: 'gap', after, got } })
}
