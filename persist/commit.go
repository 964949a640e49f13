package persist

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Database executes transactions. All its methods are called by one goroutine.
type Database interface {
	// Transaction calls f and commits durably what it did. If f or the commit
	// fails, nothing has happened. An error of the disk wraps
	// ledger.ErrStorageFull or ledger.ErrStorageFailed.
	Transaction(f func(Tx) error) error
	// Wrote is called with roughly how many bytes a committed batch has added.
	Wrote(bytes int)
}

// Tx is a transaction of a Database.
type Tx interface {
	ledger.Reader
	// Put writes a row. first is the seq of the unit's first draft, base its
	// Unit.Base. Errors are those of Table.Unique, ErrStale, or the store's.
	Put(r ledger.Row, first, base int64) error
	// Delete removes the row that the table's key finds, if there is one.
	Delete(t *ledger.Table, key ...any) error
	// Append adds an event to the log. Its seq is the next one.
	Append(e *notify.Event) error
}

// fences are checked for every unit, in addition to its own.
var fences = []ledger.Fence{turns.LiveTries}

// Errors of units that were made wrongly.
var (
	errMixed  = errors.New("a unit has events of more than one thread")
	errNoHead = errors.New("a unit has events of a thread and does not move its head")
)

// Writer executes units in any database: it defines what a commit means. It
// checks keys and fences, assigns seqs, writes events and rows, and keeps the
// Head. It belongs to the goroutine that runs the Appender; only Head may be
// called from others.
type Writer struct {
	// KeepKeys is how many idempotency keys are kept, and KeepKeysEach those of one
	// requester that is not the owner; NewWriter sets both to the limits.
	KeepKeys, KeepKeysEach int64

	db      Database
	now     func() time.Time
	keys    Keys
	rewound int64      // see ledger.Tx.LastRewind
	unended turnCounts // turns that are queued or active, as committed
	at      Head       // as committed
	head    atomic.Pointer[Head]
}

// NewWriter makes a writer of a log with this head, these unfinished turns and these
// idempotency keys.
func NewWriter(db Database, now func() time.Time, head Head, unfinished []*turns.Turn, keys Keys) *Writer {
	w := &Writer{
		db: db, now: now, at: head, rewound: head.Latest, unended: turnCounts{},
		KeepKeys: limits.IdempotencyKeys, KeepKeysEach: limits.IdempotencyKeysPerToken, keys: keys,
	}
	for _, t := range unfinished {
		w.unended.count(&w.at, t)
	}
	w.publish()
	return w
}

// Head returns the head after the newest commit. It may be called from many
// goroutines.
func (w *Writer) Head() *Head { return w.head.Load() }

// Pruned sets the oldest seq that is kept.
func (w *Writer) Pruned(first int64) {
	w.at.First = first
	w.publish()
}

func (w *Writer) publish() {
	h := w.at
	w.head.Store(&h)
}

// refusal is the refusal of a unit that may have been written in part: the
// transaction is rolled back.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Commit implements part of Committer.
func (w *Writer) Commit(units []*ledger.Unit) (Committed, error) {
	b := batch{w: w, next: w.at.Latest + 1, keys: w.keys}
	b.out.Outcomes = make([]Outcome, len(units))
	err := w.db.Transaction(func(tx Tx) error {
		b.tx = tx
		for i, u := range units {
			if err := b.unit(u, &b.out.Outcomes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	// A refusal that could not be rolled back is a store that has failed.
	if r := (*refusal)(nil); len(units) == 1 && errors.As(err, &r) && !errors.Is(err, ledger.ErrStorageFailed) {
		return Committed{Outcomes: []Outcome{{Err: r.err}}}, nil
	}
	if err != nil {
		return Committed{}, err
	}
	for i, u := range units {
		if out := &b.out.Outcomes[i]; out.Err == nil && out.Receipt.Stored == nil {
			u.AssignSeqs(out.Receipt.First)
			w.count(u)
		}
	}
	w.at.Latest, w.keys = b.next-1, b.keys
	if n := len(b.out.Events); n > 0 {
		w.at.LastEventAt = b.out.Events[n-1].Time
	}
	w.publish()
	w.db.Wrote(b.bytes)
	return b.out, nil
}

// batch is the state of a log in the middle of a transaction. To fences it is a
// ledger.Tx.
type batch struct {
	w     *Writer
	tx    Tx
	next  int64 // seq of the next event
	keys  Keys
	bytes int
	out   Committed
}

// Get implements ledger.Reader.
func (b *batch) Get(ix *ledger.Index, key ...any) (ledger.Values, error) { return b.tx.Get(ix, key...) }

// Scan implements ledger.Reader.
func (b *batch) Scan(r ledger.Range, f func(ledger.Values) error) error { return b.tx.Scan(r, f) }

// LastRewind implements ledger.Tx.
func (b *batch) LastRewind() int64 { return b.w.rewound }

// unit executes one unit. A refusal goes into out and leaves no trace; a
// returned error rolls back the whole transaction.
func (b *batch) unit(u *ledger.Unit, out *Outcome) error {
	if u.Key != nil {
		stored, err := StoredKey(b.tx, u.Key.Key, b.w.now())
		if err != nil {
			return err
		}
		if stored != nil {
			out.Receipt.Stored = stored
			return nil
		}
	}
	if out.Err = oneThread(u); out.Err != nil {
		return nil
	}
	for _, list := range [...][]ledger.Fence{u.Fences, fences} {
		for _, f := range list {
			refused, fault := f.Check(b, u)
			if out.Err = refused; refused != nil || fault != nil {
				return fault
			}
		}
	}
	first, n := b.next, int64(len(u.Drafts))
	for _, r := range u.Rows {
		if gone, ok := r.(*ledger.Removal); ok {
			if err := b.tx.Delete(gone.Of, gone.Key...); err != nil {
				return err
			}
			continue
		}
		if err := b.tx.Put(r, first, u.Base); err != nil {
			if refuses(r, err) {
				return &refusal{fmt.Errorf("%s %v: %w", r.Table().Name, r.ID(), err)}
			}
			return err
		}
	}
	if err := b.events(u); err != nil {
		return err
	}
	b.bytes += u.Bytes()
	if out.Receipt.Last = u.Last; n > 0 {
		out.Receipt.First, out.Receipt.Last = first, first+n-1
	} else if u.Last == 0 {
		out.Receipt.Last = first - 1
	}
	return b.key(u, first, out.Receipt.Last)
}

// refuses reports whether the error concerns only this row.
func refuses(r ledger.Row, err error) bool {
	unique := r.Table().Unique
	return errors.Is(err, ledger.ErrStale) || unique != nil && errors.Is(err, unique)
}

// oneThread checks that all events belong to one thread, or to none, and that a
// unit with events of a thread compares and moves the thread's head.
func oneThread(u *ledger.Unit) error {
	for i := range u.Drafts {
		if u.Drafts[i].Header.ThreadID != u.Drafts[0].Header.ThreadID {
			return errMixed
		}
	}
	if len(u.Drafts) == 0 || u.Drafts[0].Header.ThreadID == "" {
		return nil
	}
	id := any(u.Drafts[0].Header.ThreadID)
	if !slices.ContainsFunc(u.Rows, func(r ledger.Row) bool { return r.Table().CAS != "" && r.ID() == id }) {
		return errNoHead
	}
	return nil
}

func (b *batch) events(u *ledger.Unit) error {
	for i := range u.Drafts {
		e := u.Drafts[i].Event(b.next, u.Base+int64(i)+1)
		if e.Method == notify.StreamRewind {
			e.Hides = turns.Hides(u, i)
			b.w.rewound = b.next
		}
		if err := b.tx.Append(&e); err != nil {
			return err
		}
		b.next++
		b.out.Events = append(b.out.Events, e)
	}
	return nil
}

// count updates the head by what a committed unit has changed.
func (w *Writer) count(u *ledger.Unit) {
	for _, row := range u.Rows {
		switch r := row.(type) {
		case *threads.Thread:
			if u.Base == 0 {
				w.at.Threads++
				w.at.LastThreadID = r.ThreadID
			}
		case *turns.Turn:
			w.unended.count(&w.at, r)
		case *turns.Runtime:
			w.at.Runtime = *r
		}
	}
}
