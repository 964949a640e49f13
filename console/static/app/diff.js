// A change of a file as a diff with counts. Control characters are shown, because a person
// approves the change. Equal lines are left out, except some around each change.
import { html, useMemo } from './html.js'
import { literal } from './text.js'

const around = 3
// Above this the middle is shown as all removed and all added: comparing takes lines².
const mostCompared = 1000
const mostShown = 600

// compare returns all lines as [{sign: ' ' | '-' | '+', text}].
export function compare(before, after) {
  // If all lines end with CR LF, the CR is not shown.
  const windows = [before, after].every(text => !text || !/(^|[^\r])\n/.test(text))
  const a = linesOf(before, windows), b = linesOf(after, windows)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const middle = longest(a.slice(head, a.length - tail), b.slice(head, b.length - tail))
  return [...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)]
}

const same = text => ({ sign: ' ', text })
const linesOf = (text, windows) => text === undefined || text === null || text === '' ? [] : String(text).replace(windows ? /\r\n$/ : /\n$/, '').split(windows ? '\r\n' : '\n')

function longest(a, b) {
  const all = () => [...a.map(text => ({ sign: '-', text })), ...b.map(text => ({ sign: '+', text }))]
  if (!a.length || !b.length || a.length > mostCompared || b.length > mostCompared) return all()
  const width = b.length + 1
  const table = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1])
    }
  }
  const out = []
  let i = 0, j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push(same(a[i])); i++; j++ }
    else if (i < a.length && (j === b.length || table[(i + 1) * width + j] >= table[i * width + j + 1])) out.push({ sign: '-', text: a[i++] })
    else out.push({ sign: '+', text: b[j++] })
  }
  return out
}

// folded replaces equal lines that are not near a change by one line with the sign '…'.
function folded(lines) {
  const near = lines.map(() => false)
  lines.forEach((l, i) => {
    if (l.sign === ' ') return
    for (let k = Math.max(0, i - around); k <= Math.min(lines.length - 1, i + around); k++) near[k] = true
  })
  const out = []
  lines.forEach((l, i) => {
    if (near[i]) out.push(l)
    else if (i === 0 || near[i - 1]) out.push({ sign: '…', text: '' })
  })
  return out
}

const operations = { add: 'new', create: 'new', delete: 'deleted', move: 'moved', update: 'changed', modify: 'changed' }

export function Diff({ change, open }) {
  const lines = useMemo(() => compare(change.old_text, change.new_text), [change.old_text, change.new_text])
  const added = lines.filter(l => l.sign === '+').length, removed = lines.filter(l => l.sign === '-').length
  const shown = folded(lines)
  const name = change.old_path && change.old_path !== change.path ? `${literal(change.old_path)} → ${literal(change.path)}` : literal(change.path)
  return html`<details class="diff" open=${open}>
    <summary><code>${name}</code> <span class="quiet">${operations[change.operation] || change.operation}</span> <ins>+${added}</ins> <del>−${removed}</del></summary>
    ${shown.length > 0 && html`<pre tabindex="0" aria-label=${'Changes of ' + name}>${shown.slice(0, mostShown).map(l => html`<span class="line" data-sign=${l.sign}>${l.sign} ${literal(l.text)}${'\n'}</span>`)}</pre>`}
    ${shown.length > mostShown && html`<p class="quiet">and ${shown.length - mostShown} more lines</p>`}
  </details>`
}
