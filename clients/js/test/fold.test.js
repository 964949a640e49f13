// What the vectors of the Go fold do not say of this one.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Markers, View } from '../index.js'
import { GrowingText } from '../text.js'

const refs = (epoch) => [{ step: '', epoch }]

test('a text counts the bytes that a buffer would have, wherever it is cut', () => {
  const pieces = ['a', 'ö', '三', '😀', '', 'e\u0301', '\ufeff', '\ud83d', 'x'.repeat(30)]
  let seed = 1
  const random = (n) => (seed = (seed * 48271) % 0x7fffffff) % n
  for (let round = 0; round < 2000; round++) {
    const text = new GrowingText()
    let bytes = Buffer.alloc(0)
    let from = 0
    for (let i = 0; i < 12; i++) {
      const piece = pieces[random(pieces.length)]
      let offset = from + bytes.length
      if (random(3) === 0) offset = random(from + bytes.length + 3)
      const at = offset - from
      if (at >= 0 && at <= bytes.length) bytes = bytes.subarray(0, at)
      else [bytes, from] = [Buffer.alloc(0), offset]
      bytes = Buffer.concat([bytes, Buffer.from(piece)])
      text.put(offset, piece)
      assert.equal(String(text), new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), `round ${round}`)
      assert.equal(text.from, from)
    }
  }
})

test('markers of one step keep only what counts', () => {
  const markers = new Markers()
  for (let epoch = 2; epoch < 1000; epoch++) {
    markers.add({ step: 'a', new_epoch: epoch, superseded_after_seq: 0 })
    markers.add({ step: 'a', new_epoch: epoch, superseded_after_seq: epoch })
  }
  markers.add({ step: 'a', new_epoch: 2000, superseded_after_seq: 50 })
  for (const [epoch, seq, stale] of [[998, 1, true], [999, 50, false], [999, 51, true], [1999, 51, true], [2000, 51, false]]) {
    assert.equal(markers.stale([{ step: '', epoch: 1 }, { step: 'a', epoch }], seq), stale, `epoch ${epoch}, seq ${seq}`)
  }
  assert.deepEqual(markers.hides(undefined), { after: 0, hidden: false })
  assert.deepEqual(markers.hides([{ step: 'a', epoch: 1 }]), { after: 0, hidden: true })
})

test('a view of a hundred thousand turns keeps its bounds', () => {
  const view = new View()
  for (let seq = 1; seq <= 100_000; seq++) view.apply({ method: 'turn/failed', params: { seq, turn_id: `t${seq}` } })
  assert.deepEqual([view.size, view.turns().length, view.cursor], [64, 64, 100_000])
  const open = new View({ keepTurns: 10 })
  for (let seq = 1; seq <= 1000; seq++) open.apply({ method: 'turn/started', params: { seq, turn_id: `t${seq}` } })
  assert.deepEqual(open.turns().map((t) => t.turn_id), Array.from({ length: 10 }, (_, i) => `t${i + 991}`))
})

// A delta must not cost the text before it: a hundred thousand of them are 500 kB.
test('deltas add up', () => {
  const view = new View()
  view.apply({ method: 'item/created', params: { seq: 1, turn_id: 't', item_id: 'i', lineage: refs(1), content: { type: 'reasoning', text: '' } } })
  for (let n = 0; n < 100_000; n++) {
    view.apply({ method: 'item/delta', params: { seq: n + 2, turn_id: 't', item_id: 'i', lineage: refs(1), delta: { text: 'wörd ' }, offset: 6 * n } })
  }
  assert.equal(view.turn('t').item('i').text, 'wörd '.repeat(100_000))
  const { superseded } = view.apply({ method: 'stream/rewind', params: { seq: 200_000, turn_id: 't', step: '', new_epoch: 2, superseded_after_seq: 50_001 } })
  assert.equal(superseded.length, 50_000)
  assert.equal(view.turn('t').item('i').text, 'wörd '.repeat(50_000))
})

test('the live and the superseded events of a turn can be listed', () => {
  const view = new View()
  const apply = (method, params) => view.apply({ method, params: { turn_id: 't', ...params } })
  apply('turn/started', { seq: 1, lineage: refs(1) })
  apply('item/created', { seq: 2, item_id: 'i', lineage: refs(1) })
  apply('stream/rewind', { seq: 3, step: '', new_epoch: 2, superseded_after_seq: 1 })
  apply('turn/late', { seq: 4 })
  apply('turn/started', { seq: 5, lineage: refs(2) })
  const entry = (seq, method, item_id) => ({ seq, method, item_id })
  assert.deepEqual(view.turn('t').events(), {
    live: [entry(1, 'turn/started'), entry(5, 'turn/started')],
    superseded: [entry(2, 'item/created', 'i'), entry(4, 'turn/late')],
  })
  assert.equal(view.turn('t').item('i').live, false)
  view.forget('t')
  assert.equal(view.turn('t'), undefined)
  view.forget('t')
})

test('members of another kind than expected are no reason to fail', () => {
  const view = new View()
  for (const [seq, params] of [{ status: { a: 1 }, content: 7 }, { content: { type: 'agent_message', content: 'x' } }, { content: { type: 'agent_message', content: [null] } }, { lineage: null, attempt: 'x' }].entries()) {
    const change = view.apply({ method: 'item/created', params: { seq: seq + 1, turn_id: 't', item_id: `i${seq}`, ...params } })
    assert.equal(change.kind, 'joined')
    assert.equal(change.item.text, '')
  }
  assert.equal(view.apply({ method: 'turn/started' }).kind, 'skipped')
  assert.equal(view.apply({ method: 'item/delta', params: { seq: 9, turn_id: 't', item_id: 'i' } }).item.text, '')
})
