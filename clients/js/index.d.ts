// Types of holon-client. Those of the protocol are in types.d.ts, which `go generate ./api` makes.

import type { ErrorData, EventMethod, ItemContent, Methods, Notifications } from './types.js'

export * from './types.js'

/** An event as a stream gives it out, told apart by its method. A later version may send others. */
export type StreamEvent = {
  [M in EventMethod]: { method: M; params: Notifications[M] }
}[EventMethod]

export interface Clock {
  now(): number
  setTimeout(f: () => void, ms: number): unknown
  clearTimeout(timer: unknown): void
  random(): number
}

export interface ClientOptions {
  /** Where the server listens; in a browser the page's own origin by default. */
  url?: string
  token?: string | (() => string | undefined | Promise<string | undefined>)
  fetch?: typeof fetch
  /** For tests. */
  clock?: Clock
  /** For a server whose max_frame_bytes is above 8 MiB. */
  maxLineBytes?: number
}

export interface CallOptions {
  signal?: AbortSignal
  /** true adds an idempotency_key of its own, a string is the key: the request is then repeated over a broken connection until it is answered, for 20 to 45 seconds. */
  key?: boolean | string
  /** true has a browser send the request even if the page goes away before the answer. It may then have 64 KiB at most. */
  keepalive?: boolean
  /** The connection counts as broken when nothing of the answer comes for so long. Methods that wait, such as turn/interrupt, are silent until they answer. */
  silence_ms?: number
}

/** A method whose params may be left out. */
type Bare = { [M in keyof Methods]: {} extends Methods[M]['params'] ? M : never }[keyof Methods]

export class Client {
  constructor(options?: ClientOptions)
  readonly url: string
  /** Sends one request and returns its result. Throws a HolonError, or the signal's reason. */
  call<M extends Bare>(method: M, params?: Methods[M]['params'], options?: CallOptions): Promise<Methods[M]['result']>
  call<M extends keyof Methods>(method: M, params: Methods[M]['params'], options?: CallOptions): Promise<Methods[M]['result']>
  /** Follows the log. Iterating starts it, once. */
  stream(options?: StreamOptions): Stream
}

export interface StreamOptions {
  /** Events after this seq are replayed, then live ones follow. 0: from the beginning; absent: from now on. */
  after_seq?: number
  /** The log to which after_seq belongs: a server with another log refuses. */
  log_id?: string
  thread_ids?: string[]
  within_thread_ids?: string[]
  /** Names, or kinds such as "item/*". */
  methods?: string[]
  /** With content "summary": the threads whose events are sent whole. */
  whole_thread_ids?: string[]
  collapse?: 'superseded' | boolean
  content?: 'summary'
  signal?: AbortSignal
  /** Called with every change of the connection, and with every heartbeat. */
  onState?: (state: StreamState) => void
}

export interface StreamState {
  /** waiting: the server has accepted the stream, and its first line has not come yet. */
  state: 'connecting' | 'waiting' | 'connected' | 'reconnecting' | 'off'
  /** Since when it is in this state; when reconnecting, since when the connection is lost. */
  since: Date
  /** Why the connection was lost or the stream ended. */
  error?: HolonError
  /** Counts the attempts since the loss, from 1; 0 while connected. */
  attempt: number
  /** When the next attempt comes, while it is waited for. */
  retry_at?: Date
  /** The seq after which the first connection began. */
  began_at?: number
  cursor?: number
  latest_seq?: number
  log_id?: string
}

export interface Stream extends AsyncIterable<StreamEvent> {
  /** The seq after which the stream resumes. */
  readonly cursor: number | undefined
  readonly log_id: string | undefined
  /** Ends the stream at once; the loop then ends without an error. */
  close(): void
  /** Makes the next attempt to connect at once, unless the server wants the wait. An attempt that was not answered is given up for it. */
  retryNow(): void
}

/**
 * A number of JSON that JavaScript would write in another way, such as 9007199254740993, 1e400
 * or 1.0. It calculates as the nearest number; toString and JSON have its source text. Only
 * members of any type (unknown) have it.
 */
export class ExactNumber extends Number {
  /** source is the number in JSON. */
  constructor(source: string)
  toJSON(): unknown
}

/** JSON.parse, with an ExactNumber for each number that JavaScript would write in another way. */
export function parse(text: string): unknown
/** JSON.stringify, with the source text of each ExactNumber, also in engines that have no JSON.rawJSON. */
export function stringify(value: unknown, space?: string | number): string

/** What a server answered instead of a result, or why there was no answer. */
export class HolonError extends Error {
  /** Of the protocol's errors, or offline, http_<status>, bad_name, bad_answer, not_a_stream, redirected, clear_text, silent, gap. */
  readonly kind: ErrorData['kind']
  readonly code: number
  readonly data?: Partial<ErrorData>
  /** The HTTP status, 0 if there was none. */
  readonly status: number
  readonly retryable: boolean
  readonly retry_after_ms: number
}

export interface ViewOptions {
  /** How many ended turns are kept: 64 by default, -1 without a bound. */
  keepEnded?: number
  /** How many turns are kept in all: 4,096 by default, -1 without a bound. */
  keepTurns?: number
}

/** The live view of a log, as far as it has been read. What it returns changes with its next apply. */
export class View {
  constructor(options?: ViewOptions)
  /** The seq up to which the view has read: where to resume. */
  readonly cursor: number
  readonly size: number
  apply(event: { method: string; params?: object }): Change
  turn(turnID: string): Turn | undefined
  turns(): Turn[]
  advance(seq: number): void
  forget(turnID: string): void
}

/** What one event did to the view. */
export interface Change {
  kind: 'skipped' | 'joined' | 'superseded' | 'late' | 'rewound'
  turn?: Turn
  item?: Item
  /** With rewound. */
  marker?: Marker
  /** With rewound: the events that were live until now, in the order of their seq. */
  superseded: readonly Entry[]
}

export interface Entry {
  seq: number
  method: string
  item_id?: string
}

export interface Marker {
  seq: number
  thread_id: string
  turn_id: string
  step: string
  new_epoch: number
  superseded_after_seq: number
  reason: string
}

export interface Turn {
  readonly turn_id: string
  readonly thread_id: string
  /** queued, active, completed, interrupted or failed; "" if no live event says it. */
  readonly state: string
  /** The highest one seen, 0 if none. */
  readonly attempt: number
  readonly progress: string
  readonly progress_message: string
  readonly origin: string
  readonly message: string
  readonly reason: string
  readonly steps: readonly { path: string; epoch: number; status: string }[]
  readonly ended: boolean
  /** The live items, also deleted ones, in the order of their first events. */
  items(): Item[]
  /** The items of which nothing is live any more. */
  superseded(): Item[]
  item(itemID: string): Item | undefined
  events(): { live: Entry[]; superseded: Entry[] }
}

export interface Item {
  readonly item_id: string
  readonly live: boolean
  readonly type: string
  readonly status: string
  /** Of the last item/created or item/updated; text appended since is only in text. */
  readonly content?: ItemContent
  readonly text: string
  /** The offset in bytes at which text begins: above 0 if the view began in the middle. */
  readonly from: number
  readonly truncated: boolean
  readonly created_seq: number
  readonly updated_seq: number
}

export interface Lineage extends ReadonlyArray<{ step: string; epoch: number }> {}

/** The markers of one turn, for those who keep less than a view. */
export class Markers {
  add(marker: { step?: string; new_epoch: number; superseded_after_seq: number }): void
  /** If hidden, the events of the lineage whose seq is above after are superseded. */
  hides(lineage: Lineage | undefined): { after: number; hidden: boolean }
  stale(lineage: Lineage | undefined, seq: number): boolean
}
