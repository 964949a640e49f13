// What ended with a restart is a line until it is retried or dismissed.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Restarts, load, lost } from '../app/restarts.js'
import { server } from '../app/session.js'

const at = '2026-11-26T14:02:00Z'
const turn = (i, more) => ({ turn_id: `turn_${i}`, created_seq: i, restart_seq: 100 + i, completed_at: at, state: 'interrupted', ...more })
const child = (i, owner) => turn(i, { attention_policy: 'blocking_until_terminal', parent: { turn_id: `turn_${owner}` } })

// serve answers with these turns until they are retried or dismissed. refuse says of which a
// retry is refused.
function serve(turns, { refuse = [], conflict = false, role } = {}) {
  server.value = { log_id: 'log', limits: {}, ...(role && { token: { name: 'console-1', parent: 'phone', role } }) }
  const asked = []
  let known = 7
  globalThis.fetch = async (_, init) => {
    const { method, params } = JSON.parse(init.body)
    asked.push([method, params])
    const answer = {
      'cursor/read': () => ({ result: { cursor: { last_sequence: known } } }),
      'turn/list': () => {
        const rows = turns.filter(t => t.restart_seq > params.after_seq), from = Number(params.cursor || 0)
        return { result: { turns: rows.slice(from, from + 2), ...(rows.length > from + 2 && { next_cursor: String(from + 2) }) } }
      },
      'turn/retry': () => {
        if (refuse.includes(params.turn_id)) return { error: { code: -32004, message: 'closed', data: { kind: 'thread_closed', retryable: false } } }
        turns = turns.filter(t => t.turn_id !== params.turn_id && t.parent?.turn_id !== params.turn_id)
        return { result: {} }
      },
      'cursor/advance': () => {
        known = params.last_sequence
        return conflict ? { error: { code: -32003, message: 'no', data: { kind: 'conflict', reason: 'not_monotonic', retryable: false } } } : { result: {} }
      },
    }[method]()
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answer }))
  }
  return asked
}

async function line() {
  lost.value = []
  load()
  const root = place()
  render(html`<${Restarts} />`, root)
  const until = async holds => { for (let i = 0; i < 500 && !holds(); i++) await drawn() }
  await until(() => lost.value.length)
  await drawn()
  return {
    until, root, text: () => root.textContent,
    async press(text) {
      root.all('button').find(b => b.textContent === text).fire('click')
      await drawn()
    },
  }
}

test('all pages are counted, and a retry is asked for first', async () => {
  const asked = serve([turn(1), turn(2), child(3, 2), turn(4)], { refuse: ['turn_4'] })
  const page = await line()
  assert.match(page.text(), /^4 turns ended with the restart at /)
  assert.deepEqual(asked[0], ['cursor/read', { consumer_id: 'seen:owner', stream_name: 'restarts' }])
  assert.deepEqual(asked[1][1], { ended_by: 'restart', after_seq: 7, limit: 200 })
  await page.press('Retry all …')
  assert.ok(!asked.some(([m]) => m === 'turn/retry'))
  await page.press('Cancel')
  await page.press('Retry all …')
  await page.press('Retry 4 turns')
  await page.until(() => page.text().includes('not retried'))
  const retries = asked.filter(([m]) => m === 'turn/retry').map(([, p]) => [p.turn_id, p.idempotency_key])
  assert.deepEqual(retries, [['turn_1', 'restart-turn_1-101'], ['turn_2', 'restart-turn_2-102'], ['turn_4', 'restart-turn_4-104']])
  assert.match(page.text(), /1 turn not retried/)
  await page.until(() => lost.value.length === 1)
})

test('a dismissal is for the person of the token, and holds if another page has dismissed more', async () => {
  for (const conflict of [false, true]) {
    const asked = serve([turn(1), turn(2)], { conflict, role: 'read' })
    const page = await line()
    assert.ok(!page.text().includes('Retry'), 'the role read retries nothing')
    await page.press('Dismiss')
    await page.until(() => !page.text())
    assert.equal(page.text(), '')
    const { idempotency_key, ...params } = asked.find(([m]) => m === 'cursor/advance')[1]
    assert.deepEqual(params, { consumer_id: 'seen:phone', stream_name: 'restarts', last_sequence: 102 })
    await page.until(() => asked.filter(([m]) => m === 'turn/list').length > 1)
  }
})
