// The questions that wait for a person, of all threads: read again when an event says that
// one has come or gone.
import { signal } from './html.js'
import { call, change, limited } from './session.js'
import { drafted, forget } from './drafts.js'
import { listen } from './live.js'
import { refresher } from './refresh.js'

const most = 200

export const questions = signal([])
export const known = signal(false)
// There are more than are shown.
export const surplus = signal(false)

// Subjects of questions: the items that they are about, by id.
export const subjects = signal(new Map())

export async function load() {
  const drafts = drafted('question.') // of questions that were open when they were asked for, or before
  const r = await call('item/list', { status: 'pending', limit: most })
  const before = questions.value
  questions.value = r.items.filter(asks)
  forgetDrafts(drafts, before, !r.next_cursor && !limited())
  surplus.value = Boolean(r.next_cursor)
  known.value = true
  const about = new Set(questions.value.map(q => q.content.subject?.item_id))
  forgetSubjects(id => !about.has(id))
  return r.latest_seq
}

// forgetDrafts forgets what was typed for questions that have gone, whoever has answered them.
// If not all that are open are known, one has gone only if it was among those that were.
function forgetDrafts(drafts, before, all) {
  const ids = rows => new Set(rows.map(q => 'question.' + q.item_id))
  const open = ids(questions.value), were = ids(before)
  for (const name of drafts) if (!open.has(name) && (all || were.has(name))) forget(name)
}

export const asks = item => item.type === 'permission_request' || item.type === 'question'

// readSubject reads what a question is about, once; a question asks for it when it is drawn.
const asked = new Set()
export async function readSubject(id) {
  if (asked.has(id)) return
  asked.add(id)
  let item
  try {
    item = (await call('item/read', { item_id: id })).item
  } catch (error) {
    item = { unread: error }
  }
  if (asked.has(id)) subjects.value = new Map(subjects.value).set(id, item)
}

// forgetSubjects forgets what has changed, or what no question is about any more.
function forgetSubjects(gone) {
  const kept = new Map([...subjects.value].filter(([id]) => !gone(id)))
  for (const id of [...asked]) if (gone(id)) asked.delete(id)
  subjects.value = kept
}

const again = refresher(load)

listen(events => {
  const open = new Set(questions.value.map(q => q.item_id))
  const turns = new Set(questions.value.map(q => q.turn_id))
  const about = new Set(asked)
  for (const { method, params } of events) {
    const asking = params.content && asks({ type: params.content.type })
    if (method.startsWith('item/') && method !== 'item/delta' && (asking || open.has(params.item_id))) again()
    if (method === 'item/updated' && about.has(params.item_id)) forgetSubjects(id => id === params.item_id)
    if (turns.has(params.turn_id) && (method === 'stream/rewind' || /^turn\/(completed|failed|interrupted)$/.test(method))) again()
  }
})

// respond answers a question: {option_id}, {answer} or {outcome: 'cancelled'}.
export const respond = (item, answer) => change('item/respond', { item_id: item.item_id, ...answer })
