// A question and its answers. The command, the directory and the diff are shown above the
// answers.
import { html, useEffect, useMemo, useRef, useState } from './html.js'
import { may } from './session.js'
import { readSubject, respond, subjects, widens } from './questions.js'
import { Diff } from './diff.js'
import { link } from './markdown.js'
import { fieldsOf, answerOf, begin, secret } from './form.js'
import { forget, keepFields, keptFields } from './drafts.js'
import { Since } from './parts.js'
import { clean, literal, oneLine, words } from './text.js'

// deadFor is how long the answers of a new or changed question do nothing: a click or a key
// that was meant for something else must not answer it.
const deadFor = 500

// place identifies what is drawn around the question. When it changes, the question moves,
// and its answers are dead again.
export function Question({ item, cwd, head, place = '' }) {
  const c = item.content
  const about = c.subject?.item_id ? subjects.value.get(c.subject.item_id) : null
  useEffect(() => { if (c.subject?.item_id && !about) readSubject(c.subject.item_id) }, [c.subject?.item_id, about])
  const reading = Boolean(c.subject?.item_id) && !about
  const shape = JSON.stringify([c, about?.content, place])
  // alive is the shape that was shown for deadFor. Any other shape is dead.
  const [alive, setAlive] = useState(null)
  const dead = alive !== shape
  useEffect(() => {
    if (reading) return
    const timer = setTimeout(() => setAlive(shape), deadFor)
    return () => clearTimeout(timer)
  }, [shape, reading])
  const [sent, setSent] = useState(false)
  const sending = useRef(false)
  const [error, setError] = useState(null)
  async function answer(a) {
    if (dead || sending.current) return
    sending.current = true
    setSent(true)
    setError(null)
    try {
      await respond(item, a) // the event of the answer removes the question
    } catch (e) {
      setError(e)
      setSent(false)
      sending.current = false
    }
  }
  const off = dead || sent || reading
  return html`<section class="question" id=${item.item_id} data-dead=${off || undefined} aria-label=${'Question: ' + oneLine(c.title || c.message)}>
    ${head}
    <p class="asked"><span class="mark" data-state="waiting" aria-hidden="true">?</span> <strong>${literal(c.title || c.message)}</strong> <span class="quiet">for <${Since} at=${item.created_at} /></span></p>
    ${c.type === 'permission_request' ? html`<${Subject} content=${c} about=${about} cwd=${cwd} />` : null}
    ${c.url && html`<p>${link(c.url, literal(c.url))}</p>`}
    ${c.description && clean(c.description) !== clean(c.title) && !repeats(c) && html`<p class="plain">${literal(c.description)}</p>`}
    ${!may('respond') ? html`<p class="quiet">Your role may read questions, but not answer them.</p>`
      : c.type === 'permission_request' ? html`<${Options} options=${c.options} off=${off} answer=${answer} />`
      : html`<${Fields} key=${JSON.stringify(c.schema)} content=${c} id=${item.item_id} off=${off} answer=${answer} />`}
    ${sent && html`<p class="quiet" role="status">sending the answer …</p>`}
    ${error && html`<p class="failure" role="alert">${words(error)}</p>`}
  </section>`
}

// repeats reports whether a description only repeats, as JSON, what is shown above it.
function repeats(c) {
  try {
    const said = JSON.parse(c.description)
    return c.subject && Object.values(said).every(v => v === c.subject.command || v === c.subject.cwd)
  } catch {
    return false
  }
}

function Subject({ content, about, cwd }) {
  const command = content.subject.command || about?.content?.command
  const directory = content.subject.cwd || about?.content?.cwd || cwd
  const changes = about?.content?.type === 'file_change' ? about.content.changes : diffsOf(about?.content)
  const input = about?.content?.input
  return html`
    ${command && html`<pre class="command" tabindex="0">${literal(command)}</pre>`}
    ${directory && html`<p class="quiet">in <code>${literal(directory)}</code></p>`}
    ${about?.unread && html`<p class="failure">The item of this question cannot be read. ${words(about.unread)}</p>`}
    ${content.subject.item_id && !about && html`<p class="quiet">reading the item of this question …</p>`}
    ${changes?.map(ch => html`<${Diff} change=${ch} open />`)}
    ${!command && !changes?.length && input !== undefined && html`<pre class="command" tabindex="0">${literal(JSON.stringify(input, null, 2))}</pre>`}`
}

// diffsOf are the diffs in the content of a tool call.
export const diffsOf = c => Array.isArray(c?.content) ? c.content.filter(p => p?.type === 'diff').map(p => ({ path: p.path, operation: p.old_text ?? p.oldText ? 'update' : 'add', old_text: p.old_text ?? p.oldText, new_text: p.new_text ?? p.newText })) : []

const Options = ({ options, off, answer }) => html`<div class="options">${options.filter(o => may('work') || !o.kind?.endsWith('_always')).map(o => html`<div class="option">
  <button type="button" disabled=${off} class=${o.kind === 'allow_once' ? 'first' : o.kind?.startsWith('reject') ? 'danger' : ''} onClick=${() => answer({ option_id: o.option_id })}>${literal(o.name)}</button>
  ${widens(o.kind) && html`<span class="quiet">${widens(o.kind)}</span>`}</div>`)}</div>`

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
      answer({ answer: content.schema ? JSON.parse(typed[0]) : typed[0] })
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
  const asked = JSON.stringify(schema) || ''
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
  const title = html`${clean(f.title) || 'Answer'}${f.needed ? '' : html` <span class="quiet">(optional)</span>`}`
  const about = f.description && html`<span class="quiet" id=${id + '-about'}>${clean(f.description)}</span>`
  const described = f.description ? id + '-about' : undefined
  if (f.choices.length) {
    return html`<label>${title}<select value=${value} aria-describedby=${described} onChange=${e => set(e.target.value)}>
      <option value="">${f.needed ? 'choose …' : 'none'}</option>${f.choices.map((c, i) => html`<option value=${String(i)}>${oneLine(c.title)}</option>`)}</select>${about}</label>`
  }
  if (f.type === 'boolean') return html`<label class="check"><input type="checkbox" checked=${value === 'true'} aria-describedby=${described} onChange=${e => set(String(e.target.checked))} /> ${title} ${about}</label>`
  const number = f.type === 'integer' || f.type === 'number'
  return html`<label>${title}<input type=${number ? 'number' : 'text'} step=${f.type === 'integer' ? '1' : number ? 'any' : undefined} value=${value} aria-describedby=${described} onInput=${e => set(e.target.value)} />${about}</label>`
}
