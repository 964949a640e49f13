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
