// How items look that are drawn by more than one rule.
import { place } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Item } from '../app/items.js'
import { questions } from '../app/questions.js'

test('a message that says that it is plain is shown as it is, others as Markdown', () => {
  const text = '__init__.py\n<main>'
  for (const [format, want] of [['plain', text], ['markdown', 'init.py<main>'], [undefined, 'init.py<main>'], ['of a later version', 'init.py<main>']]) {
    const root = place()
    render(html`<${Item} item=${{ item_id: 'item_1', type: 'agent_message', status: 'completed', content: { type: 'agent_message', format, content: [] }, body: text }} />`, root)
    assert.equal(root.all('div')[0].textContent, want, format)
  }
})

test('a question is in the timeline only in brief where it is shown below, and says what it is where it is not', () => {
  const item = { item_id: 'item_1', type: 'permission_request', status: 'pending', content: { type: 'permission_request', title: 'make', subject: { command: 'make' } } }
  for (const [below, want] of [[[item], /see below/], [[], /run make.*waits for an answer/]]) {
    questions.value = below
    const root = place()
    render(html`<${Item} item=${item} />`, root)
    assert.match(root.all('p')[0].textContent, want)
  }
  questions.value = []
})
