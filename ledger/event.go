package ledger

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/notify"
)

// EventType is one row of the table of events: all that the log, its readers
// and its documents need to know about one kind of event. Each domain lists its
// own kinds; package events joins the lists.
type EventType struct {
	Method  string
	Summary string
	New     func() any // a pointer to an empty body
	Header  *HeaderRule
	// Fold applies the event to the rows of a state. nil = the event changes no
	// row. Every rebuild of rows uses it (I2).
	Fold func(s State, h *notify.Header, body any)
}

// Event returns one row of a domain's list; B is the type of the body. fold may
// be nil.
func Event[B any](method string, header *HeaderRule, fold func(State, *notify.Header, any), summary string) EventType {
	return EventType{Method: method, Summary: summary, New: func() any { return new(B) }, Header: header, Fold: fold}
}

// HeaderRule says which members of notify.Header events of a kind always have,
// and which they may have.
type HeaderRule struct{ Has, May []string }

// The header rules. An event with a lineage belongs to a try of a step and is
// superseded with it (docs/rewind.md).
var (
	lineage = []string{"step", "epoch", "lineage"}

	OfLog    = &HeaderRule{Has: []string{"seq", "timestamp"}}
	OfThread = &HeaderRule{Has: []string{"seq", "timestamp", "thread_id", "thread_seq"}}
	// OfThreadOrLog is for events that are the thread's while it is open.
	OfThreadOrLog = &HeaderRule{Has: OfLog.Has, May: []string{"thread_id", "thread_seq"}}
	// OfMarker is for events of a turn that belong to none of its attempts.
	OfMarker = &HeaderRule{Has: append([]string{"turn_id"}, OfThread.Has...)}
	// OfAttempt is for events of an attempt that nothing supersedes.
	OfAttempt = &HeaderRule{Has: append([]string{"attempt"}, OfMarker.Has...)}
	OfTry     = &HeaderRule{Has: OfAttempt.Has, May: lineage}
	OfStep    = &HeaderRule{Has: append(lineage, OfAttempt.Has...)}
	// OfItem is for items. An agent can also make them outside of any turn.
	OfItem = &HeaderRule{Has: OfThread.Has, May: append([]string{"turn_id", "attempt"}, lineage...)}
)

// State is a set of rows into which events are folded. It belongs to one
// goroutine.
type State interface {
	// Row returns the row of the table with this ID, nil if there is none. The
	// row must not be changed: a fold puts a changed copy.
	Row(t *Table, id any) Row
	// Rows calls f with the rows of the table that belong to the group, such as
	// the tries of a turn. The newest comes first; it stops when f returns
	// false. f may put changed rows of the group.
	Rows(t *Table, group string, f func(Row) bool)
	Put(r Row)
}

// Decode decodes the params of a stored event: the header, and a pointer to the
// typed body that Fold understands. It is for rebuilding rows; nothing that is
// sent to a client passes through it.
func (t *EventType) Decode(params []byte) (notify.Header, any, error) {
	var h notify.Header
	if err := json.Unmarshal(params, &h); err != nil {
		return h, nil, fmt.Errorf("decode the header of %s: %w", t.Method, err)
	}
	body := t.New()
	if err := json.Unmarshal(params, body); err != nil {
		return h, nil, fmt.Errorf("decode %s %d: %w", t.Method, h.Seq, err)
	}
	return h, body, nil
}
