// Rows that follow the log: an event says that they have changed, and they are read again,
// at most once in a while and never two times at once.
import { signal } from './html.js'

const pause = 250
let busy = 0
// Whether some rows are older than the events that were handed out.
export const reading = signal(false)

// refresher returns a function that asks for another reading. read is called with what was
// given to the calls since the last reading.
export function refresher(read) {
  let asked = null, running = false, failed = 0
  async function run() {
    const what = asked
    asked = null
    running = true
    try {
      await read(what)
      failed = 0
    } catch {
      failed++
      for (const w of what) (asked ||= new Set()).add(w)
    }
    setTimeout(() => {
      running = false
      if (asked) run()
      else if (--busy === 0) reading.value = false
    }, Math.min(pause * 2 ** failed, 10_000))
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
