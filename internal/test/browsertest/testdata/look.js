// What tests look at the page with. It is there before the page's own scripts.
globalThis.look = {
  // until resolves when f() is true; f is asked whenever the page changes and with each frame.
  until(f) {
    return new Promise(resolve => {
      let done = false
      const ask = () => {
        if (done) return
        let value
        try { value = f() } catch { /* what it asks for is not there yet */ }
        if (!value) return
        done = true
        changes.disconnect()
        resolve(true)
      }
      const frame = () => { ask(); if (!done) requestAnimationFrame(frame) }
      const changes = new MutationObserver(ask)
      changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
      frame()
    })
  },

  // find returns the first visible element of a selector whose text, label or value has a part.
  find(selector, text) {
    for (const el of document.querySelectorAll(selector)) {
      if (!el.checkVisibility({ visibilityProperty: true })) continue
      const has = [el.innerText, el.getAttribute('aria-label'), el.value].some(s => typeof s === 'string' && s.includes(text))
      if (!text || has) return el
    }
    return null
  },

  // target returns where an element can be pressed: it is enabled, in view, and on top.
  target(selector, text) {
    const el = look.find(selector, text)
    if (!el || el.disabled) return null
    el.scrollIntoView({ block: 'nearest', behavior: 'instant' })
    let box = el.getBoundingClientRect()
    if (!on(el, box)) {
      el.scrollIntoView({ block: 'center', behavior: 'instant' })
      box = el.getBoundingClientRect()
    }
    return on(el, box)
  },

  // still returns whether a target has stood still for a frame; aim is where it is then.
  still(selector, text) {
    const at = look.target(selector, text)
    const before = look.aim
    look.aim = at && { ...at, el: look.find(selector, text), frame: look.frame }
    if (!at || !before || before.el !== look.aim.el || before.x !== at.x || before.y !== at.y) return false
    look.aim.frame = before.frame
    if (look.frame < before.frame + 2) return false
    look.hit = undefined
    look.aim = { x: at.x, y: at.y, el: before.el, toJSON: () => at }
    return true
  },

  // wasHit resolves to whether the press since then has reached the target. In a document
  // that aims at nothing it has: the press has led there.
  async wasHit() {
    if (!look.aim) return true
    const end = look.frame + 30 // a tap becomes a click after a moment
    await look.until(() => look.hit !== undefined || look.frame > end)
    const hit = look.hit === true
    look.aim = undefined
    return hit
  },

  // wide returns what reaches beyond the side of the screen, without what scrolls in itself.
  wide() {
    const all = []
    const walk = el => {
      for (const child of el.children) {
        const style = getComputedStyle(child)
        const box = child.getBoundingClientRect()
        if (style.position !== 'absolute' && box.width > 0 && box.right > innerWidth + 1) all.push(`${child.tagName}.${child.className} to ${Math.round(box.right)} ${child.textContent.slice(0, 40)}`)
        if (!/auto|scroll|hidden/.test(style.overflowX)) walk(child)
      }
    }
    walk(document.body)
    if (document.documentElement.scrollWidth > innerWidth) all.push(`the page to ${document.documentElement.scrollWidth}`)
    return all.slice(0, 10)
  },

  // spread sets letters so far apart, as those of a wide font are.
  spread(width) {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`* { letter-spacing: ${width} }`)
    document.adoptedStyleSheets = [sheet]
  },

  // cut returns links and buttons that lie beyond the side of a box whose bar nobody sees.
  cut() {
    const all = []
    for (const box of document.querySelectorAll('*')) {
      if (getComputedStyle(box).scrollbarWidth !== 'none' || box.scrollWidth <= box.clientWidth) continue
      const end = box.getBoundingClientRect().right
      for (const el of box.querySelectorAll('a, button')) if (el.getBoundingClientRect().right > end + 1) all.push(el.textContent)
    }
    return all
  },

  // watchElements remembers what kinds of elements and attributes there are from now on;
  // strange returns those that no message may make.
  watchElements() {
    look.seen = new Set()
    const all = el => {
      if (el.nodeType !== 1) return
      for (const e of [el, ...el.querySelectorAll('*')]) {
        if (!plainElements.has(e.localName)) look.seen.add(e.localName)
        if (e.localName === 'a' && e.closest('article') && !/^(https?:|mailto:)/.test(e.href)) look.seen.add('a ' + e.href.slice(0, 60))
        if (e.localName === 'a' && e.closest('article') && !e.rel.includes('noreferrer')) look.seen.add('a with a referrer')
        for (const a of e.attributes) if (/^on|^style$|^srcdoc$|^formaction$/.test(a.name) || a.name === 'src' && !/favicon/.test(a.value)) look.seen.add(`${e.localName} ${a.name}`)
      }
    }
    const app = document.getElementById('app')
    all(app)
    new MutationObserver(changes => { for (const c of changes) { if (c.type === 'attributes') all(c.target); else c.addedNodes.forEach(all) } })
      .observe(app, { subtree: true, childList: true, attributes: true })
  },
  strange: () => [...look.seen],

  countFrames() { look.from = look.frame; look.began = performance.now() },
  framesSince: () => look.frame - look.from,
  secondsSince: () => (performance.now() - look.began) / 1000,

  // measureKeys measures from each key to the frame after the next, which has drawn it.
  measureKeys() {
    look.keys = []
    look.from = look.frame
    addEventListener('keydown', e => requestAnimationFrame(() => requestAnimationFrame(() => look.keys.push(performance.now() - e.timeStamp))), true)
  },

  // drawn returns whether the rows in the page are those of the page's view, with their
  // states, and with the texts of plain messages.
  drawn() {
    const rows = new Map([...document.querySelectorAll('.row > article.item')].map(a => [a.id.slice(2), a]))
    const view = holon.view()
    const squeezed = text => text.replace(/\s+/g, '')
    return rows.size === view.length && view.every(i => {
      const row = rows.get(i.item_id)
      if (row?.dataset.status !== i.status) return false
      if (i.type !== 'agent_message' || i.text.length > 30_000 || /[^A-Za-z0-9\s+,äöüï🙂]/u.test(i.text)) return true
      return squeezed(row.querySelector('.said').textContent) === squeezed(i.text)
    })
  },

  describe() {
    return JSON.stringify({ ...document.documentElement.dataset }) + ' ' + location.href + '\n' + (document.body?.innerText || '').slice(0, 3000)
  },
}

// on returns the middle of a box if the element is what is seen there.
function on(el, box) {
  const x = box.left + box.width / 2, y = box.top + Math.min(box.height / 2, 200)
  const seen = document.elementFromPoint(x, y)
  return seen && (el.contains(seen) || seen.contains(el) && seen.matches('label')) ? { x, y } : null
}

const plainElements = new Set(('a article blockquote body br button code del details div em footer form h1 h2 header hr img input ins label li main nav ol p pre section ' +
  'select option span strong summary table tbody td textarea th thead time tr ul').split(' '))

look.frame = 0
const count = () => { look.frame++; requestAnimationFrame(count) }
requestAnimationFrame(count)

look.until(() => document.documentElement.dataset.ready === 'true').then(() => { look.readyAt = performance.now() })

addEventListener('click', e => {
  const el = look.aim?.el
  if (el) look.hit = el.contains(e.target) || e.target.contains(el) && e.target.matches('label')
}, true)

look.violations = 0
addEventListener('securitypolicyviolation', e => {
  console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber} ${e.sample}`)
  look.violations++
})
