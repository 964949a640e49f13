// The input line: text starts a turn, or steers the active one.
import { html, useRef, useState } from './html.js'
import { change, may } from './session.js'
import { draft, wordsOf } from './drafts.js'
import { useOnce } from './parts.js'
import { Help, Mine, Offer, commandOf, isHelp, offered } from './commands.js'

const message = text => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]

// On a touch keyboard, Enter begins a new line.
const touch = matchMedia('(pointer: coarse)').matches

export function Composer({ loader, t }) {
  loader.version.value
  const text = draft(t.thread_id)
  const [busy, once] = useOnce()
  const [said, setSaid] = useState('')
  const [over, setOver] = useState(false) // the turn ended before the text came
  const [help, setHelp] = useState(false)
  const field = useRef(null)
  if (!may('work')) return null
  if (t.state === 'closed' || t.state === 'closing') return html`<p class="composer quiet">This thread is closed.</p>`
  if (t.agent === 'mailbox') return null
  const turn = loader.timeline?.active()
  const steers = turn?.state === 'active' && !over
  function send(event) {
    event.preventDefault()
    if (isHelp(text.value)) {
      setHelp(true)
      text.set('')
    } else if (text.value.trim()) once(() => say(text.value))
  }
  async function say(what) {
    setSaid('')
    // What was not answered goes again as it was: it may be there already.
    const { as: [method, params], key } = text.sent
      || text.send(steers ? ['turn/steer', { turn_id: turn.turn_id }] : ['turn/start', { thread_id: t.thread_id }])
    try {
      await change(method, { ...params, input: message(what) }, { key })
      if (text.value === what) text.set('')
      setOver(false)
      setHelp(false)
      if (loader.timeline) loader.timeline.follows = true
    } catch (error) {
      if (error.kind === 'turn_not_active' && method === 'turn/steer') {
        if (text.value === what) text.refused()
        setOver(params.turn_id === turn?.turn_id)
        setSaid('The turn ended before this text came. Send it again to start a new turn.')
      } else setSaid(wordsOf(error))
    }
    field.current?.focus()
  }
  const offers = offered(text.value, t.config)
  function pick(c) {
    text.set(`/${c.name} `)
    field.current?.focus()
  }
  function key(event) {
    if (event.key === 'Tab' && !event.shiftKey && offers.length) {
      event.preventDefault()
      return pick(offers[0])
    }
    // Safari ends a composition before the Enter that chose the word: it has the code 229.
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.keyCode !== 229 && !touch) send(event)
  }
  const label = steers ? 'Steer the turn' : turn ? 'Queue a turn' : 'Start a turn'
  return html`<form class="composer" onSubmit=${send}>
    ${help && html`<${Help} config=${t.config} agent=${t.agent} steers=${steers} touch=${touch} close=${() => { setHelp(false); field.current?.focus() }} />`}
    <${Offer} rows=${offers} pick=${pick} />
    <${Mine} c=${commandOf(text.value, t.config)} />
    <label class="aside" for="composer">${label}</label>
    <textarea id="composer" ref=${field} rows=${Math.min(8, Math.max(1, text.value.split('\n').length))} placeholder=${label + ' …'} value=${text.value} onInput=${e => { text.set(e.target.value) }} onKeyDown=${key}></textarea>
    <button class="first" disabled=${busy || !text.value.trim()}>${steers ? 'Steer' : 'Send'}</button>
    ${said && html`<p class="failure" role="alert">${said}</p>`}
  </form>`
}
