// holon-client: requests to a Holon server, its log as a stream that resumes by
// itself, and a view of it that is coherent although work is retried.

export { Client } from './client.js'
export { HolonError } from './error.js'
export { Markers, View } from './fold.js'
export { ExactNumber, parse, stringify } from './json.js'
