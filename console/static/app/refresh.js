// Rows that follow the log: when an event says that they have changed, they are read again,
// with a pause between two reads and never in parallel.
import { HolonError } from '../client/index.js'
import { signal } from './html.js'

const pause = 250
let busy = 0
// Whether rows are read or will be, so that they may be older than the events handed out.
export const reading = signal(false)

// heals reports whether the same read may succeed later. An error with code 0 is no answer of
// the server: it comes from the connection or a proxy.
export const heals = error => error instanceof HolonError && (error.code === 0 || error.retryable)

// refresher returns a function that asks for another read. read is called with the arguments
// of all calls since the last read; least is the shortest pause between two reads, in ms.
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
      // The server would refuse the same read again, so the next event or visit repeats it.
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
