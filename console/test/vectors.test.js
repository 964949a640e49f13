// The page's timeline folds as the Go fold does: the vectors of notify/fold/testdata that a
// reader of a whole log gets.
import './browser.js'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Timeline } from '../app/timeline.js'

const dir = new URL('../testdata/', import.meta.url)
// An item of a kind that the page shows as text has its text.
const row = (id, status, content, text) => `${id} ${status} ${['agent_message', 'reasoning'].includes(content?.type) ? text : ''}`
const files = readdirSync(dir).filter(name => /^(world-(whole|reconnects)-|hand-(worked-example|opposite-markers|ended-again|ends))/.test(name))

test('there are vectors', () => assert.ok(files.length === 14, `${files.length} vectors`))

for (const file of files) {
  const { name, about, events, expect } = JSON.parse(readFileSync(new URL(file, dir), 'utf8'))
  test(`${name}: ${about}`, () => {
    const threads = new Map(), again = new Set()
    for (const event of events) {
      const id = event.params.thread_id
      if (!id) continue
      if (!threads.has(id)) {
        threads.set(id, new Timeline(id))
        threads.get(id).begin({ items: [] }, { turns: [] }, 0)
      }
      // A server sends the content with each change of an item; the vectors leave some out.
      const whole = /^item\/(created|updated)$/.test(event.method) ? { content: { type: 'notice' }, ...event.params } : event.params
      for (const item of threads.get(id).apply({ ...event, params: whole })) again.add(item)
    }
    const want = [], got = []
    for (const turn of expect.views.at(-1).turns) {
      for (const item of turn.items) {
        // What is superseded in part the page reads again from the server.
        if (again.has(item.item_id)) threads.get(turn.thread_id).reread(item)
        want.push(row(item.item_id, item.status, item.content, item.text))
      }
    }
    for (const t of threads.values()) for (const i of t.view()) got.push(row(i.item_id, i.status, { type: i.type }, i.text))
    assert.deepEqual(got.sort(), want.sort())
  })
}
