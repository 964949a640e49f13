// The part of a thread's timeline that the page holds: items, ends of turns and markers in
// the order of their seq, without gaps. It begins with rows that the server has folded and
// goes on with events. It does no drawing and sends no requests itself.
import { Markers } from '../client/index.js'
import { GrowingText } from '../client/text.js'

// maxHeld is how many entries the page holds, and so how many rows it draws at most.
export const maxHeld = 200
// After a marker the server stores nothing more of the try that it supersedes, so markers
// of old turns can be forgotten.
const maxMarked = 500
// keptSuperseded is how many superseded items of one marker the page keeps whole, and draws.
export const keptSuperseded = 50

// textOf is the text of a content that deltas append to.
export function textOf(content) {
  switch (content?.type) {
    case 'agent_message': return content.content?.[0]?.text || ''
    case 'reasoning': return content.text || ''
    case 'tool_call':
    case 'command_execution': return content.output || ''
  }
  return ''
}

// promptText is the text of a user's message.
export const promptText = content => (content?.content || []).map(p => p.text || '').join('\n')

// lightened keeps of the older items of a line only what tells that they are there.
const lightened = items => items.map((i, n) => n < items.length - keptSuperseded ? { item_id: i.item_id, created_seq: i.created_seq } : i)

function grown(content) {
  const body = new GrowingText()
  body.set(textOf(content))
  return body
}

// said is what a marker says of the line that it makes.
const said = p => ({ step: p.step || '', tried: p.new_epoch - 1, reason: p.reason, known: true })

const shown = type => type !== 'usage'
const ends = { 'turn/completed': 'completed', 'turn/interrupted': 'interrupted', 'turn/failed': 'failed' }

export class Timeline {
  constructor(threadId) {
    this.threadId = threadId
    this.entries = []
    this.byKey = new Map()
    this.turns = new Map()
    this.markers = new Map()
    this.older = ''  // the cursor of the page before the held part, its first seq; '' = there is none
    this.newer = ''  // of the page behind the newest one; '' = the end is held
    this.through = 0 // without the end: the seq up to which everything is held
    this.olderTurns = ''
    this.cursor = 0
    this.follows = true
    this.missed = false // an item has come behind the held part
    this.meanwhile = null // while a page is read: the events that came, which it may not have
  }

  // begin takes what was read: a page of items, newest first, and the newest turns.
  begin(items, turns, seq) {
    this.takeTurns(turns)
    this.cursor = seq
    this.takeOlder(items)
  }

  // expect is called before a page is read: what happens until it is taken is kept.
  expect() {
    this.meanwhile = []
  }

  takeOlder(page) {
    this.older = page.next_cursor || ''
    this.addAll(page.items)
    this.putEnds()
    this.trim()
  }

  takeNewer(page) {
    this.addAll(page.items)
    this.newer = page.next_cursor || ''
    const last = page.items.at(-1)?.created_seq ?? this.through
    // One that came while the page was read may not be in it: it is asked for again.
    if (!this.newer && this.missed) this.newer = String(last)
    if (this.newer) this.through = last
    this.putEnds()
    while (this.entries.length > maxHeld) this.dropOldest()
  }

  // addAll adds rows, which may be older than events that have come since they were read.
  addAll(rows) {
    const ids = new Set(rows.map(row => row.item_id))
    for (const row of rows) this.add(row)
    for (const { method, params } of this.meanwhile || []) {
      if (method === 'stream/rewind') this.rewind(params)
      else if (ids.has(params.item_id) && method !== 'item/created') this.itemEvent(method, params)
    }
    this.meanwhile = null
  }

  // takeTurns takes rows without their messages, which items have.
  takeTurns(page) {
    this.olderTurns = page.next_cursor || ''
    for (const { message, ...row } of page.turns) if (!this.turns.has(row.turn_id)) this.turns.set(row.turn_id, row)
  }

  putEnds() {
    for (const t of this.turns.values()) this.putEnd(t)
  }

  putEnd(t, lineage) {
    const seq = t.end_seq || t.review?.end_seq || t.updated_seq
    if (t.completed_at && this.covers(seq)) this.put({ key: 'end:' + t.turn_id, seq, turn: t.turn_id, end: { ...t, lineage } })
  }

  // covers tells whether what happened at a seq belongs to the held part.
  covers(seq) {
    return seq >= Number(this.older) && (!this.newer || seq <= this.through)
  }

  put(entry) {
    const known = this.byKey.get(entry.key)
    if (known) return known
    let i = this.entries.length
    while (i > 0 && this.entries[i - 1].seq > entry.seq) i--
    entry.version = 0
    this.entries.splice(i, 0, entry)
    this.byKey.set(entry.key, entry)
    return entry
  }

  // putLine puts the line of a marker; what the known one has not, it gets.
  putLine(entry) {
    const known = this.put(entry)
    if (known === entry) {
      entry.rewind.items = lightened(entry.rewind.items)
      return
    }
    const { items } = known.rewind
    for (const item of entry.rewind.items) if (!items.some(i => i.item_id === item.item_id)) items.push(item)
    items.sort((a, b) => a.created_seq - b.created_seq)
    known.rewind = { ...entry.rewind, items: lightened(items) }
    known.version++
  }

  drop(entry) {
    const i = this.entries.indexOf(entry)
    if (i < 0) return
    this.entries.splice(i, 1)
    this.byKey.delete(entry.key)
  }

  dropOldest() {
    this.drop(this.entries[0])
    while (this.entries.length > 1 && !this.entries[0].item) this.drop(this.entries[0])
    this.older = String(this.entries[0]?.seq ?? '')
  }

  trim() {
    if (this.follows && !this.newer) {
      while (this.entries.length > maxHeld) this.dropOldest()
      return
    }
    while (this.entries.length > maxHeld && this.dropNewest()) { /* until it fits */ }
  }

  // dropNewest drops the newest item and what is behind the one before it; but not a line
  // that has superseded items of the part that stays. It returns false if one item is left.
  dropNewest() {
    const items = this.entries.filter(e => e.item)
    if (items.length < 2) return false
    this.through = items.at(-2).seq
    this.newer = String(this.through)
    for (const e of this.entries.filter(e => e.seq > this.through)) {
      if (!e.rewind?.items.some(i => i.created_seq <= this.through)) this.drop(e)
    }
    return true
  }

  // add takes a row of an item; a superseded one belongs to the line of its marker.
  add(row) {
    const item = { ...row, body: grown(row.content) }
    if (row.superseded_by_seq) {
      const key = 'rewind:' + row.superseded_by_seq
      const entry = this.put({ key, seq: row.superseded_by_seq, turn: row.turn_id, rewind: { items: [] } })
      // One that was in no step was given up with its attempt. Of others the row does not say
      // what was: a step, one above it, or the attempt.
      if (row.lineage?.length === 1 && !entry.rewind.known) Object.assign(entry.rewind, { step: '', tried: row.attempt })
      if (shown(row.type) && !entry.rewind.items.some(i => i.item_id === row.item_id)) {
        entry.rewind.items.push(item)
        entry.rewind.items = lightened(entry.rewind.items.sort((a, b) => a.created_seq - b.created_seq))
        entry.version++
      }
      return
    }
    if (shown(row.type)) this.put({ key: row.item_id, seq: row.created_seq, turn: row.turn_id, item })
  }

  // apply takes an event; it returns the ids of items that must be read again.
  apply({ method, params }) {
    if (params.thread_id !== this.threadId || params.seq <= this.cursor) return []
    this.cursor = params.seq
    this.meanwhile?.push({ method, params })
    if (method === 'stream/rewind') return this.rewind(params)
    if (method === 'turn/late' || this.stale(params)) return []
    if (method.startsWith('item/')) this.itemEvent(method, params)
    else if (method.startsWith('turn/')) this.turnEvent(method, params)
    return []
  }

  stale(params) {
    return Boolean(params.lineage && this.markers.get(params.turn_id)?.stale(params.lineage, params.seq))
  }

  itemEvent(method, p) {
    const entry = this.byKey.get(p.item_id)
    if (method === 'item/delta') {
      if (entry && p.seq > entry.item.updated_seq) {
        entry.item.body.put(p.offset, p.delta.text)
        entry.item.updated_seq = p.seq
        entry.version++
      }
      return
    }
    if (method === 'item/deleted') {
      if (entry && p.seq > entry.item.updated_seq) {
        entry.item.status = 'deleted'
        entry.item.updated_seq = p.seq
        entry.version++
      }
      return
    }
    const row = {
      item_id: p.item_id, thread_id: p.thread_id, turn_id: p.turn_id, attempt: p.attempt, step: p.step, epoch: p.epoch,
      lineage: p.lineage, type: p.content.type, status: p.status, content: p.content, truncated: p.truncated, total_bytes: p.total_bytes,
      created_at: p.timestamp, updated_at: p.timestamp, created_seq: p.seq, updated_seq: p.seq,
    }
    if (entry) {
      if (entry.item.updated_seq >= p.seq) return
      row.created_seq = entry.item.created_seq
      row.created_at = entry.item.created_at
      entry.item = { ...row, body: grown(row.content) }
      entry.version++
    } else if (method === 'item/created') {
      if (this.newer) this.missed = true
      else if (this.covers(p.seq)) {
        this.add(row)
        this.trim()
      }
    }
  }

  turn(id) {
    let t = this.turns.get(id)
    if (!t) this.turns.set(id, t = { turn_id: id, state: '', attempt: 0, created_seq: this.cursor })
    return t
  }

  turnEvent(method, p) {
    const t = { ...this.turn(p.turn_id) }
    if (p.seq <= (t.updated_seq || 0)) return // the row has it
    this.turns.set(t.turn_id, t)
    const { type, seq, thread_seq, timestamp, state, message, ...rest } = p
    if (method === 'turn/progress') {
      Object.assign(t, { state: 'active', progress: state, progress_message: message || '', waits_for: p.waits_for, retry_at: p.retry_at, attempt: Math.max(t.attempt, p.attempt || 0) })
      return
    }
    Object.assign(t, rest, { updated_seq: seq })
    if (method === 'turn/queued') t.state = 'queued'
    if (method === 'turn/started') {
      Object.assign(t, { state: 'active', progress: 'running', progress_message: '', waits_for: undefined, retry_at: undefined, completed_at: undefined, error: undefined, usage: undefined, reason: undefined, stop_reason: undefined, undelivered_item_ids: undefined })
      t.started_at ||= timestamp
      this.unend(t)
    }
    if (method === 'turn/reviewed' && t.review) t.review = { ...t.review, state: p.verdict, note: p.note }
    const known = this.byKey.get('end:' + t.turn_id)
    if (!ends[method]) {
      if (!known || !t.completed_at) return
      known.end = { ...t, lineage: known.end.lineage } // such as what became of its review
      known.version++
      return
    }
    t.state = ends[method]
    t.completed_at ||= timestamp
    t.end_seq = seq
    if (known) this.drop(known)
    this.putEnd(t, p.lineage)
    this.trim()
  }

  unend(t) {
    const known = this.byKey.get('end:' + t.turn_id)
    if (known) this.drop(known)
    t.end_seq = 0
  }

  // rewind takes a marker: what it supersedes becomes one line.
  rewind(p) {
    let markers = this.markers.get(p.turn_id)
    if (!markers) {
      this.markers.set(p.turn_id, markers = new Markers())
      if (this.markers.size > maxMarked) this.markers.delete(this.markers.keys().next().value)
    }
    markers.add(p)
    const again = []
    const line = { ...said(p), items: [] }
    for (const e of [...this.entries]) {
      if (e.turn !== p.turn_id) continue
      if (e.item && markers.stale(e.item.lineage || [], e.item.created_seq)) {
        line.items.push(e.item)
        this.drop(e)
      } else if (e.item && markers.stale(e.item.lineage || [], e.item.updated_seq)) {
        e.item.updated_seq = e.item.created_seq // what is read is older than what it replaces
        again.push(e.key)
      }
      else if (e.end && markers.stale(e.end.lineage || [], e.seq)) this.drop(e)
    }
    if (this.covers(p.seq) || line.items.length) this.putLine({ key: 'rewind:' + p.seq, seq: p.seq, turn: p.turn_id, rewind: line })
    const t = this.turns.get(p.turn_id)
    if (t && !p.step && p.seq > (t.updated_seq || 0)) {
      const now = { ...t, attempt: Math.max(t.attempt, p.new_epoch), state: 'active', error: undefined, started_at: undefined, completed_at: undefined, updated_seq: p.seq }
      this.turns.set(p.turn_id, now)
      this.unend(now)
    }
    return again
  }

  // unmarked is the first line behind a seq whose marker has neither come nor been asked for.
  unmarked(after) {
    return this.entries.find(e => e.rewind && e.seq > after && !e.rewind.known && !e.rewind.asked)
  }

  // takeMarkers takes markers that were read for the lines that rows have begun.
  takeMarkers(events) {
    for (const { params } of events) {
      const entry = this.byKey.get('rewind:' + params.seq)
      if (!entry || entry.rewind.known) continue
      entry.rewind = { ...entry.rewind, ...said(params) }
      entry.version++
    }
  }

  // reread takes an item that was read again.
  reread(row) {
    const entry = this.byKey.get(row.item_id)
    if (!entry || row.updated_seq < entry.item.updated_seq) return
    if (row.superseded) return
    entry.item = { ...row, body: grown(row.content) }
    entry.version++
  }

  // active is the turn that works, or else the first that is queued.
  active() {
    for (const t of this.turns.values()) if (t.state === 'active') return t
    return this.queue()[0] || null
  }

  // queue is the queued turns, the next one first.
  queue() {
    const place = t => t.rank ?? t.created_seq
    return [...this.turns.values()].filter(t => t.state === 'queued').sort((a, b) => place(a) - place(b))
  }

  // isQueued reports whether an entry is the prompt of a turn that has not begun: the queue shows it.
  isQueued(entry) {
    const t = this.turns.get(entry.turn)
    return entry.item?.type === 'user_message' && t?.state === 'queued' && !t.started_at && t.attempt <= 1
  }

  // promptOf is the text that a turn was started with, as far as the page holds it.
  promptOf(turnId) {
    return this.entries.filter(e => e.turn === turnId && e.item?.type === 'user_message').map(e => promptText(e.item.content)).join('\n')
  }

  newestEnded() {
    return [...this.turns.values()].filter(t => t.completed_at).sort((a, b) => b.updated_seq - a.updated_seq)[0]
  }

  // view is the held part as data: what tests compare with the server's fold.
  view() {
    return this.entries.filter(e => e.item).map(e => ({
      item_id: e.key, type: e.item.type, status: e.item.status, text: String(e.item.body),
    }))
  }
}
