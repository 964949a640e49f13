// What one has typed and not sent: it survives a reload and a crash of the browser. It is
// text that is kept, in clear, so no field that a schema marks as secret is given to it.
import { newKey } from '../client/client.js'
import { signal } from './html.js'
import { server } from './session.js'
import { words } from './text.js'

// The bounds of what is kept. Browsers give a site about 5 Mi characters.
export const most = 50
export const longest = 256 << 10 // characters of one
const oldest = 30 * 24 * 3600_000

const all = 'holon.draft.'
const open = new Map()

const keyOf = name => `${all}${server.value?.log_id || ''}.${name}`

// draft returns a text that is kept under a name, such as a thread's id: {value, set}.
//
// A text that was sent and not answered may have taken effect. So it keeps what it was sent
// as: sent is {as, key}, null if it was not sent. To send it again with the same key does
// nothing a second time. Another text is another matter.
export function draft(name) {
  const key = keyOf(name)
  let s = open.get(key)
  if (!s) {
    const { text = '', sent = null } = load(key) || {}
    open.set(key, s = signal({ text, sent }))
    if (open.size > most) open.delete(open.keys().next().value)
  }
  const take = now => {
    s.value = now
    save(key, now.text && { text: now.text, sent: now.sent || undefined })
  }
  return {
    get value() { return s.value.text },
    get sent() { return s.value.sent },
    set(text) { take({ text, sent: text === s.value.text ? s.value.sent : null }) },
    // send notes that the text is sent as what as says.
    send(as) {
      const sent = { as, key: newKey() }
      take({ text: s.value.text, sent })
      return sent
    },
    // refused notes that it certainly had no effect.
    refused() { take({ text: s.value.text, sent: null }) },
  }
}

// wordsOf says why a text was not taken.
export const wordsOf = error => error.kind === 'unanswered' ? 'The server has not answered. Your text stays here; send it again: it arrives once.' : words(error)

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
