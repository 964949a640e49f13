// What the page shows of a thread now, for tests and for the curious.
import { signal } from './html.js'
export const current = signal(null)
