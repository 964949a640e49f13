// The head of a thread's page: what the thread is, what can be done with it, and its children.
import { html, useRef, useState } from './html.js'
import { change, may } from './session.js'
import { thread as rowOf } from './threads.js'
import { close, isClosing, undoClose } from './closing.js'
import { Act, Ask, Changed, Copy, Failure, Mark, Stands, useAct, useSettled } from './parts.js'
import { ThreadName, titleOf } from './thread_name.js'
import { endOf, looks, notTold, queueOf, whyOf } from './states.js'
import { clean, count, cut, money, oneLine, plural, shortPath } from './text.js'
import { to } from './router.js'

export function Head({ t, loader, asText, setAsText }) {
  loader.version.value // the turns
  const s = (rowOf(t.thread_id) || t).summary // the row comes a moment after the thread
  const turn = loader.timeline?.active()
  const last = loader.timeline?.newestEnded()
  const title = titleOf({ ...t, summary: s })
  const closed = t.state === 'closed' || t.state === 'closing'
  return html`<header class="head">
    <nav class="crumbs"><a href="#/">All threads</a>${t.parent && html` › <a href=${to('thread', t.parent.thread_id)}><${ThreadName} id=${t.parent.thread_id} longest=${40} /></a>`}${t.forked_from && html` · fork of <a href=${to('thread', t.forked_from.thread_id)}><${ThreadName} id=${t.forked_from.thread_id} longest=${40} /></a>`}</nav>
    <h1 title=${title}>${title}</h1>
    <p class="facts">
      ${s && html`<span><${Stands} state=${closed ? 'closed' : looks(s)} at=${s.since} />${queueOf(s) && ` · ${queueOf(s)}`}</span>`}
      <span>${clean(t.agent)}</span>
      ${(s?.cwd || t.cwd) && html`<span class="wide-only" title=${clean(s?.cwd || t.cwd)}>${shortPath(s?.cwd || t.cwd)}</span>`}
      ${s?.git && html`<span title="The branch of the directory, and what is not committed there, whoever has changed it">${oneLine(s.git.branch)}<${Uncommitted} git=${s.git} /></span>`}
      ${s?.changed && html`<span>this thread <${Changed} of=${s.changed} /></span>`}
      ${s?.spent && html`<span>${count(s.spent.total_tokens)} tokens${s.spent.cost ? ' · ' + money(s.spent.cost) : ''}</span>`}
      ${t.state === 'paused' && html`<span>paused${may('operate') && html` <${Act} kind="plain" run=${() => change('thread/resume', { thread_id: t.thread_id })}>Resume<//>`}</span>`}
      ${may('work') && !closed && html`<${Rename} t=${t} />`}
      <a href=${to('inbox', t.thread_id)}>Inbox${rowOf(t.thread_id)?.inbox?.unacked ? ` (${rowOf(t.thread_id).inbox.unacked})` : ''}</a>
    </p>
    ${s && !closed && notTold(s) && html`<p class="untold">${notTold(s)}${may('operate') && html` <${Act} kind="plain" run=${() => change('inbox/wake', { thread_id: t.thread_id })}>Tell it now<//>`}</p>`}
    <${Tools} id=${t.thread_id} turn=${turn} last=${last} closed=${closed}>
      <button type="button" aria-pressed=${asText} onClick=${() => setAsText(!asText)}>${asText ? 'Timeline' : 'Show all as text'}</button>
      <span class="wide-only"><${Copy} text=${t.thread_id}>Copy id<//></span>
    <//>
    <${Children} loader=${loader} turn=${turn} />
  </header>`
}

// Uncommitted is what is not committed in a directory: lines, and files that git does not track.
function Uncommitted({ git }) {
  const lines = git.added || git.removed ? html`<${Changed} of=${git} />` : null
  const files = git.new ? plural(git.new, 'new file') : ''
  return lines || files ? html` (uncommitted: ${lines}${lines && files && ', '}${files})` : null
}

// Rename gives the thread a name that its agent does not change; an empty one gives it back.
const Rename = ({ t }) => html`<${Ask} kind="plain" title="Name of the thread" label="Rename" value=${t.title_by ? oneLine(t.title) : ''} needed=${false} longest="200"
  hint=${t.title_by ? 'Empty: the agent names it again' : 'The agent keeps this name'} run=${title => change('thread/rename', { thread_id: t.thread_id, title })}>Rename<//>`

// Tools are what can be done with a thread. Close, Interrupt and Retry have places that nothing
// else takes; one that cannot be used now is not seen. What they ask or answer is below them.
function Tools({ id, turn, last, closed, children }) {
  const at = useRef(null)
  const interrupt = useAct(), retry = useAct()
  const [sure, setSure] = useState(null) // the turn that Close was asked to interrupt
  const closing = isClosing(id)
  const running = !closed && turn
  const again = !closed && !turn && last && !['completed', 'early'].includes(endOf(last)) && !last.continued_by && last
  const settled = useSettled([running?.turn_id, again?.turn_id, closed, closing].join(), { at })
  const asking = running && sure === turn.turn_id && !closing
  if (!may('work')) return html`<p class="tools"><span class="views">${children}</span></p>`
  const slot = (name, usable, run, kind = '') => html`<button type="button" class=${'slot ' + kind} data-empty=${!usable || undefined} disabled=${!usable || !settled || run.busy} onClick=${run.press}>${name}</button>`
  const asks = ({ busy, act }, method, what, more) => ({ busy, press: () => act(() => change(method, { turn_id: what.turn_id, ...more })) })
  return html`<p class="tools" ref=${at}>
    ${slot('Close', !closed && !closing && !asking, { press: () => running ? setSure(turn.turn_id) : close(id) })}
    ${slot('Interrupt', running, asks(interrupt, 'turn/interrupt', running, { reason: 'in the console' }), 'danger')}
    ${slot('Retry', again, asks(retry, 'turn/retry', again))}
    <span class="views">${children}</span></p>
    ${asking && html`<${Sure} id=${id} done=${() => setSure(null)} />`}
    ${closing && html`<p class="tools" role="status">closing … <button type="button" onClick=${() => undoClose(id)}>Undo</button></p>`}
    <${Failure} error=${interrupt.error || retry.error} />`
}

// Closing a thread whose turn runs needs a confirmation, because it interrupts the turn.
function Sure({ id, done }) {
  const at = useRef(null)
  const settled = useSettled(id, { at })
  return html`<p class="tools" role="group" aria-label="Close the thread?" ref=${at}>The agent is still working.
    <button type="button" class="danger" disabled=${!settled} onClick=${() => { done(); close(id) }}>Interrupt and close</button>
    <button type="button" onClick=${done}>Keep</button></p>`
}

function Children({ loader, turn }) {
  const rows = loader.children.value
  if (!rows.length) return null
  const working = rows.filter(c => c.state === 'active' || c.state === 'queued').length
  const asks = c => c.state === 'active' && rowOf(c.thread_id)?.summary.status === 'waiting'
  const asking = rows.filter(asks).length
  return html`<details class="children" open=${working > 0}><summary>${plural(rows.length, 'child turn')}${working ? `, ${working} at work` : ''}${asking ? `, ${asking} ${asking === 1 ? 'needs' : 'need'} you` : ''}${turn?.waits_for?.length ? html` <span class="quiet">— this turn waits for ${turn.waits_for.length}</span>` : ''}</summary>
    <ul>${rows.map(c => html`<li key=${c.turn_id}><${Mark} state=${asks(c) ? 'waiting' : endOf(c)} bare /> <a href=${to('thread', c.thread_id)}>${cut(oneLine(c.title || c.message || ''), 100) || html`<${ThreadName} id=${c.thread_id} longest=${100} />`}</a>${' '}
      <span class="quiet">${asks(c) ? 'asks you · ' : ''}${c.attention_policy === 'blocking_until_terminal' ? 'awaited' : c.outside ? 'in a thread that is not below' : 'in the background'}${c.error ? ' · ' + cut(oneLine(c.error.message), 120) : endOf(c) === 'early' ? ' · ' + whyOf(c) : ''}</span></li>`)}</ul></details>`
}
