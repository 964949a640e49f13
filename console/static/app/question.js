// How a question is put into words and lines: the rules of the Go package question, with the
// same vectors. Nothing of the command, the input or the changed lines is joined or cut.
import { literal } from './text.js'
import { stringify } from '../client/json.js'

// How many characters of a command or a message are in the phrase.
const mostPhrase = 200
// The bound of a comparison: lines that differ of one text times those of the other.
const compared = 1 << 20
// How many equal lines are listed around a change.
const context = 3

// plain are the names of members that say no more than their text does once that is shown as the
// same thing. Under another name, and in another role, the same text is another matter.
const plain = new Map(Object.entries({
  command: ['command', 'cmd', 'script'], directory: ['cwd', 'workdir', 'directory'],
  path: ['path', 'file', 'file_path', 'filePath'], url: ['url'], words: ['description'],
}).flatMap(([role, names]) => names.map(name => [name, role])))

// wordsOf returns {phrase, lines: [{kind, text}]}. subject is the content of the item that the
// question is about.
export function wordsOf({ content, subject, cwd = '', unread, truncated }) {
  content = object(content) || {}
  subject = object(subject) || {}
  const about = object(content.subject) || {}
  const command = text(about.command) || text(subject.command)
  const place = text(about.cwd) || text(subject.cwd) || cwd
  const root = cwd || place // what paths are compared with
  const changes = changesOf(subject)
  const source = subject.input === undefined ? '' : stringify(subject.input)
  const said = [], exact = [], lines = [] // what the lines and the phrase have: in other blanks and letters, and character by character
  let phrase = '', rest = ''

  function put(kind, all) {
    for (const line of literal(all.replace(/\n$/, '')).split('\n')) lines.push({ kind, text: line })
  }
  const one = (kind, all) => lines.push({ kind, text: inOneLine(all) })
  // unshown is the JSON of an object without the plain members that are shown elsewhere, '' if no
  // member that is left has something to say. What is left keeps its source text and its order.
  const unshown = all => {
    let some = false
    const left = membersOf(all).filter(m => {
      const [name, v] = Object.entries(parsed(`{${m}}`))[0]
      if (typeof v === 'string' && plain.has(name) && exact.some(e => e.role === plain.get(name) && e.text === v)) return false
      return some ||= v !== '', true
    })
    return some ? '{' + left.join(',') + '}' : ''
  }
  const shows = (role, words) => exact.push({ role, text: words })
  const has = (role, words) => { said.push(normal(words)); shows(role, words) }

  function says(words) {
    const is = normal(words)
    const repeats = said.includes(is) || normal(phrase).includes(is)
    said.push(is)
    if (repeats || !is) return
    if (!object(parsed(words))) {
      shows('words', words)
      return put('says', words)
    }
    const left = unshown(words)
    if (left) put('input', layout(left))
  }

  // use says what is done with a tool, and to what: [verb, object, the role of that].
  function use(title) {
    const given = object(parsed(source)) || {}
    let kind = text(subject.kind)
    if (['read', 'edit', 'delete', 'move'].includes(kind)) {
      const where = text(list(subject.locations)[0]?.path) || text(given.path) || text(given.file_path) || text(given.filePath)
      if (where) {
        has('path', where)
        const [shown, outside] = placed(where, root)
        if (outside) kind += ' outside of its directory:'
        return [kind + ' ', shown, 'path']
      }
    } else if (kind === 'fetch' && text(given.url)) {
      return ['fetch ', given.url, 'url']
    }
    title ||= text(subject.title)
    const name = text(subject.name) || (/[ \t\n]/.test(title) ? '' : title), server = text(subject.server)
    if (!name) return ['', title, 'words']
    return ['use ', server && !name.includes(server) ? `${name} of ${server}` : name, 'words']
  }

  const isQuestion = content.type === 'question'
  if (!isQuestion && !command && changes.length) {
    for (const c of changes) [c.path, c.old_path].forEach(p => has('path', p))
    phrase = changesPhrase(changes, root)
  } else {
    let verb = '', what = text(content.title) || text(content.message), role = 'words'
    if (isQuestion) what = text(content.message) || what
    else if (command) [verb, what, role] = ['run ', command, 'command']
    else if (subject.type === 'tool_call') [verb, what, role] = use(what)
    what = what.replace(/\n+$/, '')
    const short = cut(role === 'words' ? fields(literal(what)) : inOneLine(what), mostPhrase)
    if (short !== literal(what)) rest = what
    phrase = verb + short
    if (!phrase.trim()) phrase = '(a question without words)'
    has(role, what)
    if (role === 'words' && !verb && !isQuestion) shows('command', what) // it is all that the person is asked to allow
  }

  if (rest) put(command && !isQuestion ? 'command' : 'message', rest)
  const called = text(subject.command)
  if (called && called !== command && !isQuestion) {
    one('note', 'The call that it is about has another command:')
    put('command', called)
    shows('command', called)
  }
  if (!isQuestion && place) {
    one('directory', 'in ' + place)
    shows('directory', place)
  }
  if (!isQuestion && text(subject.cwd) && text(subject.cwd) !== place) {
    one('note', 'The call that it is about has another directory: ' + subject.cwd)
    shows('directory', subject.cwd)
  }
  if (text(content.url)) {
    one('url', 'open ' + content.url)
    shows('url', content.url)
  }
  if (!isQuestion) {
    says(text(content.title))
    says(text(content.description))
    for (const c of changes) {
      const known = c.old_text !== undefined || c.new_text !== undefined
      if (!known && changes.length === 1) continue // the phrase has all that is known
      if (!known) {
        one('file', changePhrase(c, root))
        continue
      }
      const d = compare(c.old_text ?? '', c.new_text ?? '')
      one('file', `${changePhrase(c, root)} (+${d.added} −${d.removed})`)
      for (const l of d.lines) lines.push(l)
    }
    const left = ['', 'null', '{}', '[]', '""'].includes(source) ? '' : object(parsed(source)) ? unshown(source) : source
    if (left) put('input', layout(left))
  }
  if (unread) one('note', 'What it is about cannot be read.')
  else if (truncated) one('note', 'It was too long: the server has kept it without its middle.')
  return { phrase, lines }
}

// phraseOf is the phrase of a question of which only its content is known.
export const phraseOf = content => wordsOf({ content }).phrase

// continuations is how many turns continue a rejected one. After them a rejection is final.
const continuations = 3

// reviewOf puts the result of a turn that waits for a review into words, as wordsOf does a
// question: {phrase, lines, verdicts: [{verdict, name, kind, does, note}]}. early says that the
// turn completed without coming to its own end; note says that a verdict needs one.
export function reviewOf({ turn, early }) {
  const lines = [], failed = turn.state === 'failed'
  const put = (kind, all) => {
    for (const line of literal(all.replace(/\n$/, '')).split('\n')) lines.push({ kind, text: line })
  }
  const title = fields(literal(text(turn.title))), message = text(turn.message)
  const phrase = `review the ${failed ? 'failure' : 'result'}${title ? ` of “${cut(title, mostPhrase)}”` : ''}`
  if (failed) put('note', text(turn.error?.message) || text(turn.error?.kind) || 'It failed.')
  if (early) lines.push({ kind: 'note', text: inOneLine('It stopped early: ' + text(turn.stop_reason)) })
  put(...message.trim() ? ['message', message] : ['note', 'The agent said nothing.'])
  if (turn.message_truncated === true) put('note', 'The message was too long: its middle is left out here.')
  const does = turn.continuations >= continuations ? 'nothing follows: it was continued ' + counted(continuations, 'time') : 'the agent continues, and gets your note'
  return {
    phrase, lines, verdicts: [
      { verdict: 'approved', name: 'Approve', kind: 'allow_once', does: '', note: false },
      { verdict: 'rejected', name: 'Reject with a note', kind: 'reject_once', does, note: true },
      { verdict: 'blocked', name: 'Block', kind: 'reject', does: 'it is not done, and nothing follows', note: false },
    ],
  }
}

const object = v => v !== null && typeof v === 'object' && !Array.isArray(v) ? v : null
const text = v => typeof v === 'string' ? v : ''
const list = v => Array.isArray(v) ? v : []
const fields = all => all.split(/[ \t\n]+/).filter(Boolean).join(' ')
const normal = all => fields(literal(all).replace(/^[` ]+|[` ]+$/g, '')).toLowerCase()
const inOneLine = all => literal(all).replace(/\n/g, '⏎').replace(/\t/g, ' ')

function parsed(source) {
  try {
    return JSON.parse(source)
  } catch {
    return undefined
  }
}

function cut(all, n) {
  const characters = [...all]
  return characters.length > n ? characters.slice(0, n - 1).join('') + '…' : all
}

export const counted = (n, one) => `${String(n).replace(/\B(?=(\d{3})+$)/g, ',')} ${one}${n === 1 ? '' : 's'}`
// more says how many lines are not shown.
export const more = n => '… ' + counted(n, 'more line')

const verbs = { add: 'write', create: 'write', modify: 'edit', update: 'edit' }
const verbOf = operation => (Object.hasOwn(verbs, operation) && verbs[operation]) || operation || 'edit'

function changesPhrase(changes, cwd) {
  if (changes.length === 1) return changePhrase(changes[0], cwd)
  const verb = verbOf(changes[0].operation)
  return doneTo(changes.every(c => verbOf(c.operation) === verb) ? verb : 'change', changes[0].path, cwd) + ' and ' + counted(changes.length - 1, 'more file')
}

function changePhrase(c, cwd) {
  const done = doneTo(verbOf(c.operation), c.old_path || c.path, cwd)
  if (!c.old_path || c.old_path === c.path) return done
  const [to, outside] = placed(c.path, cwd)
  return `${done} to ${inOneLine(to)}${outside ? ', which is outside of its directory' : ''}`
}

function doneTo(verb, where, cwd) {
  const [shown, outside] = placed(where, cwd)
  return inOneLine(`${verb}${outside ? ' outside of its directory:' : ''} ${shown}`)
}

// placed is a path as it is shown, relative to the directory if it is in it, and whether it is
// outside of that. Links are not followed.
function placed(where, cwd) {
  const windows = /^.:[\\/]|^\\\\/.test(where)
  const target = clean(where.startsWith('/') || windows || !cwd ? where : cwd + '/' + where), dir = clean(cwd)
  if (target === '..' || target.startsWith('../')) return [where, true]
  if (!cwd.startsWith('/') || windows || dir === '/' || target === dir) return [where, false]
  if (!target.startsWith(dir + '/')) return [where, true]
  return [where === target ? target.slice(dir.length + 1) : where, false]
}

function clean(path) {
  const root = path.startsWith('/') ? '/' : '', parts = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..' || !root && (!parts.length || parts.at(-1) === '..')) parts.push(part)
    else parts.pop()
  }
  return root + parts.join('/') || '.'
}

// changesOf are the changes of an item: those of a file_change, else the diffs of a tool call.
export function changesOf(item) {
  const known = (...texts) => texts.find(t => typeof t === 'string')
  const changes = list(item.changes).map(c => object(c) || {}).map(c => ({ path: text(c.path), old_path: text(c.old_path), operation: text(c.operation), old_text: known(c.old_text), new_text: known(c.new_text) }))
  if (changes.length) return changes
  return list(item.content).filter(p => p?.type === 'diff').map(p => {
    const before = known(p.oldText, p.old_text)
    return { path: text(p.path), old_path: '', operation: before ? 'modify' : 'add', old_text: before, new_text: known(p.newText, p.new_text) }
  })
}

// compare returns {added, removed, lines}: how two texts differ, with some equal lines around.
// Hidden characters, and blanks at the end of a changed line, are visible in them. The
// carriage return is not shown if all lines of both texts end with one.
export function compare(before, after) {
  const crlf = [before, after].every(all => !/(^|[^\r])\n/.test(all))
  const a = linesOf(before, crlf), b = linesOf(after, crlf)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let endA = a.length, endB = b.length
  while (endA > head && endB > head && a[endA - 1] === b[endB - 1]) { endA--; endB-- }
  let all = []
  if (head < endA || head < endB) {
    all = [...a.slice(Math.max(0, head - context), head).map(same), ...script(a.slice(head, endA), b.slice(head, endB)), ...a.slice(endA, endA + context).map(same)]
  }
  const lines = squeeze(all).map(l => ({ kind: l.kind, text: ['added', 'removed'].includes(l.kind) ? blanksAtEnd(literal(l.text)) : literal(l.text) }))
  const had = before.endsWith('\n'), has = after.endsWith('\n')
  if (had !== has && before && after) lines.push({ kind: 'note', text: has ? 'A line feed is added at the end.' : 'The line feed at the end is removed.' })
  return { added: all.filter(l => l.kind === 'added').length, removed: all.filter(l => l.kind === 'removed').length, lines }
}

// blanksAtEnd makes blanks at the end of a line visible: they may be all that changes.
function blanksAtEnd(line) {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--
  return line.slice(0, end) + line.slice(end).replaceAll(' ', '␠').replaceAll('\t', '␉')
}

const same = text => ({ kind: 'same', text })

function linesOf(all, crlf) {
  if (!all) return []
  const end = crlf && all.includes('\r\n') ? '\r\n' : '\n'
  return (all.endsWith(end) ? all.slice(0, -end.length) : all).split(end)
}

// script is how a becomes b, by the longest common subsequence of their lines.
function script(a, b) {
  const removed = text => ({ kind: 'removed', text }), added = text => ({ kind: 'added', text })
  if (a.length * b.length > compared) return [...a.map(removed), ...b.map(added)]
  const width = b.length + 1
  const common = new Uint16Array((a.length + 1) * width) // at most 1,024: the smaller number of lines
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] = a[i] === b[j] ? common[(i + 1) * width + j + 1] + 1 : Math.max(common[(i + 1) * width + j], common[i * width + j + 1])
    }
  }
  const out = []
  let i = 0, j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push(same(a[i])); i++; j++ }
    else if (i < a.length && (j === b.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) out.push(removed(a[i++]))
    else out.push(added(b[j++]))
  }
  return out
}

// squeeze replaces long runs of equal lines by a gap that counts them.
function squeeze(lines) {
  const out = []
  for (let i = 0; i < lines.length;) {
    if (lines[i].kind !== 'same') {
      out.push(lines[i++])
      continue
    }
    let end = i
    while (end < lines.length && lines[end].kind === 'same') end++
    const n = end - i - 2 * context
    if (n > 1 && i > 0 && end < lines.length) out.push(...lines.slice(i, i + context), { kind: 'gap', text: counted(n, 'equal line') }, ...lines.slice(end - context, end))
    else out.push(...lines.slice(i, end))
    i = end
  }
  return out
}

// membersOf are the members of a JSON object, each with its name, in their source text.
function membersOf(source) {
  const out = []
  let depth = 0, from = 0
  const end = i => {
    if (source.slice(from, i).trim()) out.push(source.slice(from, i).trim())
    from = i + 1
  }
  for (let i = 0; i < source.length; i++) {
    const c = source[i]
    if (c === '"') {
      for (i++; source[i] !== '"' && i < source.length;) i += source[i] === '\\' ? 2 : 1
    } else if ('{['.includes(c)) {
      if (!depth++) from = i + 1
    } else if ('}]'.includes(c)) {
      if (!--depth) end(i)
    } else if (c === ',' && depth === 1) end(i)
  }
  return out
}

// layout lays out JSON in lines. All its tokens keep their source text; a line also ends behind
// each line feed that is written as \n in a string.
export function layout(source) {
  let out = '', depth = 0, opened = false
  const line = () => '\n' + '  '.repeat(depth)
  for (let i = 0; i < source.length; i++) {
    const c = source[i]
    if (/\s/.test(c)) continue
    if (opened && c !== '}' && c !== ']') {
      opened = false
      depth++
      out += line()
    }
    if (c === '"') {
      let end = i + 1
      while (source[end] !== '"' && end < source.length) end += source[end] === '\\' ? 2 : 1
      out += source.slice(i, end + 1).replace(/\\[^]/g, (escape, at, all) => escape === '\\n' && at + 3 < all.length ? escape + line() + '  ' : escape)
      i = end
    } else if (c === '{' || c === '[') {
      opened = true
      out += c
    } else if (c === '}' || c === ']') {
      if (!opened) {
        depth--
        out += line()
      }
      opened = false
      out += c
    } else {
      out += c + (c === ',' ? line() : c === ':' ? ' ' : '')
    }
  }
  return out
}

// allows reports whether an option of this kind lets the agent do what it asks for: every one
// that does not reject.
export const allows = kind => !text(kind).startsWith('reject')

// once reports whether choosing an option of this kind is an answer to this question alone, or
// lets nothing happen.
export const once = kind => kind === 'allow_once' || !allows(kind)

// widens says in words what an option allows or forbids beyond this one time, '' for nothing.
export function widens(kind) {
  const whose = '; the agent decides what counts as the same, and for how long'
  switch (kind) {
    case 'allow_always': return 'from now on the agent does this without asking' + whose
    case 'reject_always': return 'from now on the agent does not ask for this again' + whose
  }
  if (text(kind).endsWith('_always')) return 'this holds from now on, not only this time'
  return once(kind) ? '' : 'only the agent knows what this allows, and for how long'
}
