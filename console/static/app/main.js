// The console: signs in, starts the stream, and draws the page that the address names.
import { html, render, signal, effect, useEffect, useRef } from './html.js'
import { options } from '../vendor/preact.js'
import { open, server, locked, may, limited } from './session.js'
import { follow, ended, cursor, stream } from './live.js'
import { reading } from './refresh.js'
import { route, takeCode, to } from './router.js'
import * as threads from './threads.js'
import * as questions from './questions.js'
import * as reviews from './reviews.js'
import * as restarts from './restarts.js'
import { Overview } from './overview.js'
import { Thread } from './thread.js'
import { Waiting } from './waiting.js'
import { Inbox } from './inbox.js'
import { Bridges } from './bridges.js'
import { Agents } from './agents.js'
import { Server } from './server_page.js'
import { SignIn } from './signin.js'
import { Offline, stateOf } from './stream_card.js'
import { OtherVersion, watchVersion } from './version.js'
import { Announcements } from './announce.js'
import { AlertsButton, watch } from './alerts.js'
import { counters } from './counters.js'
import { watchRows } from './sight.js'
import { current } from './view.js'
import { words } from './text.js'

const icon = new URL('../favicon.svg', import.meta.url).href
const code = signal(takeCode())
const failed = signal(null)
const ready = signal(false)

addEventListener('hashchange', () => {
  const another = takeCode()
  if (another) code.value = another
})

const pages = { overview: Overview, thread: Thread, waiting: Waiting, inbox: Inbox, bridges: Bridges, agents: Agents, server: Server }

// start signs in with the stored credential, loads the data, and follows the log from there.
async function start() {
  failed.value = null
  ended.value = null
  try {
    const first = await open()
    follow(first.log_id, first.latest_seq)
    restarts.load()
    await Promise.all([threads.load(), questions.load(), reviews.load()])
    ready.value = true
  } catch (error) {
    if (error.kind !== 'unauthorized') {
      failed.value = error
      setTimeout(() => { if (failed.value === error) start() }, 3000)
    }
  }
}

// The log was pruned, restored or replaced: the page cannot continue from its cursor.
effect(() => {
  if (!ended.value || locked.peek()) return
  if (['cursor_expired', 'log_changed', 'cursor_ahead'].includes(ended.value.kind)) location.reload()
})

function App() {
  const { page, id } = route.value
  // Users of keyboards and screen readers begin at the top of the new page.
  const at = useRef(page + id)
  useEffect(() => {
    if (at.current !== page + id) document.getElementById('main')?.focus({ preventScroll: true })
    at.current = page + id
  }, [page, id])
  if (code.value || locked.value || page === 'signin') {
    return html`<${SignIn} code=${code.value} done=${() => { code.value = ''; locked.value = null; start() }} />`
  }
  if (!server.value) return html`<main class="page"><p class="boot">${failed.value ? words(failed.value) + ' It is tried again.' : 'holon is opening …'}</p></main>`
  const Page = pages[page]
  return html`<a class="skip" href="#main" onClick=${e => { e.preventDefault(); document.getElementById('main').focus() }}>To the content</a>
    <${Bar} page=${page} />
    <${Offline} />
    <${OtherVersion} />
    <main id="main" tabindex="-1"><${Page} key=${page + id} id=${id} /></main>
    <${Announcements} />`
}

const names = [['overview', 'Threads'], ['waiting', 'Waiting'], ['inbox', 'Inbox'], ['bridges', 'Bridges'], ['agents', 'Agents'], ['server', 'Server']]

function Bar({ page }) {
  const { needs_you: n } = threads.sums.value
  const state = stateOf()
  return html`<header class="bar"><a class="brand" href="#/"><img src=${icon} alt="" width="20" height="20" />holon</a>
    <nav aria-label="Pages">${names.filter(([p]) => p !== 'bridges' || !limited()).map(([p, name]) => html`<a href=${to(p)} aria-current=${p === page ? 'page' : undefined}>${name}${p === 'waiting' && n ? html` <span class="badge">${threads.sumOf('needs_you')}</span>` : null}</a>`)}</nav>
    <span class="right"><${AlertsButton} /><a class="link-state" href=${to('server')} data-state=${state} title=${'stream: ' + state}><span class="dot" aria-hidden="true"></span><span class="aside">stream: ${state}</span></a></span></header>`
}

// What tests wait for: the seq up to which the page shows the log.
const root = document.documentElement
effect(() => {
  const { page } = route.value
  root.dataset.page = code.value || locked.value || page === 'signin' ? 'signin' : page
  root.dataset.stream = stateOf()
  root.dataset.ready = String(ready.value && (page !== 'thread' || Boolean(current.value?.thread.value)))
  if (!reading.value) root.dataset.seq = String(cursor.value)
})

// The page is drawn at most once in each frame.
options.debounceRendering = f => requestAnimationFrame(f)

const drawn = options.diffed
let drawing = false
options.diffed = vnode => {
  if (!drawing) {
    drawing = true
    counters.renders++
    queueMicrotask(() => { drawing = false })
  }
  drawn?.(vnode)
}

globalThis.holon = { counters, view: () => current.value?.timeline?.view(), cursor: () => cursor.value, stream: () => stream.value }

watch()
watchRows()
watchVersion()
const place = document.getElementById('app')
place.replaceChildren()
render(html`<${App} />`, place)
start()
