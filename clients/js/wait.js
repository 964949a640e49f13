// Waiting, with a clock that tests can replace.

/** systemClock is time as it is. */
export const systemClock = {
  now: () => Date.now(),
  setTimeout: (f, ms) => globalThis.setTimeout(f, ms),
  clearTimeout: (timer) => globalThis.clearTimeout(timer),
  random: () => Math.random(),
}

const first = 250
const longest = 5000

/**
 * backoff is how long to wait before an attempt, counted from 1: 0.25 s doubled up to
 * 5 s, each shorter by up to half, so that many clients of a server that restarts do
 * not come at the same moment.
 */
export function backoff(attempt, clock) {
  const wait = Math.min(first * 2 ** (attempt - 1), longest)
  return wait * (1 - clock.random() / 2)
}

/**
 * Silence watches one answer: its signal aborts when the outer one does, or when nothing
 * was heard for ms. An answer that comes slowly is heard again and again.
 */
export class Silence {
  #abort = new AbortController()
  #clock
  #ms
  #error
  #outer
  #timer
  #follow = () => this.#abort.abort(this.#outer.reason)

  constructor(ms, clock, error, outer) {
    this.#ms = ms
    this.#clock = clock
    this.#error = error
    this.#outer = outer
    if (outer?.aborted) this.#follow()
    else outer?.addEventListener('abort', this.#follow)
    this.heard()
  }

  get signal() {
    return this.#abort.signal
  }

  /** heard begins the time anew. */
  heard() {
    this.#clock.clearTimeout(this.#timer)
    this.#timer = this.#clock.setTimeout(() => this.#abort.abort(this.#error), this.#ms)
  }

  /** end must be called in any case: it frees the timer. */
  end() {
    this.#clock.clearTimeout(this.#timer)
    this.#outer?.removeEventListener('abort', this.#follow)
  }

  /** textOf reads a body. */
  async textOf(response) {
    const reader = response.body.getReader()
    const decoder = new TextDecoder()
    for (let text = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      this.heard()
      text += decoder.decode(value, { stream: true })
    }
  }
}

/**
 * pause waits, shorter if one of the signals aborts (those that are undefined do not),
 * or, with online, when the browser says that it has a network again.
 */
export function pause(ms, clock, { signals = [], online = false } = {}) {
  return new Promise((resolve) => {
    const enough = signals.filter((s) => s)
    if (enough.some((s) => s.aborted)) return resolve()
    const done = () => {
      clock.clearTimeout(timer)
      for (const s of enough) s.removeEventListener('abort', done)
      globalThis.removeEventListener?.('online', done)
      resolve()
    }
    const timer = clock.setTimeout(done, ms)
    for (const s of enough) s.addEventListener('abort', done)
    if (online) globalThis.addEventListener?.('online', done)
  })
}
