package fold

import "github.com/seed82539d15/holon/notify"

// Collapser says what a server leaves out of a part of the log, for readers
// that ask for collapse. It knows all markers up to one seq, also those that
// come after an event. So a page has what is live as of that seq, not what was
// live when its last event was written.
//
// It may use markers that the reader has not reached yet: the reader will reach
// them, since they are never left out, and they supersede just what was not
// sent. Markers must not be left out: the reader may have read what they
// supersede before it asked for collapse.
//
// A Collapser is filled by one goroutine and may then be read by many.
type Collapser struct {
	asOf  int64
	turns map[string]*Markers
}

// NewCollapser returns a collapser that knows these markers. It ignores those
// above asOf.
func NewCollapser(asOf int64, markers ...Marker) *Collapser {
	c := &Collapser{asOf: asOf, turns: map[string]*Markers{}}
	for _, m := range markers {
		c.Add(m)
	}
	return c
}

// AsOf returns the seq that the response must name as as_of_seq.
func (c *Collapser) AsOf() int64 { return c.asOf }

// Add adds a marker. They may come in any order.
func (c *Collapser) Add(m Marker) {
	if m.Seq > c.asOf {
		return
	}
	s := c.turns[m.TurnID]
	if s == nil {
		s = &Markers{}
		c.turns[m.TurnID] = s
	}
	s.Add(m)
}

// Hides reports what of a turn's lineage is left out: if hidden, the events whose
// seq is above after. A store that numbers lineages calls it once for each
// lineage instead of for each event.
func (c *Collapser) Hides(turnID string, lineage []Ref) (after int64, hidden bool) {
	s := c.turns[turnID]
	if s == nil {
		return 0, false
	}
	return s.Hides(lineage)
}

// LeavesOut reports whether the event must not be sent: it is superseded, or a
// turn/late. Markers are always sent.
func (c *Collapser) LeavesOut(e *Event) bool {
	switch e.Method {
	case notify.StreamRewind:
		return false
	case notify.TurnLate:
		return true
	}
	after, hidden := c.Hides(e.TurnID, e.Lineage)
	return hidden && e.Seq > after
}
