package inbox

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Bounds are the bounds of one inbox.
type Bounds struct {
	MaxPendingItems  int
	MaxUnackedItems  int // pending ones included
	MaxUnackedBytes  int64
	MaxTimers        int
	MaxSubscriptions int
}

// Unit is where a Book adds its events: the unit of a thread that is being made.
type Unit interface {
	// NextSeq is the provisional seq of the next event.
	NextSeq() int64
	// AddEvent adds an event of the thread and returns its header.
	AddEvent(method string, body any) notify.Header
	// Thread is the thread as the unit leaves it so far, and SetThread replaces it.
	Thread() *threads.Thread
	SetThread(*threads.Thread)
}

// Book is an inbox while one unit of its thread is made. Its methods decide: they
// read rows, add events, and fold each into copies of the rows. After an error the unit
// may have a part of the change. It belongs to one goroutine.
type Book struct {
	Now      notify.Time
	Settings Settings
	Bounds   Bounds

	// RequestedBy is requested_by of the events that are added now: a named token ("token:"
	// and its name), or "".
	RequestedBy string

	rows  *overlay
	stats Stats
}

// NewBook begins a unit. box is the row as committed, nil if there is none; it is
// not changed. committed reads the rows of the store.
func NewBook(threadID string, now notify.Time, settings Settings, bounds Bounds, box *Inbox, unit Unit, committed ledger.Reader) *Book {
	return &Book{Now: now, Settings: settings, Bounds: bounds, rows: &overlay{
		threadID: threadID, unit: unit, committed: committed, box: box,
		overlay: map[*ledger.Table]map[any]ledger.Row{}, gone: map[*ledger.Table]map[int64]bool{}, natives: map[nativeKey]int64{}, abouts: map[AboutKey]int64{},
	}}
}

// Inbox returns the row as the unit leaves it so far; nil if there is none.
func (b *Book) Inbox() *Inbox { return b.rows.box }

// Err returns the first error of reading rows: the unit must not be committed then.
func (b *Book) Err() error { return b.rows.err }

// ReadFrom makes the Book read from here, such as one snapshot for a decision that
// reads much.
func (b *Book) ReadFrom(r ledger.Reader) { b.rows.committed = r }

// Changed reports whether the unit changes rows of the inbox.
func (b *Book) Changed() bool { return b.rows.boxNew || len(b.rows.changed) > 0 }

// add adds an event and folds it.
func (b *Book) add(method string, body any) notify.Header {
	if r, ok := body.(requested); ok {
		r.isRequestedBy(b.RequestedBy)
	}
	h := b.rows.unit.AddEvent(method, body)
	Fold(b.rows, &h, body)
	return h
}

// State returns the state into which events of the unit that are not the inbox's own are folded.
func (b *Book) State() ledger.State { return b.rows }

// Finish returns the rows that the unit changes, in the order in which they must
// be written.
func (b *Book) Finish() []ledger.Row {
	if b.rows.boxNew {
		b.rows.schedule(b.Now.Time, b.Settings.ToldLease)
	}
	return b.rows.finish()
}

// Reschedule makes the unit write when the inbox is due next, if that differs.
func (b *Book) Reschedule() {
	box := b.rows.box
	if box == nil || b.rows.boxNew || box.FlushAt == b.rows.nextFlush() && box.TimerAt == b.rows.nextTimer() &&
		box.LeaseAt == b.rows.nextLease(b.Now.Time, b.Settings.ToldLease) {
		return
	}
	b.rows.Put(box.clone())
}
