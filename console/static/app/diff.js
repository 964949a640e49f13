// A change of a file as a diff with counts. Control characters are shown, because a person
// approves the change. Equal lines are left out, except some around each change.
import { html, useMemo } from './html.js'
import { literal } from './text.js'
import { compare, more } from './question.js'

const mostShown = 600

const signs = { added: '+', removed: '-', same: ' ', gap: '⋯', note: '!' }

// Lines are lines of a diff.
export const Lines = ({ lines, label }) => html`<pre tabindex="0" aria-label=${label}>${lines.map(l => html`<span class="line" data-sign=${signs[l.kind]}>${signs[l.kind]} ${l.text}${'\n'}</span>`)}</pre>`

const operations = { add: 'new', create: 'new', delete: 'deleted', move: 'moved', update: 'changed', modify: 'changed' }

export function Diff({ change, open }) {
  const { added, removed, lines } = useMemo(() => compare(change.old_text ?? '', change.new_text ?? ''), [change.old_text, change.new_text])
  const name = change.old_path && change.old_path !== change.path ? `${literal(change.old_path)} → ${literal(change.path)}` : literal(change.path)
  return html`<details class="diff" open=${open}>
    <summary><code>${name}</code> <span class="quiet">${operations[change.operation] || change.operation}</span> <ins>+${added}</ins> <del>−${removed}</del></summary>
    ${lines.length > 0 && html`<${Lines} lines=${lines.slice(0, mostShown)} label=${'Changes of ' + name} />`}
    ${lines.length > mostShown && html`<p class="quiet">${more(lines.length - mostShown)}</p>`}
  </details>`
}
