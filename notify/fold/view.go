package fold

import (
	"container/list"
	"math"

	"github.com/seed82539d15/holon/notify"
)

// Options bound a View. The zero value of each means its default, -1 that
// there is no bound.
type Options struct {
	// KeepEnded is how many ended turns are kept; 0 = 64. The one whose last
	// event is the oldest is forgotten first.
	KeepEnded int
	// KeepTurns is how many turns are kept in all; 0 = 4,096. It matters if a
	// filter leaves out the ends of turns.
	KeepTurns int
}

// View is the live view of a log, as far as it has been read: the fold of
// events in the order of their seq. Two readers that end at the same seq have
// the same live view of what both have read. It does not matter where they
// began, how often they reconnected, or whether the server collapsed for them.
// A reader that began in the middle does not know what came before.
//
// A View takes twice the text of the kept turns and about 120 bytes for each of
// their events. It belongs to one goroutine, and so does what it returns.
type View struct {
	keepEnded int
	keepTurns int
	cursor    int64
	turns     map[string]*Turn
	open      *list.List // of *Turn, the one with the newest event last
	ended     *list.List // the same
}

// New returns an empty view that is positioned before the first event.
func New(o Options) *View {
	bound := func(n, byDefault int) int {
		switch {
		case n < 0:
			return math.MaxInt
		case n == 0:
			return byDefault
		}
		return n
	}
	return &View{
		keepEnded: bound(o.KeepEnded, 64), keepTurns: bound(o.KeepTurns, 4096),
		turns: map[string]*Turn{}, open: list.New(), ended: list.New(),
	}
}

// Kind is what Apply did with an event.
type Kind int

// The kinds of Change.
const (
	// Skipped: the view has read the event already, or the notification belongs
	// to the connection and is not in the log.
	Skipped Kind = iota
	// Joined: the event is part of the live view.
	Joined
	// Superseded: a marker that came before supersedes the event at once.
	Superseded
	// Late: a turn/late, from a superseded attempt. It is kept for audit and never
	// was part of the live view.
	Late
	// Rewound: a marker; what it superseded is in Change.Superseded.
	Rewound
)

// Entry is one event that a View has read.
type Entry struct {
	Seq    int64
	Method string
	ItemID string
}

// Change is what one event did to the view.
type Change struct {
	Kind Kind
	// Turn is the event's turn; nil outside any turn, and for a turn/late of a
	// turn that is not known or has been forgotten.
	Turn *Turn
	// Item is the event's item, nil if it has none.
	Item *Item
	// Marker is set if Kind is Rewound.
	Marker *Marker
	// Superseded are the events that were live until this marker, in the order
	// of their seq: the lines that a terminal strikes out.
	Superseded []Entry
}

// Cursor returns the seq up to which the view has read: where to resume.
func (v *View) Cursor() int64 { return v.cursor }

// Advance moves the cursor, never back. It is for positions that come without
// an event: a heartbeat's, or the next_after_seq of a page.
func (v *View) Advance(seq int64) { v.cursor = max(v.cursor, seq) }

// Apply folds one event and says what it did to the view.
func (v *View) Apply(e *Event) Change {
	switch e.Method {
	case notify.StreamOpened, notify.HolonLog:
		return Change{}
	case notify.StreamHeartbeat, notify.StreamClosing:
		v.Advance(e.Seq)
		return Change{}
	}
	if e.Seq <= v.cursor { // an event that is not in the log has seq 0
		return Change{}
	}
	v.cursor = e.Seq
	if m, ok := MarkerOf(e); ok {
		return v.rewind(m)
	}
	if e.TurnID == "" {
		return Change{Kind: Joined} // nothing supersedes it
	}
	if e.Method == notify.TurnLate {
		t := v.turns[e.TurnID]
		if t != nil {
			t.late = append(t.late, Entry{Seq: e.Seq, Method: e.Method})
		}
		return Change{Kind: Late, Turn: t}
	}
	t := v.turn(e.TurnID, e.ThreadID)
	item, live := t.add(e)
	v.touch(t)
	c := Change{Kind: Superseded, Turn: t, Item: item}
	if live {
		c.Kind = Joined
	}
	return c
}

// rewind supersedes what the marker says.
func (v *View) rewind(m Marker) Change {
	t := v.turn(m.TurnID, m.ThreadID)
	c := Change{Kind: Rewound, Turn: t, Marker: &m, Superseded: t.rewind(m)}
	v.touch(t)
	return c
}

// turn returns the turn; it adds the turn if it is not known.
func (v *View) turn(id, threadID string) *Turn {
	t := v.turns[id]
	if t == nil {
		t = &Turn{TurnID: id, ThreadID: threadID, items: map[string]*Item{}}
		t.element, t.queue = v.open.PushBack(t), v.open
		v.turns[id] = t
	}
	return t
}

// touch makes the turn the newest in its list, and forgets the turns that are
// above the bounds.
func (v *View) touch(t *Turn) {
	to := v.open
	if t.Ended() {
		to = v.ended
	}
	if t.queue == to {
		to.MoveToBack(t.element)
	} else {
		t.queue.Remove(t.element)
		t.element, t.queue = to.PushBack(t), to
	}
	for v.ended.Len() > v.keepEnded {
		v.Forget(v.ended.Front().Value.(*Turn).TurnID)
	}
	for len(v.turns) > v.keepTurns {
		oldest := v.ended.Front()
		if oldest == nil {
			oldest = v.open.Front()
		}
		v.Forget(oldest.Value.(*Turn).TurnID)
	}
}

// Forget drops a turn and its markers. If more of the turn is read, it is as if
// the view had begun there. The server's fence makes that safe: after a marker,
// the superseded attempt writes only turn/late.
func (v *View) Forget(turnID string) {
	if t := v.turns[turnID]; t != nil {
		t.queue.Remove(t.element)
		delete(v.turns, turnID)
	}
}

// Turn returns a turn, nil if it is not known or has been forgotten.
func (v *View) Turn(turnID string) *Turn { return v.turns[turnID] }

// Len returns the number of turns that are kept.
func (v *View) Len() int { return len(v.turns) }

// Turns calls f with each turn that is kept, in no particular order, until it
// returns false.
func (v *View) Turns(f func(*Turn) bool) {
	for _, t := range v.turns {
		if !f(t) {
			return
		}
	}
}
