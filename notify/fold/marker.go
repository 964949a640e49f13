package fold

import "github.com/seed82539d15/holon/notify"

// Marker is what a stream/rewind says: an event of the turn is superseded if it
// belongs to the step in an epoch below NewEpoch and its seq is above After. An
// event belongs to each step of its lineage: its own and all above.
type Marker struct {
	Seq      int64
	ThreadID string
	TurnID   string
	Step     string
	NewEpoch int
	After    int64 // exclusive; 0 = all
	Reason   string
}

// MarkerOf returns the event as a marker; ok is false if it is not one.
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
	steps map[string][]cutoff
}

// cutoff is what a marker says about its step: epochs below belowEpoch are
// superseded above afterSeq. A cutoff with the higher epoch and the lower seq
// covers another. So a step has one, unless its markers differ the opposite way.
type cutoff struct {
	belowEpoch int
	afterSeq   int64
}

// Add adds a marker. It does not look at the marker's turn.
func (s *Markers) Add(m Marker) {
	cutoffs := s.steps[m.Step]
	for _, c := range cutoffs {
		if c.belowEpoch >= m.NewEpoch && c.afterSeq <= m.After {
			return
		}
	}
	kept := make([]cutoff, 0, len(cutoffs)+1)
	for _, c := range cutoffs {
		if c.belowEpoch > m.NewEpoch || c.afterSeq < m.After {
			kept = append(kept, c)
		}
	}
	if s.steps == nil {
		s.steps = map[string][]cutoff{}
	}
	s.steps[m.Step] = append(kept, cutoff{m.NewEpoch, m.After})
}

// Hides reports what of a lineage is superseded: if hidden, the events whose seq
// is above after. This is the whole rule, evaluated once for all events of a
// try.
func (s *Markers) Hides(lineage []Ref) (after int64, hidden bool) {
	if len(s.steps) == 0 {
		return 0, false
	}
	for _, r := range lineage {
		for _, c := range s.steps[r.Step] {
			if r.Epoch < c.belowEpoch && (!hidden || c.afterSeq < after) {
				after, hidden = c.afterSeq, true
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
