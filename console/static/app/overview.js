// The overview: threads that need the user, that work, that have failed, and that are done.
import { computed, html, useEffect, useState } from './html.js'
import { may, limited } from './session.js'
import { threads, groups, grouped, sums, sumOf, loaded, failed, more, full, loadMore, search, searches, unseen } from './threads.js'
import { isClosing, undoClose } from './closing.js'
import { NewThread } from './new_thread.js'
import { Restarts } from './restarts.js'
import { Act, Changed, Failure, Loading, Stands, now } from './parts.js'
import { doing, looks, notTold, queueOf } from './states.js'
import { titleOf } from './thread_name.js'
import { clean, count, cut, idHas, money, oneLine, plural, shortPath, span } from './text.js'
import { to } from './router.js'

// mostRows bounds what the page draws.
const mostRows = 200
// typing is how long after a key a search waits for the next one.
const typing = 300

// passes reports whether a thread has all words, as the server's search does.
const passes = words => t => t.agent !== 'mailbox' && words.every(w => [t.summary.title, t.agent, t.summary.cwd, t.summary.git?.branch, notTold(t.summary)].some(s => s?.toLowerCase().includes(w)) || idHas(t.thread_id, w))

// useSearch asks the server for what a text finds: {busy, next, error, more()}.
function useSearch(text) {
  const [found, setFound] = useState({})
  const asks = Boolean(text) && searches.value
  useEffect(() => {
    if (!asks) return setFound({})
    let over = false
    setFound({ busy: true })
    const timer = setTimeout(async () => {
      try {
        const next = await search(text)
        if (!over) setFound({ next })
      } catch (error) {
        if (!over) setFound({ error })
      }
    }, typing)
    return () => {
      over = true
      clearTimeout(timer)
    }
  }, [text, asks])
  return { ...found, more: async () => setFound({ next: await search(text, found.next) }) }
}

export function Overview() {
  const [filter, setFilter] = useState('')
  const [skip, setSkip] = useState(0) // how many rows, of those before the ones shown
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  const wanted = words.join(' ')
  const found = useSearch(wanted)
  if (!loaded.value) return html`<${Loading} error=${failed.value} />`
  const g = wanted ? grouped(passes(words)) : groups.value
  const matching = () => Object.values(wanted ? grouped(passes(words)) : groups.peek()).flat().length
  const total = Object.values(g).flat().length
  let before = Math.min(skip, Math.floor(Math.max(0, total - 1) / mostRows) * mostRows) // fewer may match by now
  const first = before
  let room = mostRows
  const part = list => {
    const rows = list.slice(before, before + room)
    before = Math.max(0, before - list.length)
    room -= rows.length
    return rows
  }
  // numberOf says how many threads a group has, drawn or not.
  const numberOf = status => wanted ? g[status].length + (found.next ? '+' : '') : sumOf(status)
  const group = (status, name) => html`<${Group} name=${name} number=${numberOf(status)} rows=${part(g[status])} />`
  const empty = !threads.value.size
  const older = wanted && searches.value ? Boolean(found.next) : more.value // can be read
  async function goOn() {
    if (matching() <= first + mostRows) await (wanted && searches.value ? found.more() : loadMore())
    if (matching() > first + mostRows) turn(first + mostRows)
  }
  function turn(to) {
    setSkip(to)
    scrollTo(0, 0)
  }
  return html`<div class="page overview">
    <${Restarts} />
    <${Sums} />
    <div class="tools">
      <label class="filter"><span class="aside">Filter</span><input type="search" maxlength="200" placeholder="Filter by title, agent, directory" value=${filter} onInput=${e => { setFilter(e.target.value); setSkip(0) }} /></label>
      <${NewThread} open=${empty} />
    </div>
    <${Failure} error=${failed.value} />
    <${Failure} error=${found.error} />
    ${empty && html`<p class="quiet">${may('work') ? 'No thread yet. Write what an agent should do.' : 'No thread yet.'}</p>`}
    ${first > 0 && html`<p><${Act} run=${() => turn(first - mostRows)}>Show newer threads<//> <span class="quiet">${first} newer</span></p>`}
    ${[group('needs_you', 'Needs you'), group('working', 'Working'), group('failed', 'Failed'), group('done', 'Idle')]}
    ${[part(g.closed)].map(rows => rows.length > 0 && html`<details class="closed"><summary>Closed (${numberOf('closed')})</summary><${Cards} rows=${rows} /></details>`)}
    ${wanted && (found.busy ? html`<p class="quiet" role="status">searching …</p>`
      : total === 0 && !found.error && html`<p class="quiet" role="status">Nothing matches${!searches.value && more.value ? ` among the ${threads.value.size} threads that were read. Show older threads to look further` : ''}.</p>`)}
    ${(total > first + mostRows || older) && html`<p><${Act} run=${goOn}>Show older threads<//></p>`}
    ${!wanted && full.value && html`<p class="quiet">The page keeps ${threads.value.size} threads. The filter finds the others, and "holon threads" lists all.</p>`}
  </div>`
}

const needs = n => n === '0' ? 'Nothing needs you' : n === '1' ? '1 needs you' : `${n} need you`

// untold are the threads on the page that are not told what is new.
const untold = computed(() => Object.values(groups.value).flat().filter(t => notTold(t.summary)).length)

// Sums is the headline. What is not known, because the server has not looked at all threads, is
// left out.
function Sums() {
  const s = sums.value
  const [you, working, failed] = ['needs_you', 'working', 'failed'].map(sumOf)
  return html`<h1 class="sums">
    ${you && html`<span data-state=${s.needs_you ? 'waiting' : undefined}>${needs(you)}</span>`}
    ${working && html`<span data-state=${s.working ? 'working' : undefined} class=${s.working ? '' : 'quiet'}>${working} working</span>`}
    ${s.failed > 0 && html`<span data-state="failed">${failed} failed</span>`}
    ${untold.value > 0 && html`<span class="quiet">${untold.value} not told what is new</span>`}
    ${!you && !working && !failed && 'Threads'}
    ${s.waiting_since && html`<span class="quiet">oldest wait ${span(now.value - Date.parse(s.waiting_since))}</span>`}
  </h1>`
}

const Group = ({ name, number, rows }) => rows.length ? html`<section><h2>${name} <span class="quiet">${number}</span></h2><${Cards} rows=${rows} /></section>` : null

const Cards = ({ rows }) => html`<ul class="cards">${rows.map(t => html`<${Card} key=${t.thread_id} t=${t} />`)}</ul>`

function Card({ t }) {
  const s = t.summary
  const closing = isClosing(t.thread_id)
  return html`<li class="card" data-thread=${t.thread_id} data-state=${looks(s)} data-unseen=${unseen(t) || undefined}>
    <a class="whole" href=${to('thread', t.thread_id)}>
      <span class="title">${cut(titleOf(t), 80)}${t.level ? html` <span class="quiet">child</span>` : null}${unseen(t) && html`<span class="new" title="Something is new since you opened it last"><span aria-hidden="true"> •</span><span class="aside"> new</span></span>`}</span>
    </a>
    <span class="meta"><${Stands} state=${looks(s)} at=${s.since} />${queueOf(s) && ` · ${queueOf(s)}`}${s.waiting_count > 1 ? html` · ${s.waiting_count} questions` : null}${t.state === 'paused' ? ' · paused' : ''}</span>
    ${notTold(s) && html`<span class="untold">${notTold(s)}</span>`}
    <span class="doing">${closing ? html`closing … <button type="button" class="small" onClick=${() => undoClose(t.thread_id)}>Undo</button>` : cut(doing(s, () => now.value), 160)}</span>
    <span class="facts">
      <span>${clean(t.agent)}</span>
      ${s.cwd && html`<span title=${clean(s.cwd)}>${shortPath(s.cwd)}</span>`}
      ${s.git && html`<span>${oneLine(s.git.branch)}</span>`}
      ${s.changed && html`<span title="Lines that this thread itself has changed">this thread <${Changed} of=${s.changed} /></span>`}
      ${s.children.total > 0 && html`<span>${plural(s.children.total, 'child', 'children')}${s.children.working ? `, ${s.children.working} at work` : ''}${s.children.waiting ? `, ${s.children.waiting} ${s.children.waiting === 1 ? 'needs' : 'need'} you` : ''}</span>`}
      ${t.inbox.unacked > 0 && html`<a href=${to('inbox', t.thread_id)}>${t.inbox.unacked} in the inbox</a>`}
      ${s.spent && html`<span>${count(s.spent.total_tokens)} tokens${s.spent.cost ? ` · ${money(s.spent.cost)}` : ''}</span>`}
    </span>
  </li>`
}
