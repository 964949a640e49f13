// The server, and who uses it: the client, the credential, what its role allows.
import { Client, HolonError } from '../client/index.js'
import { signal, computed } from './html.js'
import { counters } from './counters.js'

const kept = 'holon.credential'
const roles = ['read', 'respond', 'work', 'operate', 'owner']

// The answer to initialize; null before it has come.
export const server = signal(null)
// Why nobody is signed in: null, or an error. The sign-in page shows it.
export const locked = signal(null)
// Whether a credential is kept, so that one can sign out.
export const signedIn = signal(Boolean(load()))

// who is the name, the role and the threads of the credential in use.
export const who = computed(() => {
  const token = server.value?.token
  if (!token) return { name: 'owner', role: 'owner', seen: 'owner' }
  return { name: token.name, role: token.role, seen: token.parent || token.name, limited: token.limited_to }
})

// may tells whether the role in use covers another one. What it may not is not shown.
export const may = role => roles.indexOf(who.value.role) >= roles.indexOf(role)

export const limited = () => Boolean(who.value.limited?.length)

function load() {
  try {
    return localStorage.getItem(kept) || ''
  } catch {
    return '' // the browser keeps nothing: one signs in anew on each visit
  }
}

let held = load()

// Frames may have 64 MiB, where a server is configured so.
export const client = new Client({ token: () => held || undefined, maxLineBytes: 72 << 20 })

// credential is what requests are sent with now.
export const credential = () => held

// keep takes another credential; '' forgets it.
export function keep(secret) {
  held = secret
  signedIn.value = Boolean(secret)
  try {
    secret ? localStorage.setItem(kept, secret) : localStorage.removeItem(kept)
  } catch { /* only this page has it then */ }
}

// What answers only when something has ended, and says nothing until then.
const waiting = new Set(['turn/interrupt', 'thread/close', 'bridge/test'])

// call sends a request. A connection that died while the machine slept may never say so:
// what is silent for long counts as broken. What comes slowly does not, because it would
// come as slowly again. A change gets an idempotency key, so it is repeated over a broken
// connection, soon, and happens once.
export async function call(method, params = {}, options = {}) {
  counters.requests++
  const silence_ms = options.key && !waiting.has(method) ? 20_000 : 60_000
  const late = options.key ? AbortSignal.timeout(120_000) : undefined
  const used = held
  try {
    return await client.call(method, params, { silence_ms, signal: late, ...options })
  } catch (error) {
    if (late?.aborted) throw new HolonError('offline', `${method} was not answered in time`)
    if (error instanceof HolonError && error.kind === 'unauthorized') signedOut(error, used)
    throw error
  }
}

// change sends a request that changes something, with a key of its own or the one given.
// What nobody has answered may have happened all the same.
export async function change(method, params, key = true) {
  try {
    return await call(method, params, { key })
  } catch (error) {
    throw error.kind === 'offline' ? new HolonError('unanswered', error.message, { cause: error }) : error
  }
}

// get reads a text that is no answer of a method: the metrics.
export async function get(path) {
  const response = await fetch(path, { headers: held ? { Authorization: `Bearer ${held}` } : {}, cache: 'no-store' })
  if (!response.ok) throw new HolonError(`http_${response.status}`, `HTTP status ${response.status}`, { status: response.status })
  return response.text()
}

// signedOut forgets a credential that opens nothing any more, and asks for another one. A
// refusal that comes late is about another credential than the one that is held now.
export function signedOut(error, used = held) {
  if (used !== held) return
  if (held) keep('')
  locked.value = error
}

// open asks the server who it is and who we are.
export async function open() {
  const first = await call('initialize', { client_info: { name: 'holon-console' } })
  server.value = first
  locked.value = null
  return first
}

// Another tab has signed in or out.
addEventListener('storage', event => {
  if (event.key === kept && (event.newValue || '') !== held) location.reload()
})
