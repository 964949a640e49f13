// The rows that one sees are read again every two seconds, as long as something happens there:
// the words of a message that an agent is writing are in no event of the overview.
import { listen, stream } from './live.js'
import { readSight, statusOf, thread } from './threads.js'

const every = 2000
const mostRows = 50

export const rowsInSight = () => [...document.querySelectorAll('[data-thread]')].filter(el => {
  const { top, bottom } = el.getBoundingClientRect()
  return bottom > 0 && top < innerHeight && el.checkVisibility()
}).slice(0, mostRows).map(el => el.dataset.thread)

const works = id => thread(id) && statusOf(thread(id)) === 'working'

// watchRows begins to read again.
export function watchRows() {
  let changed = false, reading = false
  listen(events => { changed ||= events.some(e => e.params.thread_id && e.method !== 'item/delta') })
  setInterval(async () => {
    if (reading || stream.value.state !== 'connected') return
    const ids = document.hidden ? [] : rowsInSight()
    if (!changed && !ids.some(works)) return
    changed = false
    reading = true
    try {
      await readSight(ids)
    } catch {
      changed = true // the next time reads it
    }
    reading = false
  }, every)
}
