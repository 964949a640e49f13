package persist

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The bounds of a page of rows (docs/protocol.md, limits). rowBytes is roughly
// what a row takes in JSON besides its content.
const (
	defaultLimit = 100
	maxLimit     = 1000
	listBytes    = 1 << 20
	rowBytes     = 512
)

// listing is one page of rows. An index finds rows in the order of a seq, mostly that
// of their creation; those that pass the filters are in the page. An index may find any
// number of rows, so they are scanned in windows, up to turns.MaxListScan rows
// in all.
type listing struct {
	rows          ledger.Range
	position      int // the column of that seq; 0 = that of the creation
	limit         int
	after, before int64         // the seqs that are left, both exclusive
	threads       *threadFilter // nil: rows of all threads
}

func newListing(ix *ledger.Index, cursor string, limit int, newest bool) (*listing, error) {
	l := &listing{rows: ledger.Range{Index: ix, Newest: newest}, before: math.MaxInt64}
	if cursor != "" {
		at, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || at < 0 {
			return nil, fmt.Errorf("cursor %.40q: %w", cursor, notify.ErrBadCursor)
		}
		l.moveTo(at)
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	l.limit = min(limit, maxLimit)
	return l, nil
}

// find sets the index and the prefix of its rows.
func (l *listing) find(ix *ledger.Index, prefix ...any) { l.rows.Index, l.rows.Prefix = ix, prefix }

// equal keeps only rows with this value in the column; "" keeps all.
func (l *listing) equal(column, value string) {
	if value != "" {
		l.only(column, value)
	}
}

// only keeps only rows with this value in the column, also if it is "".
func (l *listing) only(column, value string) {
	l.rows.Only = append(l.rows.Only, ledger.Only{Column: column, Values: []any{value}})
}

// moveTo makes the listing continue after the row with this seq.
func (l *listing) moveTo(seq int64) {
	if l.rows.Newest {
		l.before = min(l.before, seq)
	} else {
		l.after = max(l.after, seq)
	}
}

// window returns the part of the listing that ends with the row of this seq.
func (l *listing) window(seq int64) *listing {
	w := *l
	if l.rows.Newest {
		w.after = max(w.after, seq-1)
	} else {
		w.before = min(w.before, seq+1)
	}
	return &w
}

// between returns the listing as a range.
func (l *listing) between() ledger.Range {
	r := l.rows
	if r.After, r.Until = l.after, l.before; r.Newest {
		r.After, r.Until = l.before, l.after
	}
	return r
}

// reach returns the seq of the n-th row, whether rows pass the filters or not;
// found is false if there are fewer.
func (l *listing) reach(s Snapshot, n int) (seq int64, found bool, err error) {
	r := l.between()
	r.Only, r.Live, r.Skip, r.First = nil, nil, n-1, l.position+1
	err = s.Scan(r, func(v ledger.Values) error {
		seq, found = v.Int(l.position), true
		return ledger.ErrEnough
	})
	return seq, found, err
}

// sized is a row that knows about how much memory it takes.
type sized[T any] interface {
	*T
	Bytes() int
}

// listOf reads one page. read makes a row, nil for one that does not belong to
// the list. The first column of every row is the seq at which it was created.
// The first window is somewhat larger than the page, and each further one is
// larger than the last, so that a page without filters costs little more than
// its rows.
func listOf[T any, P sized[T]](s Snapshot, l *listing, read func(ledger.Values) (P, error)) (out turns.List[T], err error) {
	if _, out.Latest, err = s.Ends(); err != nil {
		return out, err
	}
	bytes, last := 0, int64(0)
	full := func() error {
		out.Next = strconv.FormatInt(last, 10)
		return ledger.ErrEnough
	}
	take := func(v ledger.Values) error {
		seq := v.Int(l.position)
		row, err := read(v)
		if err != nil || row == nil {
			return err
		}
		size := row.Bytes() + rowBytes
		if len(out.Rows) >= l.limit || len(out.Rows) > 0 && bytes+size > listBytes {
			return full() // only now: a row that is left out is no reason for another page
		}
		bytes += size
		last = seq
		out.Rows = append(out.Rows, *row)
		return nil
	}
	for looked, size := 0, 2*l.limit; ; size *= 4 {
		size = min(size, turns.MaxListScan-looked)
		end, more, err := l.reach(s, size)
		if err != nil {
			return out, err
		}
		w := l
		if more {
			w = l.window(end)
		}
		if err := w.scan(s, take, func() bool { return out.Next != "" }); err != nil {
			return out, err
		}
		if out.Next != "" || !more {
			return out, nil
		}
		l.moveTo(end)
		if looked += size; looked >= turns.MaxListScan {
			out.Next = strconv.FormatInt(end, 10)
			return out, nil
		}
	}
}

// ListThreads implements turns.Reader.
func (r *Reads) ListThreads(ctx context.Context, q threads.Query) (out turns.List[threads.Thread], err error) {
	l, err := newListing(threads.BySeq, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	if q.State != "" {
		l.find(threads.ByState, string(q.State))
	}
	l.equal("agent", q.Agent)
	l.within(ctx, q.Within, threadNames)
	if q.IDs, err = only(ctx, q.IDs, q.Within); err != nil {
		return out, err
	}
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[threads.Thread], error) {
		if q.IDs != nil {
			return namedThreads(s, l, q, threads.ByID, threads.Read)
		}
		return listOf(s, l, threads.Read)
	})
}

// ListTurns implements turns.Reader.
func (r *Reads) ListTurns(ctx context.Context, q turns.Query) (out turns.List[turns.Turn], err error) {
	l, err := newListing(turns.BySeq, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	switch {
	case q.EndedBy == turns.EndedByRestart:
		return listLost(ctx, r, l, q)
	case q.ParentThreadID != "":
		l.find(turns.ChildrenOf, q.ParentThreadID)
		l.equal("state", string(q.State))
		l.equal("review_state", string(q.Review))
	case q.Review == turns.ReviewPending && q.ThreadID != "":
		l.find(turns.PendingReviewsOfThread, q.ThreadID)
		l.equal("state", string(q.State))
	case q.Review == turns.ReviewPending:
		l.find(turns.PendingReviews)
		l.equal("state", string(q.State))
	case q.ThreadID != "":
		l.find(turns.OfThread, q.ThreadID)
		l.equal("state", string(q.State))
	case q.State != "":
		l.find(turns.ByState, string(q.State))
	}
	l.within(ctx, q.Within, turnNames)
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[turns.Turn], error) { return listOf(s, l, turns.Read) })
}

// ListSteps implements turns.Reader.
func (r *Reads) ListSteps(ctx context.Context, q turns.StepQuery) (out turns.List[turns.Step], err error) {
	l, err := newStepListing(q)
	if err != nil {
		return out, err
	}
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[turns.Step], error) { return listOf(s, l, turns.ReadStep) })
}

func newStepListing(q turns.StepQuery) (*listing, error) {
	l, err := newListing(turns.StepsOfTurn, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return nil, err
	}
	l.find(turns.StepsOfTurn, q.TurnID)
	if !q.IncludeSuperseded {
		l.rows.Only = append(l.rows.Only, ledger.Only{Column: "hidden_by", Values: []any{nil}})
	}
	return l, nil
}

// ListItems implements turns.Reader.
func (r *Reads) ListItems(ctx context.Context, q items.Query) (turns.List[items.Item], error) {
	return in(ctx, r, ForScans, func(s Snapshot) (turns.List[items.Item], error) { return listItems(ctx, s, q) })
}

func listItems(ctx context.Context, s Snapshot, q items.Query) (out turns.List[items.Item], err error) {
	var turn *turns.Turn
	if q.TurnID != "" {
		if turn, err = one(s, turns.Read, turns.ByID, q.TurnID); err != nil {
			return out, err
		}
	}
	l, err := newItemListing(q, turn)
	if err != nil {
		return out, err
	}
	if q.TurnID != "" && (turn == nil || q.ThreadID != "" && q.ThreadID != turn.ThreadID) {
		_, out.Latest, err = s.Ends()
		return out, err
	}
	l.within(ctx, q.Within, itemNames)
	whole := newCompletion(s)
	return listOf(s, l, func(v ledger.Values) (*items.Item, error) {
		it := items.Read(v)
		return it, whole.complete(it)
	})
}

// newItemListing lists items. turn is that of q.TurnID, nil if there is none.
// Open items are few in the whole log, so they have an index. The items of a turn
// are found among those of its thread, between the turn's first event and, once
// it has ended, its last.
func newItemListing(q items.Query, turn *turns.Turn) (*listing, error) {
	l, err := newListing(items.BySeq, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return nil, err
	}
	thread := q.ThreadID
	if turn != nil {
		thread = turn.ThreadID
		l.after = max(l.after, turn.CreatedSeq)
		if turn.State.Ended() {
			l.before = min(l.before, turn.UpdatedSeq)
		}
	}
	switch {
	case q.Status.Open():
		l.find(items.Open)
		l.equal("thread_id", thread)
	case thread != "":
		l.find(items.OfThread, thread)
	}
	l.equal("turn_id", q.TurnID)
	l.equal("type", string(q.Type))
	l.equal("status", string(q.Status))
	if !q.IncludeSuperseded {
		l.rows.Live = turns.SupersededItems
	}
	return l, nil
}
