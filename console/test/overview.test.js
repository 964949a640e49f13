// The overview draws 200 threads at a time, and every thread can be reached; what needs
// somebody, works or has failed is there however old it is, and is what is counted.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { options } from '../vendor/preact.js'
import { Overview } from '../app/overview.js'
import { load, readSight, sums, threads } from '../app/threads.js'
import { server } from '../app/session.js'

options.debounceRendering = f => setTimeout(f, 20) // as the page: once a frame

server.value = { log_id: 'log', limits: {} }

const listed = { waiting: 'needs_you', idle: 'done' }

// row is the i-th oldest thread. Some are of the same moment.
const row = (i, { status = 'idle', ...more } = {}, summary = {}) => ({
  thread_id: `thread_${i}`, agent: 'echo', state: 'running', latest_seq: i, updated_seq: i, started_at: '2026-01-01T00:00:00Z', inbox: { unacked: 0 },
  summary: { title: `Thread ${i}.`, status, text: `text ${i}`, since: new Date(1e12 + (i >> 3) * 1000).toISOString(), children: { total: 0 }, ...summary }, ...more,
})

const rows = (n, of = row) => Array.from({ length: n }, (_, i) => of(i))

// serve answers as a server that has these threads. An old one does not know the words of lists,
// or does not look at them; a blind one counts none.
function serve(all, { old, atLeast, blind } = {}) {
  const asked = []
  globalThis.fetch = async (_, init) => {
    const { method, params } = JSON.parse(init.body)
    const answer = body => new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }))
    if (method !== 'thread/list') return answer({ result: { agents: [] } })
    asked.push(params)
    if (old === 'refuses' && (params.status || params.counts || params.text)) return answer({ error: { code: -32602, message: 'no', data: { kind: 'invalid_params', retryable: false } } })
    const status = t => listed[t.summary.status] || t.summary.status
    const has = (t, words) => words.every(w => `${t.summary.title} ${t.agent} ${t.thread_id}`.toLowerCase().includes(w))
    const matching = all.filter(t => (old || !params.status || params.status.includes(status(t))) && (old || !params.text || has(t, params.text.split(' '))) && (!params.thread_ids || params.thread_ids.includes(t.thread_id)))
    const from = Number(params.cursor || matching.length), to = Math.max(0, from - params.limit)
    const result = { threads: matching.slice(to, from).reverse(), next_cursor: to > 0 ? String(to) : undefined, latest_seq: all.length }
    if (params.counts && !old) {
      result.counts = { needs_you: 0, working: 0, failed: 0, done: 0, closed: 0, at_least: atLeast || blind }
      for (const t of blind ? [] : all) if (!t.level || status(t) === 'needs_you') result.counts[status(t)]++
    }
    return answer({ result })
  }
  return asked
}

async function overview(all, how) {
  const asked = serve(all, how)
  await load()
  const root = place()
  render(html`<${Overview} />`, root)
  await drawn()
  const button = text => root.all('button').find(b => b.textContent === text)
  return {
    root, asked, button,
    titles: () => root.all('a').map(a => /Thread (\d+)\./.exec(a.textContent)?.[1]).filter(Boolean).map(Number),
    headings: () => root.all('h2').map(h => h.textContent),
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
      const answered = () => !text || how?.old || asked.some(p => p.text === text) && !/searching/.test(root.textContent)
      for (let i = 0; i < 200 && !answered(); i++) await drawn()
    },
    leave: () => render(null, root),
  }
}

const down = (from, to) => Array.from({ length: from - to + 1 }, (_, k) => from - k)

test('older threads are shown instead of the newer ones, and back', async () => {
  const page = await overview(rows(450))
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
  assert.equal(page.asked.filter(p => p.status?.[0] === 'done').length, 3, 'pages that were read are not read again')
  page.leave()
})

test('what needs somebody, works or has failed is there however old it is, and is what is counted', async () => {
  const old = { 0: { status: 'waiting' }, 1: { status: 'working' }, 2: { status: 'failed' }, 3: { status: 'working', level: 1 }, 4: { status: 'waiting', level: 1 } }
  const page = await overview(rows(900, i => row(i, old[i])))
  assert.deepEqual(page.titles().slice(0, 4), [0, 4, 1, 2])
  assert.deepEqual(page.headings(), ['Needs you 2', 'Working 1', 'Failed 1', 'Idle 895'])
  assert.match(page.root.all('h1')[0].textContent, /^2 need you1 working1 failed/)
  assert.equal(sums.value.needs_you, 2)
  page.leave()
})

test('more than a page of each status is read whole, those that need somebody first', async () => {
  const status = i => ['waiting', 'working', 'failed'][i % 3]
  const page = await overview(rows(1500, i => row(i, { status: status(i) })))
  assert.deepEqual([sums.value.needs_you, sums.value.working, sums.value.failed, sums.value.done], [500, 500, 500, 0])
  assert.deepEqual(page.headings(), ['Needs you 500'])
  assert.equal(page.titles()[0], 0)
  page.leave()
})

test('of more than the page keeps the server counts, and the page says when that is not all', async () => {
  const page = await overview(rows(3000, i => row(i, { status: i < 50 ? 'waiting' : 'failed' })), { atLeast: true })
  assert.deepEqual([threads.value.size, sums.value.needs_you, sums.value.failed], [2000, 50, 2950])
  assert.match(page.root.all('h1')[0].textContent, /^50\+ need you2950\+ failed/)
  assert.deepEqual(page.titles().slice(0, 50), Array.from({ length: 50 }, (_, i) => i), 'those that need somebody are there')
  assert.ok(page.asked.length <= 14, `${page.asked.length} requests`)
  page.leave()
})

test('a number that the server has not found is left out, and no less than what is listed is said', async () => {
  const page = await overview(rows(3000, i => row(i, { status: 'failed' })), { blind: true })
  assert.match(page.root.all('h1')[0].textContent, /^2000\+ failed/)
  assert.deepEqual(page.headings(), ['Failed 2000+'])
  threads.value = new Map()
  await drawn()
  assert.match(page.root.all('h1')[0].textContent, /^Threads/)
  page.leave()
})

test('when there are more than the page keeps the server counts from then on', async () => {
  const all = rows(1990, i => row(i, { status: 'failed' }))
  const page = await overview(all)
  assert.equal(sums.value.failed, 1990)
  all.push(...Array.from({ length: 50 }, (_, i) => row(1990 + i, { status: 'failed' })))
  await readSight(all.slice(-50).map(t => t.thread_id))
  assert.deepEqual([threads.value.size, sums.value.failed], [2000, 2040])
  page.leave()
})

test('a filter asks the server, and finds what was not read', async () => {
  const page = await overview(rows(450))
  await page.filter('thread 7.')
  assert.deepEqual(page.titles(), down(449, 0).filter(i => i % 10 === 7))
  assert.deepEqual(page.asked.filter(p => p.text).map(p => p.text), ['thread 7.'])
  await page.filter('thread 9999.')
  assert.match(page.root.textContent, /Nothing matches\./)
  await page.filter('')
  assert.equal(page.titles().length, 200)
  page.leave()
})

test('what a filter finds is kept, however full the page is, and its next page is read', async () => {
  const page = await overview(rows(2600, i => row(i, {}, { title: i < 300 ? `Old Thread ${i}.` : `Thread ${i}.` })))
  for (let shown = 200; shown < 2000; shown += 200) await page.press('Show older threads')
  assert.match(page.root.textContent, /keeps 2000 threads/)
  await page.filter('old')
  assert.deepEqual(page.titles(), down(299, 100))
  assert.deepEqual(page.headings(), ['Idle 200+'])
  await page.press('Show older threads')
  assert.deepEqual(page.titles(), down(99, 0))
  assert.equal(page.button('Show older threads'), undefined)
  page.leave()
})

test('a server that does not count is read as far as it goes, and its rows are summed', async () => {
  for (const old of ['refuses', 'ignores']) {
    const page = await overview(rows(250, i => row(i, { status: i % 100 ? 'idle' : 'waiting' })), { old })
    assert.match(page.root.all('h1')[0].textContent, /^2 need you0 working/)
    await page.filter('thread_1 7. 1')
    assert.match(page.root.textContent, /Idle 1/)
    await page.filter('nobody')
    assert.match(page.root.textContent, /Nothing matches among the 200 threads that were read/)
    await page.press('Show older threads')
    assert.match(page.root.textContent, /Nothing matches\./)
    assert.equal(sums.value.needs_you, 3)
    page.leave()
  }
})

test('rows in sight are read again with the counts, and say what the server says', async () => {
  const all = [row(0, { status: 'working' }), row(1)]
  const page = await overview(all)
  assert.match(page.root.textContent, /Thread 0\..*text 0/)
  all[0] = row(0, { status: 'working', latest_seq: 5 }, { text: 'its newest line', waiting: [{ title: 'no order of its own' }], progress: 'nor this', doing: { title: 'nor this' }, changed: { added: 3, removed: 1 }, git: { branch: 'main', added: 70, removed: 7 } })
  await readSight(['thread_0'])
  await drawn()
  assert.deepEqual([page.asked.at(-1).thread_ids, page.asked.at(-1).counts], [['thread_0'], true])
  assert.match(page.root.textContent, /its newest line.*mainthis thread \+3 −1/)
  assert.doesNotMatch(page.root.textContent, /nor this|\+70/)
  page.leave()
})
