// The overview: threads that need the user, that work, and that are done.
import { html, useState } from './html.js'
import { may, limited } from './session.js'
import { threads, groups, loaded, failed, more, full, loadMore, unseen, isClosing, undoClose } from './threads.js'
import { NewThread } from './new_thread.js'
import { Restarts } from './restarts.js'
import { Act, At, Changed, Failure, Loading, Mark, Since, now } from './parts.js'
import { clean, count, cut, money, oneLine, plural, shortPath, span } from './text.js'
import { to } from './router.js'

// mostRows bounds what the page draws.
const mostRows = 200

export function Overview() {
  const [filter, setFilter] = useState('')
  const [skip, setSkip] = useState(0) // how many rows, of those before the ones shown
  if (!loaded.value) return html`<${Loading} error=${failed.value} />`
  const wanted = filter.trim().toLowerCase()
  const passes = t => !wanted || [t.summary.title, t.agent, t.summary.cwd, t.summary.git?.branch, t.thread_id].some(s => s?.toLowerCase().includes(wanted))
  const matching = () => Object.values(groups.peek()).flat().filter(passes).length
  const g = groups.value, total = matching()
  let before = Math.min(skip, Math.floor(Math.max(0, total - 1) / mostRows) * mostRows) // fewer may match by now
  const first = before
  let room = mostRows
  const part = list => {
    const all = list.filter(passes), rows = all.slice(before, before + room)
    before = Math.max(0, before - all.length)
    room -= rows.length
    return rows
  }
  const waiting = part(g.waiting), working = part(g.working), done = part(g.done), closed = part(g.closed)
  const empty = !threads.value.size
  async function older() {
    if (matching() <= first + mostRows) await loadMore()
    if (matching() > first + mostRows) turn(first + mostRows)
  }
  function turn(to) {
    setSkip(to)
    scrollTo(0, 0)
  }
  return html`<div class="page overview">
    <${Restarts} />
    <${Sums} ...${g} />
    <div class="tools">
      <label class="filter"><span class="aside">Filter</span><input type="search" placeholder="Filter by title, agent, directory" value=${filter} onInput=${e => { setFilter(e.target.value); setSkip(0) }} /></label>
      <${NewThread} open=${empty} />
    </div>
    <${Failure} error=${failed.value} />
    ${empty && html`<p class="quiet">${may('work') ? 'No thread yet. Write what an agent should do.' : 'No thread yet.'}</p>`}
    ${first > 0 && html`<p><${Act} run=${() => turn(first - mostRows)}>Show newer threads<//> <span class="quiet">${first} newer</span></p>`}
    <${Group} name="Needs you" rows=${waiting} />
    <${Group} name="Working" rows=${working} />
    <${Group} name="Done" rows=${done} />
    ${closed.length > 0 && html`<details class="closed"><summary>Closed (${closed.length})</summary><${Cards} rows=${closed} /></details>`}
    ${wanted && total === 0 && html`<p class="quiet">Nothing matches${more.value ? ` among the ${threads.value.size} threads that were read. Show older threads to look further` : ''}.</p>`}
    ${(total > first + mostRows || more.value) && html`<p><${Act} run=${older}>Show older threads<//></p>`}
    ${full.value && html`<p class="quiet">The page keeps ${threads.value.size} threads. "holon threads" lists all.</p>`}
  </div>`
}

const needs = n => n === 0 ? 'Nothing needs you' : n === 1 ? '1 needs you' : `${n} need you`

function Sums({ waiting, working, done }) {
  const failures = done.filter(t => t.summary.status === 'failed').length
  const oldest = waiting[0]
  return html`<h1 class="sums">
    <span data-state=${waiting.length ? 'waiting' : undefined}>${needs(waiting.length)}</span>
    <span data-state=${working.length ? 'working' : undefined} class=${working.length ? '' : 'quiet'}>${working.length} working</span>
    ${failures > 0 && html`<span data-state="failed">${failures} failed</span>`}
    ${oldest && html`<span class="quiet">oldest wait ${span(now.value - Date.parse(oldest.summary.since))}</span>`}
  </h1>`
}

const Group = ({ name, rows }) => rows.length ? html`<section><h2>${name} <span class="quiet">${rows.length}</span></h2><${Cards} rows=${rows} /></section>` : null

const Cards = ({ rows }) => html`<ul class="cards">${rows.map(t => html`<${Card} key=${t.thread_id} t=${t} />`)}</ul>`

// looks returns the state that a card shows.
export const looks = s => s.status !== 'idle' ? s.status : s.interrupted ? 'interrupted' : s.stop_reason ? 'early' : s.status

// doing says in one line what a thread is doing.
function doing(s) {
  if (s.status === 'waiting' && s.waiting?.length) return s.waiting[0].title
  if (s.status === 'waiting' && s.reviews) return `${plural(s.reviews, 'result')} to review`
  if (s.doing && s.status === 'working') return s.doing.target && !s.doing.title.includes(s.doing.target) ? `${s.doing.title}: ${s.doing.target}` : s.doing.title
  if (s.status === 'failed' && s.error) return s.error.message
  if (s.progress && s.status === 'working') return s.progress
  if (s.interrupted && s.reason) return s.reason
  if (looks(s) === 'early') return `${s.stop_reason}: ${s.text}`
  return s.text
}

function Card({ t }) {
  const s = t.summary
  const closing = isClosing(t.thread_id)
  return html`<li class="card" data-state=${looks(s)} data-unseen=${unseen(t) || undefined}>
    <a class="whole" href=${to('thread', t.thread_id)}>
      <span class="title">${cut(oneLine(s.title) || 'Untitled', 80)}${t.level ? html` <span class="quiet">child</span>` : null}</span>
    </a>
    <span class="meta"><${Mark} state=${looks(s)} /> <${Since} at=${s.since} />${s.waiting_count > 1 ? html` · ${s.waiting_count} questions` : null}${t.state === 'paused' ? ' · paused' : ''}</span>
    <span class="doing">${closing ? html`closing … <button type="button" class="small" onClick=${() => undoClose(t.thread_id)}>Undo</button>` : cut(oneLine(doing(s)), 160)}</span>
    <span class="facts">
      <span>${clean(t.agent)}</span>
      ${s.cwd && html`<span title=${clean(s.cwd)}>${shortPath(s.cwd)}</span>`}
      ${s.git && html`<span>${oneLine(s.git.branch)}</span>`}
      ${s.changed && html`<span><${Changed} of=${s.changed} /></span>`}
      ${s.children.total > 0 && html`<span>${plural(s.children.total, 'child', 'children')}${s.children.working ? `, ${s.children.working} working` : ''}${s.children.waiting ? `, ${s.children.waiting} waiting` : ''}</span>`}
      ${t.inbox.unacked > 0 && html`<a href=${to('inbox', t.thread_id)}>${t.inbox.unacked} in the inbox</a>`}
      ${s.spent && html`<span>${count(s.spent.total_tokens)} tokens${s.spent.cost ? ` · ${money(s.spent.cost)}` : ''}</span>`}
    </span>
  </li>`
}
