// The loader of the thread that the page shows now, for tests and debugging.
import { signal } from './html.js'
export const current = signal(null)
