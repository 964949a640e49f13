package memory

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Store is a log in memory. It implements turns.Store, turns.Rows,
// turns.Reader and persist.Pruner. All methods may be called from many
// goroutines, Run once.
type Store struct {
	*persist.Reads
	*persist.Appender
	w    *persist.Writer
	tail *notify.Tail

	mu    sync.Mutex // held by a transaction or a snapshot
	rows  *tables
	first int64 // seq of log[0], or of the next event
	log   []notify.Event
}

// New returns an empty log. It starts nothing: see Run.
func New(now func() time.Time) *Store {
	s := &Store{
		tail: notify.NewTail(0, 0), first: 1,
		rows: newTables(
			threads.ByID, turns.ByID, items.ByID, turns.StepsByEpoch,
			inbox.ByThread, inbox.RawByNative, inbox.DigestOpen, inbox.SubscriptionByID, inbox.TimerByID,
			cursors.ByName,
		),
	}
	s.rows.add(turns.RuntimeTable.Name, &record{"id": int64(1)})
	s.w = persist.NewWriter(s, now, persist.Head{LogID: "log_memory", First: 1}, nil, persist.Keys{})
	s.Reads = persist.NewReads(s, now)
	s.Appender = persist.NewAppender(committer{s.w}, s.tail, persist.Observer{})
	return s
}

// KeepKeys sets how many idempotency keys are kept, and how many of one requester.
func (s *Store) KeepKeys(all, each int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.KeepKeys, s.w.KeepKeysEach = all, each
}

// Tail returns the tail to which committed events are published.
func (s *Store) Tail() *notify.Tail { return s.tail }

// committer has nothing to probe and nothing to maintain.
type committer struct{ *persist.Writer }

func (committer) Probe() error    { return nil }
func (committer) Maintain() error { return nil }

// tx is a transaction or a snapshot. The store is locked while it lasts.
type tx struct {
	*tables
	s *Store
}

// Ends implements persist.Snapshot.
func (t tx) Ends() (first, latest int64, err error) {
	return t.s.first, t.s.first + int64(len(t.s.log)) - 1, nil
}

// eventTable has the columns of events that the text of open items, the payloads of
// raw items and the times of summaries need.
var eventTable = ledger.NewTable(ledger.Table{
	Name: items.Deltas.Table.Name, Columns: []string{"seq", "item_id", "method", "time", "params"}, Key: []string{"seq"},
})

// Append implements persist.Tx.
func (t tx) Append(e *notify.Event) error {
	n := len(t.s.log)
	t.s.log = append(t.s.log, *e)
	t.undo = append(t.undo, func() { t.s.log = t.s.log[:n] })
	r := record{"seq": e.Seq, "item_id": e.ItemID, "method": e.Method, "time": e.Time.Milli()}
	if e.Method == notify.ItemDelta || e.Method == notify.InboxReceived {
		r["params"] = e.Params
	}
	return t.insert(eventTable, r)
}

// Transaction implements persist.Database.
func (s *Store) Transaction(f func(persist.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := persist.Guard(func() error { return f(tx{s.rows, s}) })
	if err != nil {
		s.rows.rollBack()
	}
	s.rows.undo = nil
	return err
}

// Wrote implements persist.Database.
func (s *Store) Wrote(int) {}

// Snapshot implements persist.Snapshots.
func (s *Store) Snapshot(ctx context.Context, _ persist.Lane, f func(persist.Snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(tx{s.rows, s})
}

// scanEvents bounds the events that one page looks at.
const scanEvents = 20_000

// Page implements notify.Log.
func (s *Store) Page(_ context.Context, q notify.Query) (p notify.Page, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := tx{s.rows, s}
	if p.First, p.Latest, err = t.Ends(); err != nil {
		return p, err
	}
	p.Scanned = q.After
	if q.Collapse {
		p.AsOf = p.Latest
	}
	log := s.log[min(max(q.After+1-s.first, 0), int64(len(s.log))):]
	p.More = len(log) > scanEvents
	bytes := 0
	for _, e := range log[:min(len(log), scanEvents)] {
		if q.Filter.Match(e.ThreadID, e.Method) && !(q.Collapse && t.hides(&e)) && !(q.Summary && e.Method == notify.ItemDelta && !slices.Contains(q.Whole, e.ThreadID)) {
			if n := len(p.Events); n > 0 && (n >= q.MaxEvents || bytes+len(e.Params) > q.MaxBytes) {
				p.More = true
				break
			}
			if q.Parts && len(e.Params) > q.MaxBytes {
				p.Events = append(p.Events, notify.Event{Seq: e.Seq, Method: e.Method, Time: e.Time, ThreadID: e.ThreadID})
				p.Scanned, p.More = e.Seq, e.Seq < p.Latest
				break
			}
			bytes += len(e.Params)
			p.Events = append(p.Events, notify.Event{Seq: e.Seq, Method: e.Method, Time: e.Time, Params: e.Params})
		}
		p.Scanned = e.Seq
	}
	return p, nil
}

// Part implements notify.Log.
func (s *Store) Part(_ context.Context, seq int64, offset int, summary bool, b []byte) (n, size int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq < s.first || seq >= s.first+int64(len(s.log)) {
		return 0, 0, &notify.ExpiredError{After: seq - 1, First: s.first}
	}
	e := &s.log[seq-s.first]
	params := e.Params
	if summary {
		params = notify.AppendSummary(nil, e.Method, params)
	}
	return copy(b, params[min(offset, len(params)):]), len(params), nil
}

// hides reports whether a page with collapse leaves the event out.
func (t tx) hides(e *notify.Event) bool {
	return e.Method == notify.TurnLate ||
		e.Span != 0 && t.superseded(record{"span": e.Span, "created_seq": e.Seq}, turns.SupersededItems)
}

// Position implements turns.Reader.
func (s *Store) Position(context.Context) (at turns.Position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.LogID = s.w.Head().LogID
	at.First, at.Latest, err = tx{s.rows, s}.Ends()
	return at, err
}

// Counts implements turns.Reader.
func (s *Store) Counts(ctx context.Context) (n turns.Counts, err error) {
	n = s.w.Head().Counts()
	n.DatabaseBytes, err = s.UsedBytes(ctx)
	return n, err
}

// Runtime implements turns.Rows.
func (s *Store) Runtime(context.Context) (turns.Runtime, error) { return s.w.Head().Runtime, nil }

// LeaseSecret implements turns.Rows.
func (s *Store) LeaseSecret(context.Context) ([]byte, error) {
	return []byte("the secret of a log that is lost"), nil
}

// Prune implements persist.Pruner.
func (s *Store) Prune(ctx context.Context, before int64) (out persist.Pruned, err error) {
	err = s.Do(ctx, func() error {
		if err := s.Transaction(func(persist.Tx) error {
			needed, err := persist.NeededFrom(s.rows)
			if err != nil {
				return err
			}
			out.Removed = max(min(before, needed, s.first+int64(len(s.log)))-s.first, 0)
			for i := range out.Removed {
				if err := s.rows.Delete(eventTable, s.log[i].Seq); err != nil {
					return err
				}
			}
			s.first, s.log = s.first+out.Removed, s.log[out.Removed:]
			return nil
		}); err != nil {
			return err
		}
		out.First = s.first
		s.w.Pruned(s.first)
		return nil
	})
	return out, err
}

// ExpiredBefore implements persist.Pruner.
func (s *Store) ExpiredBefore(_ context.Context, at, now time.Time) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, rising := s.first-1, int64(math.MinInt64)
	for i := range s.log {
		ms := s.log[i].Time.Milli()
		if ms < rising || ms > now.Add(24*time.Hour).UnixMilli() {
			continue
		}
		if ms >= at.UnixMilli() {
			break
		}
		rising, old = ms, s.log[i].Seq
	}
	return old + 1, nil
}

// UsedBytes implements persist.Pruner.
func (s *Store) UsedBytes(context.Context) (used int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.log {
		used += int64(len(s.log[i].Params))
	}
	return used + 1, nil // rows always take something
}

var (
	_ turns.Store    = (*Store)(nil)
	_ turns.Rows     = (*Store)(nil)
	_ turns.Reader   = (*Store)(nil)
	_ inbox.Reader   = (*Store)(nil)
	_ cursors.Reader = (*Store)(nil)
	_ persist.Pruner = (*Store)(nil)
)
