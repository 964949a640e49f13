// The client against the real server, which is killed while it works. HOLON_BINARY
// names it; js_test.go builds it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

import { Client, View } from '../index.js'

const binary = process.env.HOLON_BINARY

// Server is a process that can be killed and started again at the same address.
class Server {
  #data = mkdtempSync(join(tmpdir(), 'holon-js-'))
  #listen = '127.0.0.1:0'
  #process
  url

  async start() {
    const args = ['serve', '--data', this.#data, '--listen', this.#listen, '--agent', 'builds=worker', '--heartbeat-seconds', '1', '--log-level', 'error']
    const env = { ...process.env, XDG_CONFIG_HOME: this.#data, XDG_RUNTIME_DIR: this.#data, HOLON_TOKEN: '', HOLON_URL: '' }
    this.#process = spawn(binary, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    this.#process.stderr.on('data', (chunk) => (said += chunk))
    while (!(await this.#ready())) {
      assert.equal(this.#process.exitCode, null, `the server has ended: ${said}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    this.#listen = new URL(this.url).host
  }

  async #ready() {
    try {
      const { pid, urls } = JSON.parse(readFileSync(join(this.#data, 'server.json'), 'utf8'))
      if (pid !== this.#process.pid) return false
      this.url = urls[0]
      return (await fetch(urls[0] + '/readyz')).ok
    } catch {
      return false
    }
  }

  async kill() {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await ended
  }

  async end() {
    if (this.#process?.exitCode === null && this.#process.signalCode === null) await this.kill()
    rmSync(this.#data, { recursive: true, force: true })
  }
}

// Reader folds a stream until the view is at a seq.
class Reader {
  view = new View()
  seqs = []
  states = []
  #arrivals = []

  constructor(client, options) {
    this.view.advance(options.after_seq)
    this.stream = client.stream({ ...options, onState: (s) => this.states.push(s.state) })
    this.done = this.#read()
  }

  async #read() {
    for await (const event of this.stream) {
      this.seqs.push(event.params.seq)
      assert.notEqual(this.view.apply(event).kind, 'skipped')
      for (const look of this.#arrivals.splice(0)) look()
    }
  }

  async until(seq) {
    while (this.stream.cursor === undefined || this.stream.cursor < seq) {
      await Promise.race([new Promise((resolve) => this.#arrivals.push(resolve)), this.done])
    }
  }
}

test('a server is killed twice: every view is what the server shows', { skip: binary ? false : 'NOT TESTED: HOLON_BINARY names no server', timeout: 120_000 }, async (t) => {
  const server = new Server()
  t.after(() => server.end())
  await server.start()
  const client = new Client({ url: server.url })
  const ask = (method, params) => client.call(method, params, { key: true })

  const always = new Reader(client, { after_seq: 0 })
  t.after(() => always.stream.close())
  const { thread_id } = await ask('thread/start', { agent: 'builds' })
  const say = (text) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
  const { turn_id } = await ask('turn/start', { thread_id, input: say('Grüße 😀') })
  const { lease } = await ask('turn/claim', { agent: 'builds', wait_seconds: 30 })

  // The first try of a step, in which the server is killed while text comes.
  const write = async (lease, step, words, after = () => {}) => {
    const { epoch, step: path } = await ask('step/start', { lease, step })
    const content = { type: 'agent_message', role: 'assistant', content: [{ type: 'output_text', text: 'ä' }] }
    const { item_id } = await ask('item/create', { lease, step: path, epoch, status: 'in_progress', content })
    for (let n = 0; n < words; n++) {
      const { seq } = await ask('item/append', { lease, item_id, text: `wörd ${n} 三😀 ` })
      await after(n, seq)
    }
    return item_id
  }
  let down
  const first = await write(lease, 'setup/clone', 40, async (n, seq) => {
    if (n !== 10) return
    await always.until(seq)
    await server.kill()
    down = server.start() // the next words are repeated until it is there
  })
  await down
  const middle = always.stream.cursor

  // The step again, then the turn again: both supersede what came before.
  await write(lease, 'setup', 3)
  const failed = await ask('turn/fail', { lease, error: { kind: 'agent_failed', message: 'exit status 1' } })
  await always.until(failed.seq)
  assert.equal(always.view.turn(turn_id).state, 'failed')
  const inMiddle = new Reader(client, { after_seq: middle, thread_ids: [thread_id] })
  t.after(() => inMiddle.stream.close())
  await ask('turn/retry', { turn_id })
  const again = await ask('turn/claim', { agent: 'builds', wait_seconds: 30 })
  const last = await write(again.lease, 'setup', 5)
  await server.kill()
  await server.start()
  await write(again.lease, 'check', 5)
  const other = await ask('turn/start', { thread_id, input: say('more') })
  const { seq } = await ask('turn/complete', { lease: again.lease, message: 'Fertig.' })

  const { latest_seq: head } = await client.call('item/list', { thread_id })
  assert.ok(head >= seq)
  const collapsed = new Reader(client, { after_seq: 0, collapse: 'superseded' })
  t.after(() => collapsed.stream.close())
  for (const reader of [always, inMiddle, collapsed]) await reader.until(seq)

  assert.ok(always.states.filter((s) => s === 'reconnecting').length >= 2, always.states.join())
  assert.deepEqual(always.seqs, Array.from({ length: always.seqs.length }, (_, i) => i + 1), 'every event once, in order')
  for (const reader of [always, collapsed]) {
    await compare(client, thread_id, reader.view)
    assert.equal(reader.view.turn(turn_id).attempt, 2)
    assert.equal(reader.view.turn(turn_id).message, 'Fertig.')
    assert.ok(reader.view.turn(other.turn_id))
  }
  assert.equal(always.view.turn(turn_id).item(first).live, false)
  assert.equal(always.view.turn(turn_id).item(last).live, true)
  assert.deepEqual(texts(inMiddle.view.turn(turn_id)).slice(-2), texts(always.view.turn(turn_id)).slice(-2), 'what began after the reader')
  for (const reader of [always, inMiddle, collapsed]) {
    reader.stream.close()
    await reader.done
  }
})

const texts = (turn) => turn.items().map((it) => [it.item_id, it.status, it.text])

// compare holds a view against what the server shows: turn/list and item/list.
async function compare(client, thread_id, view) {
  const { turns } = await client.call('turn/list', { thread_id })
  assert.equal(turns.length, 2)
  for (const turn of turns) {
    const got = view.turn(turn.turn_id)
    for (const member of ['thread_id', 'state', 'attempt', 'origin', 'message']) {
      assert.equal(got[member], turn[member] ?? '', `${member} of ${turn.turn_id}`)
    }
    const { items } = await client.call('item/list', { turn_id: turn.turn_id, include_superseded: true })
    const live = items.filter((it) => !it.superseded)
    assert.ok(live.length > 0)
    const look = (it) => [it.item_id, it.type, it.status, it.created_seq, it.updated_seq]
    assert.deepEqual(got.items().map(look), live.map(look))
    for (const it of live) {
      if (it.type === 'agent_message') assert.equal(got.item(it.item_id).text, it.content.content[0].text)
    }
    for (const it of items) if (it.superseded) assert.ok(!got.items().some((mine) => mine.item_id === it.item_id), it.item_id)
  }
}
