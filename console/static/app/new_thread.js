// The form that starts a thread: the task, the agent and the directory.
import { html, signal, useEffect, useRef, useState } from './html.js'
import { change, may, limited } from './session.js'
import { agents, readAgents } from './agents.js'
import { known, readOlder, remember } from './directories.js'
import { draft, wordsOf } from './drafts.js'
import { useOnce } from './parts.js'
import { go } from './router.js'
import { full, more } from './threads.js'
import { clean, words } from './text.js'

const opened = signal(false)

export function NewThread({ open }) {
  if (!may('work') || limited()) return null // a limited token may only start child threads
  if (!open && !opened.value) return html`<button type="button" class="first" onClick=${() => { opened.value = true }}>New thread</button>`
  return html`<${Form} />`
}

function Form() {
  const text = draft('a new thread') // no id of a thread has a blank
  const [agent, setAgent] = useState('')
  const [cwd, setCwd] = useState('')
  const [title, setTitle] = useState('')
  const [busy, once] = useOnce()
  const [made, setMade] = useState({}) // the thread, if only its first turn is missing
  const [error, setError] = useState(null)
  if (!agents.value) readAgents()
  useEffect(() => { readOlder() }, [more.value, full.value])
  const choices = (agents.value || []).filter(a => a.kind !== 'mailbox')
  const chosen = choices.find((a, i) => agent ? a.name === agent : i === 0)
  const place = useRef(null)
  const missing = error?.data?.field === 'cwd' // what the server has refused is said at its field
  function start(event) {
    event.preventDefault()
    if (text.value.trim()) once(begin)
  }
  async function begin() {
    setError(null)
    try {
      const what = text.value, as = JSON.stringify([agent, cwd, title])
      // What was not answered goes again with the same keys: it may be there already.
      const { key } = text.sent?.as === as ? text.sent : text.send(as)
      const id = made.as === as ? made.id : (await change('thread/start', { agent: agent || undefined, cwd: cwd.trim() || undefined, title: title.trim() || undefined }, { key: key + '-thread' })).thread_id
      if (cwd.trim()) remember(cwd.trim())
      setMade({ id, as })
      await change('turn/start', { thread_id: id, input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: what }] }] }, { key })
      if (text.value === what) text.set('')
      opened.value = false
      setMade({})
      go('thread', id)
    } catch (e) {
      setError(e)
      if (e.data?.field === 'cwd') place.current?.focus()
    }
  }
  return html`<form class="new" onSubmit=${start}>
    <label>What should an agent do?
      <textarea rows="3" required value=${text.value} onInput=${e => text.set(e.target.value)} onKeyDown=${e => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) start(e) }}></textarea></label>
    <div class="fields">
      <label>Agent <select value=${agent} onChange=${e => setAgent(e.target.value)}>
        ${choices.map((a, i) => html`<option value=${i === 0 ? '' : a.name}>${clean(a.name)}${a.state === 'failed' ? ' (failed)' : ''}</option>`)}</select></label>
      <div><label>Directory <input type="text" ref=${place} value=${cwd} list="directories" placeholder=${clean(chosen?.directory) || "the agent's own"} autocomplete="off" autocapitalize="off" spellcheck=${false}
          aria-invalid=${missing ? 'true' : undefined} aria-describedby=${missing ? 'directory-missing' : undefined} onInput=${e => { setCwd(e.target.value); setError(null) }} /></label>
        <datalist id="directories">${known().map(d => html`<option value=${d} />`)}</datalist>
        ${missing && html`<p class="failure" id="directory-missing" role="alert">${words(error).replace(/^.*?\bcwd: /i, '')} Nothing was started.</p>`}</div>
      <label>Title <input type="text" value=${title} maxlength="200" placeholder="from the first words" onInput=${e => setTitle(e.target.value)} /></label>
    </div>
    <p><button class="first" disabled=${busy || !text.value.trim()}>Start</button>
      ${opened.value && html` <button type="button" onClick=${() => { opened.value = false }}>Cancel</button>`}
      ${error && !missing && html` <span class="failure" role="alert">${wordsOf(error)}</span>`}</p>
  </form>`
}
