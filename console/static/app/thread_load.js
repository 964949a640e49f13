// Reading a thread and keeping it up to date: rows first, then events.
import { signal, batch } from './html.js'
import { call } from './session.js'
import { listen } from './live.js'
import { Timeline, promptText } from './timeline.js'
import { seen } from './threads.js'
import { heals } from './refresh.js'

const itemsPage = 100
const turnsPage = 100
// Markers are read a hundred at a time; one page of items seldom needs a second reading.
const markersPage = 100
const mostMarkerReads = 5
// tryAgain is when a thread that could not be read is read again.
const tryAgain = 3000

// Loader holds what the page of one thread shows. version changes whenever the timeline has.
export class Loader {
  constructor(threadId, { call: ask = call, listen: hear = listen, seen: look = seen } = {}) {
    this.id = threadId
    this.call = ask
    this.seen = look
    this.timeline = null
    this.began = undefined // the seq at which the page began to read
    this.thread = signal(null)
    this.children = signal([])
    this.version = signal(0)
    this.prompts = signal(new Map()) // of queued turns, which the timeline holds no more
    this.failed = signal(null)
    this.busy = signal('') // older, newer or end
    this.early = []        // events that came while the rows were read
    this.gone = false
    this.childrenDue = false
    this.marking = Promise.resolve() // until the markers are read
    this.stop = hear(events => this.take(events))
  }

  // close ends it. Who leaves the page has seen what it has shown, such as the own interrupt.
  close() {
    this.gone = true
    if (this.timeline && !document.hidden) this.seen(this.id, this.timeline.cursor)
    clearTimeout(this.retrying)
    this.stop()
  }

  // load reads the thread. Events that come meanwhile are kept, and those that the rows
  // have already are ignored by their seq.
  async load() {
    this.early = []
    const loading = this.loading = {}
    clearTimeout(this.retrying)
    try {
      const { thread, latest_seq: seq } = await this.call('thread/read', { thread_id: this.id })
      const [items, turns] = await Promise.all([
        this.call('item/list', { thread_id: this.id, order: 'desc', limit: itemsPage, include_superseded: true }),
        this.call('turn/list', { thread_id: this.id, order: 'desc', limit: turnsPage }),
      ])
      if (this.gone || loading !== this.loading) return
      // The three are not of one moment: what happened after the first is applied again,
      // and changes nothing where a row has it.
      this.began ??= seq
      const timeline = new Timeline(this.id)
      timeline.begin(items, turns, seq)
      batch(() => {
        this.thread.value = thread
        for (const event of this.early) if (event.params.seq > seq) this.apply(timeline, event)
        this.early = null
        this.timeline = timeline
        this.failed.value = null
        this.version.value++
      })
      this.readChildren()
      this.marking = this.marking.then(() => this.readMarkers())
      this.seen(this.id, Math.max(seq, timeline.cursor))
    } catch (error) {
      if (this.gone || loading !== this.loading) return
      this.failed.value = error
      if (heals(error)) this.retrying = setTimeout(() => this.load(), tryAgain)
    }
  }

  take(events) {
    let changed = false
    for (const event of events) {
      if (this.isOfChild(event)) this.childrenDue = true
      if (event.params.thread_id !== this.id) continue
      if (this.early) {
        this.early.push(event)
        if (this.early.length > 20_000) return this.load()
        continue
      }
      this.apply(this.timeline, event)
      changed = true
      if (/^(turn|inbox)\//.test(event.method)) this.childrenDue = true
    }
    if (changed) this.changed(events)
    if (this.childrenDue && !this.early) {
      this.childrenDue = false
      this.readChildren()
    }
  }

  changed(events) {
    this.version.value++
    if (!document.hidden && events.some(e => /^turn\/(completed|failed|interrupted)$/.test(e.method))) this.seen(this.id, this.timeline.cursor)
  }

  // isOfChild tells whether an event of another thread is about a child turn of this one.
  isOfChild({ method, params }) {
    return method.startsWith('turn/') && params.thread_id !== this.id &&
      (params.parent?.thread_id === this.id || this.children.value.some(c => c.turn_id === params.turn_id))
  }

  apply(timeline, event) {
    const t = this.thread.value
    if (t && event.method.startsWith('thread/')) {
      const { title, title_by, state, config } = event.params
      const named = title_by ? { title: title || '', title_by: title ? title_by : undefined } : { title: title || t.title }
      this.thread.value = { ...t, ...named, config: config || t.config, state: event.method === 'thread/closed' ? 'closed' : event.method === 'thread/resumed' ? 'running' : event.method === 'thread/paused' ? 'paused' : state || t.state }
    }
    for (const id of timeline.apply(event)) this.reread(id)
  }

  async reread(id) {
    try {
      const { item } = await this.call('item/read', { item_id: id })
      this.timeline?.reread(item)
      this.version.value++
    } catch { /* it shows its last state until the page is loaded anew */ }
  }

  // readPrompt reads the text of a queued turn, once.
  async readPrompt(turnId) {
    if (this.prompts.value.has(turnId)) return
    this.prompts.value = new Map(this.prompts.value).set(turnId, '')
    try {
      const page = await this.call('item/list', { turn_id: turnId, limit: 20 })
      const text = page.items.filter(i => i.type === 'user_message').map(i => promptText(i.content)).join('\n')
      this.prompts.value = new Map(this.prompts.value).set(turnId, text)
    } catch { /* its place in the queue is shown without it */ }
  }

  async readChildren() {
    if (this.readingChildren) { this.childrenAgain = true; return }
    this.readingChildren = true
    try {
      const page = await this.call('turn/list', { parent_thread_id: this.id, order: 'desc', limit: 50 })
      if (!this.gone) this.children.value = page.turns
    } catch { /* the page works without them */ }
    setTimeout(() => {
      this.readingChildren = false
      if (this.childrenAgain && !this.gone) { this.childrenAgain = false; this.readChildren() }
    }, 500)
  }

  async page(which, read) {
    if (this.busy.value || !this.timeline) return
    this.busy.value = which
    const timeline = this.timeline
    try {
      await read(timeline)
      if (timeline === this.timeline) this.version.value++
      this.failed.value = null
    } catch (error) {
      this.failed.value = error
    }
    timeline.meanwhile = null
    this.busy.value = ''
    this.marking = this.marking.then(() => this.readMarkers())
  }

  // readMarkers reads what rows do not have: which try a marker has given up, and why. What the
  // log has no more stays unknown.
  async readMarkers() {
    const timeline = this.timeline
    let after = 0
    for (let n = 0; n < mostMarkerReads; n++) {
      const line = timeline.unmarked(after)
      if (!line || this.gone || timeline !== this.timeline) return
      line.rewind.asked = true
      after = line.seq
      try {
        const page = await this.call('event/list', { thread_id: this.id, methods: ['stream/rewind'], after_seq: line.seq - 1, limit: markersPage })
        after = page.next_after_seq
        timeline.takeMarkers(page.events)
        this.version.value++
      } catch (error) {
        if (heals(error)) {
          line.rewind.asked = false
          return
        }
        after = Math.max(after, (error.data?.first_seq || 0) - 1) // what was pruned is not asked for line by line
      }
    }
  }

  older() {
    if (!this.timeline?.older) return
    return this.page('older', async t => {
      const from = t.older
      t.expect()
      const page = await this.call('item/list', { thread_id: this.id, order: 'desc', limit: itemsPage, include_superseded: true, cursor: from })
      const oldest = page.items.at(-1)?.created_seq
      if (t.olderTurns && ![...t.turns.values()].some(turn => turn.created_seq <= oldest)) {
        t.takeTurns(await this.call('turn/list', { thread_id: this.id, order: 'desc', limit: turnsPage, cursor: t.olderTurns }))
      }
      if (t.older !== from) return // what came meanwhile has moved the held part
      t.follows = false
      t.takeOlder(page)
    })
  }

  newer() {
    if (!this.timeline?.newer) return
    return this.page('newer', async t => {
      const from = t.newer
      t.missed = false
      t.expect()
      const page = await this.call('item/list', { thread_id: this.id, order: 'asc', limit: itemsPage, include_superseded: true, cursor: from })
      if (t.newer === from) t.takeNewer(page)
    })
  }

  // end goes to the end of the thread: what is there is read, not page by page.
  async end() {
    if (!this.timeline?.newer) return
    this.early = []
    await this.load()
  }
}
