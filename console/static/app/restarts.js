// The turns that ended with a restart of the server and that nobody has gone on with: how many
// there are, at the top of the overview, until they are retried or the user dismisses them.
import { html, signal, useState } from './html.js'
import { call, change, may, who } from './session.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'
import { Act } from './parts.js'
import { clock, plural, words } from './text.js'

const pageSize = 200
const most = 2000 // turns

export const lost = signal([])
const cursor = () => ({ consumer_id: 'seen:' + who.value.seen, stream_name: 'restarts' })

// load reads what this user has not dismissed, again and later if it cannot be read now.
export const load = refresher(async () => {
  const { cursor: known } = await call('cursor/read', cursor())
  const rows = [], read = new Set()
  for (let next = ''; rows.length < most && !read.has(next);) { // a position that comes twice is followed once
    read.add(next)
    const page = await call('turn/list', { ended_by: 'restart', after_seq: known.last_sequence, limit: pageSize, ...(next && { cursor: next }) })
    rows.push(...page.turns)
    if (!(next = page.next_cursor)) break
  }
  if (rows.length || lost.value.length) lost.value = rows
})

const reasons = ['server stopping', 'server restarted']
const ends = ({ method, params }) => (method === 'turn/interrupted' || method === 'turn/failed') && reasons.includes(params.reason)

listen(events => {
  if (events.some(e => ends(e) || lost.value.length && /^(turn|thread)\//.test(e.method))) load()
})

// retryAll retries the turns one after the other, owners before their children: a child turn
// whose owner is retried is left to it. The key is made of the end, so that each is retried
// once. It returns how many were refused, and the first error.
export async function retryAll(turns) {
  const again = new Set()
  let refused = 0, error = null
  for (const t of [...turns].sort((a, b) => a.created_seq - b.created_seq)) {
    if (t.attention_policy && again.has(t.parent?.turn_id)) {
      again.add(t.turn_id)
      continue
    }
    try {
      await change('turn/retry', { turn_id: t.turn_id }, { key: `restart-${t.turn_id}-${t.restart_seq}` })
      again.add(t.turn_id)
    } catch (e) {
      refused++
      error ||= e
    }
  }
  load()
  return { refused, error }
}

async function dismiss(turns) {
  try {
    await change('cursor/advance', { ...cursor(), last_sequence: turns.at(-1).restart_seq })
  } catch (e) {
    if (e.data?.reason !== 'not_monotonic') throw e // else another page has dismissed more
  }
  lost.value = []
  load()
}

export function Restarts() {
  const [sure, setSure] = useState(false)
  const [failure, setFailure] = useState('')
  const turns = lost.value
  if (!turns.length) return failure ? html`<p class="failure" role="alert">${failure}</p>` : null
  async function retry() {
    setFailure('')
    const { refused, error } = await retryAll(turns)
    setSure(false)
    if (refused) setFailure(`${plural(refused, 'turn')} not retried: ${words(error)}`)
  }
  return html`<section class="lost" aria-label="Ended with a restart">
    <p role="status">${turns.length >= most ? 'More than ' : ''}${plural(turns.length, 'turn')} ended with the restart at ${clock(turns.at(-1).completed_at)}.</p>
    ${sure
      ? html`<span class="tools"><${Act} kind="first" run=${retry}>Retry ${plural(turns.length, 'turn')}<//><button type="button" onClick=${() => setSure(false)}>Cancel</button></span>`
      : html`<span class="tools">${may('work') && html`<button type="button" onClick=${() => setSure(true)}>Retry all …</button>`}<${Act} run=${() => dismiss(turns)}>Dismiss<//></span>`}
    ${failure && html`<span class="failure" role="alert">${failure}</span>`}
  </section>`
}
