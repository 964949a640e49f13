// Threads that are not told what is new in their inboxes: in the list, and on their own page.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { html, render, signal } from '../app/html.js'
import { Head } from '../app/thread_head.js'
import { grouped, threads } from '../app/threads.js'
import { isOver, isStuck, looks, notTold } from '../app/states.js'
import { server } from '../app/session.js'

const vectors = JSON.parse(readFileSync(new URL('../inbox/wakes.json', import.meta.url), 'utf8'))
globalThis.ResizeObserver ??= class { observe() {} disconnect() {} }

const idle = wakes => ({ title: 'It rests', status: 'idle', turn_id: 'turn_1', since: '2026-11-27T10:00:00Z', queued: 0, children: { total: 0 }, wakes: wakes || undefined })

test('it is said in the words of the server', () => {
  assert.ok(vectors.length > 5)
  for (const { wakes, says, needs_person } of vectors) {
    // A time is that of the browser's zone and language.
    if (wakes?.reason === 'rate') assert.match(notTold(idle(wakes)), /^3 new, not told: 30 wakes within an hour, until .*\d\d:20/)
    else assert.equal(notTold(idle(wakes)), says)
    assert.equal(isStuck(idle(wakes)), needs_person && says !== '', says)
  }
})

test('such a thread is not done, and is above those that are', () => {
  const of = reason => vectors.find(v => v.wakes?.reason === reason && v.says).wakes
  assert.equal(looks(idle(of('chain'))), 'untold')
  assert.equal(isOver('untold'), false)
  assert.equal(looks({ ...idle(of('interrupted')), interrupted: true }), 'interrupted')
  const row = (thread_id, since, wakes) => [thread_id, { thread_id, agent: 'echo', state: 'running', latest_seq: 1, summary: { ...idle(wakes), since } }]
  threads.value = new Map([row('newest', '2026-11-27T12:00:00Z'), row('rate', '2026-11-27T11:00:00Z', of('rate')), row('silent', '2026-11-27T09:00:00Z', of('silent'))])
  assert.deepEqual(grouped(() => true).done.map(t => t.thread_id), ['silent', 'newest', 'rate'])
  threads.value = new Map()
})

test('a button tells it, where the credential may', async () => {
  const asked = []
  globalThis.fetch = async (_, init) => {
    const { method, params } = JSON.parse(init.body)
    asked.push([method, params.thread_id])
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { entry_ids: [], seq: 1 } }))
  }
  const t = { thread_id: 'thread_1', agent: 'echo', state: 'running', summary: idle(vectors.find(v => v.wakes?.reason === 'silent').wakes) }
  const loader = { version: signal(0), children: signal([]), timeline: null }
  for (const [role, buttons] of [['work', 0], ['operate', 1]]) {
    server.value = { log_id: 'log', limits: {}, token: { name: role, role } }
    const root = place()
    render(html`<${Head} t=${t} loader=${loader} asText=${false} setAsText=${() => {}} />`, root)
    await drawn()
    assert.match(root.textContent, /1 new, not told: 5 wakes without a word/)
    const found = root.all('button').filter(b => b.textContent === 'Tell it now')
    assert.equal(found.length, buttons, role)
    found[0]?.fire('click')
    await drawn()
    render(null, root)
  }
  assert.deepEqual(asked, [['inbox/wake', 'thread_1']])
})
