// What the modules of the page expect of a browser before they can be imported.
// As in a browser, what is stored is what the object has of its own.
class Storage {
  getItem(k) { return Object.hasOwn(this, k) ? this[k] : null }
  setItem(k, v) { this[k] = String(v) }
  removeItem(k) { delete this[k] }
}
export const storage = new Storage()
Object.assign(globalThis, {
  addEventListener() {}, scrollTo() {}, localStorage: storage, location: { origin: 'http://127.0.0.1:1', host: '127.0.0.1:1', hash: '', reload() {} },
  requestAnimationFrame: f => setTimeout(f, 0), cancelAnimationFrame: clearTimeout, matchMedia: () => ({ matches: false }),
})
// Node's own channel would keep a test from ending.
class Channel extends EventTarget {
  static all = []
  sent = 0
  constructor() {
    super()
    Channel.all.push(this)
  }
  postMessage() { this.sent++ }
}
globalThis.BroadcastChannel = Channel
globalThis.document ??= { hidden: false, addEventListener() {} }
// The page's clock must not keep a test from ending.
const every = setInterval
globalThis.setInterval = (...how) => every(...how).unref()
