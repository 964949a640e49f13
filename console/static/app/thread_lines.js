// The timeline of a thread.
import { html, useEffect, useLayoutEffect, useMemo, useRef } from './html.js'
import { Row } from './items.js'
import { Since } from './parts.js'
import { clean, cut, oneLine, plural } from './text.js'

// byHand is how long, in milliseconds, after a wheel, a touch, a key or a pointer a scroll is
// the user's. It is long because a slow device scrolls late.
const byHand = 5000

// Lines is the timeline. It follows the end until the user scrolls up, whatever else changes
// its size or its place, and keeps its position when older entries are added.
export function Lines({ loader }) {
  const box = useRef(null)
  const place = useRef(null)
  const hand = useRef({ at: -byHand, top: 0 }) // when the user did something here, and how far it is scrolled
  // The browser tells of a scroll when the frame is drawn, of all of them at once. So where the
  // page itself has scrolled to is noted, and before it does so again it looks where the user is.
  const scrollTo = (el, top) => {
    el.scrollTop = top
    hand.current.top = el.scrollTop
  }
  const leaves = (el, now) => {
    const up = el.scrollTop < hand.current.top && now - hand.current.at < byHand && below(el) >= 4
    hand.current.top = el.scrollTop
    if (up) loader.timeline.follows = false
    return up
  }
  loader.version.value
  const t = loader.timeline
  const entries = (t?.entries || []).filter(e => !t.isQueued(e))
  const newest = useMemo(() => {
    const plans = new Map()
    for (const e of entries) if (e.item?.type === 'plan') plans.set(e.turn, e.key)
    return plans
  }, [loader.version.value])

  if (box.current && t?.follows) leaves(box.current, performance.now())
  // Remember the first visible row before the rows change, and put it back there afterwards.
  const first = entries[0]?.key
  if (box.current && t && !t.follows) {
    const el = topRow(box.current)
    place.current = el && { key: el.id, top: el.getBoundingClientRect().top }
  }
  useLayoutEffect(() => {
    const el = box.current
    if (!el || !t) return
    if (t.follows) scrollTo(el, el.scrollHeight)
    else if (place.current) {
      const row = document.getElementById(place.current.key)
      if (row) scrollTo(el, el.scrollTop + row.getBoundingClientRect().top - place.current.top)
    }
  })

  // A question, or the keyboard of a phone, makes the timeline smaller.
  useEffect(() => {
    const sizes = new ResizeObserver(([{ target }]) => {
      if (!loader.timeline?.follows) return
      if (leaves(target, performance.now())) loader.version.value++
      else scrollTo(target, target.scrollHeight)
    })
    sizes.observe(box.current)
    return () => sizes.disconnect()
  }, [loader])

  const touched = e => { hand.current.at = e.timeStamp }
  function scrolled(event) {
    const el = box.current
    if (!t) return
    const before = t.follows
    const follows = !leaves(el, event.timeStamp) && !t.newer && (before || below(el) < 40)
    if (before !== follows) {
      t.follows = follows
      loader.version.value++
    }
    if (el.scrollTop < 300) loader.older()
    else if (below(el) < 300 && t.newer) loader.newer()
  }
  const turn = t?.active()
  return html`<div class="lines" ref=${box} tabindex="0" role="region" aria-label="Timeline" onScroll=${scrolled}
    onWheel=${touched} onTouchStart=${touched} onTouchMove=${touched} onKeyDown=${touched} onPointerDown=${touched} onPointerMove=${e => { if (e.buttons) touched(e) }}>
    ${t?.older && html`<p class="quiet edge"><button type="button" class="small" onClick=${() => loader.older()}>${loader.busy.value === 'older' ? 'reading …' : 'Show older'}</button></p>`}
    ${!entries.length && html`<p class="quiet">Nothing has happened yet.</p>`}
    ${entries.map((e, i) => html`${e.item && stepOf(e) !== stepOf(entries[i - 1], e.turn) && html`<p class="step quiet" key=${'step-' + e.key}>${stepOf(e) ? `Step ${clean(stepOf(e))}${e.item.epoch > 1 ? `, try ${e.item.epoch}` : ''}` : 'after the steps'}</p>`}<div class="row" id=${'row-' + e.key} key=${e.key}><${Row} entry=${e} version=${e.version} newestPlan=${newest.get(e.turn) === e.key} /></div>`)}
    ${t?.newer ? html`<p class="edge"><button type="button" onClick=${() => loader.newer()}>Show newer</button></p>`
      : turn && html`<p class="progress" data-state=${turn.state}>${turn.state === 'active' && html`<span class="pulse" aria-hidden="true"></span> `}${progress(turn)}</p>`}
    ${t && !t.newer && html`<${Queue} loader=${loader} rows=${t.queue()} />`}
    ${t && !t.follows && html`<p class="jump"><button type="button" onClick=${() => {
      t.follows = true
      t.newer ? loader.end() : loader.version.value++
    }}>↓ Follow the end</button></p>`}
  </div>`
}

// Queue shows the turns that wait for a place, the next one first.
function Queue({ loader, rows }) {
  const textOf = turn => loader.timeline.promptOf(turn.turn_id) || loader.prompts.value.get(turn.turn_id) || turn.title || ''
  useEffect(() => { for (const turn of rows) if (!textOf(turn)) loader.readPrompt(turn.turn_id) }, [rows.map(turn => turn.turn_id).join()])
  if (!rows.length) return null
  return html`<section class="queue" aria-label="Queue"><h2>In the queue <span class="quiet">${rows.length}</span></h2>
    <ol>${rows.map(turn => html`<li key=${turn.turn_id}>${cut(oneLine(textOf(turn)), 200) || html`<span class="soon" />`} <span class="quiet">for <${Since} at=${turn.queued_at} /></span></li>`)}</ol></section>`
}

// holds say why the first turn of a queue does not start.
const holds = { paused: 'Paused: no turn starts until the thread is resumed.', capacity: 'As many turns run as the server allows. The next one starts when one of them ends.' }

// stepOf is the step of an entry, '' if it is in none. An entry of another turn is in none.
const stepOf = (e, turn) => e?.item && (turn === undefined || e.turn === turn) ? e.item.step || '' : ''

// below is how many pixels of a box are below what is visible.
const below = el => el.scrollHeight - el.scrollTop - el.clientHeight

// topRow is the first row that is visible.
function topRow(box) {
  const top = box.getBoundingClientRect().top
  for (const el of box.querySelectorAll('.row')) if (el.getBoundingClientRect().bottom > top) return el
  return null
}

function progress(t) {
  if (t.state === 'queued') return holds[t.reason] || 'The next turn starts now.'
  if (t.retry_at) return html`The next attempt begins at ${new Date(t.retry_at).toLocaleTimeString()}.`
  const what = { starting: 'starting', waiting: t.waits_for?.length ? `waiting for ${plural(t.waits_for.length, 'child turn')}` : 'waiting for an answer', interrupting: 'interrupting' }[t.progress] || 'working'
  return html`${what}${t.progress_message ? ': ' + cut(oneLine(t.progress_message), 200) : ''}${t.attempt > 1 ? ` (attempt ${t.attempt})` : ''} <span class="quiet"><${Since} at=${t.started_at || t.queued_at} /></span>`
}
