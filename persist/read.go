package persist

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Reader is the reading side of a store.
type Reader = turns.Reader

// Snapshot is one state of a log, for reading. It ends with the call that it
// was given for.
type Snapshot interface {
	ledger.Reader
	// Ends returns where the log begins and ends: 1 and 0 if it is empty.
	Ends() (first, latest int64, err error)
}

// ReadClass says who waits for a read, so that a database can keep slow reads from
// delaying the others.
type ReadClass int

// The classes.
const (
	ForEngine ReadClass = iota // reads on which the engine decides; see ReadToDecide
	ForPoints                  // single rows that clients read
	ForScans                   // lists and pages of the log
)

// Snapshots is the part of a database that Reads needs. Snapshot may be called
// from many goroutines. Its reads end with the error of ctx when ctx ends.
type Snapshots interface {
	Snapshot(ctx context.Context, l ReadClass, f func(Snapshot) error) error
}

// Reads are the methods of turns.Store, turns.Rows and turns.Reader that read
// rows, for any database. They may be called from many goroutines.
type Reads struct {
	db  Snapshots
	now func() time.Time
}

// NewReads makes the reads of a database. now dates idempotency keys.
func NewReads(db Snapshots, now func() time.Time) *Reads { return &Reads{db: db, now: now} }

// in calls f with a snapshot and returns what f returns.
func in[T any](ctx context.Context, r *Reads, l ReadClass, f func(Snapshot) (T, error)) (out T, err error) {
	err = r.db.Snapshot(ctx, l, func(s Snapshot) error {
		out, err = f(s)
		return err
	})
	return out, err
}

// one reads the row of a key; nil if there is none.
func one[T any](s ledger.Reader, of func(ledger.Values) (*T, error), ix *ledger.Index, key any) (*T, error) {
	v, err := s.Get(ix, key)
	if err != nil || v == nil {
		return nil, err
	}
	return of(v)
}

// rows reads all rows of a range.
func rows[T any](s ledger.Reader, of func(ledger.Values) (*T, error), r ledger.Range) (list []*T, err error) {
	err = s.Scan(r, func(v ledger.Values) error {
		row, err := of(v)
		list = append(list, row)
		return err
	})
	return list, err
}

// itemOf works like items.Read, with the signature that one and rows need.
func itemOf(v ledger.Values) (*items.Item, error) { return items.Read(v), nil }

// Stored implements turns.Store.
func (r *Reads) Stored(ctx context.Context, key string) (*ledger.Stored, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (*ledger.Stored, error) { return StoredKey(s, key, r.now()) })
}

// The first columns of turns and of items say where in the log the row was
// made, its id, and its thread; those of threads end with the id.
const (
	turnNames   = 3
	itemNames   = 3
	threadNames = 2
)

// TurnThread implements turns.Rows.
func (r *Reads) TurnThread(ctx context.Context, turnID string) (string, error) {
	return r.threadOf(ctx, ledger.Range{Index: turns.ByID, Prefix: []any{turnID}, First: turnNames})
}

// ItemThread implements turns.Rows.
func (r *Reads) ItemThread(ctx context.Context, itemID string) (string, error) {
	return r.threadOf(ctx, ledger.Range{Index: items.ByID, Prefix: []any{itemID}, First: itemNames})
}

func (r *Reads) threadOf(ctx context.Context, row ledger.Range) (id string, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		return s.Scan(row, func(v ledger.Values) error {
			id = v.Text(row.First - 1)
			return ledger.ErrEnough
		})
	})
	return id, err
}

// Turn implements turns.Rows.
func (r *Reads) Turn(ctx context.Context, turnID string) (*turns.Turn, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (*turns.Turn, error) { return one(s, turns.Read, turns.ByID, turnID) })
}

// Item implements turns.Rows.
func (r *Reads) Item(ctx context.Context, itemID string) (*items.Item, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (*items.Item, error) { return wholeItem(s, itemID) })
}

// ReadItem implements turns.Reader.
func (r *Reads) ReadItem(ctx context.Context, itemID string) (it *items.Item, latest int64, err error) {
	err = r.db.Snapshot(ctx, ForPoints, func(s Snapshot) error {
		if _, latest, err = s.Ends(); err != nil {
			return err
		}
		it, err = wholeItem(s, itemID)
		return err
	})
	return it, latest, err
}

// Input implements turns.Rows.
func (r *Reads) Input(ctx context.Context, turnID string) ([]*items.Item, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) ([]*items.Item, error) {
		return rows(s, itemOf, ledger.Range{Index: items.Input, Prefix: []any{turnID}})
	})
}

// Steps implements turns.Rows.
func (r *Reads) Steps(ctx context.Context, turnID string) ([]*turns.Step, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) ([]*turns.Step, error) { return stepsOf(s, turnID) })
}

func stepsOf(s Snapshot, turnID string) ([]*turns.Step, error) {
	return rows(s, turns.ReadStep, ledger.Range{Index: turns.StepsOfTurn, Prefix: []any{turnID}})
}

// Load implements turns.Rows.
func (r *Reads) Load(ctx context.Context, threadID string) (turns.Loaded, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (turns.Loaded, error) { return load(s, threadID) })
}

func load(s Snapshot, threadID string) (l turns.Loaded, err error) {
	if l.Thread, err = readThread(s, threadID); err != nil {
		return l, err
	}
	if l.Turns, err = rows(s, turns.Read, ledger.Range{Index: turns.UnfinishedOfThread, Prefix: []any{threadID}}); err != nil {
		return l, err
	}
	slices.SortStableFunc(l.Turns, func(a, b *turns.Turn) int { // turns of one rank stay in the order of the log
		if a.State != b.State {
			return cmp.Compare(a.State, b.State) // active, queued
		}
		return cmp.Compare(a.Rank, b.Rank)
	})
	for _, t := range l.Turns {
		steps, err := stepsOf(s, t.TurnID)
		if err != nil {
			return l, err
		}
		l.Steps = append(l.Steps, steps...)
		of := items.OpenOfTurn
		if t.State == turns.Queued {
			of = items.Input
		}
		list, err := rows(s, itemOf, ledger.Range{Index: of, Prefix: []any{t.TurnID}})
		if err != nil {
			return l, err
		}
		l.Items = append(l.Items, list...)
	}
	slices.SortFunc(l.Steps, func(a, b *turns.Step) int { return cmp.Compare(a.Seq, b.Seq) })
	whole := newCompletion(s)
	for _, it := range l.Items {
		if err := whole.complete(it); err != nil {
			return l, err
		}
	}
	return l, nil
}

// NeededFrom returns the lowest seq that must stay in the log: that of the first
// delta of an open item that is not in the item's row (see foldText), or of the
// first raw item that is not acknowledged, whose payload is in its event alone.
// All else that is unfinished is in rows, so a waiting turn keeps no other event.
func NeededFrom(s ledger.Reader) (int64, error) {
	type open struct {
		id    string
		since int64
	}
	var list []open
	id, updated := items.Table.Column("item_id"), items.Table.Column("updated_seq")
	if err := s.Scan(ledger.Range{Index: items.Open}, func(v ledger.Values) error {
		list = append(list, open{v.Text(id), v.Int(updated)})
		return nil
	}); err != nil {
		return 0, err
	}
	needed := int64(math.MaxInt64)
	removed := map[string]bool{} // by thread: whether its inbox was removed, and only rows of it are left
	if err := s.Scan(ledger.Range{Index: inbox.RawUnacked, After: int64(0), First: 2}, func(v ledger.Values) error {
		thread := v.Text(1)
		if _, known := removed[thread]; !known {
			box, err := s.Get(inbox.ByThread, thread)
			if err != nil {
				return err
			}
			removed[thread] = box == nil
		}
		if removed[thread] {
			return nil
		}
		needed = v.Int(0)
		return ledger.ErrEnough
	}); err != nil {
		return 0, err
	}
	for _, o := range list {
		if err := s.Scan(ledger.Range{Index: items.Deltas, Prefix: []any{o.id}, After: o.since}, func(v ledger.Values) error {
			needed = min(needed, v.Int(1))
			return ledger.ErrEnough
		}); err != nil {
			return 0, err
		}
	}
	return needed, nil
}
