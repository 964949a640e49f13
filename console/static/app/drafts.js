// What one has typed and not sent: it survives a reload and a crash of the browser. It is
// text that is kept, in clear, so no field that a schema marks as secret is given to it.
import { signal } from './html.js'
import { server } from './session.js'

// The bounds of what is kept. Browsers give a site about 5 Mi characters.
export const most = 50
export const longest = 256 << 10 // characters of one
const oldest = 30 * 24 * 3600_000

const all = 'holon.draft.'
const open = new Map()

const keyOf = name => `${all}${server.value?.log_id || ''}.${name}`

// draft returns {value, set} of a text that is kept under a name, such as a thread's id.
export function draft(name) {
  const key = keyOf(name)
  let s = open.get(key)
  if (!s) {
    open.set(key, s = signal(load(key)?.text || ''))
    if (open.size > most) open.delete(open.keys().next().value)
  }
  return {
    get value() { return s.value },
    set(text) {
      s.value = text
      save(key, text && { text })
    },
  }
}

// keptFields returns what keepFields was given for the same form, null if nothing is kept.
// form is all that says what the fields mean: what was typed into others fits no more.
export function keptFields(name, form, n) {
  const kept = load(keyOf(name))
  return kept?.form === form && Array.isArray(kept.typed) && kept.typed.length === n ? kept.typed : null
}

// keepFields keeps what was typed into the fields of a form; null for each that is not kept.
export const keepFields = (name, form, typed) => save(keyOf(name), { form, typed })

export const forget = name => save(keyOf(name), null)

// drafted are the names of what is kept for this server that begin so.
export function drafted(begin) {
  const key = keyOf(begin)
  return keys().filter(k => k.startsWith(key)).map(k => begin + k.slice(key.length))
}

function keys() {
  try {
    return Object.keys(localStorage).filter(k => k.startsWith(all))
  } catch {
    return [] // the browser keeps nothing
  }
}

function load(key) {
  try {
    const kept = JSON.parse(localStorage.getItem(key))
    return Date.now() - kept.at < oldest ? kept : null
  } catch {
    return null
  }
}

// save keeps a draft instead of what was kept of it; with null there is none any more.
function save(key, kept) {
  const text = kept ? JSON.stringify({ at: Date.now(), ...kept }) : ''
  try {
    if (!text || text.length > longest) return localStorage.removeItem(key)
    const begins = localStorage.getItem(key) === null
    localStorage.setItem(key, text)
    if (begins) forgetOld()
  } catch { /* the storage is full or forbidden: the text is in the field only */ }
}

// forgetOld forgets what is too old, and the oldest of too many.
function forgetOld() {
  const ages = keys().map(key => ({ key, at: load(key)?.at || 0 })).sort((a, b) => b.at - a.at)
  for (const [i, { key, at }] of ages.entries()) if (i >= most || !at) localStorage.removeItem(key)
}

forgetOld()
