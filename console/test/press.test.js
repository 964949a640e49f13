// What a person presses: once is once, however often it is pressed before the page is drawn,
// and nothing answers a question that has just appeared, changed or moved.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { options } from '../vendor/preact.js'
import { Act, Ask } from '../app/parts.js'
import { Composer } from '../app/composer.js'
import { NewThread } from '../app/new_thread.js'
import { Question } from '../app/ask.js'
import { Row } from '../app/items.js'
import { close, isClosing, undoClose } from '../app/closing.js'
import { call, change, server, keep, locked, credential } from '../app/session.js'

options.debounceRendering = f => setTimeout(f, 20) // as the page: once a frame

// The server: what it is asked, and what it answers.
const asked = []
let answer = () => ({ result: {} })
globalThis.fetch = async (url, init) => {
  const { method, params } = JSON.parse(init.body)
  asked.push({ method, params, token: init.headers.Authorization, keepalive: init.keepalive })
  const { status = 200, ...body } = await answer(method, params)
  return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }), { status })
}
server.value = { log_id: 'log', limits: {} }

const button = (root, text) => root.all('button').find(b => b.textContent === text)

test('a button that is pressed twice before the page is drawn acts once', async () => {
  const root = place()
  let runs = 0
  render(html`<${Act} run=${async () => { runs++ }}>Do<//>`, root)
  button(root, 'Do').fire('click')
  button(root, 'Do').fire('click')
  await drawn()
  assert.equal(runs, 1)
  button(root, 'Do').fire('click')
  await drawn()
  assert.equal(runs, 2)
})

test('a reason that is sent twice is given once', async () => {
  const root = place()
  let runs = 0
  render(html`<${Ask} title="Why?" run=${async () => { runs++ }}>Give<//>`, root)
  button(root, 'Give').fire('click')
  await drawn()
  const [form] = root.all('form')
  form.fire('submit')
  form.fire('submit')
  await drawn()
  assert.equal(runs, 1)
})

test('Enter twice starts one turn, and Enter that chooses a word none', async () => {
  const root = place()
  const loader = { version: { value: 0 }, timeline: { active: () => null, follows: true } }
  render(html`<${Composer} loader=${loader} t=${{ thread_id: 'thread_1', state: 'running', agent: 'echo' }} />`, root)
  const [field] = root.all('textarea')
  field.value = 'go on'
  field.fire('input')
  await drawn()
  asked.length = 0
  field.fire('keydown', { key: 'Enter', keyCode: 229 })
  await drawn()
  assert.equal(asked.length, 0)
  field.fire('keydown', { key: 'Enter', keyCode: 13 })
  field.fire('keydown', { key: 'Enter', keyCode: 13 })
  await drawn()
  assert.deepEqual(asked.map(a => a.method), ['turn/start'])
})

// typed is a composer in which something is typed.
async function typed(text, thread, turn) {
  const root = place()
  const loader = { version: { value: 0 }, timeline: { active: () => turn, follows: true } }
  render(html`<${Composer} loader=${loader} t=${{ thread_id: thread, state: 'running', agent: 'echo' }} />`, root)
  await write(root, text)
  return { root, loader }
}

async function write(root, text) {
  const [field] = root.all('textarea')
  field.value = text
  field.fire('input')
  await drawn()
}

// send presses the button and returns the methods and keys that the server was asked with.
async function send(root) {
  asked.length = 0
  root.all('form')[0].fire('submit')
  await drawn()
  return asked.map(a => [a.method, a.params.idempotency_key])
}

const lost = () => ({ status: 200, result: undefined }) // no answer of the protocol: it may have happened

test('a text that nobody has answered is sent again under its key, another text under another', async t => {
  t.after(() => { answer = () => ({ result: {} }) })
  answer = lost
  const { root } = await typed('once', 'thread_lost')
  const [[method, key]] = await send(root)
  assert.equal(method, 'turn/start')
  assert.deepEqual(await send(root), [['turn/start', key]])
  await write(root, 'twice')
  const [[, other]] = await send(root)
  assert.notEqual(other, key)
  answer = () => ({ result: {} })
  assert.deepEqual(await send(root), [['turn/start', other]])
  await write(root, 'twice') // the same words, meant anew
  assert.notEqual((await send(root))[0][1], other)
})

test('a new thread that nobody has answered is started once, also after the page was left', async t => {
  t.after(() => { answer = () => ({ result: {} }) })
  answer = method => method === 'thread/start' ? { result: { thread_id: 'thread_new' } } : method === 'turn/start' ? lost() : { result: { agents: [] } }
  const root = place()
  render(html`<${NewThread} open=${true} />`, root)
  await write(root, 'begin')
  const [thread, [turn, key]] = (await send(root)).filter(([method]) => method.endsWith('/start'))
  assert.deepEqual([thread[0], turn], ['thread/start', 'turn/start'])
  assert.notEqual(thread[1], key)
  assert.deepEqual((await send(root)).filter(([method]) => method.endsWith('/start')), [['turn/start', key]])
  render(null, root)
  const again = place() // the page was left, or loaded anew
  render(html`<${NewThread} open=${true} />`, again)
  await drawn()
  assert.deepEqual((await send(again)).filter(([method]) => method.endsWith('/start')), [thread, ['turn/start', key]])
})

test('a directory that the server does not have is said at its field, one that it has is offered again', async t => {
  t.after(() => { answer = () => ({ result: {} }) })
  let there = false
  answer = method => method === 'agent/list' ? { result: { agents: [{ name: 'coder', kind: 'acp', state: 'ready', directory: '/srv/work', capabilities: {} }] } }
    : method === 'thread/start' && !there ? { error: { code: -32602, message: 'invalid params: cwd: "/home/me/proiect" does not exist on the server\'s machine', data: { kind: 'invalid_params', field: 'cwd', reason: 'no_directory' } } }
    : method === 'thread/start' ? { result: { thread_id: 'thread_placed' } } : { result: {} }
  const root = place()
  render(html`<${NewThread} open=${true} />`, root)
  await write(root, 'begin there')
  await drawn()
  const [field] = root.all('input')
  const offered = () => root.all('option').map(o => o.getAttribute('value') ?? o.value).filter(v => v.startsWith('/'))
  field.value = '/home/me/proiect'
  field.fire('input')
  await drawn()
  assert.deepEqual((await send(root)).map(([method]) => method), ['thread/start'])
  assert.equal(field.getAttribute('aria-invalid'), 'true')
  assert.match(root.textContent, /Directory\s*"\/home\/me\/proiect" does not exist on the server's machine\. Nothing was started\..*Title/s)
  assert.deepEqual(offered(), [])
  there = true
  field.value = '/home/me/project'
  field.fire('input')
  await drawn()
  assert.equal(field.getAttribute('aria-invalid'), null)
  assert.deepEqual((await send(root)).map(([method]) => method), ['thread/start', 'turn/start'])
  render(null, root)
  const again = place()
  render(html`<${NewThread} open=${true} />`, again)
  await drawn()
  assert.deepEqual(again.all('option').map(o => o.value).filter(v => v.startsWith('/')), ['/home/me/project'])
})

test('what nobody answered is not called undone, nor tried again by itself', async t => {
  const timeout = AbortSignal.timeout
  t.after(() => { AbortSignal.timeout = timeout; answer = () => ({ result: {} }) })
  AbortSignal.timeout = () => AbortSignal.abort() // the time is over
  answer = () => { throw new TypeError('no network') }
  const { root } = await typed('are you there?', 'thread_silent')
  await send(root)
  assert.match(root.textContent, /has not answered.*send it again: it arrives once/)
  const act = place()
  render(html`<${Act} run=${() => change('turn/interrupt', { turn_id: 'turn_1' })}>Interrupt<//>`, act)
  button(act, 'Interrupt').fire('click')
  await drawn()
  assert.match(act.textContent, /may have happened all the same/)
})

test('a steer that nobody has answered is sent again as one, until the server has refused it', async t => {
  t.after(() => { answer = () => ({ result: {} }) })
  answer = lost
  let active = { turn_id: 'turn_1', state: 'active' }
  const { root, loader } = await typed('leave c alone', 'thread_steer', active)
  const [[method, key]] = await send(root)
  assert.equal(method, 'turn/steer')
  loader.timeline.active = () => null // the turn has ended
  answer = () => ({ error: { code: -32004, message: 'ended', data: { kind: 'turn_not_active' } } })
  assert.deepEqual(await send(root), [['turn/steer', key]])
  assert.match(root.textContent, /ended before this text came/)
  answer = () => ({ result: {} })
  const [[then, another]] = await send(root)
  assert.equal(then, 'turn/start')
  assert.notEqual(another, key)
})

const question = (title, more) => ({ item_id: 'item_q', created_at: '2026-01-01T00:00:00Z', type: 'permission_request', status: 'pending', content: { type: 'permission_request', title, subject: { command: 'rm \u202ex' }, options: [{ option_id: 'yes', name: 'Allow', kind: 'allow_once' }], ...more } })
// alive waits until the question can be answered. Until then nothing has answered it.
async function alive(root) {
  while (button(root, 'Allow').disabled) {
    assert.equal(asked.length, 0)
    await drawn()
  }
}

test('a question is dead until it has been shown, and again when it changes or moves', async () => {
  const root = place()
  const draw = (q, at) => render(html`<${Question} item=${q} place=${at} />`, root)
  asked.length = 0
  draw(question('one'), '')
  button(root, 'Allow').fire('click')
  await alive(root)
  for (const [q, at] of [[question('another'), ''], [question('another'), 'item_0']]) {
    draw(q, at)
    assert.equal(button(root, 'Allow').disabled, true) // from the moment that it is drawn
    button(root, 'Allow').fire('click')
    await alive(root)
  }
  assert.equal(asked.length, 0)
  button(root, 'Allow').fire('click')
  button(root, 'Allow').fire('click')
  await drawn()
  assert.deepEqual(asked.map(a => [a.method, a.params.option_id]), [['item/respond', 'yes']])
})

test('a question shows what acts in what it is about', () => {
  const root = place()
  render(html`<${Question} item=${question('t\u200btle')} />`, root)
  assert.match(root.textContent, /rm ‹202e›x/)
  assert.match(root.textContent, /t‹200b›tle/)
})

test('what is not shown is counted, and nothing is allowed before it was shown', async () => {
  const root = place()
  asked.length = 0
  const q = question('Run', { subject: { command: Array.from({ length: 5336 }, (_, i) => `line ${i + 1}`).join('\n') }, options: [{ option_id: 'yes', name: 'Allow', kind: 'allow_persistent' }, { option_id: 'no', name: 'Reject', kind: 'reject_once' }] })
  render(html`<${Question} item=${q} />`, root)
  assert.match(root.textContent, /line 400\D*… 4,936 more lines/)
  await alive(root)
  button(root, 'Allow').fire('click')
  await drawn()
  assert.match(root.textContent, /line 5336\D*All of it is shown now/)
  assert.equal(button(root, 'Allow').disabled, true) // what is read now is new
  await alive(root)
  button(root, 'Allow').fire('click')
  await drawn()
  assert.deepEqual(asked.map(a => a.params.option_id), ['yes'])
})

test('what is not shown may be rejected', async () => {
  const root = place()
  asked.length = 0
  const q = question('Run', { subject: { command: 'x\n'.repeat(5000) }, options: [{ option_id: 'yes', name: 'Allow', kind: 'allow_once' }, { option_id: 'no', name: 'Reject', kind: 'reject_once' }] })
  render(html`<${Question} item=${q} />`, root)
  await alive(root)
  button(root, 'Reject').fire('click')
  await drawn()
  assert.deepEqual(asked.map(a => a.params.option_id), ['no'])
})

test('who may only answer is offered what holds once or rejects', () => {
  const names = ['allow_once', 'allow_always', 'allow_persistent', undefined, 'reject_once', 'reject_always', 'reject']
  const q = question('Run', { options: names.map(kind => ({ option_id: `${kind}`, name: `${kind}`, kind })) })
  const offered = () => {
    const root = place()
    render(html`<${Question} item=${q} />`, root)
    return [root.all('button').map(b => b.textContent), /need the role work/.test(root.textContent)]
  }
  assert.deepEqual(offered(), [names.map(String), false])
  const before = server.value
  server.value = { ...before, token: { name: 'phone', role: 'respond' } }
  const [mine, hint] = offered()
  server.value = before
  assert.deepEqual(mine, ['allow_once', 'reject_once', 'reject_always', 'reject'])
  assert.ok(hint)
})

test('Close that is pressed twice can be undone', async t => {
  const timers = new Map(), real = globalThis.setTimeout, clear = globalThis.clearTimeout
  let n = 0
  t.after(() => Object.assign(globalThis, { setTimeout: real, clearTimeout: clear }))
  globalThis.setTimeout = f => { timers.set(++n, f); return n }
  globalThis.clearTimeout = id => timers.delete(id)
  close('thread_1')
  close('thread_1')
  undoClose('thread_1')
  assert.equal(isClosing('thread_1'), false)
  assert.equal(timers.size, 0)
})

test('Close happens at once when the page is left, unless it was undone', async () => {
  asked.length = 0
  close('thread_1')
  close('thread_2')
  undoClose('thread_2')
  document.hidden = true
  document.fire('visibilitychange')
  document.hidden = false
  document.fire('visibilitychange')
  assert.equal(isClosing('thread_1'), false)
  await drawn()
  assert.deepEqual(asked.map(a => [a.method, a.params.thread_id, a.keepalive]), [['thread/close', 'thread_1', true]])
})

test('an item of an unknown form does not take the page with it', async () => {
  const root = place()
  const entry = { key: 'item_1', seq: 1, item: { item_id: 'item_1', type: 'plan', status: 'completed', content: { type: 'plan' }, created_at: '2026-01-01T00:00:00Z', body: '' } }
  const draw = () => render(html`<p>before</p><${Row} entry=${entry} version=${entry.version} newestPlan=${true} />`, root)
  entry.version = 0
  draw()
  await drawn()
  assert.match(root.textContent, /before.*cannot be shown/)
  entry.item.content.entries = [{ status: 'pending', content: 'mended' }]
  entry.version = 1
  draw()
  await drawn()
  assert.match(root.textContent, /before.*mended/)
})

test('a refusal of the former credential does not end the new one', async () => {
  keep('old')
  let refuse
  answer = () => new Promise(resolve => { refuse = () => resolve({ status: 401, error: { code: -32005, message: 'no', data: { kind: 'unauthorized' } } }) })
  const late = call('thread/list').catch(() => {})
  await new Promise(setImmediate)
  keep('new')
  locked.value = null
  refuse()
  await late
  assert.equal(credential(), 'new')
  assert.equal(locked.value, null)
  const now = call('thread/list').catch(() => {})
  await new Promise(setImmediate)
  refuse()
  await now
  assert.equal(credential(), '')
  assert.equal(locked.value.kind, 'unauthorized')
})

test('what is chosen in a form has its hidden characters made visible', async () => {
  const root = place()
  const schema = { type: 'string', title: 'Pl\u200bace', description: 'a\u202eb', enum: ['a', 'a\u200b'] }
  render(html`<${Question} item=${{ item_id: 'item_form', created_at: new Date().toISOString(), content: { type: 'question', message: 'Which?', schema } }} />`, root)
  await drawn()
  const shown = root.all('label').map(l => l.textContent).join('\n')
  for (const text of ['Pl‹200b›ace', 'a‹202e›b', 'a‹200b›']) assert.ok(shown.includes(text), shown)
})
