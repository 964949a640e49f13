// Small parts that several pages use.
import { html, signal, useEffect, useLayoutEffect, useMemo, useRef, useState } from './html.js'
import { forget, keepFields, keptFields } from './drafts.js'
import { isOver, signOf, wordOf } from './states.js'
import { clock, exact, span, words } from './text.js'

// now is the time, for texts that say how long something takes. It changes once a second, and
// not while the page is hidden.
export const now = signal(Date.now())
setInterval(() => { if (!document.hidden) now.value = Date.now() }, 1000)
document.addEventListener('visibilitychange', () => { now.value = Date.now() })

export const Since = ({ at }) => html`<time datetime=${at} title=${exact(at)}>${span(now.value - Date.parse(at))}</time>`
export const At = ({ at }) => html`<time datetime=${at} title=${exact(at)}>${clock(at)}</time>`

// Mark shows a state as a sign and a word, so that nobody needs to see the colour.
export const Mark = ({ state, bare }) => html`<span class="mark" data-state=${state}>
  <span aria-hidden="true">${signOf(state)}</span>${bare ? html`<span class="aside">${wordOf(state)}</span>` : html` ${wordOf(state)}`}</span>`

// Stands is the state of a thread, and for how long it has been in it.
export const Stands = ({ state, at }) => html`<${Mark} state=${state} /> <${Since} at=${at} />${isOver(state) ? ' ago' : ''}`

// Changed are added and removed lines.
export const Changed = ({ of }) => html`<ins>+${of.added}</ins> <del>−${of.removed}</del>`

export const Failure = ({ error, children }) => error ? html`<p class="failure" role="alert">${words(error)} ${children}</p>` : null

// useOnce returns whether an action runs, and a function that starts one unless it does. A
// second press can come before the page is drawn again, so a ref decides, not the state.
export function useOnce() {
  const running = useRef(false)
  const [busy, setBusy] = useState(false)
  return [busy, async f => {
    if (running.current) return
    running.current = true
    setBusy(true)
    try {
      await f()
    } finally {
      running.current = false
      setBusy(false)
    }
  }]
}

// deadFor is how long a button that is new, or has moved, does nothing: a click or a key that
// was meant for something else must not press it.
const deadFor = 500

// useSettled reports whether buttons may be pressed: what shape describes, which is the set of
// them and what they act on, has been the same for deadFor. With at, a ref to the element that
// has them, its place on the screen has been the same too.
export function useSettled(shape, { ready = true, at } = {}) {
  const [place, setPlace] = useState('')
  const [alive, setAlive] = useState(null)
  const now = `${shape} ${place}`
  useLayoutEffect(() => {
    const el = at?.current
    if (!el) return
    const look = () => {
      const { left, top } = el.getBoundingClientRect()
      setPlace(`${Math.round(left)},${Math.round(top)}`)
    }
    // Whatever moves the element changes the size of something around it.
    const sizes = new ResizeObserver(look)
    for (let box = el; box; box = box.parentElement) sizes.observe(box)
    return () => sizes.disconnect()
  }, [])
  useEffect(() => {
    if (!ready) return
    const timer = setTimeout(() => setAlive(now), deadFor)
    return () => clearTimeout(timer)
  }, [now, ready])
  return alive === now
}

// useAct returns how something is changed at the server: act(f) runs f unless another one runs,
// and error is why the last one failed.
export function useAct() {
  const [busy, once] = useOnce()
  const [error, setError] = useState(null)
  const act = f => once(async () => {
    setError(null)
    try {
      await f()
    } catch (e) {
      setError(e)
    }
  })
  return { busy, error, act }
}

// Act is a button that changes something at the server. It is disabled until the answer has
// come, and an error is shown beside it.
export function Act({ run, children, kind, label, disabled, done }) {
  const { busy, error, act } = useAct()
  const [ok, setOk] = useState(false)
  const press = () => act(async () => {
    await run()
    if (done) setOk(true)
  })
  return html`<span class="act"><button type="button" class=${kind || ''} aria-label=${label} disabled=${busy || disabled} onClick=${press}>${children}</button>${
    error ? html`<span class="failure" role="alert"> ${words(error)}</span>` : ok ? html`<span class="quiet" role="status"> ${done}</span>` : null}</span>`
}

// Ask is a button that first asks for a reason or a value, below it. draft is where a text
// that one takes time for is kept until it is sent: its name, and what it is about.
export function Ask({ children, title, label, run, kind, value = '', type = 'text', hint, needed = true, longest = 400, draft, disabled }) {
  const kept = useMemo(() => draft && keptFields(...draft, 1)?.[0], [])
  const [open, setOpen] = useState(kept ? 'kept' : '')
  const [text, setText] = useState(kept || value)
  const { busy, error, act } = useAct()
  const field = useRef(null)
  useEffect(() => { if (open === 'pressed') field.current?.focus() }, [open])
  const button = html`<button type="button" class=${kind || ''} aria-expanded=${Boolean(open)} disabled=${disabled || Boolean(open)} onClick=${() => { setText(value); setOpen('pressed') }}>${children}</button>`
  if (!open) return button
  function close() {
    setOpen('')
    if (draft) forget(draft[0])
  }
  function write(now) {
    setText(now)
    if (draft) now ? keepFields(...draft, [now]) : forget(draft[0])
  }
  function submit(event) {
    event.preventDefault()
    act(async () => {
      await run(text.trim())
      close()
    })
  }
  return html`${button}<form class="ask" onSubmit=${submit} onKeyDown=${e => { if (e.key === 'Escape') close() }}>
    <label>${title}<input ref=${field} type=${type} value=${text} required=${needed} placeholder=${hint || ''} maxlength=${longest} onInput=${e => write(e.target.value)} /></label>
    <button class="first" disabled=${busy}>${label || children}</button>
    <button type="button" onClick=${close}>Cancel</button>
    ${error && html`<span class="failure" role="alert">${words(error)}</span>`}
  </form>`
}

// Loading is what a page shows before its data has come.
export const Loading = ({ error }) => error ? html`<${Failure} error=${error} />` : html`<p class="quiet">reading …</p>`

export function Copy({ text, children }) {
  const [copied, setCopied] = useState(false)
  return html`<button type="button" class="small" onClick=${async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch { /* the browser forbids it */ }
  }}>${copied ? 'copied' : children}</button>`
}
