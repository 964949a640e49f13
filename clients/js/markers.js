// What the markers (stream/rewind) of a turn supersede.

/**
 * Markers are the markers of one turn. An event is superseded if one of the steps of
 * its lineage is named by a marker, in an epoch below the marker's, and its seq is
 * above the marker's bound.
 */
export class Markers {
  #steps = new Map() // path → [{ below, after }]

  /**
   * add adds a marker: an object with step, new_epoch and superseded_after_seq, such
   * as the params of stream/rewind. It does not look at the marker's turn.
   */
  add(marker) {
    const step = marker.step ?? ''
    const below = marker.new_epoch ?? 0
    const after = marker.superseded_after_seq ?? 0
    const cutoffs = this.#steps.get(step) ?? []
    // A cutoff with the higher epoch and the lower seq covers another.
    if (cutoffs.some((c) => c.below >= below && c.after <= after)) return
    const kept = cutoffs.filter((c) => c.below > below || c.after < after)
    kept.push({ below, after })
    this.#steps.set(step, kept)
  }

  /**
   * hides says what of a lineage is superseded: if hidden, the events whose seq is
   * above after. It is the whole rule, evaluated once for all events of a try.
   */
  hides(lineage) {
    let after = 0
    let hidden = false
    for (const { step, epoch } of lineage ?? []) {
      for (const c of this.#steps.get(step) ?? []) {
        if (epoch < c.below && (!hidden || c.after < after)) {
          after = c.after
          hidden = true
        }
      }
    }
    return { after, hidden }
  }

  /** stale tells whether an event of this lineage and seq is superseded. */
  stale(lineage, seq) {
    const { after, hidden } = this.hides(lineage)
    return hidden && seq > after
  }
}
