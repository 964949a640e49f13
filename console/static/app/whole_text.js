// A whole thread as one text, for the browser's search: the timeline draws only a part.
import { html, useEffect, useState } from './html.js'
import { call } from './session.js'
import { textOf } from './timeline.js'
import { bytes, clean, exact, literal, words } from './text.js'

const most = 5 << 20

export function WholeText({ id }) {
  const [text, setText] = useState('')
  const [state, setState] = useState('reading …')
  useEffect(() => {
    const abort = new AbortController()
    read(id, abort.signal, setText).then(setState, e => { if (!abort.signal.aborted) setState(words(e)) })
    return () => abort.abort()
  }, [id])
  return html`<div class="lines" tabindex="0" aria-label="The thread as text"><p class="quiet" role="status">${state}</p><pre class="whole" tabindex="0">${text}</pre></div>`
}

async function read(id, signal, show) {
  let all = '', cursor
  do {
    const page = await call('item/list', { thread_id: id, order: 'asc', limit: 500, cursor }, { signal })
    for (const item of page.items) all += one(item)
    show(all)
    cursor = page.next_cursor
    if (all.length > most) return `The first ${bytes(most)} of the thread. holon export prints all of it.`
  } while (cursor)
  return `The thread as of ${exact(new Date())}.`
}

function one(item) {
  const c = item.content
  const head = { user_message: 'You', agent_message: 'Agent', reasoning: 'Thought' }[item.type] || item.type.replaceAll('_', ' ')
  const lines = [
    c.title || c.message, c.command && '$ ' + literal(c.command), ...(c.changes || []).map(ch => `${ch.operation} ${ch.path}\n${ch.new_text ?? ''}`),
    ...(item.type === 'user_message' ? c.content.map(p => p.text) : []), ...(c.entries || []).map(e => e.content ? `${e.status}: ${e.content}` : e.summary), textOf(c), c.error,
  ]
  return `── ${head} · ${exact(item.created_at)}\n${clean(lines.filter(Boolean).join('\n'))}\n\n`
}
