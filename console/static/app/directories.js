// The directories in which threads were started, for the form of a new one.
import { server } from './session.js'
import { threads } from './threads.js'

const most = 20 // that this browser remembers
const mostOffered = 50
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

// known are the directories that were used before: those of this browser, the newest first, then
// those of the threads that the page has.
export const known = () => [...new Set([...remembered(), ...[...threads.value.values()].map(t => t.summary?.cwd).filter(Boolean)])].slice(0, mostOffered)
