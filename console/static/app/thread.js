// The page of one thread: its timeline, its pending questions, and the input line.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './html.js'
import { change, may } from './session.js'
import { show } from './live.js'
import { Loader } from './thread_load.js'
import { Row } from './items.js'
import { Question } from './ask.js'
import { Composer } from './composer.js'
import { questions } from './questions.js'
import { thread as rowOf, close, isClosing, undoClose, readThreads } from './threads.js'
import { Act, Ask, Copy, Failure, Loading, Mark, Since } from './parts.js'
import { announceNew } from './announce.js'
import { WholeText } from './whole_text.js'
import { forget } from './drafts.js'
import { looks } from './overview.js'
import { clean, count, cut, endOf, money, oneLine, plural, shortPath, span } from './text.js'
import { to } from './router.js'
import { current } from './view.js'

export function Thread({ id }) {
  const loader = useMemo(() => new Loader(id), [id])
  useEffect(() => announceNew(loader), [loader])
  useEffect(() => {
    current.value = loader
    show(id)
    loader.load()
    readThreads(id)
    return () => {
      loader.close()
      if (current.value === loader) current.value = null
      show(null)
    }
  }, [loader])
  const [asText, setAsText] = useState(false)
  const t = loader.thread.value
  if (!t) return html`<div class="page"><${Loading} error=${loader.failed.value} />${loader.failed.value && html`<p><a href="#/">All threads</a> <button type="button" onClick=${() => loader.load()}>Try again</button></p>`}</div>`
  return html`<div class="page thread">
    <${Head} t=${t} loader=${loader} asText=${asText} setAsText=${setAsText} />
    <${Failure} error=${loader.failed.value} />
    ${asText ? html`<${WholeText} id=${id} />` : html`<${Lines} loader=${loader} />`}
    <${Waiting} id=${id} t=${t} />
    <${Composer} loader=${loader} t=${t} />
  </div>`
}

function Head({ t, loader, asText, setAsText }) {
  loader.version.value // the turns
  const s = rowOf(t.thread_id)?.summary
  const turn = loader.timeline?.active()
  const last = loader.timeline?.newestEnded()
  const title = oneLine(s?.title || t.title || '') || 'Untitled'
  const closed = t.state === 'closed' || t.state === 'closing'
  const closing = isClosing(t.thread_id)
  const review = last && `${last.turn_id} ${last.attempt} ${last.review?.state}`
  useEffect(() => { if (last && last.review?.state !== 'pending') forget(noteOf(t.thread_id)) }, [review])
  return html`<header class="head">
    <nav class="crumbs"><a href="#/">All threads</a>${t.parent && html` › <a href=${to('thread', t.parent.thread_id)}>parent</a>`}${t.forked_from && html` · fork of <a href=${to('thread', t.forked_from.thread_id)}>${t.forked_from.thread_id.slice(-8)}</a>`}</nav>
    <h1 title=${title}>${title}</h1>
    <p class="facts">
      ${s && html`<span><${Mark} state=${closed ? 'closed' : looks(s)} /> <${Since} at=${s.since} /></span>`}
      <span>${clean(t.agent)}</span>
      ${(s?.cwd || t.cwd) && html`<span class="wide-only" title=${clean(s?.cwd || t.cwd)}>${shortPath(s?.cwd || t.cwd)}</span>`}
      ${s?.git && html`<span>${oneLine(s.git.branch)} ${s.git.added || s.git.removed ? html`<ins>+${s.git.added}</ins> <del>−${s.git.removed}</del>` : null}</span>`}
      ${s?.spent && html`<span>${count(s.spent.total_tokens)} tokens${s.spent.cost ? ' · ' + money(s.spent.cost) : ''}</span>`}
      ${t.state === 'paused' && html`<span>paused</span>`}
      <a href=${to('inbox', t.thread_id)}>Inbox${rowOf(t.thread_id)?.inbox?.unacked ? ` (${rowOf(t.thread_id).inbox.unacked})` : ''}</a>
    </p>
    <p class="tools">
      ${may('work') && turn && !closed && html`<${Act} kind="danger" run=${() => change('turn/interrupt', { turn_id: turn.turn_id })}>Interrupt<//>`}
      ${may('work') && !turn && !closed && last && last.state !== 'completed' && !last.continued_by && html`<${Act} run=${() => change('turn/retry', { turn_id: last.turn_id })}>Retry<//>`}
      ${may('work') && !closed && (closing ? html`<span role="status">closing … <button type="button" onClick=${() => undoClose(t.thread_id)}>Undo</button></span>` : html`<${CloseButton} id=${t.thread_id} busy=${Boolean(turn)} />`)}
      <button type="button" aria-pressed=${asText} onClick=${() => setAsText(!asText)}>${asText ? 'Timeline' : 'Show all as text'}</button>
      <span class="wide-only"><${Copy} text=${t.thread_id}>Copy id<//></span>
    </p>
    ${may('work') && last?.review?.state === 'pending' && html`<${Review} key=${last.turn_id + last.attempt} turn=${last} />`}
    <${Children} loader=${loader} turn=${turn} />
  </header>`
}

// Closing a thread whose turn runs needs a confirmation, because it interrupts the turn.
function CloseButton({ id, busy }) {
  const [sure, setSure] = useState(false)
  if (!sure) return html`<button type="button" onClick=${() => busy ? setSure(true) : close(id)}>Close</button>`
  return html`<span role="group" aria-label="Close the thread?">The agent is still working. <button type="button" class="danger" onClick=${() => { setSure(false); close(id) }}>Interrupt and close</button> <button type="button" onClick=${() => setSure(false)}>Keep</button></span>`
}

// noteOf names what one has written about the newest end of a thread, and not sent.
const noteOf = id => 'review.' + id

function Review({ turn }) {
  const give = (verdict, note) => change('turn/review', { turn_id: turn.turn_id, attempt: turn.attempt, verdict, note: note || undefined })
  return html`<p class="review" role="group" aria-label="Review">The result waits for your review.
    <${Act} kind="first" run=${() => give('approved')}>Approve<//>
    <${Ask} title="What should be better?" draft=${[noteOf(turn.thread_id), `${turn.turn_id} ${turn.attempt}`]} run=${note => give('rejected', note)}>Reject<//>
    <${Act} kind="danger" run=${() => give('blocked')}>Block<//></p>`
}

function Children({ loader, turn }) {
  const rows = loader.children.value
  if (!rows.length) return null
  const working = rows.filter(c => c.state === 'active' || c.state === 'queued').length
  return html`<details class="children" open=${working > 0}><summary>${plural(rows.length, 'child turn')}${working ? `, ${working} at work` : ''}${turn?.waits_for?.length ? html` <span class="quiet">— this turn waits for ${turn.waits_for.length}</span>` : ''}</summary>
    <ul>${rows.map(c => html`<li key=${c.turn_id}><${Mark} state=${endOf(c)} bare /> <a href=${to('thread', c.thread_id)}>${cut(oneLine(c.title || c.message || ''), 100) || c.thread_id.slice(-8)}</a>${' '}
      <span class="quiet">${c.attention_policy === 'blocking_until_terminal' ? 'awaited' : 'in the background'}${c.error ? ' · ' + cut(oneLine(c.error.message), 120) : endOf(c) === 'early' ? ' · ' + cut(oneLine(c.stop_reason), 120) : ''}</span></li>`)}</ul></details>`
}

function Waiting({ id, t }) {
  const rows = questions.value.filter(q => q.thread_id === id)
  const cwd = rowOf(id)?.summary.cwd || t.cwd
  return rows.map(q => html`<${Question} key=${q.item_id} item=${q} cwd=${cwd} place=${rows.map(q => q.item_id).join()} />`)
}

// Lines is the timeline. It follows the end until the user scrolls up, and keeps its
// position when older entries are added.
function Lines({ loader }) {
  const box = useRef(null)
  const place = useRef(null)
  loader.version.value
  const t = loader.timeline
  const entries = t?.entries || []
  const newest = useMemo(() => {
    const plans = new Map()
    for (const e of entries) if (e.item?.type === 'plan') plans.set(e.turn, e.key)
    return plans
  }, [loader.version.value])

  // Remember the first visible row before the rows change, and put it back there afterwards.
  const first = entries[0]?.key
  if (box.current && t && !t.follows) {
    const el = topRow(box.current)
    place.current = el && { key: el.id, top: el.getBoundingClientRect().top }
  }
  useLayoutEffect(() => {
    const el = box.current
    if (!el || !t) return
    if (t.follows) el.scrollTop = el.scrollHeight
    else if (place.current) {
      const row = document.getElementById(place.current.key)
      if (row) el.scrollTop += row.getBoundingClientRect().top - place.current.top
    }
  })

  function scrolled() {
    const el = box.current
    if (!t) return
    const atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40
    if (t.follows !== (atEnd && !t.newer)) {
      t.follows = atEnd && !t.newer
      loader.version.value++
    }
    if (el.scrollTop < 300) loader.older()
    else if (el.scrollHeight - el.scrollTop - el.clientHeight < 300 && t.newer) loader.newer()
  }
  const turn = t?.active()
  return html`<div class="lines" ref=${box} tabindex="0" role="region" aria-label="Timeline" onScroll=${scrolled}>
    ${t?.older && html`<p class="quiet edge"><button type="button" class="small" onClick=${() => loader.older()}>${loader.busy.value === 'older' ? 'reading …' : 'Show older'}</button></p>`}
    ${!entries.length && html`<p class="quiet">Nothing has happened yet.</p>`}
    ${entries.map((e, i) => html`${e.item && stepOf(e) !== stepOf(entries[i - 1], e.turn) && html`<p class="step quiet" key=${'step-' + e.key}>${stepOf(e) ? `Step ${clean(stepOf(e))}${e.item.epoch > 1 ? `, try ${e.item.epoch}` : ''}` : 'after the steps'}</p>`}<div class="row" id=${'row-' + e.key} key=${e.key}><${Row} entry=${e} version=${e.version} newestPlan=${newest.get(e.turn) === e.key} /></div>`)}
    ${t?.newer ? html`<p class="edge"><button type="button" onClick=${() => loader.newer()}>Show newer</button></p>`
      : turn && html`<p class="progress" data-state=${turn.state}><span class="pulse" aria-hidden="true"></span> ${progress(turn)}</p>`}
    ${t && !t.follows && html`<p class="jump"><button type="button" onClick=${() => {
      t.follows = true
      t.newer ? loader.end() : loader.version.value++
    }}>↓ Follow the end</button></p>`}
  </div>`
}

// stepOf is the step of an entry, '' if it is in none. An entry of another turn is in none.
const stepOf = (e, turn) => e?.item && (turn === undefined || e.turn === turn) ? e.item.step || '' : ''

// topRow is the first row that is visible.
function topRow(box) {
  const top = box.getBoundingClientRect().top
  for (const el of box.querySelectorAll('.row')) if (el.getBoundingClientRect().bottom > top) return el
  return null
}

function progress(t) {
  if (t.state === 'queued') return 'The turn waits in the queue.'
  if (t.retry_at) return html`The next attempt begins at ${new Date(t.retry_at).toLocaleTimeString()}.`
  const what = { starting: 'starting', waiting: t.waits_for?.length ? `waiting for ${plural(t.waits_for.length, 'child turn')}` : 'waiting for an answer', interrupting: 'interrupting' }[t.progress] || 'working'
  return html`${what}${t.progress_message ? ': ' + cut(oneLine(t.progress_message), 200) : ''}${t.attempt > 1 ? ` (attempt ${t.attempt})` : ''} <span class="quiet"><${Since} at=${t.started_at || t.queued_at} /></span>`
}
