import { Item, string } from './item.js'
import { Markers } from './markers.js'

/**
 * Turn is a turn as its live events leave it. It changes with the view's next apply.
 *
 * state is queued, active, completed, interrupted or failed, or '' if no live event
 * says it. progress and progress_message are those of an active turn. attempt is the
 * highest one seen, in markers too.
 */
export class Turn {
  turn_id
  thread_id
  state = ''
  attempt = 0
  progress = ''
  progress_message = ''
  origin = '' // of the live start
  message = '' // of the live end
  reason = ''
  steps = [] // { path, epoch, status } of those that have started, in the order of their first event; status is '' until the step has ended

  #markers = new Markers()
  #lineages = [] // { refs, after, hidden }
  #entries = []
  #late = []
  #items = new Map() // in the order of their first events

  constructor(turnID, threadID) {
    this.turn_id = turnID
    this.thread_id = threadID
  }

  /** ended tells whether a live event says that the turn has ended. */
  get ended() {
    return this.state === 'completed' || this.state === 'interrupted' || this.state === 'failed'
  }

  /** items returns the items of the live view, also withdrawn ones (status deleted), in the order of their first events. */
  items() {
    return [...this.#items.values()].filter((it) => it.live)
  }

  /** superseded returns the items of which nothing is live any more, as they were before. */
  superseded() {
    return [...this.#items.values()].filter((it) => !it.live)
  }

  /** item returns an item of the turn, live or superseded; undefined if there is none. */
  item(itemID) {
    return this.#items.get(itemID)
  }

  /** events returns { seq, method, item_id } of what was read: the live events, and the superseded ones with turn/late. Markers are in neither list. */
  events() {
    const live = this.#entries.filter((e) => e.live).map(describe)
    const superseded = this.#entries.filter((e) => !e.live).map(describe)
    superseded.push(...this.#late)
    superseded.sort((a, b) => a.seq - b.seq)
    return { live, superseded }
  }

  /** addLate keeps that a turn/late was read. Only the view calls it. */
  addLate(seq) {
    this.#late.push({ seq, method: 'turn/late', item_id: undefined })
  }

  /** add adds an event and returns its entry. Only the view calls it. */
  add(method, params) {
    const lineage = this.#lineageOf(params.lineage)
    const seq = params.seq
    const live = !lineage?.hidden || seq <= lineage.after
    // All entries have the same members, which keeps them small and quick.
    const entry = { seq, method, live, lineage, item: undefined, body: undefined, text: '', offset: 0 }
    switch (method) {
      case 'item/delta':
        entry.text = string(params.delta?.text)
        entry.offset = params.offset ?? 0
        this.#addToItem(entry, params)
        break
      case 'item/created':
      case 'item/updated':
      case 'item/deleted':
        entry.body = params
        this.#addToItem(entry, params)
        break
      case 'turn/queued':
      case 'turn/started':
      case 'turn/progress':
      case 'turn/completed':
      case 'turn/interrupted':
      case 'turn/failed':
      case 'step/started':
      case 'step/ended':
        entry.body = params
        if (live) this.#apply(entry)
    }
    if (live && params.attempt > this.attempt) this.attempt = params.attempt
    this.#entries.push(entry)
    return entry
  }

  #addToItem(entry, params) {
    const itemID = string(params.item_id)
    entry.item = this.#items.get(itemID)
    if (!entry.item) {
      entry.item = new Item(itemID)
      this.#items.set(itemID, entry.item)
    }
    entry.item.add(entry)
  }

  // lineageOf returns what is known of a lineage, undefined without one. Most events
  // have the same lineage as the event before.
  #lineageOf(refs) {
    if (!refs?.length) return undefined
    for (let i = this.#lineages.length - 1; i >= 0; i--) {
      if (sameRefs(this.#lineages[i].refs, refs)) return this.#lineages[i]
    }
    const lineage = { refs, ...this.#markers.hides(refs) }
    this.#lineages.push(lineage)
    return lineage
  }

  /** rewind supersedes what the marker says and returns what was live of it. Only the view calls it. */
  rewind(marker) {
    if (marker.step === '' && marker.new_epoch > this.attempt) this.attempt = marker.new_epoch
    this.#markers.add(marker)
    let changed = false
    for (const lineage of this.#lineages) {
      const { after, hidden } = this.#markers.hides(lineage.refs)
      changed ||= hidden !== lineage.hidden || after !== lineage.after
      lineage.after = after
      lineage.hidden = hidden
    }
    if (!changed) return []
    const superseded = []
    for (const e of this.#entries) {
      if (!e.live || !e.lineage?.hidden || e.seq <= e.lineage.after) continue
      e.live = false
      e.item?.outdate()
      superseded.push(describe(e))
    }
    if (superseded.length > 0) this.#refold()
    return superseded
  }

  // refold makes the live view anew after some of it was superseded.
  #refold() {
    for (const item of this.#items.values()) item.refold()
    this.state = this.progress = this.progress_message = this.origin = this.message = this.reason = ''
    this.steps = []
    for (const e of this.#entries) if (e.live && e.body && !e.item) this.#apply(e)
  }

  // apply folds one live event of the turn itself or of a step.
  #apply({ method, body }) {
    switch (method) {
      case 'turn/queued':
        this.state = 'queued'
        this.reason = string(body.reason)
        break
      case 'turn/started':
        this.state = 'active'
        this.origin = string(body.origin)
        this.reason = ''
        this.progress = 'running'
        this.progress_message = ''
        break
      case 'turn/progress': // of a retried turn this may be all that is known
        this.state = 'active'
        this.progress = string(body.state)
        this.progress_message = string(body.message)
        break
      case 'turn/completed':
      case 'turn/interrupted':
      case 'turn/failed':
        this.state = method.slice('turn/'.length)
        this.message = string(body.message)
        this.reason = string(body.reason)
        this.progress = this.progress_message = ''
        break
      case 'step/started':
        this.#applyStep(body, '')
        break
      case 'step/ended':
        this.#applyStep(body, string(body.status))
    }
  }

  #applyStep(body, status) {
    const path = string(body.step)
    let step = this.steps.find((s) => s.path === path)
    if (!step) {
      step = { path, epoch: 0, status: '' }
      this.steps.push(step)
    }
    step.epoch = body.epoch ?? 0
    step.status = status
  }
}

function describe(entry) {
  return { seq: entry.seq, method: entry.method, item_id: entry.item?.item_id }
}

function sameRefs(a, b) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) {
    if (a[i].step !== b[i].step || a[i].epoch !== b[i].epoch) return false
  }
  return true
}
