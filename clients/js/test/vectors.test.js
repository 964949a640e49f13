// The fold does what the Go fold does: the vectors of notify/fold/testdata.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

import { View } from '../index.js'

const dir = new URL('../../../notify/fold/testdata/', import.meta.url)
const files = readdirSync(dir).filter((name) => name.endsWith('.json'))

test('there are vectors', () => assert.ok(files.length > 30, `${files.length} vectors`))

for (const file of files) {
  const vector = JSON.parse(readFileSync(new URL(file, dir), 'utf8'))
  test(`${vector.name}: ${vector.about}`, () => {
    const view = new View({ keepEnded: vector.options.keep_ended, keepTurns: vector.options.keep_turns })
    view.advance(vector.after_seq)
    const views = new Map(vector.expect.views.map((v) => [v.after_events, v]))
    vector.events.forEach((event, i) => {
      const got = plain(lookAtChange(view.apply(event)))
      assert.deepEqual(got, vector.expect.changes[i], `change of event ${i + 1}`)
      const want = views.get(i + 1)
      if (want) assert.deepEqual(plain(lookAtView(view, i + 1)), decoded(want), `view after ${i + 1} events`)
    })
  })
}

function lookAtChange({ kind, turn, item, superseded }) {
  return { kind, turn_id: turn?.turn_id, item_id: item?.item_id, superseded: superseded.length > 0 ? superseded : undefined }
}

function lookAtView(view, after_events) {
  const turns = view.turns().sort((a, b) => (a.turn_id < b.turn_id ? -1 : 1))
  return { after_events, cursor: view.cursor, turns: turns.map(lookAtTurn) }
}

function lookAtTurn(t) {
  const { turn_id, thread_id, state, attempt, progress, progress_message, origin, message, reason, steps } = t
  return {
    turn_id, thread_id, state, attempt, progress, progress_message, origin, message, reason, steps,
    items: t.items().map(lookAtItem),
    superseded: t.superseded().map((it) => it.item_id),
  }
}

function lookAtItem(it) {
  const { item_id, type, status, text, from, content, truncated, created_seq, updated_seq } = it
  assert.equal(it.live, true)
  return { item_id, type, status, text, from, content, truncated, created_seq, updated_seq }
}

// plain leaves out members without a value, as JSON does.
function plain(value) {
  return JSON.parse(JSON.stringify(value))
}

function decoded(view) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for (const turn of view.turns) {
    for (const item of turn.items) {
      if (item.text_base64 === undefined) continue
      item.text = decoder.decode(Buffer.from(item.text_base64, 'base64'))
      delete item.text_base64
    }
  }
  return view
}
