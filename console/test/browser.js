// What the modules of the page expect of a browser before they can be imported.
const kept = new Map()
export const storage = {
  getItem: k => kept.get(k) ?? null, setItem: (k, v) => { kept.set(k, String(v)) }, removeItem: k => { kept.delete(k) },
}
Object.assign(globalThis, {
  addEventListener() {}, localStorage: storage, location: { origin: 'http://127.0.0.1:1', host: '127.0.0.1:1', hash: '', reload() {} },
  requestAnimationFrame: f => setTimeout(f, 0), cancelAnimationFrame: clearTimeout, matchMedia: () => ({ matches: false }),
})
globalThis.document ??= { hidden: false, addEventListener() {} }
// The page's clock must not keep a test from ending.
const every = setInterval
globalThis.setInterval = (...how) => every(...how).unref()
