// Alerts for a user who looks elsewhere: the title of the tab, and desktop notifications
// while the page is open.
import { html, signal, computed, effect } from './html.js'
import { waits, known } from './waits.js'
import { sums } from './threads.js'
import { announce } from './announce.js'
import { cut } from './text.js'
import { go } from './router.js'

const supported = 'Notification' in globalThis && !matchMedia('(pointer: coarse)').matches
const permission = signal(supported ? Notification.permission : 'denied')

// needing is how many threads need somebody, as the badge says; an effect runs when it changes.
const needing = computed(() => sums.value.needs_you)

export const AlertsButton = () => permission.value !== 'default' ? null
  : html`<button type="button" class="small" onClick=${async () => { permission.value = await Notification.requestPermission() }}>Notify me</button>`

export function watch() {
  let told = null
  effect(() => {
    const n = needing.value
    document.title = n ? `(${n}) holon` : 'holon'
    const list = waits.value
    if (!known.value) return
    const fresh = told ? list.filter(w => !told.has(w.key)) : []
    told = new Set(list.map(w => w.key))
    for (const w of fresh.slice(0, 3)) {
      const title = cut(w.title(), 120)
      announce(`${w.says}: ${title}`)
      if (permission.peek() === 'granted' && document.hidden) {
        const note = new Notification(w.asks, { body: title, tag: w.key })
        note.onclick = () => { focus(); go('thread', w.thread); note.close() }
      }
    }
  })
}
