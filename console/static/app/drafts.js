// What one has typed and not sent: it survives a reload and a crash of the browser.
import { signal } from './html.js'
import { server } from './session.js'

const most = 50
const open = new Map()

const keyOf = name => `holon.draft.${server.value?.log_id || ''}.${name}`

// draft returns {value, set} of a text that is kept under a name, such as a thread's id.
export function draft(name) {
  const key = keyOf(name)
  let s = open.get(key)
  if (!s) {
    open.set(key, s = signal(load(key)))
    if (open.size > most) open.delete(open.keys().next().value)
  }
  return {
    get value() { return s.value },
    set(text) {
      s.value = text
      save(key, text)
    },
  }
}

function load(key) {
  try {
    return JSON.parse(localStorage.getItem(key))?.text || ''
  } catch {
    return ''
  }
}

function save(key, text) {
  try {
    if (!text) return localStorage.removeItem(key)
    localStorage.setItem(key, JSON.stringify({ at: Date.now(), text }))
    const kept = Object.keys(localStorage).filter(k => k.startsWith('holon.draft.'))
    if (kept.length > most) {
      const at = k => { try { return JSON.parse(localStorage.getItem(k)).at || 0 } catch { return 0 } }
      kept.sort((a, b) => at(a) - at(b))
      for (const k of kept.slice(0, kept.length - most)) localStorage.removeItem(k)
    }
  } catch { /* the storage is full or forbidden: the text is in the field only */ }
}
