package fold

import "github.com/seed82539d15/holon/notify"

// Collapser says what a server leaves out of a part of the log, for readers
// that ask for collapse. It knows the markers up to one seq, those that come
// after an event among them: a page is made of what stands as of that seq, not
// of what stood when its last event was written.
//
// Leaving out by markers that the reader has not come to yet is right because
// it will come to them: they are never left out, and would take back just what
// was not sent. Leaving markers out would not be: a reader may have taken in,
// before it asked, what they take back.
//
// A Collapser is filled by one goroutine and may then be read by many.
type Collapser struct {
	asOf  int64
	turns map[string]*Markers
}

// NewCollapser returns a collapser that knows these markers. Those above asOf
// are not taken in.
func NewCollapser(asOf int64, markers ...Marker) *Collapser {
	c := &Collapser{asOf: asOf, turns: map[string]*Markers{}}
	for _, m := range markers {
		c.Add(m)
	}
	return c
}

// AsOf is the seq that the answer is to name as as_of_seq.
func (c *Collapser) AsOf() int64 { return c.asOf }

// Add takes a marker in, in any order.
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

// Hides says what of a turn's lineage is left out: if hidden, the events whose
// seq is above after. A store that numbers lineages asks once for each of
// them, instead of for each event.
func (c *Collapser) Hides(turnID string, lineage []Ref) (after int64, hidden bool) {
	s := c.turns[turnID]
	if s == nil {
		return 0, false
	}
	return s.Hides(lineage)
}

// LeavesOut reports whether the event is not to be sent: it is superseded, or
// a turn/late. Markers are always sent.
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
