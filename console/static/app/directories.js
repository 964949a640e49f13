// The directories in which threads were started, for the form of a new one.
import { signal } from './html.js'
import { call, server } from './session.js'
import { full, more, threads } from './threads.js'

const most = 20 // that this browser remembers
const mostOffered = 50
const mostRead = 1000 // threads
const key = () => `holon.directories.${server.value?.log_id || ''}`

function remembered() {
  try {
    const all = JSON.parse(localStorage.getItem(key()))
    return Array.isArray(all) ? all.filter(d => typeof d === 'string').slice(0, most) : []
  } catch {
    return [] // nothing is kept, or not by this page
  }
}

// remember keeps a directory in which a thread was started here.
export function remember(directory) {
  try {
    localStorage.setItem(key(), JSON.stringify([directory, ...remembered().filter(d => d !== directory)].slice(0, most)))
  } catch { /* the storage is full or forbidden */ }
}

const of = all => all.map(t => t.summary?.cwd).filter(Boolean)

// older are the directories of threads that the page may not have; null if they were not read.
const older = signal(null)

// readOlder reads them once, for a form that is opened, if the page has not all threads.
export async function readOlder() {
  if (older.value || !more.value && !full.value) return
  older.value = []
  try {
    older.value = [...new Set(of((await call('thread/list', { view: 'summary', order: 'desc', limit: mostRead })).threads))]
  } catch {
    older.value = null // the next form asks again; until then fewer are proposed
  }
}

// known are the directories that were used before: those of this browser, the newest first, then
// those of the threads that the page has, and of older ones.
export const known = () => [...new Set([...remembered(), ...of([...threads.value.values()]), ...older.value || []])].slice(0, mostOffered)
