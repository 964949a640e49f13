// As much of a document as preact needs, for tests without a browser.
class Node {
  childNodes = []
  parentNode = null
  listeners = {}
  attributes = []

  get firstChild() { return this.childNodes[0] || null }
  get nextSibling() {
    const all = this.parentNode?.childNodes || []
    return all[all.indexOf(this) + 1] || null
  }

  insertBefore(child, before) {
    child.remove()
    const i = before ? this.childNodes.indexOf(before) : -1
    this.childNodes.splice(i < 0 ? this.childNodes.length : i, 0, child)
    child.parentNode = this
    return child
  }

  appendChild(child) { return this.insertBefore(child, null) }
  removeChild(child) { child.remove(); return child }
  replaceChildren() { for (const c of [...this.childNodes]) c.remove() }
  contains(other) { return other === this || this.childNodes.some(c => c.contains(other)) }

  remove() {
    if (this.parentNode) this.parentNode.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1)
    this.parentNode = null
  }

  get textContent() { return this.nodeType === 3 ? this.data : this.childNodes.map(c => c.textContent).join('') }
}

class Element extends Node {
  nodeType = 1
  style = {}
  disabled = false
  value = ''
  checked = false
  constructor(name) {
    super()
    this.localName = this.nodeName = name
  }

  setAttribute(name, value) {
    this.removeAttribute(name)
    this.attributes.push({ name, value: String(value) })
  }

  getAttribute(name) { return this.attributes.find(a => a.name === name)?.value ?? null }
  removeAttribute(name) { this.attributes = this.attributes.filter(a => a.name !== name) }
  addEventListener(name, f) { this.listeners[name] = f }
  removeEventListener(name) { delete this.listeners[name] }
  focus() {}

  // fire is an event as preact takes it.
  fire(type, more = {}) {
    const event = { type, target: this, currentTarget: this, preventDefault() {}, ...more }
    return this.listeners[type]?.call(this, event)
  }

  all(name) { return this.childNodes.flatMap(c => c.nodeType === 1 ? [...(c.localName === name ? [c] : []), ...c.all(name)] : []) }
}

class Text extends Node {
  nodeType = 3
  constructor(text) {
    super()
    this.data = text
  }
}

const heard = {}
const body = new Element('body')
globalThis.document = {
  hidden: false, body, documentElement: { dataset: {} }, getElementById: () => null,
  addEventListener: (name, f) => { (heard[name] ||= []).push(f) }, fire: name => { for (const f of heard[name] || []) f() },
  createElement: name => new Element(name), createElementNS: (_, name) => new Element(name), createTextNode: text => new Text(text),
}

export const place = () => body.appendChild(new Element('div'))

// drawn waits until preact has drawn and run its effects.
export const drawn = () => new Promise(resolve => setTimeout(resolve, 150))
