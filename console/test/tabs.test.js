// Tabs share six connections to a server: hidden ones give theirs back.
import './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { follow, show, stream } from '../app/live.js'

const soon = ms => new Promise(resolve => setTimeout(resolve, ms))
const [tabs] = BroadcastChannel.all
const others = () => tabs.dispatchEvent(new Event('message'))

test('a hidden tab closes its stream when another opens one, one that is seen does not', async t => {
  const later = globalThis.setTimeout
  globalThis.setTimeout = (f, ms, ...more) => later(f, ms === 30_000 ? 100 : ms, ...more)
  t.after(() => { // the stream that is left must not keep the test from ending
    globalThis.setTimeout = later
    document.hidden = true
    others()
  })
  let open = 0
  globalThis.fetch = async (_, { signal }) => {
    open++
    signal.addEventListener('abort', () => open--)
    return new Response(new ReadableStream({ start() {} }), { headers: { 'Content-Type': 'application/x-ndjson' } })
  }
  const see = hidden => {
    document.hidden = hidden
    document.fire('visibilitychange')
    return soon(20)
  }
  document.hidden = true
  follow('log', 10)
  await soon(20)
  assert.deepEqual([open, tabs.sent], [1, 1])
  await soon(200)
  assert.equal(open, 0, 'a page that was opened in the background gives its stream back after a while')
  await see(false)
  assert.deepEqual([open, tabs.sent], [1, 2])
  others()
  await soon(20)
  assert.equal(open, 1)
  await see(true)
  others()
  await soon(20)
  assert.deepEqual([open, stream.value.state], [0, 'off'])
  show('thread_1')
  await soon(20)
  assert.equal(open, 0, 'it stays closed until somebody looks')
  await see(false)
  assert.equal(open, 1)
})
