// What comes late or twice: answers that are older than events, and events that rows have.
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Timeline, keptSuperseded, maxHeld } from '../app/timeline.js'
import { Loader } from '../app/thread_load.js'
import { HolonError } from '../client/index.js'

const thread_id = 'thread_1', turn_id = 'turn_1'
const lineage = [{ step: '', epoch: 1 }]
const content = text => ({ type: 'agent_message', role: 'assistant', content: [{ type: 'output_text', text }] })
const row = (n, more) => ({ item_id: 'item_' + n, thread_id, turn_id, attempt: 1, lineage, type: 'agent_message', status: 'completed', content: content('text ' + n), created_seq: n, updated_seq: n, ...more })
const event = (method, seq, more) => ({ method, params: { seq, thread_id, turn_id, attempt: 1, lineage, timestamp: '2026-01-01T00:00:00Z', ...more } })

function begun(items, { turns = [], next = '', seq = 1000 } = {}) {
  const t = new Timeline(thread_id)
  t.begin({ items, next_cursor: next }, { turns }, seq)
  return t
}

test('what happens while a page is read is in the page', () => {
  const t = begun([row(900)], { next: '900' })
  t.follows = false
  t.expect()
  const open = row(500, { status: 'in_progress', content: content('a') })
  t.apply(event('item/delta', 1001, { item_id: 'item_500', offset: 1, delta: { text: 'b' } }))
  t.apply(event('item/updated', 1002, { item_id: 'item_600', status: 'completed', content: content('done') }))
  t.apply(event('item/deleted', 1003, { item_id: 'item_700' }))
  t.takeOlder({ items: [row(700), row(600, { status: 'in_progress' }), open] })
  assert.deepEqual(t.view().map(i => [i.status, i.text]), [['in_progress', 'ab'], ['completed', 'done'], ['deleted', 'text 700'], ['completed', 'text 900']])
})

test('what is superseded while a page is read is no live row of it', () => {
  const t = begun([row(900, { turn_id: 'turn_2' })], { next: '900' })
  t.expect()
  t.apply(event('stream/rewind', 1001, { step: '', new_epoch: 2, superseded_after_seq: 0, reason: 'requested' }))
  t.takeOlder({ items: [row(600), row(500)] })
  assert.deepEqual(t.view().map(i => i.item_id), ['item_900'])
  assert.deepEqual(t.entries.filter(e => e.rewind).map(e => [e.seq, e.rewind.items.map(i => i.created_seq)]), [[1001, [500, 600]]])
})

test('what a try says after it was given up is not shown', () => {
  const t = begun([row(900)])
  t.apply(event('stream/rewind', 1001, { step: '', new_epoch: 2, superseded_after_seq: 0 }))
  t.apply(event('item/created', 1002, { item_id: 'item_late', status: 'completed', content: content('late') }))
  t.apply(event('item/created', 1003, { item_id: 'item_again', attempt: 2, lineage: [{ step: '', epoch: 2 }], status: 'completed', content: content('again') }))
  assert.deepEqual(t.view().map(i => i.text), ['again'])
})

test('an item that is superseded in part is as it was before, and goes on', () => {
  const t = begun([row(10, { status: 'in_progress', content: content('a'), lineage: [{ step: '', epoch: 1 }, { step: 's', epoch: 1 }] })], { seq: 10 })
  t.apply(event('item/delta', 12, { item_id: 'item_10', lineage: [{ step: '', epoch: 1 }, { step: 's', epoch: 1 }], offset: 1, delta: { text: 'b' } }))
  assert.deepEqual(t.apply(event('stream/rewind', 13, { step: 's', new_epoch: 2, superseded_after_seq: 11 })), ['item_10'])
  t.reread(row(10, { content: content('a'), updated_seq: 10 }))
  assert.deepEqual(t.view().map(i => i.text), ['a'])
})

test('an answer that is older than the deltas changes nothing', () => {
  const t = begun([row(10, { status: 'in_progress', content: content('a') })], { seq: 10 })
  t.apply(event('item/delta', 12, { item_id: 'item_10', offset: 1, delta: { text: 'b' } }))
  t.reread(row(10, { status: 'in_progress', content: content('a'), updated_seq: 11 }))
  t.apply(event('item/delta', 13, { item_id: 'item_10', offset: 2, delta: { text: 'c' } }))
  assert.equal(t.view()[0].text, 'abc')
})

test('events that a turn has already do not begin it again', () => {
  const turn = { turn_id, thread_id, state: 'completed', attempt: 2, started_at: '2026-01-01T00:00:00Z', completed_at: '2026-01-01T00:01:00Z', created_seq: 5, updated_seq: 40 }
  const t = begun([row(30)], { turns: [turn], seq: 10 })
  for (const e of [event('turn/started', 11, { origin: 'client' }), event('stream/rewind', 20, { step: '', new_epoch: 2, superseded_after_seq: 0 }), event('turn/started', 21, { attempt: 2 })]) {
    t.apply(e)
    assert.equal(t.active(), null)
    assert.deepEqual(t.entries.filter(e => e.end).map(e => e.seq), [40])
  }
})

test('the end of a turn shows what became of its review', () => {
  const turn = { turn_id, thread_id, state: 'completed', attempt: 1, completed_at: '2026-01-01T00:01:00Z', created_seq: 5, updated_seq: 40, review: { state: 'pending', end_seq: 38 } }
  const t = begun([row(30)], { turns: [turn], seq: 40 })
  const end = () => t.entries.find(e => e.end)
  assert.equal(end().seq, 38)
  const { version } = end()
  t.apply(event('turn/reviewed', 41, { verdict: 'approved', note: 'fine' }))
  assert.deepEqual([end().end.review.state, end().end.review.note, end().version], ['approved', 'fine', version + 1])
  assert.equal(end().seq, 38)
})

test('a retried turn forgets what its former end said', () => {
  const t = begun([], { seq: 1 })
  t.apply(event('turn/queued', 2, { reason: 'busy' }))
  t.apply(event('turn/started', 3, { origin: 'queue' }))
  t.apply(event('turn/failed', 4, { error: { kind: 'x', message: 'm' }, undelivered_item_ids: ['item_1'] }))
  t.apply(event('stream/rewind', 5, { step: '', new_epoch: 2, superseded_after_seq: 0 }))
  t.apply(event('turn/started', 6, { attempt: 2, lineage: [{ step: '', epoch: 2 }] }))
  t.apply(event('turn/completed', 7, { attempt: 2, lineage: [{ step: '', epoch: 2 }] }))
  const { end } = t.entries.find(e => e.end)
  assert.deepEqual([end.state, end.attempt, end.error, end.reason, end.undelivered_item_ids], ['completed', 2, undefined, undefined, undefined])
})

test('an end that comes after the page behind it is shown', () => {
  const t = begun([row(30)], { seq: 35 })
  Object.assign(t, { newer: '30', through: 30 })
  t.expect()
  t.takeNewer({ items: [row(50, { turn_id: 'turn_2' })], next_cursor: '50' })
  t.apply(event('turn/completed', 40))
  assert.deepEqual(t.entries.map(e => e.seq), [30, 40, 50])
})

test('of many superseded items only the newest are kept whole', () => {
  const whole = t => t.entries.find(e => e.rewind).rewind.items.map(i => Boolean(i.content))
  const want = Array.from({ length: 100 }, (_, i) => i >= 100 - keptSuperseded)
  const rows = Array.from({ length: 100 }, (_, i) => row(100 - i))
  assert.deepEqual(whole(begun(rows.map(r => ({ ...r, superseded: true, superseded_by_seq: 150 })))), want)
  const t = begun(rows, { seq: 100 })
  const marker = event('stream/rewind', 150, { step: '', new_epoch: 2, superseded_after_seq: 0 })
  t.apply(marker)
  assert.deepEqual(whole(t), want)
  t.takeOlder({ items: [row(0, { superseded: true, superseded_by_seq: 150 })] })
  assert.deepEqual(whole(t), [false, ...want])
})

// scripted is a loader whose answers the test gives.
function scripted() {
  const asked = []
  let hear
  const loader = new Loader(thread_id, {
    call: (method, params) => new Promise((answer, refuse) => asked.push({ method, params, answer, refuse })),
    listen: f => { hear = f; return () => {} }, seen: () => {},
  })
  const next = async method => {
    await new Promise(setImmediate)
    const i = asked.findIndex(a => a.method === method)
    assert.ok(i >= 0, `${method} was not asked for`)
    return asked.splice(i, 1)[0]
  }
  return { loader, next, asked, hear: (...events) => hear(events) }
}

async function loaded(s, items, next_cursor) {
  ;(await s.next('thread/read')).answer({ thread: { thread_id, state: 'running' }, latest_seq: 1000 })
  ;(await s.next('item/list')).answer({ items, next_cursor })
  ;(await s.next('turn/list')).answer({ turns: [] })
  await new Promise(setImmediate)
}

test('a page that no longer joins what is held is not taken', async () => {
  const s = scripted()
  s.loader.load()
  await loaded(s, Array.from({ length: 100 }, (_, i) => row(1000 - i)), '901')
  const done = s.loader.older()
  const asked = await s.next('item/list')
  assert.equal(asked.params.cursor, '901')
  for (let n = 1; n <= maxHeld; n++) s.hear(event('item/created', 1000 + n, { item_id: 'item_' + (1000 + n), status: 'completed', content: content('x') }))
  asked.answer({ items: [row(900), row(899)], next_cursor: '899' })
  await done
  const t = s.loader.timeline
  const seqs = t.entries.map(e => e.seq)
  assert.equal(Number(t.older), seqs[0])
  assert.equal(seqs.at(-1) - seqs[0], seqs.length - 1, 'there is a gap')
})

test('a thread that is closed while it is read is closed, and what was before is not applied again', async () => {
  const s = scripted()
  s.loader.load()
  const read = await s.next('thread/read')
  s.hear(event('thread/paused', 999), event('thread/closed', 1001))
  read.answer({ thread: { thread_id, state: 'running' }, latest_seq: 1000 })
  s.hear(event('thread/updated', 1002, { title: 'named meanwhile' }))
  ;(await s.next('item/list')).answer({ items: [] })
  ;(await s.next('turn/list')).answer({ turns: [] })
  await new Promise(setImmediate)
  assert.deepEqual([s.loader.thread.value.state, s.loader.thread.value.title], ['closed', 'named meanwhile'])
})

test('a thread that cannot be read is read again, unless it is refused', async t => {
  const timers = [], real = globalThis.setTimeout
  globalThis.setTimeout = f => timers.push(f)
  t.after(() => { globalThis.setTimeout = real })
  const s = scripted()
  s.loader.load()
  ;(await s.next('thread/read')).refuse(new HolonError('offline', 'gone'))
  await new Promise(setImmediate)
  assert.equal(s.loader.failed.value.kind, 'offline')
  assert.equal(timers.length, 1)
  timers.pop()()
  ;(await s.next('thread/read')).refuse(new HolonError('not_found', 'no thread', { code: -32001, data: { retryable: false } }))
  await new Promise(setImmediate)
  assert.equal(timers.length, 0)
  assert.equal(s.loader.failed.value.kind, 'not_found')
})

test('who leaves the page of a thread has seen all that it has shown', async () => {
  let hear
  const seen = [], answers = { 'thread/read': { thread: { thread_id, state: 'running' }, latest_seq: 100 }, 'item/list': { items: [] }, 'turn/list': { turns: [] } }
  const loader = new Loader(thread_id, { call: async method => answers[method], listen: f => { hear = f; return () => {} }, seen: (id, seq) => seen.push(seq) })
  await loader.load()
  hear([event('thread/updated', 110, { title: 'its new name' })])
  loader.close()
  assert.deepEqual(seen, [100, 110])
})

test('a queued turn is shown in the queue, not in the timeline, until it begins', () => {
  const t = begun([row(900, { turn_id: 'turn_0' })])
  const prompt = (seq, turn_id, text) => event('item/created', seq, { item_id: 'item_' + seq, turn_id, status: 'completed', content: { type: 'user_message', content: [{ type: 'input_text', text }] } })
  const queued = (seq, turn_id, rank) => event('turn/queued', seq, { turn_id, rank, position: rank, queued_at: '2026-01-01T00:00:00Z', reason: 'busy' })
  for (const e of [event('turn/started', 1001, { turn_id: 'turn_1' }), queued(1002, 'turn_2', 7), prompt(1003, 'turn_2', 'later'), queued(1004, 'turn_3', 6), prompt(1005, 'turn_3', 'sooner')]) t.apply(e)
  assert.deepEqual(t.queue().map(turn => t.promptOf(turn.turn_id)), ['sooner', 'later'])
  assert.equal(t.active().turn_id, 'turn_1')
  const shown = () => t.entries.filter(e => !t.isQueued(e)).map(e => e.key)
  assert.deepEqual(shown(), ['item_900'])
  t.apply(event('turn/started', 1006, { turn_id: 'turn_3', attempt: 1 }))
  assert.deepEqual([shown(), t.queue().map(turn => turn.turn_id)], [['item_900', 'item_1005'], ['turn_2']])
  t.apply(event('turn/interrupted', 1007, { turn_id: 'turn_2', started_at: undefined }))
  assert.ok(shown().includes('item_1003'), 'one that was taken out of the queue is in the timeline')
})
