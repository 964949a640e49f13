// The client, the credential in use, and what its role allows.
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

// may reports whether the role in use covers another one. The page hides what it does not cover.
export const may = role => roles.indexOf(who.value.role) >= roles.indexOf(role)

export const limited = () => Boolean(who.value.limited?.length)

function load() {
  try {
    return localStorage.getItem(kept) || ''
  } catch {
    return '' // the browser stores nothing: each visit needs a new sign-in
  }
}

let held = load()

// A server can be configured to send frames of up to 64 MiB.
export const client = new Client({ token: () => held || undefined, maxLineBytes: 72 << 20 })

// credential returns the credential that requests carry now.
export const credential = () => held

// keep stores another credential; '' forgets the stored one.
export function keep(secret) {
  held = secret
  signedIn.value = Boolean(secret)
  try {
    secret ? localStorage.setItem(kept, secret) : localStorage.removeItem(kept)
  } catch { /* then only this page has it */ }
}

// These methods answer only when something has ended, and send nothing until then.
const waiting = new Set(['turn/interrupt', 'thread/close', 'bridge/test'])

// call sends a request. A connection that broke while the machine slept may never report an
// error, so one that is silent for long counts as broken. A slow answer does not: it would
// be as slow again. A change has an idempotency key, so that it can be repeated after a
// broken connection, soon, and still happens once.
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

// change sends a request that changes something, under a key of its own or options.key. If
// nobody has answered, it may have happened all the same.
export async function change(method, params, options) {
  try {
    return await call(method, params, { key: true, ...options })
  } catch (error) {
    throw error.kind === 'offline' ? new HolonError('unanswered', error.message, { cause: error }) : error
  }
}

// get reads a text over HTTP: the metrics.
export async function get(path) {
  const response = await fetch(path, { headers: held ? { Authorization: `Bearer ${held}` } : {}, cache: 'no-store' })
  if (!response.ok) throw new HolonError(`http_${response.status}`, `HTTP status ${response.status}`, { status: response.status })
  return response.text()
}

// signedOut forgets a credential that is no longer valid, and shows the sign-in page. A late
// refusal may be about an earlier credential, and is ignored.
export function signedOut(error, used = held) {
  if (used !== held) return
  if (held) keep('')
  locked.value = error
}

// open sends initialize, whose answer describes the server and the credential in use.
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
