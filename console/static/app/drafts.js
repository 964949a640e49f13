// What one has typed and not sent: it survives a reload and a crash of the browser.
import { newKey } from '../client/client.js'
import { signal } from './html.js'
import { server } from './session.js'
import { words } from './text.js'

const most = 50
const open = new Map()

const keyOf = name => `holon.draft.${server.value?.log_id || ''}.${name}`

// draft returns a text that is kept under a name, such as a thread's id: {value, set}.
//
// A text that was sent and not answered may have taken effect. So it keeps what it was sent
// as: sent is {as, key}, null if it was not sent. To send it again with the same key does
// nothing a second time. Another text is another matter.
export function draft(name) {
  const key = keyOf(name)
  let s = open.get(key)
  if (!s) {
    open.set(key, s = signal(load(key)))
    if (open.size > most) open.delete(open.keys().next().value)
  }
  const take = now => {
    s.value = now
    save(key, now)
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

function load(key) {
  try {
    const { text, sent } = JSON.parse(localStorage.getItem(key))
    return { text: text || '', sent: sent || null }
  } catch {
    return { text: '', sent: null }
  }
}

function save(key, { text, sent }) {
  try {
    if (!text) return localStorage.removeItem(key)
    localStorage.setItem(key, JSON.stringify({ at: Date.now(), text, sent: sent || undefined }))
    const kept = Object.keys(localStorage).filter(k => k.startsWith('holon.draft.'))
    if (kept.length > most) {
      const at = k => { try { return JSON.parse(localStorage.getItem(k)).at || 0 } catch { return 0 } }
      kept.sort((a, b) => at(a) - at(b))
      for (const k of kept.slice(0, kept.length - most)) localStorage.removeItem(k)
    }
  } catch { /* the storage is full or forbidden: the text is in the field only */ }
}
