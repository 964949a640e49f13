// How items look that are drawn by more than one rule.
import { place } from './dom.js'
import './browser.js'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, render } from '../app/html.js'
import { Item } from '../app/items.js'

test('a message that says that it is plain is shown as it is, others as Markdown', () => {
  const text = '__init__.py\n<main>'
  for (const [format, want] of [['plain', text], ['markdown', 'init.py<main>'], [undefined, 'init.py<main>'], ['of a later version', 'init.py<main>']]) {
    const root = place()
    render(html`<${Item} item=${{ item_id: 'item_1', type: 'agent_message', status: 'completed', content: { type: 'agent_message', format, content: [] }, body: text }} />`, root)
    assert.equal(root.all('div')[0].textContent, want, format)
  }
})
