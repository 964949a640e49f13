package notify

import (
	"context"
	"errors"
	"fmt"
)

// ErrBadCursor says that a position or page cursor cannot be read.
var ErrBadCursor = errors.New("the cursor is malformed")

// Query asks the log for the events after a seq that pass a filter.
type Query struct {
	After     int64
	Filter    Filter
	MaxEvents int // at least 1
	MaxBytes  int // of params; a page has at least one event if there is one
	// Frames asks for Page.Frames instead of Page.Events. A log may answer with
	// Events all the same.
	Frames bool
	// Parts says that a large event is read with Log.Part: one whose params have more
	// than MaxBytes comes alone, with its Seq, Method and ThreadID but without Params.
	Parts bool
	// Collapse leaves out what is superseded as of Page.AsOf, and turn/late. It
	// never leaves out markers.
	Collapse bool
	// Summary lets the log leave out what a summary has not: item/delta, except
	// those of the threads in Whole. The events come whole; see Page.Summarize.
	Summary bool
	Whole   []string
}

// Page is a part of the log. Its Events have Seq, Method, Time and Params; their
// other fields may be empty, since Params holds them too. Scanned is the last
// seq that was looked at: up to it, Events misses only what the query left out.
// More says that there was more when the page was read.
type Page struct {
	Events []Event
	// Frames replaces Events: the frames of all events from Query.After+1 to
	// Scanned, back to back. A log can make them of a whole page at once. With
	// a filter or Query.Collapse they are those of the events that pass.
	Frames  []byte
	Scanned int64
	Latest  int64 // the newest seq of the log, in the same snapshot
	First   int64 // the oldest seq that is kept (Latest+1 if none is)
	More    bool
	AsOf    int64 // the newest seq whose marker was looked at for Query.Collapse; else 0
}

// Large returns the event of a page that has only one, which is to be read with
// Log.Part; nil if the page is another one.
func (p *Page) Large() *Event {
	if len(p.Events) == 1 && p.Events[0].Params == nil {
		return &p.Events[0]
	}
	return nil
}

// Log reads stored events. Implementations close their query before they
// return. They return what they have, also when After is below First: the
// caller compares the two.
type Log interface {
	Page(ctx context.Context, q Query) (Page, error)
	// Part copies into b what the params of one event have from an offset on, and
	// returns how much that was, and how many bytes the params have in all. If summary
	// is set, they are what AppendSummary leaves of them. An *ExpiredError says that
	// the event is not kept any more. A log reads the whole event for that: it keeps
	// it for others who read the same one (Copies).
	Part(ctx context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error)
}

// ExpiredError says that events after a cursor have been pruned.
type ExpiredError struct{ After, First int64 }

// Error implements error.
func (e *ExpiredError) Error() string {
	return fmt.Sprintf("events after %d are no longer kept, the oldest is %d", e.After, e.First)
}
