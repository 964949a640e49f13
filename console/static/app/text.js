// Texts for numbers, times and errors. They become text nodes, so nothing here escapes HTML.
// Characters that reorder or hide text are made visible or removed.

// Escape sequences of terminals, up to a length: otherwise an agent could hide the rest of a
// text in a sequence that does not end.
const sequences = /(?:\u001b\[|\u009b)[ -?]{0,64}[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u0018\u001a\u001b\u009c\n\r]{0,4096}(?:[\u0007\u0018\u001a\u009c]|\u001b\\)?|\u001b[ -/]{0,64}[0-~]?/g
// Control characters, and characters that change the order of text. Joiners, variation
// selectors and the soft hyphen stay: scripts and emoji need them.
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g
// An emoji, which may consist of several joined symbols, or a character that is invisible or
// looks like a space, as U+2800 does.
const hidden = /(?!\u2800)\p{So}[\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:\u200d(?!\u2800)\p{So}[\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]*)*|[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}|\p{Z}|\u2800/gu
const emoji = /^(?!\u2800)\p{So}/u

// clean removes escape sequences, and control characters except tab and newline.
export function clean(text) {
  return String(text ?? '').replace(/\r\n?|[\u2028\u2029]/g, '\n').replace(sequences, '').replace(controls, '')
}

// oneLine is clean in one line.
export function oneLine(text) {
  return clean(text).replace(/\s+/g, ' ').trim()
}

// literal makes hidden characters visible instead of removing them: a person must see
// exactly what will run.
export function literal(text) {
  return String(text ?? '').replace(hidden, c => {
    const code = c.codePointAt(0)
    if (c === ' ' || emoji.test(c)) return c
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return `‹${code.toString(16).padStart(4, '0')}›`
  })
}

// cut shortens a text to n characters. It never splits a surrogate pair, and what was cut, here or
// by the server, does not end with a bracket or a quotation mark that opens nothing.
export function cut(text, n) {
  if (text.length > n) {
    let end = n - 1
    if (/[\ud800-\udbff]/.test(text[end - 1])) end--
    text = text.slice(0, end) + '…'
  }
  return text.replace(/(.)[\s([{“‘«]+…$/s, '$1…')
}

const plural = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`
export { plural }

// span is how long something took or takes, in one unit or two.
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`
  return plural(Math.floor(s / 86400), 'day')
}

// clock is a time of day in the reader's zone, with the date if it is not today.
export function clock(at, now = new Date()) {
  const d = new Date(at)
  if (isNaN(d)) return ''
  const time = d.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  return d.toDateString() === now.toDateString() ? time : `${d.toLocaleDateString([], { month: 'short', day: 'numeric' })}, ${time}`
}

// exact is a time to the second with its zone.
export function exact(at) {
  const d = new Date(at)
  return isNaN(d) ? '' : d.toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' }) + ' ' + Intl.DateTimeFormat().resolvedOptions().timeZone
}

export function count(n) {
  if (n < 1000) return String(n)
  if (n < 1e6) return (n / 1000).toFixed(n < 1e4 ? 1 : 0) + ' k'
  return (n / 1e6).toFixed(1) + ' M'
}

export function bytes(n) {
  if (n < 1000) return `${n} B`
  if (n < 1e6) return `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB`
  if (n < 1e9) return `${(n / 1e6).toFixed(1)} MB`
  return `${(n / 1e9).toFixed(1)} GB`
}

export function money(cost) {
  if (!cost) return ''
  try {
    return new Intl.NumberFormat([], { style: 'currency', currency: cost.currency }).format(cost.amount)
  } catch {
    return `${cost.amount.toFixed(2)} ${cost.currency}` // no currency of ISO 4217
  }
}

// shortPath is the end of a path, which distinguishes it from others.
export function shortPath(path) {
  const parts = oneLine(path).split('/').filter(Boolean)
  return parts.length > 2 ? '…/' + parts.slice(-2).join('/') : oneLine(path)
}

// shortId is the end of an id, which distinguishes it from others.
export const shortId = id => id.slice(-8)

// idHas reports whether a word in lower case that somebody looks for is of a thread's id, as the
// server does: a part of an id that a client has chosen, but of a generated one its beginning
// or its end, or the beginning of the end that lists show, at least 4 characters.
export function idHas(id, word) {
  const [, made] = /^thread_([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})$/.exec(id) || []
  if (!made) return id.toLowerCase().includes(word)
  const part = word.startsWith('thread_') ? word.slice(7) : word
  return part.length >= 4 && (made.startsWith(part) || part === word && (made.endsWith(part) || made.slice(-8).startsWith(part)))
}

// words says what an error means to a person, and what to do.
export function words(error) {
  switch (error?.kind) {
    case 'offline': return 'The server cannot be reached.'
    case 'unanswered': return 'The server has not answered. It may have happened all the same: look before you repeat it.'
    case 'unauthorized': return 'You are signed out.'
    case 'forbidden': return error.data?.role ? `This needs the role ${error.data.role}.` : 'You may not do this.'
    case 'already_resolved': return 'Somebody else has answered.'
    case 'turn_not_active': return 'The turn has ended.'
    case 'storage_full': return 'The disk of the server is full: nothing was changed. Make space, then try again.'
    case 'storage_failed': return 'The disk of the server has failed: nothing was changed. The server must be restarted.'
    case 'unavailable': return 'The server is starting or stopping. Try again.'
    case 'overloaded': if (error.data?.retryable !== false) return 'A queue of the server is full. Try again in a moment.'
  }
  const text = cut(oneLine(error?.message || error || 'unknown'), 300)
  return /[.!?…]$/.test(text) ? text : text + '.'
}

// stopsEarly reports whether a completed turn with this stop reason was cut short, as the
// server judges it (turns/stop_reason.go).
export const stopsEarly = reason => !['', 'end_turn', 'completed', 'stop', 'stop_sequence'].includes(reason ?? '')
