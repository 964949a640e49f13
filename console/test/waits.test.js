// What waits for a person is told once, a review as a question is, and threads have names.
import { place, drawn } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'

const notes = []
globalThis.Notification = class {
  static permission = 'granted'
  constructor(title, more) { notes.push(`${title}: ${more.body}`) }
}
const { html, render } = await import('../app/html.js')
const { watch } = await import('../app/alerts.js')
const { Announcements } = await import('../app/announce.js')
const { questions, known } = await import('../app/questions.js')
const { reviews, reviewsKnown } = await import('../app/reviews.js')
const { threads } = await import('../app/threads.js')
const { ThreadName } = await import('../app/thread_name.js')

const question = n => ({ item_id: 'item_' + n, thread_id: 'thread_1', turn_id: 'turn_1', created_at: '2026-01-01T00:00:00Z', content: { type: 'question', message: `May I ${n}?` } })
const ended = (n, attempt = 1) => ({ turn_id: 'turn_' + n, thread_id: 'thread_1', state: 'completed', attempt, completed_at: '2026-01-01T00:00:01Z', message: 'Done.' })
const row = (id, title) => ({ thread_id: id, agent: 'echo', latest_seq: 1, summary: { title, status: 'waiting' } })

test('a new question and a new review are announced and notified, each once', async () => {
  threads.value = new Map([['thread_1', row('thread_1', 'Write the notes')]])
  questions.value = [question(1)]
  reviews.value = [ended(1)]
  watch()
  known.value = reviewsKnown.value = true
  const root = place()
  render(html`<${Announcements} />`, root)
  const told = async () => {
    await drawn()
    return root.all('p').map(p => p.textContent)
  }
  assert.deepEqual(await told(), [], 'what was there is not news')
  document.hidden = true
  questions.value = [question(1), question(2)]
  reviews.value = [ended(1), ended(2)]
  assert.deepEqual(await told(), ['A question: May I 2?', 'A result waits: review the result of “Write the notes”'])
  assert.deepEqual(notes, ['An agent asks: May I 2?', 'A result waits for you: review the result of “Write the notes”'])
  reviews.value = [ended(1), ended(2, 2)]
  assert.equal((await told()).length, 3, 'another attempt is another result')
  document.hidden = false
  render(null, root)
})

test('a thread has a name or a quiet place for it, and no id that is replaced', async () => {
  const id = 'thread_01a21e1c-979e-7044-bc85-6105f91bc03a'
  let rows = [row(id, 'The one')], answer
  globalThis.fetch = async () => {
    await new Promise(resolve => { answer = resolve })
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { threads: rows } }))
  }
  const root = place()
  async function show(which) {
    render(html`<${ThreadName} id=${which} />`, root)
    for (let i = 0; i < 20 && !answer; i++) await drawn()
    const before = root.textContent
    answer()
    for (let i = 0; i < 20 && root.textContent === before; i++) await drawn()
    answer = null
    return [before, root.textContent]
  }
  assert.deepEqual(await show(id), ['reading its title …', 'The one'])
  rows = []
  render(null, root)
  assert.deepEqual(await show('thread_of_somebody_else'), ['reading its title …', 'Thread ody_else'], 'one that cannot be read')
  render(null, root)
})
