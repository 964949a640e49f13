// What the page would make of nodes: each element must be one that messages may have.
import assert from 'node:assert/strict'
import { html } from '../app/html.js'

const ours = html`<p></p>`.constructor

const elements = new Set(['div', 'p', 'pre', 'code', 'blockquote', 'hr', 'ul', 'ol', 'li', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'strong', 'em', 'del', 'br', 'a', 'span'])
const attributes = new Set(['class', 'role', 'aria-level', 'data-level', 'tabindex', 'start', 'scope', 'href', 'target', 'rel', 'title', 'children'])

// look walks through nodes; it returns their text, how many there are and the addresses.
export function look(node, out = { text: [], nodes: 0, links: [] }) {
  const todo = [node]
  while (todo.length) {
    const n = todo.pop()
    if (n === null || n === undefined || typeof n === 'boolean') continue
    if (Array.isArray(n)) {
      for (let i = n.length - 1; i >= 0; i--) todo.push(n[i])
      continue
    }
    out.nodes++
    if (typeof n !== 'object') {
      out.text.push(String(n))
      continue
    }
    assert.equal(n.constructor, ours, 'a node of preact, not data that looks like one')
    assert.ok(elements.has(n.type), `element ${String(n.type)}`)
    for (const [name, value] of Object.entries(n.props)) {
      assert.ok(attributes.has(name), `attribute ${name} of ${n.type}`)
      if (name === 'children') continue
      assert.ok(['string', 'number'].includes(typeof value), `${name} is ${typeof value}`)
      if (name === 'href') {
        out.links.push(value)
        assert.ok(/^(https?|mailto):/.test(value), `link to ${value}`)
        assert.match(n.props.rel, /noreferrer/)
      }
      if (name === 'class') assert.ok(['h', 'code', 'wide', 'plain', 'image', 'quiet', 'task'].includes(value), `class ${value}`)
    }
    todo.push(n.props.children)
  }
  return out
}
