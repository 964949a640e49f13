// The timeline of the page against a real server: pages join a thread at random times, read
// older and newer parts and begin anew, while turns run, crash, are retried and steered.
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from '../client/index.js'
import { Loader } from '../app/thread_load.js'
import { maxHeld } from '../app/timeline.js'
import { binary, Server } from './server.js'
import { Random } from './random.js'

const seed = Number(process.env.SEED || 1)
const rounds = Number(process.env.ROUNDS || 4)
const skip = binary ? false : 'NOT TESTED: HOLON_BINARY names no server'
const say = text => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]

// Page is what a browser has of one thread: a loader and a stream, whose answers and frames
// come late by chance.
class Page {
  constructor(client, thread, chance) {
    Object.assign(this, { client, thread, chance, listeners: new Set(), queue: [], ended: false })
  }

  async open() {
    const { latest_seq: after, log_id } = await this.client.call('initialize', { client_info: { name: 'test' } })
    this.stream = this.client.stream({ after_seq: after, log_id, content: 'summary', whole_thread_ids: [this.thread] })
    this.handed = after
    this.done = this.read()
    this.begin()
  }

  begin() {
    this.loader?.close()
    this.loader = new Loader(this.thread, {
      call: async (method, params) => {
        await wait(this.chance.below(3))
        const answer = await this.client.call(method, params)
        await wait(this.chance.below(20)) // the answer is on its way while the log goes on
        return answer
      },
      listen: f => { this.listeners.add(f); return () => this.listeners.delete(f) },
      seen: () => {},
    })
    this.loaded = this.loader.load()
  }

  async read() {
    for await (const event of this.stream) {
      this.queue.push(event)
      if (this.chance.below(8) === 0) this.frame()
    }
  }

  frame() {
    const events = this.queue
    this.queue = []
    if (!events.length) return
    for (const f of this.listeners) f(events)
    this.handed = events.at(-1).params.seq
  }

  // act does what a person may do.
  act() {
    const t = this.loader.timeline
    if (!t || this.loader.busy.value) return
    switch (this.chance.below(7)) {
      case 0: case 1: this.loader.older(); break
      case 2: case 3: this.loader.newer(); break
      case 4: t.follows = true; this.loader.end(); break
      case 5: if (!t.newer) t.follows = this.chance.below(2) === 0; break
      case 6: if (this.chance.below(4) === 0) this.begin(); break
    }
  }

  // settle waits until the page has all up to a seq and reads nothing.
  async settle(seq) {
    while ((this.stream.cursor ?? 0) < seq) await wait(2)
    this.frame()
    await this.loaded
    for (const began = Date.now(); this.loader.busy.value || this.loader.early; await wait(2)) {
      assert.ok(Date.now() - began < 20_000, `the page reads for ever: ${this.loader.failed.value?.stack}`)
    }
    this.frame()
    await this.loader.marking
  }

  async close() {
    this.loader.close()
    this.stream.close()
    await this.done
  }
}

// script is a random prompt for the agent echo.
function script(chance) {
  const lines = []
  const steps = ['a', 'b', 'a/c', 'b/d']
  for (let n = 1 + chance.below(6); n > 0; n--) {
    lines.push(chance.of([
      () => `/say grüße ${chance.below(1000)} 😀`,
      () => `/deltas ${1 + chance.below(30)} ${1 + chance.below(40)} ${chance.below(3)}`,
      () => `/items ${1 + chance.below(60)} 10`,
      () => `/step ${chance.of(steps)}`,
      () => `/again ${chance.of(steps)}`,
      () => '/end',
      () => '/delete',
      () => `/sleep ${chance.below(15)}`,
      () => `/progress p${chance.below(9)}`,
    ])())
  }
  if (chance.below(3) === 0) lines.splice(chance.below(lines.length + 1), 0, `/crash ${1 + chance.below(3)}`)
  if (chance.below(4) === 0) lines.splice(chance.below(lines.length + 1), 0, `/transient ${1 + chance.below(2)}`)
  if (chance.below(5) === 0) lines.push('/fail no luck')
  let open = 0 // an /end without a step is a mistake that ends the turn
  return lines.filter(l => {
    if (l.startsWith('/step') || l.startsWith('/again')) open++
    return l !== '/end' || open-- > 0 || (open = 0)
  }).join('\n') || '/say nothing'
}

async function all(client, method, params, key) {
  const rows = []
  let cursor
  do {
    const page = await client.call(method, { ...params, limit: 500, cursor })
    rows.push(...page[key])
    cursor = page.next_cursor
  } while (cursor)
  return rows
}

const textOf = ({ content: c }) => ({ agent_message: () => c.content[0].text, reasoning: () => c.text, tool_call: () => c.output, command_execution: () => c.output }[c.type]?.() || '')

// truth is what the server shows of a thread.
async function truth(client, thread_id) {
  const items = await all(client, 'item/list', { thread_id, order: 'asc', include_superseded: true }, 'items')
  const turns = await all(client, 'turn/list', { thread_id, order: 'asc' }, 'turns')
  const ends = new Map(), markers = new Map()
  let after = 0
  for (;;) {
    const page = await client.call('event/list', { after_seq: after, thread_id, methods: ['turn/completed', 'turn/failed', 'turn/interrupted', 'stream/rewind'], limit: 500 })
    for (const { method, params: p } of page.events) method === 'stream/rewind' ? markers.set(p.seq, [p.step, p.new_epoch - 1, p.reason]) : ends.set(p.turn_id, p.seq)
    if (!page.has_more) break
    after = page.next_after_seq
  }
  return { items: items.filter(i => i.type !== 'usage'), turns, ends, markers }
}

// compare holds what a page shows against the server.
function compare({ items, turns, ends, markers }, page, where) {
  const t = page.loader.timeline
  assert.ok(t, where + ': nothing was loaded: ' + page.loader.failed.value)
  assert.ok(t.entries.length <= maxHeld, `${where}: ${t.entries.length} entries`)
  for (let i = 1; i < t.entries.length; i++) assert.ok(t.entries[i - 1].seq <= t.entries[i].seq, `${where}: ${t.entries[i].key} is out of order`)
  const live = items.filter(i => !i.superseded)
  const held = t.entries.filter(e => e.item)
  const first = t.older ? Number(t.older) : 0
  const last = t.newer ? Number(t.newer) : Infinity
  const within = seq => seq >= first && seq <= last
  const look = i => [i.item_id, i.type, i.status, textOf(i), i.attempt, i.created_seq]
  assert.deepEqual(
    held.map(e => [e.key, e.item.type, e.item.status, String(e.item.body), e.item.attempt, e.item.created_seq]),
    live.filter(i => within(i.created_seq)).map(look), `${where}: items from ${first} to ${last}`)
  const superseded = items.filter(i => i.superseded && within(i.created_seq)).map(i => `${i.superseded_by_seq} ${i.item_id}`)
  const lines = t.entries.filter(e => e.rewind)
  const folded = lines.flatMap(e => e.rewind.items.filter(i => within(i.created_seq)).map(i => `${e.seq} ${i.item_id}`))
  assert.deepEqual(folded.sort(), superseded.sort(), `${where}: superseded items from ${first} to ${last}`)
  assert.deepEqual(lines.map(e => [e.rewind.step, e.rewind.tried, e.rewind.reason]), lines.map(e => markers.get(e.seq)), `${where}: lines of markers`)
  const endOf = r => [r.turn_id, r.state, r.attempt, r.error?.message, r.reason, r.started_at, r.completed_at, r.usage?.total_tokens, r.undelivered_item_ids]
  const drawn = t.entries.filter(e => e.end)
  const due = turns.filter(r => r.completed_at && within(ends.get(r.turn_id)))
  assert.deepEqual(drawn.filter(e => within(e.seq)).map(e => [e.seq, ...endOf(e.end)]), due.map(r => [ends.get(r.turn_id), ...endOf(r)]).sort((a, b) => a[0] - b[0]), `${where}: ends`)
  for (const row of turns) {
    const mine = t.turns.get(row.turn_id)
    if (mine) assert.deepEqual([mine.state, mine.attempt], [row.state, row.attempt], `${where}: turn ${row.turn_id}`)
  }
  assert.equal(t.active(), null, `${where}: nothing runs`)
}

// walk reads to one end of the thread, so that each part was held once.
async function walk(page, way, ask, check) {
  for (let n = 0; page.loader.timeline[way] && n < 200; n++) {
    await ask()
    await page.loader.marking
    check(`${way} ${n}`)
  }
  assert.equal(page.loader.timeline[way], '')
}

test('what the page holds is what the server shows', { skip, timeout: 60_000 }, async t => {
  const server = new Server()
  t.after(() => server.end())
  await server.start()
  const client = new Client({ url: server.url })
  const ask = (method, params) => client.call(method, params, { key: true })
  const chance = new Random(seed)
  const { thread_id } = await ask('thread/start', { agent: 'echo' })
  const pages = []
  let working = false
  t.after(() => {
    working = false
    return Promise.all(pages.map(p => p.close()))
  })

  for (let round = 0; round < rounds; round++) {
    working = true
    const people = (async () => {
      while (working) {
        if (pages.length < 6 && chance.below(6) === 0) {
          const page = new Page(client, thread_id, new Random(chance.below(1 << 30)))
          pages.push(page)
          await page.open()
        }
        for (const page of pages) if (chance.below(3) === 0) page.act()
        await wait(chance.below(10))
      }
    })()
    const turns = []
    for (let n = 0; n < 6; n++) {
      const made = await ask('turn/start', {
        thread_id, input: say(script(chance)), timeout_seconds: 60,
        retry: { on_crash: 'retry', max_attempts: 1 + chance.below(3), backoff_seconds: 0.01 },
      })
      turns.push(made.turn_id)
      await wait(chance.below(60))
      if (chance.below(5) === 0) await ask('turn/interrupt', { turn_id: chance.of(turns) }).catch(() => {})
      if (chance.below(4) === 0) await ask('turn/steer', { turn_id: chance.of(turns), input: say('und noch ' + n) }).catch(() => {})
      if (chance.below(4) === 0) await ask('turn/retry', { turn_id: chance.of(turns) }).catch(() => {})
    }
    for (;;) {
      const queued = await client.call('turn/list', { thread_id, state: 'queued', limit: 1 })
      const active = await client.call('turn/list', { thread_id, state: 'active', limit: 1 })
      if (!active.turns.length && !queued.turns.length) break
      await wait(10)
    }
    working = false
    await people
    const { latest_seq } = await client.call('holon/status')
    const shown = await truth(client, thread_id)
    for (const [n, page] of pages.entries()) {
      await page.settle(latest_seq)
      compare(shown, page, `seed ${seed}, round ${round}, page ${n}`)
      if (round === rounds - 1) {
        const check = where => compare(shown, page, `seed ${seed}, page ${n}, ${where}`)
        await walk(page, 'older', () => page.loader.older(), check)
        await walk(page, 'newer', () => page.loader.newer(), check)
        await walk(page, 'older', () => page.loader.older(), check)
      }
    }
  }
  assert.ok(pages.length > 1)
})
