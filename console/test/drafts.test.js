// What one has typed and not sent survives a reload, until it is of no use any more.
import { place, drawn } from './dom.js'
import { storage } from './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Question } from '../app/ask.js'
import { draft, keepFields, keptFields, longest, most } from '../app/drafts.js'
import { Ask } from '../app/parts.js'
import * as questions from '../app/questions.js'
import { server } from '../app/session.js'

server.value = { log_id: 'log', limits: {} }

// The server has one answer: the questions that are open.
let open = { items: [] }
globalThis.fetch = async () => new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: await open }))

const drafts = () => Object.keys(storage).filter(k => k.startsWith('holon.draft.')).sort()
const empty = () => { for (const k of drafts()) storage.removeItem(k) }

const question = (id, schema) => ({ item_id: id, created_at: '2026-01-01T00:00:00Z', type: 'question', status: 'pending', content: { type: 'question', message: 'Which?', schema } })
const text = { type: 'string' }
const form = { type: 'object', required: ['branch'], properties: {
  branch: { ...text, default: 'main' }, where: { ...text, enum: ['here', 'there'] }, force: { type: 'boolean' },
  pin: { ...text, format: 'password' }, token: { ...text, writeOnly: true },
} }

// visit draws a question as a page does that was just loaded, uses its fields, and goes.
async function visit(id, schema, use) {
  const root = place()
  render(html`<${Question} item=${question(id, schema)} />`, root)
  await drawn()
  await use(root)
  render(null, root)
}

async function type(field, value, event = 'input') {
  if (event === 'input' || event === 'select') field.value = value
  else field.checked = value
  field.fire(event === 'input' ? 'input' : 'change')
  await drawn()
}

const valuesOf = root => [...root.all('input').map(f => f.getAttribute('type') === 'checkbox' ? f.checked : f.value), ...root.all('select').map(f => f.value), ...root.all('textarea').map(f => f.value)]

test('what is typed and chosen in a form is there after a reload, secrets are kept nowhere', async () => {
  empty()
  await visit('item_1', form, async root => {
    const [branch, force, pin, token] = root.all('input')
    await type(branch, 'feature/x')
    await type(force, true, 'change')
    await type(pin, '4711')
    await type(token, 'hidden')
    await type(root.all('select')[0], '1', 'select')
    assert.deepEqual(valuesOf(root), ['feature/x', true, '4711', 'hidden', '1'])
  })
  assert.doesNotMatch(JSON.stringify(storage), /4711|hidden/)
  await visit('item_1', form, async root => {
    assert.deepEqual(valuesOf(root), ['feature/x', true, '', '', '1'])
    await type(root.all('input')[0], 'main') // as it was asked
    await type(root.all('input')[1], false, 'change')
    await type(root.all('select')[0], '', 'select')
  })
  assert.deepEqual(drafts(), [])
})

test('what was typed into another form is not shown, nor what another question has', async () => {
  empty()
  await visit('item_1', form, root => type(root.all('input')[0], 'feature/x'))
  await visit('item_1', { ...form, properties: { ...form.properties, where: { ...text, enum: ['there', 'here'] } } }, root => assert.equal(valuesOf(root)[0], 'main'))
  await visit('item_2', form, root => assert.equal(valuesOf(root)[0], 'main'))
  await visit('item_1', form, root => assert.equal(valuesOf(root)[0], 'feature/x'))
})

test('a free answer is kept, and one in JSON unless its schema has a secret', async () => {
  empty()
  const deep = more => ({ type: 'object', properties: { a: { type: 'object', properties: { b: { ...text, ...more } } } } })
  for (const [schema, want] of [[undefined, 'half an answer'], [deep({}), 'half an answer'], [deep({ writeOnly: true }), '']]) {
    await visit('item_1', schema, root => type(root.all('textarea')[0], 'half an answer'))
    await visit('item_1', schema, root => assert.deepEqual(valuesOf(root), [want]))
  }
})

test('what was typed for a question that has gone is forgotten, and nothing else', async () => {
  const names = ['question.item_1', 'question.item_2', 'question.item_3', 'review.thread_1']
  const type = () => {
    empty()
    draft('thread_1').set('a message')
    for (const name of names) keepFields(name, '', ['typed'])
  }
  const left = () => names.filter(name => keptFields(name, '', 1))
  const load = (...ids) => { open = { items: ids.map(id => question(id)) }; return questions.load() }
  type()
  await load('item_1', 'item_2')
  assert.deepEqual(left(), ['question.item_1', 'question.item_2', 'review.thread_1'])
  await load('item_2')
  assert.deepEqual(left(), ['question.item_2', 'review.thread_1'])
  assert.equal(JSON.parse(storage.getItem('holon.draft.log.thread_1')).text, 'a message')

  // Where not all are known, one has gone if it was known.
  for (const part of [{ next_cursor: '1' }, { limited: true }]) {
    await load('item_1', 'item_2')
    type()
    server.value = { ...server.value, token: part.limited ? { name: 'a', role: 'respond', limited_to: ['thread_1'] } : undefined }
    open = { items: [question('item_2')], next_cursor: part.next_cursor }
    await questions.load()
    assert.deepEqual(left(), ['question.item_2', 'question.item_3', 'review.thread_1'])
    server.value = { ...server.value, token: undefined }
  }

  // An answer that is older than the question says nothing about it.
  await load('item_1')
  empty()
  let answer
  open = new Promise(resolve => { answer = resolve })
  const late = questions.load()
  keepFields('question.item_3', '', ['typed'])
  answer({ items: [] })
  await late
  assert.deepEqual(left(), ['question.item_3'])
})

test('a reason that is half written is there after a reload, until it is sent or cancelled', async () => {
  empty()
  let sent = ''
  const ask = async (about, use) => {
    const root = place()
    render(html`<${Ask} title="Why?" draft=${['review.thread_1', about]} run=${async text => { sent = text }}>Reject<//>`, root)
    await drawn()
    await use(root)
    render(null, root)
  }
  const button = (root, name) => root.all('button').find(b => b.textContent === name)
  await ask('turn_1 1', async root => {
    button(root, 'Reject').fire('click')
    await drawn()
    await type(root.all('input')[0], 'too lo')
  })
  await ask('turn_2 1', root => assert.deepEqual(valuesOf(root), []))
  await ask('turn_1 1', async root => {
    assert.deepEqual(valuesOf(root), ['too lo'])
    button(root, 'Cancel').fire('click')
    await drawn()
    assert.deepEqual(valuesOf(root), [])
    button(root, 'Reject').fire('click')
    await drawn()
    await type(root.all('input')[0], 'too long')
  })
  await ask('turn_1 1', async root => {
    root.all('form')[0].fire('submit')
    await drawn()
  })
  assert.equal(sent, 'too long')
  assert.deepEqual(drafts(), [])
})

test('drafts are bounded in number, size and age', t => {
  empty()
  let now = Date.now()
  t.mock.method(Date, 'now', () => now)
  for (let n = 0; n < most + 5; n++, now++) keepFields('question.item_' + n, '', ['typed'])
  assert.equal(drafts().length, most)
  assert.deepEqual(['question.item_4', 'question.item_5'].map(name => keptFields(name, '', 1)), [null, ['typed']])
  keepFields('question.item_5', '', ['x'.repeat(longest)])
  assert.equal(drafts().length, most - 1)
  draft('thread_1').set('x'.repeat(longest))
  assert.equal(drafts().length, most - 1)
  now += 30 * 24 * 3600_000
  assert.equal(keptFields('question.item_30', '', 1), null)
  keepFields('question.item_99', '', ['typed'])
  assert.deepEqual(drafts(), ['holon.draft.log.question.item_99'])
  storage.setItem('holon.draft.log.question.item_99', '{}')
  assert.equal(keptFields('question.item_99', '', 1), null)
})
