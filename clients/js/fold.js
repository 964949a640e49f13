// One coherent view of a log in which work is retried (docs/rewind.md): a port of
// the Go package notify/fold, tested with the same vectors.

import { Markers } from './markers.js'
import { string } from './item.js'
import { Turn } from './turn.js'

export { Markers }

const nothing = Object.freeze([])

/**
 * View is the live view of a log, as far as it has been read: the fold of events in
 * the order of their seq. Two readers that end at the same seq have the same live view
 * of what both have read. It does not matter where they began, how often they
 * reconnected, or whether the server collapsed for them. A reader that began in the
 * middle does not know what came before.
 *
 * What the methods return belongs to the view and changes with its next apply.
 */
export class View {
  #keepEnded
  #keepTurns
  #cursor = 0
  #turns = new Map()
  #open = new Set() // the turn with the newest event last
  #ended = new Set() // the same
  #newest

  /**
   * keepEnded is how many ended turns are kept (64): the one whose last event is the
   * oldest is forgotten first. keepTurns is how many turns are kept in all (4,096).
   * -1 means that there is no bound.
   */
  constructor({ keepEnded = 0, keepTurns = 0 } = {}) {
    this.#keepEnded = bound(keepEnded, 64)
    this.#keepTurns = bound(keepTurns, 4096)
  }

  /** cursor is the seq up to which the view has read: where to resume. */
  get cursor() {
    return this.#cursor
  }

  /** size is the number of turns that are kept. */
  get size() {
    return this.#turns.size
  }

  /** turn returns a turn, undefined if it is not known or has been forgotten. */
  turn(turnID) {
    return this.#turns.get(turnID)
  }

  /** turns returns the turns that are kept, in the order of their first events. */
  turns() {
    return [...this.#turns.values()]
  }

  /** advance moves the cursor, never back: for a position that comes without an event. */
  advance(seq) {
    if (seq > this.#cursor) this.#cursor = seq
  }

  /**
   * apply folds one event ({ method, params }) and says what it did to the view:
   * { kind, turn, item, marker, superseded }. The kinds are
   *   skipped     it was read before, or is not in the log
   *   joined      it is part of the live view
   *   superseded  a marker that came before supersedes it at once
   *   late        a turn/late, which never is part of the view
   *   rewound     a marker; superseded lists the events that were live until now
   */
  apply(event) {
    const { method } = event
    const params = event.params ?? {}
    const seq = Number.isSafeInteger(params.seq) ? params.seq : 0
    switch (method) {
      case 'stream/heartbeat':
      case 'stream/closing':
        this.advance(seq)
        return change('skipped')
      case 'stream/opened':
      case 'holon/log':
        return change('skipped')
    }
    if (seq <= this.#cursor) return change('skipped') // an event that is not in the log has none
    this.#cursor = seq
    if (method === 'stream/rewind') return this.#rewind(params)
    const turnID = string(params.turn_id)
    if (turnID === '') return change('joined') // nothing supersedes it
    if (method === 'turn/late') {
      const turn = this.#turns.get(turnID)
      turn?.addLate(seq)
      return change('late', turn)
    }
    const turn = this.#turnOf(turnID, params)
    const entry = turn.add(method, params)
    this.#touch(turn)
    return change(entry.live ? 'joined' : 'superseded', turn, entry.item)
  }

  /**
   * forget drops a turn and its markers. If more of the turn is read, it is as if the
   * view had begun there. The server's fence makes that safe: after a marker, the
   * superseded attempt writes only turn/late.
   */
  forget(turnID) {
    const turn = this.#turns.get(turnID)
    if (!turn) return
    this.#turns.delete(turnID)
    this.#open.delete(turn)
    this.#ended.delete(turn)
    if (this.#newest === turn) this.#newest = undefined
  }

  #rewind(params) {
    const marker = {
      seq: params.seq,
      thread_id: string(params.thread_id),
      turn_id: string(params.turn_id),
      step: string(params.step),
      new_epoch: params.new_epoch ?? 0,
      superseded_after_seq: params.superseded_after_seq ?? 0,
      reason: string(params.reason),
    }
    const turn = this.#turnOf(marker.turn_id, params)
    const superseded = turn.rewind(marker)
    this.#touch(turn)
    return change('rewound', turn, undefined, marker, superseded)
  }

  #turnOf(turnID, params) {
    let turn = this.#turns.get(turnID)
    if (!turn) {
      turn = new Turn(turnID, string(params.thread_id))
      this.#turns.set(turnID, turn)
    }
    return turn
  }

  // touch makes the turn the newest of its kind, and forgets the turns that are above
  // the bounds.
  #touch(turn) {
    const to = turn.ended ? this.#ended : this.#open
    if (this.#newest === turn && to.has(turn)) return
    this.#newest = turn
    this.#open.delete(turn)
    this.#ended.delete(turn)
    to.add(turn)
    while (this.#ended.size > this.#keepEnded) this.forget(first(this.#ended).turn_id)
    while (this.#turns.size > this.#keepTurns) this.forget(first(this.#ended.size > 0 ? this.#ended : this.#open).turn_id)
  }
}

function change(kind, turn, item, marker, superseded = nothing) {
  return { kind, turn, item, marker, superseded }
}

function bound(n, byDefault) {
  if (n < 0) return Infinity
  return n || byDefault
}

function first(set) {
  return set.values().next().value
}
