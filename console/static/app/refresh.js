// Rows that follow the log: an event says that they have changed, and they are read again,
// at most once in a while and never two times at once.
import { HolonError } from '../client/index.js'
import { signal } from './html.js'

const pause = 250
let busy = 0
// Whether some rows are older than the events that were handed out.
export const reading = signal(false)

// heals tells whether the same reading may succeed later. What is no answer of the protocol
// comes from something on the way, which passes.
export const heals = error => error instanceof HolonError && (error.code === 0 || error.retryable)

// refresher returns a function that asks for another reading. read is called with what was
// given to the calls since the last reading; least is how long it rests between two.
export function refresher(read, least = pause) {
  let asked = null, running = false, failed = 0
  async function run() {
    const what = asked
    asked = null
    running = true
    try {
      await read(what)
      failed = 0
    } catch (error) {
      // What the server refuses it refuses again: the next event, or visit, asks anew.
      if (!heals(error)) failed = 0
      else failed++
      if (failed) asked = new Set([...what, ...asked || []]) // also if nothing was named: all is read
    }
    setTimeout(() => {
      running = false
      if (asked) run()
      else if (--busy === 0) reading.value = false
    }, Math.max(least, Math.min(pause * 2 ** failed, 10_000)))
  }
  return (...what) => {
    const idle = !asked && !running
    asked ||= new Set()
    for (const w of what) asked.add(w)
    if (!idle) return
    if (busy++ === 0) reading.value = true
    setTimeout(run, 0)
  }
}
