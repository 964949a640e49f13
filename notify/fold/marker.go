package fold

import "github.com/seed82539d15/holon/notify"

// Marker is what a stream/rewind says: of the turn, every event that belongs
// to the step in an epoch below NewEpoch, and whose seq is above After, is
// superseded. An event belongs to a step if its lineage has it: to its own
// step and to all above.
type Marker struct {
	Seq      int64
	ThreadID string
	TurnID   string
	Step     string
	NewEpoch int
	After    int64 // exclusive; 0 = all
	Reason   string
}

// MarkerOf returns the marker that the event is; ok is false if it is none.
func MarkerOf(e *Event) (m Marker, ok bool) {
	if e.Method != notify.StreamRewind {
		return Marker{}, false
	}
	return Marker{
		Seq: e.Seq, ThreadID: e.ThreadID, TurnID: e.TurnID, Step: e.Step,
		NewEpoch: e.Body.NewEpoch, After: e.Body.After, Reason: e.Body.Reason,
	}, true
}

// Markers are the markers of one turn. The zero value has none.
type Markers struct {
	steps map[string][]edge
}

// edge is what counts of a marker. Of two on one step the one with the higher
// epoch and the lower bound says all; so there is one per step, unless markers
// with a bound differ in both.
type edge struct {
	below int
	after int64
}

// Add takes a marker in. Its turn is not looked at.
func (s *Markers) Add(m Marker) {
	edges := s.steps[m.Step]
	for _, e := range edges {
		if e.below >= m.NewEpoch && e.after <= m.After {
			return
		}
	}
	kept := make([]edge, 0, len(edges)+1)
	for _, e := range edges {
		if e.below > m.NewEpoch || e.after < m.After {
			kept = append(kept, e)
		}
	}
	if s.steps == nil {
		s.steps = map[string][]edge{}
	}
	s.steps[m.Step] = append(kept, edge{m.NewEpoch, m.After})
}

// Hides says what of a lineage is superseded: if hidden, the events whose seq
// is above after. It is the whole rule, asked once for all events of a step.
func (s *Markers) Hides(lineage []Ref) (after int64, hidden bool) {
	if len(s.steps) == 0 {
		return 0, false
	}
	for _, r := range lineage {
		for _, e := range s.steps[r.Step] {
			if r.Epoch < e.below && (!hidden || e.after < after) {
				after, hidden = e.after, true
			}
		}
	}
	return after, hidden
}

// Stale reports whether an event of this lineage and seq is superseded.
func (s *Markers) Stale(lineage []Ref, seq int64) bool {
	after, hidden := s.Hides(lineage)
	return hidden && seq > after
}
