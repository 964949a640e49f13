// The overview draws 200 threads at a time, and every thread can be reached.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { options } from '../vendor/preact.js'
import { Overview } from '../app/overview.js'
import { load } from '../app/threads.js'
import { server } from '../app/session.js'

options.debounceRendering = f => setTimeout(f, 20) // as the page: once a frame

server.value = { log_id: 'log', limits: {} }

// row is the i-th oldest thread. Some are of the same moment.
const row = i => ({
  thread_id: `thread_${i}`, agent: 'echo', state: 'idle', latest_seq: i, updated_seq: i, started_at: '2026-01-01T00:00:00Z', inbox: { unacked: 0 },
  summary: { title: `Thread ${i}.`, status: 'idle', since: new Date(1e12 + (i >> 3) * 1000).toISOString(), children: { total: 0 } },
})

// serve answers with pages of n threads.
function serve(n) {
  let asked = 0
  globalThis.fetch = async (_, init) => {
    const { method, params } = JSON.parse(init.body)
    const answers = { 'item/list': { items: [] }, 'turn/list': { turns: [] } }
    if (method === 'thread/list') {
      asked++
      const from = Number(params.cursor || n), to = Math.max(0, from - params.limit)
      answers[method] = { threads: Array.from({ length: from - to }, (_, k) => row(from - 1 - k)), next_cursor: to > 0 ? String(to) : undefined, latest_seq: n }
    }
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answers[method] }))
  }
  return () => asked
}

async function overview(n) {
  const asked = serve(n)
  await load()
  const root = place()
  render(html`<${Overview} />`, root)
  await drawn()
  const button = text => root.all('button').find(b => b.textContent === text)
  return {
    root, asked, button,
    titles: () => root.all('a').map(a => /Thread (\d+)\./.exec(a.textContent)?.[1]).filter(Boolean).map(Number),
    async press(text) {
      button(text).fire('click')
      await drawn()
      await drawn()
    },
    async filter(text) {
      const [field] = root.all('input')
      field.value = text
      field.fire('input')
      await drawn()
    },
  }
}

const down = (from, to) => Array.from({ length: from - to + 1 }, (_, k) => from - k)

test('older threads are shown instead of the newer ones, and back', async () => {
  const page = await overview(450)
  assert.deepEqual(page.titles(), down(449, 250))
  await page.press('Show older threads')
  assert.deepEqual(page.titles(), down(249, 50))
  await page.press('Show older threads')
  assert.deepEqual(page.titles(), down(49, 0))
  assert.equal(page.button('Show older threads'), undefined)
  await page.press('Show newer threads')
  await page.press('Show newer threads')
  assert.deepEqual(page.titles(), down(449, 250))
  assert.equal(page.button('Show newer threads'), undefined)
  assert.equal(page.asked(), 3, 'pages that were read are not read again')
})

test('a filter says that older threads were not read, and finds them once they are', async () => {
  const page = await overview(250)
  await page.filter('thread 7.')
  assert.match(page.root.textContent, /Nothing matches among the 200 threads that were read/)
  await page.press('Show older threads')
  assert.deepEqual(page.titles(), [7])
  await page.filter('thread 9999.')
  assert.match(page.root.textContent, /Nothing matches\./)
})

test('what is kept is bounded, and the page says so', async () => {
  const page = await overview(2300)
  for (let shown = 200; shown < 2000; shown += 200) await page.press('Show older threads')
  assert.deepEqual(page.titles(), down(499, 300))
  assert.equal(page.button('Show older threads'), undefined)
  assert.match(page.root.textContent, /keeps 2000 threads/)
})
