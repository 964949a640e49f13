// How each kind of item is drawn.
import { html, Component, useMemo, useState } from './html.js'
import { markdown, plain, link, maxText } from './markdown.js'
import { Diff } from './diff.js'
import { keptSuperseded } from './timeline.js'
import { changesOf, phraseOf } from './question.js'
import { questions } from './questions.js'
import { stringify } from '../client/json.js'
import { At, Copy, Mark } from './parts.js'
import { endOf, retryOf, whyOf, wordOf } from './states.js'
import { bytes, clean, count, cut, exact, literal, money, oneLine, plural, shortPath, span } from './text.js'
import { to } from './router.js'

// Output is folded after these lines; an open text above mostOpen shows its end only.
const foldedLines = 20
const mostOpen = 32 << 10
const mostShown = 256 << 10

// Row is one entry of the timeline. It is drawn again only if the entry has changed: a page
// has two hundred of them, and deltas change one.
export class Row extends Component {
  shouldComponentUpdate(next, state) {
    return state !== this.state || next.entry !== this.props.entry || next.version !== this.props.version || next.newestPlan !== this.props.newestPlan
  }

  // An item that cannot be drawn must not break the page.
  componentDidCatch() {
    this.setState({ version: this.props.version })
  }

  render({ entry, version, newestPlan }, { version: broken }) {
    if (broken === version) return html`<p class="failure">This ${clean(entry.item?.type || 'entry')} cannot be shown.</p>`
    if (entry.rewind) return html`<${Rewind} rewind=${entry.rewind} seq=${entry.seq} />`
    if (entry.end) return html`<${End} end=${entry.end} />`
    return html`<${Item} item=${entry.item} newestPlan=${newestPlan} />`
  }
}

export function Item({ item, newestPlan = true }) {
  const draw = kinds[item.type] || Unknown
  return html`<article class="item" id=${'i-' + item.item_id} data-type=${item.type} data-status=${item.status}>
    <${draw} item=${item} c=${item.content} newestPlan=${newestPlan} />
    ${item.truncated && html`<p class="quiet">The server has truncated this item${item.total_bytes ? ` of ${bytes(item.total_bytes)}` : ''}.</p>`}
  </article>`
}

const Who = ({ children, item }) => html`<header class="who">${children} <span class="quiet"><${At} at=${item.created_at} />${item.status === 'interrupted' ? (item.type === 'user_message' ? ' · not delivered' : ' · incomplete') : item.status === 'deleted' ? ' · withdrawn' : ''}</span></header>`

const origins = { wake: 'The server tells the agent', review: 'Review', agent: 'Another agent', queue: 'You', client: 'You' }

function UserMessage({ item, c }) {
  return html`<${Who} item=${item}><strong>${origins[c.origin] || 'You'}</strong>${item.content.requested_by || item.requested_by ? html` <span class="quiet">${clean(item.requested_by)}</span>` : null}<//>
    ${c.content.map(p => p.type === 'input_text' || p.text !== undefined ? html`<${Long} text=${p.text} />`
      : p.type === 'input_image' ? html`<${Image} part=${p} />`
      : html`<p>🔗 ${link(p.uri || p.url || '', clean(p.name || p.uri || p.url || ''))}</p>`)}
    ${c.entries?.length > 0 && html`<ul class="told">${c.entries.map(e => html`<li>${clean(e.source)}: ${oneLine(e.summary)}${e.count > 1 ? ` (${e.count})` : ''}</li>`)}</ul>`}`
}

const pictures = /^image\/(png|jpeg|gif|webp)$/

const Image = ({ part }) => part.data && pictures.test(part.mime_type) && /^[A-Za-z0-9+/=\s]*$/.test(part.data)
  ? html`<img class="picture" alt="picture that was sent to the agent" src=${`data:${part.mime_type};base64,${part.data}`} />`
  : html`<p class="quiet">🖼 ${part.url ? link(part.url, clean(part.url)) : clean(part.mime_type || 'picture')}</p>`

function AgentMessage({ item, c }) {
  const text = String(item.body)
  const open = item.status === 'in_progress'
  // An open message is not read as Markdown: each word may change the meaning of the rest.
  const asIs = c.format === 'plain' || text.length > maxText
  const body = useMemo(() => open || asIs ? null : markdown(text), [open, asIs, text])
  return html`<${Who} item=${item}><strong>Agent</strong><//><div class="said">${open ? html`<${OpenText} body=${item.body} />` : asIs ? html`<${Long} text=${text} />` : body}</div>`
}

// OpenText is a text that still grows. Above mostOpen only its end is shown.
function OpenText({ body }) {
  const whole = String(body)
  const text = clean(whole.length > mostOpen ? whole.slice(-mostOpen) : whole)
  return html`<div class="plain">${body.from > 0 || whole.length > mostOpen ? html`<span class="quiet">… the beginning is shown when it is complete${'\n'}</span>` : null}${text}<span class="caret" aria-hidden="true"></span></div>`
}

// Long is a text that may be large: above mostOpen, a button shows the rest.
function Long({ text, lines }) {
  const [all, setAll] = useState(false)
  const whole = clean(text)
  const cutText = all ? whole : whole.slice(0, mostOpen)
  const rows = cutText.split('\n')
  const most = lines && !all ? lines : Infinity
  const shown = rows.length > most ? rows.slice(0, most).join('\n') : cutText
  const left = whole.length - shown.length
  return html`<div class="plain">${all ? whole.slice(0, mostShown * 8) : shown}</div>${all && whole.length > mostShown * 8 && html`<p class="quiet">The first ${bytes(mostShown * 8)} of ${bytes(whole.length)}.</p>`}${left > 0 && !all && html`<button type="button" class="small" onClick=${() => setAll(true)}>Show all (${lines && rows.length > most ? plural(whole.split('\n').length, 'line') : bytes(whole.length)})</button>`}`
}

function Reasoning({ item, c }) {
  const open = item.status === 'in_progress'
  return html`<details class="thought"><summary>Thought${c.summary ? ': ' + cut(oneLine(c.summary), 120) : open ? ' …' : ''}</summary>${open ? html`<${OpenText} body=${item.body} />` : html`<${Long} text=${String(item.body)} />`}</details>`
}

const planMarks = { completed: '☑', in_progress: '▸', pending: '☐' }

function Plan({ c, newestPlan }) {
  const done = c.entries.filter(e => e.status === 'completed').length
  if (!newestPlan) return html`<p class="quiet">Plan: ${done} of ${c.entries.length} done; a newer plan is below</p>`
  return html`<div class="plan"><strong>Plan</strong> <span class="quiet">${done} of ${c.entries.length}</span><ul>${c.entries.map(e => html`<li data-status=${e.status}><span aria-hidden="true">${planMarks[e.status] || '☐'}</span><span class="aside">${wordOf(e.status)}: </span> ${clean(e.content)}</li>`)}</ul></div>`
}

function Tool({ item, c }) {
  const command = c.command
  const diffs = changesOf(c)
  const title = command || c.title || c.name || c.changes?.map(ch => ch.path).join(', ') || c.kind || 'tool'
  const input = command ? undefined : c.input
  const facts = [
    c.exit_code !== undefined && c.exit_code !== 0 ? `exit ${c.exit_code}` : '', c.signal ? `signal ${c.signal}` : '', c.server ? clean(c.server) : '',
    c.locations?.length ? c.locations.slice(0, 3).map(l => shortPath(l.path) + (l.line ? ':' + l.line : '')).join(', ') : '',
  ].filter(Boolean)
  const output = String(item.body)
  return html`<div class="tool">
    <p class="call"><${Mark} state=${item.status} bare /> ${command ? html`<code>${cut(oneLine(title), 300)}</code>` : html`<span>${cut(oneLine(title), 300)}</span>`}${facts.map(f => html` <span class="quiet">${f}</span>`)}</p>
    ${c.error && html`<p class="failure">${clean(c.error)}</p>`}
    ${diffs?.map(d => html`<${Diff} change=${d} />`)}
    ${(command && (command.length > 300 || command.includes('\n')) || input !== undefined && input !== null && !empty(input)) && html`<details><summary>${command ? 'Command' : 'Input'}</summary><pre tabindex="0">${literal(command || valueText(input).slice(0, mostShown))}</pre>${c.cwd && html`<p class="quiet">in ${oneLine(c.cwd)}</p>`}</details>`}
    ${output && html`<${Output} item=${item} />`}
    ${partsOf(c).map(text => html`<details><summary>Result</summary><${Long} text=${text} /></details>`)}
  </div>`
}

const empty = v => typeof v === 'object' && !(v instanceof Number) && Object.keys(v).length === 0
// valueText is a value of any type as it is read: a text as it is, all else as JSON.
const valueText = v => typeof v === 'string' ? v : stringify(v, 2)

// partsOf returns the texts in the content of a tool call that has no output.
const partsOf = c => Array.isArray(c.content) && !c.output ? c.content.map(p => p?.content?.text ?? p?.text).filter(t => typeof t === 'string' && t) : []

function Output({ item }) {
  const [open, setOpen] = useState(false)
  const text = String(item.body)
  const running = item.status === 'in_progress'
  const whole = clean(running && text.length > mostOpen ? text.slice(-mostOpen) : text)
  const lines = whole.replace(/\n$/, '').split('\n')
  const folded = lines.length > foldedLines && !open
  // The end of an output matters most: how the command ended, or what it does now.
  const shown = folded ? lines.slice(-foldedLines).join('\n') : open ? whole.slice(0, mostShown) : lines.join('\n')
  return html`<div class="output">
    ${folded && html`<button type="button" class="small" aria-expanded="false" onClick=${() => setOpen(true)}>Show ${plural(lines.length - foldedLines, 'more line')} above</button>`}
    <pre tabindex="0" aria-label="output">${shown}</pre>
    ${open && html`<button type="button" class="small" aria-expanded="true" onClick=${() => setOpen(false)}>Fold</button>${whole.length > mostShown ? html` <span class="quiet">The first ${bytes(mostShown)} of ${bytes(whole.length)}.</span>` : null}`}
  </div>`
}

function Permission({ item, c }) {
  if (item.status === 'pending') {
    // While it waits the panel with its answers shows all of it, unless more wait than the page reads.
    const below = questions.value.some(q => q.item_id === item.item_id)
    return html`<p class="answered"><span class="mark" data-state="pending" aria-hidden="true">?</span> ${below ? 'The agent asks: see below' : html`${phraseOf(c)} <span class="quiet">waits for an answer</span>`}</p>`
  }
  const outcome = outcomeOf(item, c), command = c.subject?.command
  return html`<p class="answered"><span class="mark" data-state=${item.status} aria-hidden="true">${item.status === 'completed' ? '✓' : '✗'}</span> ${phraseOf(c)} <span class="quiet">${outcome}</span></p>
    ${command && !phraseOf(c).endsWith(literal(command)) && html`<pre class="command" tabindex="0">${literal(command)}</pre>`}
    ${c.answer !== undefined && html`<pre tabindex="0">${clean(valueText(c.answer))}</pre>`}`
}

function outcomeOf(item, c) {
  const option = c.options?.find(o => o.option_id === c.outcome?.option_id)
  const by = c.resolved_by && c.resolved_by !== 'client' ? ` by ${clean(c.resolved_by)}` : ''
  if (option) return `→ ${oneLine(option.name)}${by}`
  return `→ ${c.outcome?.type || item.status}${by}`
}

const Notice = ({ c }) => html`<p class=${c.severity === 'error' ? 'failure' : 'notice'}>${clean(c.message)}</p>`
const Failed = ({ c }) => html`<p class="failure">✗ ${clean(c.message || c.kind)}</p>`
const Extension = ({ c }) => html`<details><summary class="quiet">${oneLine(c.native_kind || c.type)}</summary><pre tabindex="0">${clean(stringify(c.payload ?? c, 2)).slice(0, mostShown)}</pre></details>`
const Unknown = Extension

const kinds = {
  user_message: UserMessage, agent_message: AgentMessage, reasoning: Reasoning, plan: Plan, tool_call: Tool, command_execution: Tool,
  file_change: Tool, permission_request: Permission, question: Permission, notice: Notice, error: Failed, extension: Extension,
}

const verbs = { completed: 'Done', early: 'Stopped early', interrupted: 'Interrupted', failed: 'Failed', blocked: 'Blocked by its review', rejected: 'Rejected by its review' }

function End({ end }) {
  const took = end.started_at && end.completed_at ? span(Date.parse(end.completed_at) - Date.parse(end.first_started_at || end.started_at)) : ''
  const u = end.usage
  const facts = [
    took, end.attempt > 1 ? `attempt ${end.attempt}` : '', u ? `${count(u.total_tokens)} tokens` : '', u?.cost ? money(u.cost) : '',
    u?.context_size ? `context ${Math.round(100 * (u.context_used || 0) / u.context_size)} %` : '',
  ].filter(Boolean)
  const state = endOf(end)
  const why = whyOf(end)
  return html`<div class="end" data-state=${state}>
    <${Mark} state=${state} bare /> <strong>${verbs[state] || state}</strong>${why ? `: ${why}` : ''}${' '}
    ${end.error && html` <span class="failure">${cut(clean(end.error.message), 2000)}</span>`}
    ${facts.length > 0 && html` <span class="quiet">${facts.join(' · ')}</span>`}
    ${end.undelivered_item_ids?.length > 0 && html`<p class="quiet">${plural(end.undelivered_item_ids.length, 'message')} did not reach the agent.</p>`}
    ${end.review?.state === 'approved' && html`<p class="quiet">Review: approved${end.review.note ? html` — ${clean(end.review.note)}` : ''}</p>`}
  </div>`
}

function Rewind({ rewind, seq }) {
  const what = !rewind.tried ? 'A try' : rewind.step ? `Step ${clean(rewind.step)}, try ${rewind.tried}` : `Attempt ${rewind.tried}`
  return html`<details class="rewind" data-seq=${seq}><summary>↩ ${what} was given up${rewind.reason ? `: ${retryOf(rewind.reason)}` : ''} <span class="quiet">· ${plural(rewind.items.length, 'item')}</span></summary>
    <div class="superseded">${rewind.items.slice(-keptSuperseded).map(item => html`<${Item} key=${item.item_id} item=${item} />`)}</div></details>`
}
