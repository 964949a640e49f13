// A question and its answers. The command, the directory and the diff are shown above the
// answers.
import { html, useEffect, useMemo, useRef, useState } from './html.js'
import { parse, stringify } from '../client/json.js'
import { may } from './session.js'
import { readSubject, respond, subjects } from './questions.js'
import { allows, more, once, widens, wordsOf } from './question.js'
import { Lines } from './diff.js'
import { link } from './markdown.js'
import { fieldsOf, answerOf, begin, secret } from './form.js'
import { forget, keepFields, keptFields } from './drafts.js'
import { Since, useSettled } from './parts.js'
import { literal, words as says } from './text.js'

// mostLines is how many lines of a question are shown at first.
const mostLines = 400

// place identifies what is drawn around the question. When it changes, the question moves,
// and its answers are dead again.
export function Question({ item, cwd, head, place = '' }) {
  const c = item.content
  const about = c.subject?.item_id ? subjects.value.get(c.subject.item_id) : null
  useEffect(() => { if (c.subject?.item_id && !about) readSubject(c.subject.item_id) }, [c.subject?.item_id, about])
  const reading = Boolean(c.subject?.item_id) && !about
  const words = useMemo(() => wordsOf({ content: c, subject: about?.content, cwd, unread: about?.unread, truncated: item.truncated || about?.truncated }), [c, about, cwd])
  const answers = ({ off, answer }) => {
    const send = (a, kind) => answer(() => respond(item, a), kind !== undefined && allows(kind)) // the event of the answer removes the question
    if (!may('respond')) return html`<p class="quiet">Your role may read questions, but not answer them.</p>`
    return c.type === 'permission_request' ? html`<${Options} id=${item.item_id} options=${c.options} off=${off} answer=${send} />`
      : html`<${Fields} key=${stringify(c.schema)} content=${c} id=${item.item_id} off=${off} answer=${send} />`
  }
  return html`<${Panel} id=${item.item_id} kind="Question" phrase=${words.phrase} lines=${words.lines} url=${c.url} since=${item.created_at} asked=${stringify([c, about?.content, place])} reading=${reading} head=${head} answers=${answers}>
    ${reading && html`<p class="quiet">reading the item of this question …</p>`}
    ${about?.unread && html`<p class="failure">${says(about.unread)}</p>`}<//>`
}

// Panel shows what a person must decide, and answers to it, which answers({off, answer}) draws.
// answer(send, allows) sends one, once; one that allows something is not sent before all lines
// were shown. asked identifies what is asked, and what is around it. The answers stay in sight,
// but never over the first lines of what is asked.
export function Panel({ id, kind, phrase, lines, url, since, asked, reading = false, head, answers, children }) {
  const [whole, setWhole] = useState(null) // what was asked when all of it was shown
  const hidden = whole === asked ? 0 : Math.max(0, lines.length - mostLines)
  const [held, setHeld] = useState(false)
  const dead = !useSettled(asked + (hidden > 0), { ready: !reading })
  const [sent, setSent] = useState(false)
  const sending = useRef(false)
  const [error, setError] = useState(null)
  const showAll = () => setWhole(asked)
  async function answer(send, allows) {
    if (dead || sending.current) return
    setHeld(hidden > 0 && allows)
    if (hidden > 0 && allows) return showAll()
    sending.current = true
    setSent(true)
    setError(null)
    try {
      await send()
    } catch (e) {
      setError(e)
      setSent(false)
      sending.current = false
    }
  }
  const off = dead || sent || reading
  return html`<section class="question" id=${id} data-dead=${off || undefined} aria-label=${`${kind}: ${phrase}`}>
    ${head}
    <div class="decide">
      <p class="asked"><span class="mark" data-state="waiting" aria-hidden="true">?</span> <strong>${phrase}</strong> <span class="quiet">for <${Since} at=${since} /></span></p>
      <${About} lines=${hidden ? lines.slice(0, mostLines) : lines} url=${url} />
      ${hidden > 0 && html`<p><span class="quiet">${more(hidden)}</span> <button type="button" class="small" onClick=${showAll}>Show all of it</button></p>`}
      ${children}
      ${held && html`<p class="quiet" role="status">All of it is shown now. Read it, then press again.</p>`}
      ${sent && html`<p class="quiet" role="status">sending the answer …</p>`}
      ${error && html`<p class="failure" role="alert">${says(error)}</p>`}
      ${answers({ off, answer })}
    </div>
  </section>`
}

// About is what a question is about. Lines of one kind that follow each other are together.
function About({ lines, url }) {
  const parts = []
  for (const l of lines) {
    const part = parts.at(-1)
    const kind = ['added', 'removed', 'same', 'gap'].includes(l.kind) || l.kind === 'note' && part?.kind === 'diff' ? 'diff' : l.kind
    if (part?.kind === kind && kind !== 'file') part.lines.push(l)
    else parts.push({ kind, lines: [l] })
  }
  return parts.map(({ kind, lines }) => {
    const text = lines.map(l => l.text).join('\n')
    switch (kind) {
      case 'command': return html`<pre class="command" tabindex="0">${text}</pre>`
      case 'input': return html`<pre class="input" tabindex="0">${text}</pre>`
      case 'message': return html`<p class="plain">${text}</p>`
      case 'says': return html`<blockquote class="plain" aria-label="The agent says">${text}</blockquote>`
      case 'url': return html`<p>${link(url, text)}</p>`
      case 'file': return html`<p class="file"><code>${text}</code></p>`
      case 'diff': return html`<div class="diff"><${Lines} lines=${lines} label="Changes" /></div>`
      case 'note': return html`<p class="failure">${text}</p>`
    }
    return html`<p class="quiet">${text}</p>`
  })
}

// Options are the answers, which stay in sight, below what the lasting ones of them mean.
function Options({ id, options, off, answer }) {
  const mine = options.filter(o => may('work') || once(o.kind))
  const note = i => `${id}-option-${i}`
  return html`${mine.map((o, i) => widens(o.kind) && html`<p class="quiet" id=${note(i)}>“${literal(o.name)}”: ${widens(o.kind)}.</p>`)}
    ${mine.length < options.length && html`<p class="quiet">Options that may allow more than this once need the role work.</p>`}
    <div class="options">${mine.map((o, i) => html`<button type="button" disabled=${off} class=${o.kind === 'allow_once' ? 'first' : allows(o.kind) ? '' : 'danger'} aria-describedby=${widens(o.kind) ? note(i) : undefined} onClick=${() => answer({ option_id: o.option_id }, o.kind ?? '')}>${literal(o.name)}</button>`)}</div>`
}

function Fields({ content, id, off, answer }) {
  const form = useMemo(() => fieldsOf(content.schema), [])
  const [typed, set] = useTyped(content, form, 'question.' + id)
  const [why, setWhy] = useState('')
  function submit(event) {
    event.preventDefault()
    setWhy('')
    try {
      if (form) return answer({ answer: answerOf(form, typed) })
      if (content.url && !typed[0]) return answer({ answer: {} })
      answer({ answer: content.schema ? parse(typed[0]) : typed[0] })
    } catch (e) {
      setWhy(form ? e.message : 'This is not valid JSON: ' + e.message)
    }
  }
  return html`<form class="fields-form" onSubmit=${submit}>
    ${form ? form.fields.map((f, i) => html`<${Field} key=${f.name} f=${f} id=${`${id}-${i}`} value=${typed[i]} set=${v => set(i, v)} />`)
      : content.url ? null
      : html`<label>${content.schema ? 'Answer (JSON)' : 'Answer'}<textarea rows="2" value=${typed[0]} onInput=${e => set(0, e.target.value)}></textarea></label>`}
    ${why && html`<p class="failure" role="alert">${why}</p>`}
    <div class="options"><button class="first" disabled=${off}>${content.url && !form ? 'Done' : 'Answer'}</button>
      <button type="button" disabled=${off} onClick=${() => answer({ outcome: 'cancelled' })}>Decline</button></div>
  </form>`
}

// useTyped is what the fields of a question have, as typed, and the function that changes
// one. It survives a reload, until the question has gone.
function useTyped({ schema }, form, name) {
  const first = form ? begin(form) : ['']
  const asked = stringify(schema) || ''
  const [typed, setTyped] = useState(() => {
    const kept = keptFields(name, asked, first.length)
    return first.map((t, i) => typeof kept?.[i] === 'string' ? kept[i] : t)
  })
  const hidden = i => form ? form.fields[i].secret : secret(schema)
  return [typed, (i, value) => {
    const now = typed.map((t, j) => i === j ? value : t)
    setTyped(now)
    const kept = now.map((t, j) => hidden(j) || t === first[j] ? null : t)
    kept.some(t => t !== null) ? keepFields(name, asked, kept) : forget(name)
  }]
}

function Field({ f, id, value, set }) {
  const title = html`${literal(f.title) || 'Answer'}${f.needed ? '' : html` <span class="quiet">(optional)</span>`}`
  const about = f.description && html`<span class="quiet" id=${id + '-about'}>${literal(f.description)}</span>`
  const described = f.description ? id + '-about' : undefined
  if (f.choices.length) {
    return html`<label>${title}<select value=${value} aria-describedby=${described} onChange=${e => set(e.target.value)}>
      <option value="">${f.needed ? 'choose …' : 'none'}</option>${f.choices.map((c, i) => html`<option value=${String(i)}>${literal(c.title)}</option>`)}</select>${about}</label>`
  }
  if (f.type === 'boolean') return html`<label class="check"><input type="checkbox" checked=${value === 'true'} aria-describedby=${described} onChange=${e => set(String(e.target.checked))} /> ${title} ${about}</label>`
  return html`<label>${title}<input type="text" value=${value} aria-describedby=${described} onInput=${e => set(e.target.value)} />${about}</label>`
}
