// The line of a marker that rows have begun: a row has the seq of its marker, the log has what
// was given up and why. The line is exact, or says no more than is known.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Row } from '../app/items.js'
import { Loader } from '../app/thread_load.js'
import { HolonError } from '../client/index.js'

const thread_id = 'thread_1', turn_id = 'turn_1'
const outside = [{ step: '', epoch: 2 }]
const inside = [...outside, { step: 'build', epoch: 3 }, { step: 'build/test', epoch: 1 }]
const row = (n, lineage, marker) => ({
  item_id: 'item_' + n, thread_id, turn_id, attempt: 2, lineage, type: 'agent_message', status: 'completed', created_seq: n, updated_seq: n,
  content: { type: 'agent_message', content: [{ type: 'output_text', text: 'x' }] }, superseded: true, superseded_by_seq: marker,
})
const marker = (seq, step, new_epoch) => ({ method: 'stream/rewind', params: { seq, thread_id, turn_id, step, new_epoch, superseded_after_seq: 0, reason: 'agent_crash' } })

// opened is a thread of these items; its log answers as given. It returns the loader, what the
// log was asked, and the lines as they are seen.
async function opened(items, log) {
  const asked = []
  const answers = { 'thread/read': { thread: { thread_id }, latest_seq: 1000 }, 'item/list': { items }, 'turn/list': { turns: [] } }
  const loader = new Loader(thread_id, {
    call: async (method, params) => {
      if (method !== 'event/list') return answers[method]
      asked.push(params.after_seq)
      return log(params)
    },
    listen: () => () => {}, seen: () => {},
  })
  const lines = async () => {
    await loader.marking
    const root = place()
    render(loader.timeline.entries.map(e => html`<${Row} entry=${e} version=${e.version} />`), root)
    await drawn()
    return root.all('summary').map(s => s.textContent)
  }
  await loader.load()
  return { loader, asked, lines }
}

const nothing = ({ after_seq }) => ({ events: [], next_after_seq: Math.max(after_seq, 1000) })

test('the markers of a page are read together, and its lines are exact', async () => {
  const all = [marker(100, 'build', 4), marker(200, '', 3), marker(300, 'build/test', 2)]
  const { asked, lines } = await opened([row(50, inside, 100), row(150, inside, 200), row(250, inside, 300)].reverse(), () => ({ events: all, next_after_seq: 1000 }))
  assert.deepEqual(await lines(), [
    '↩ Step build, try 3 was given up: the agent crashed · 1 item', '↩ Attempt 2 was given up: the agent crashed · 1 item', '↩ Step build/test, try 1 was given up: the agent crashed · 1 item',
  ])
  assert.deepEqual(asked, [99])
})

test('a line says what is known without its marker, and is not asked for again', async () => {
  const { loader, asked, lines } = await opened([row(151, outside, 200), row(150, inside, 200), row(50, inside, 100)], nothing)
  assert.deepEqual(await lines(), ['↩ A try was given up · 1 item', '↩ Attempt 2 was given up · 2 items'])
  await loader.page('newer', async () => {})
  await lines()
  assert.deepEqual(asked, [99, 199])
})

test('what was pruned is asked for once, and what is left of the log is read', async () => {
  const items = [row(350, inside, 400), ...Array.from({ length: 20 }, (_, n) => row(50 - n, inside, 100 + n))]
  const { asked, lines } = await opened(items, ({ after_seq }) => {
    if (after_seq < 299) throw new HolonError('cursor_expired', 'pruned', { code: -32005, data: { kind: 'cursor_expired', first_seq: 300 } })
    return { events: [marker(400, '', 3)], next_after_seq: 1000 }
  })
  assert.deepEqual((await lines()).slice(19), ['↩ A try was given up · 1 item', '↩ Attempt 2 was given up: the agent crashed · 1 item'])
  assert.deepEqual(asked, [99, 399])
})

test('what could not be read is read with the next page', async () => {
  let away = true
  const { loader, asked, lines } = await opened([row(50, inside, 100)], () => {
    if (away) throw new HolonError('offline', 'gone')
    return { events: [marker(100, 'build', 4)], next_after_seq: 1000 }
  })
  assert.deepEqual(await lines(), ['↩ A try was given up · 1 item'])
  away = false
  await loader.page('newer', async () => {})
  assert.deepEqual(await lines(), ['↩ Step build, try 3 was given up: the agent crashed · 1 item'])
  assert.deepEqual(asked, [99, 99])
})

test('a thread with many lines that the log does not have asks a few times only', async () => {
  const items = Array.from({ length: 50 }, (_, n) => row(100 - n, inside, 200 - n))
  const { asked, lines } = await opened(items, ({ after_seq }) => ({ events: [], next_after_seq: after_seq + 1 }))
  await lines()
  assert.equal(asked.length, 5)
})
