// The inbox of a thread: its entries, their contents, and acknowledging them.
import { html, useEffect, useMemo, useState, signal } from './html.js'
import { stringify } from '../client/json.js'
import { call, change, may } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'
import { threads, loaded, more, readThreads, readMailboxes, knowsMailboxes, moreMailboxes, fullMailboxes } from './threads.js'
import { ThreadName, titleOf } from './thread_name.js'
import { Act, At, Failure, Loading } from './parts.js'
import { clean, cut, oneLine, plural } from './text.js'
import { hostLink } from './markdown.js'
import { to } from './router.js'

const page = 50

export function Inbox({ id }) {
  return id ? html`<${One} key=${id} id=${id} />` : html`<${All} />`
}

// All lists the inboxes that are not empty, and those of mailboxes. Mailboxes are read page by page,
// other inboxes are those of the threads that the page has.
function All() {
  const [error, setError] = useState(null)
  const read = older => readMailboxes(older).then(() => setError(null), setError)
  useEffect(() => { if (loaded.value) read() }, [loaded.value])
  if (!knowsMailboxes.value) return html`<div class="page"><h1>Inboxes</h1><${Loading} error=${error} /></div>`
  const boxes = [...threads.value.values()].filter(t => t.state !== 'closed' && (t.inbox.unacked || t.inbox.pending || t.agent === 'mailbox'))
    .sort((a, b) => b.inbox.unacked - a.inbox.unacked)
  return html`<div class="page"><h1>Inboxes</h1>
    <${Failure} error=${error} />
    ${!boxes.length && html`<p class="quiet">Every inbox is empty.</p>`}
    <ul class="cards">${boxes.map(t => html`<li class="card" key=${t.thread_id} data-state=${t.inbox.unacked ? 'waiting' : 'idle'}>
      <a class="whole" href=${to('inbox', t.thread_id)}><span class="title">${cut(titleOf(t), 80)}</span></a>
      <span class="meta">${plural(t.inbox.unacked, 'entry', 'entries')}${t.inbox.pending ? `, ${plural(t.inbox.pending, 'item')} pending` : ''}</span>
      <span class="facts"><span>${clean(t.agent)}</span></span></li>`)}</ul>
    ${moreMailboxes.value && html`<p><${Act} run=${() => readMailboxes(true)}>Show older mailboxes<//></p>`}
    ${fullMailboxes.value && html`<p class="quiet">The newest mailboxes are shown. <code>holon threads --agent mailbox</code> lists all.</p>`}
    ${more.value && html`<p class="quiet">The inbox of a thread that is not on the page Threads is on the thread's own page.</p>`}</div>`
}

class Box {
  constructor(id) {
    this.id = id
    this.entries = signal(null)
    this.asOf = 0
    this.pending = signal(0)
    this.more = signal('')
    this.acked = signal(false) // shows acknowledged entries too
    this.failed = signal(null)
    this.contents = signal(new Map())
    this.again = refresher(() => this.load())
    this.stop = listen(events => {
      if (events.some(e => e.params.thread_id === id && e.method.startsWith('inbox/'))) this.again()
    })
  }

  async load() {
    try {
      const r = await call('inbox/read', { thread_id: this.id, limit: page, order: 'desc', include_acked: this.acked.value || undefined })
      this.entries.value = r.entries
      this.pending.value = r.pending_items
      this.asOf = r.as_of_seq
      this.more.value = r.next_after_entry_id || ''
      this.failed.value = null
    } catch (error) {
      this.failed.value = error
      throw error
    }
  }

  async older() {
    const r = await call('inbox/read', { thread_id: this.id, limit: page, order: 'desc', include_acked: this.acked.value || undefined, after_entry_id: this.more.value })
    const have = new Set(this.entries.value.map(e => e.entry_id))
    this.entries.value = [...this.entries.value, ...r.entries.filter(e => !have.has(e.entry_id))].slice(0, 200)
    this.more.value = this.entries.value.length < 200 ? r.next_after_entry_id || '' : ''
  }

  async expand(entry, after) {
    const r = await call('inbox/expand', { thread_id: this.id, entry_id: entry, limit: 20, after_raw_id: after })
    const before = after ? this.contents.value.get(entry)?.items || [] : []
    this.contents.value = new Map(this.contents.value).set(entry, { items: [...before, ...r.items], next: r.next_after_raw_id })
  }
}

function One({ id }) {
  const box = useMemo(() => new Box(id), [id])
  useEffect(() => {
    box.again()
    readThreads(id)
    return box.stop
  }, [box])
  const entries = box.entries.value
  const ack = params => change('inbox/ack', { thread_id: id, ...params })
  return html`<div class="page"><nav class="crumbs"><a href=${to('inbox')}>Inboxes</a> · <a href=${to('thread', id)}>the thread</a></nav>
    <h1>Inbox: <${ThreadName} id=${id} /></h1>
    <${Failure} error=${box.failed.value} />
    ${!entries ? html`<${Loading} />` : html`
      <p class="tools">${may('respond') && entries.some(e => !e.acked_at) && html`<${Act} run=${() => ack({ all: true, as_of_seq: box.asOf })}>Acknowledge all<//>`}
        ${may('operate') && box.pending.value > 0 && html`<${Act} run=${() => change('inbox/flush', { thread_id: id })}>Post ${plural(box.pending.value, 'item')} now<//>`}
        <label class="check"><input type="checkbox" checked=${box.acked.value} onChange=${e => { box.acked.value = e.target.checked; box.again() }} /> show acknowledged entries</label></p>
      ${box.pending.value > 0 && !may('operate') && html`<p class="quiet">${plural(box.pending.value, 'item')} will follow in a digest.</p>`}
      ${!entries.length && html`<p class="quiet">The inbox is empty.</p>`}
      <ul class="cards">${entries.map(e => html`<${Entry} key=${e.entry_id} e=${e} box=${box} ack=${ack} />`)}</ul>
      ${box.more.value && html`<p><${Act} run=${() => box.older()}>Show older<//></p>`}`}
  </div>`
}

function Entry({ e, box, ack }) {
  const contents = box.contents.value.get(e.entry_id)
  return html`<li class="card entry" data-state=${e.acked_at ? 'closed' : 'waiting'} data-entry=${e.entry_id}>
    <span class="title">${oneLine(e.summary) || 'No summary'}</span>
    <span class="meta">${e.count > 1 ? `${e.count} items · ` : ''}<${At} at=${e.last_at} />${e.acked_at ? ' · acknowledged' : e.told_by_turn_id ? ' · the agent was told' : ''}</span>
    <span class="facts"><span>${clean(e.source)}</span>${e.resource_ref && html`<span>${oneLine(e.resource_ref)}</span>`}${e.event_family && html`<span>${oneLine(e.event_family)}</span>`}${e.revision > 1 && html`<span>revision ${e.revision}</span>`}${hostLink(e.link)}</span>
    <details class="contents" onToggle=${event => { if (event.target.open && !contents) box.expand(e.entry_id).catch(error => { box.failed.value = error }) }}>
      <summary>Contents</summary>
      ${!contents ? html`<p class="quiet">reading …</p>` : contents.items.map(i => html`<div class="raw" key=${i.raw_id}>
        <p><strong>${oneLine(i.summary || i.native_id)}</strong> <span class="quiet">${i.sender ? oneLine(i.sender) + ' · ' : ''}<${At} at=${i.occurred_at} /></span> ${hostLink(i.link)}</p>
        ${i.payload !== undefined && html`<pre tabindex="0">${payload(i.payload)}</pre>`}</div>`)}
      ${contents?.next && html`<${Act} run=${() => box.expand(e.entry_id, contents.next)}>Show more<//>`}
    </details>
    ${may('respond') && !e.acked_at && html`<span class="tools"><${Act} run=${() => ack({ entry_ids: [e.entry_id] })}>Acknowledge<//></span>`}
  </li>`
}

const payload = p => clean(typeof p?.text === 'string' ? p.text : stringify(p, 2)).slice(0, 65536)
