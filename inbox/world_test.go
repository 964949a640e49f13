package inbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// testThread is the thread whose inbox tests use.
const testThread = "t"

// world is an inbox with its store, its log and its clock. Every change is one
// unit, made by a Book that is thrown away after it.
type world struct {
	store  *memStore
	fold   *memState // the rows as folded from the decoded events
	log    []logged
	last   int64 // the newest seq of the log
	inLog  int64 // events of the thread
	now    notify.Time
	held   bool
	bounds Bounds
	wake   Wake
	breaks *broken // nil: nothing is broken on purpose
}

// logged is a committed event, decoded from its params.
type logged struct {
	method string
	h      notify.Header
	body   any
}

// eventTypes are the events that a unit of an inbox has.
var eventTypes = func() map[string]*ledger.EventType {
	m := map[string]*ledger.EventType{}
	for _, list := range [][]ledger.EventType{Events, turns.Events} {
		for i := range list {
			m[list[i].Method] = &list[i]
		}
	}
	return m
}()

func newWorld() *world {
	return &world{
		store: newMemStore(), fold: newMemState(), now: notify.TimeFromMilli(1_700_000_000_000), wake: WakeIdle,
		bounds: Bounds{MaxPendingItems: 10_000, MaxUnackedItems: 10_000, MaxUnackedBytes: 64 << 20, MaxTimers: 1000, MaxSubscriptions: 100},
	}
}

// memUnit is a unit that is being made. It implements Unit.
type memUnit struct {
	w      *world
	drafts []notify.Draft
	thread threads.Thread
}

func (u *memUnit) NextSeq() int64 { return notify.Provisional(len(u.drafts)) }

func (u *memUnit) AddEvent(method string, body any) notify.Header {
	h := notify.Header{Seq: u.NextSeq(), ThreadID: testThread, Timestamp: u.w.now}
	u.drafts = append(u.drafts, notify.Draft{Method: method, Header: h, Body: body})
	return h
}

func (u *memUnit) Thread() *threads.Thread { return &u.thread }

func (u *memUnit) SetThread(t *threads.Thread) { u.thread = *t }

// turnEvent adds an event of a turn, and folds it as package events does.
func (u *memUnit) turnEvent(b *Book, method, turnID string, attempt int, body any) {
	h := u.AddEvent(method, body)
	h.TurnID, h.Attempt = turnID, attempt
	u.drafts[len(u.drafts)-1].Header = h
	FoldTurn(b.State(), &h, body)
}

func (w *world) box() *Inbox {
	if list := all[*Inbox](w.store, Table); len(list) > 0 {
		return list[0]
	}
	return nil
}

func (w *world) settings() Settings {
	if box := w.box(); box != nil {
		return w.inForce(box.Policy)
	}
	return w.inForce(Policy{})
}

func (w *world) inForce(p Policy) Settings { return p.Settings(w.wake) }

// begin begins a unit.
func (w *world) begin() (*memUnit, *Book) {
	u := &memUnit{w: w, thread: threads.Thread{ThreadID: testThread, State: threads.Running, Held: w.held, LatestSeq: w.last}}
	return u, NewBook(testThread, w.now, w.settings(), w.bounds, w.box(), u, w.store)
}

// commit commits a unit: its events and its rows, all or nothing. It returns the
// events as they are decoded from what was encoded.
func (w *world) commit(u *memUnit, b *Book) ([]logged, error) {
	if b.Err() != nil {
		return nil, b.Err()
	}
	rows := b.Finish()
	first := w.last + 1
	var events []logged
	for i := range u.drafts {
		d := &u.drafts[i]
		if err := d.Encode(); err != nil {
			return nil, err
		}
		e := d.Event(first+int64(i), w.inLog+int64(i)+1)
		h, body, err := eventTypes[d.Method].Decode(e.Params)
		if err != nil {
			return nil, err
		}
		if h.Seq != e.Seq || h.ThreadID != testThread || h.Timestamp != w.now {
			return nil, fmt.Errorf("the header of %s is %+v", e.Params, h)
		}
		events = append(events, logged{d.Method, h, body})
	}
	next := w.store.clone()
	for _, r := range rows {
		if err := next.put(r, first); err != nil {
			return nil, err
		}
		if gone, ok := r.(*ledger.Removal); !ok || gone.Key[0].(int64) > 0 {
			r.AssignSeqs(first)
		}
	}
	w.store, w.held = next, u.thread.Held
	w.last += int64(len(events))
	w.inLog += int64(len(events))
	w.log = append(w.log, events...)
	return events, w.refold(events, rows)
}

// refold folds the new events into the state that has folded all before, and
// compares every row that was written or folded.
func (w *world) refold(events []logged, rows []ledger.Row) error {
	w.fold.touched = w.fold.touched[:0]
	for i := range events {
		e := &events[i]
		Fold(w.fold, &e.h, e.body)
		FoldTurn(w.fold, &e.h, e.body)
	}
	type key struct {
		t  *ledger.Table
		id any
	}
	compared := map[key]bool{}
	for _, r := range slices.Concat(rows, w.fold.touched) {
		if _, gone := r.(*ledger.Removal); gone || compared[key{r.Table(), r.ID()}] {
			continue
		}
		compared[key{r.Table(), r.ID()}] = true
		if err := w.sameRow(r.Table(), r.ID()); err != nil {
			return err
		}
	}
	return nil
}

// sameRow compares a row of the store with the one that the log gives.
func (w *world) sameRow(t *ledger.Table, id any) error {
	var stored ledger.Row
	for _, m := range w.store.tables[t] {
		if m.row.ID() == id {
			stored = m.row
		}
	}
	folded := w.fold.rows[t][id]
	if t == Table && folded == nil && stored != nil {
		folded = &Inbox{ThreadID: testThread} // what did not fit is in no event
	}
	if folded == nil || stored == nil {
		if folded != nil || stored != nil {
			return fmt.Errorf("P10: row %v of %s: stored %v, the log gives %v", id, t.Name, stored != nil, folded != nil)
		}
		return nil
	}
	if box, ok := folded.(*Inbox); ok {
		box = box.clone()
		box.FlushAt, box.TimerAt = w.fold.earliest(), w.fold.earliestTimer()
		box.Lagged, box.LaggedThrough = stored.(*Inbox).Lagged, stored.(*Inbox).LaggedThrough
		folded = box
	}
	x, err := stored.Values(0)
	if err != nil {
		return err
	}
	y, err := folded.Values(0)
	if err != nil {
		return err
	}
	for i := range x {
		if !sameValue(x[i], y[i]) {
			return fmt.Errorf("P10: %s of row %v of %s is %v, the log gives %v", t.Columns[i], id, t.Name, x[i], y[i])
		}
	}
	return nil
}

func (s *memState) earliest() (at int64) {
	for _, row := range s.rows[DigestTable] {
		if d := row.(*Digest); d.Pending > 0 && (at == 0 || d.FlushAt < at) {
			at = d.FlushAt
		}
	}
	return at
}

func (s *memState) earliestTimer() (at int64) {
	for _, row := range s.rows[TimerTable] {
		if t := row.(*Timer); at == 0 || t.NextAt.Milli() < at {
			at = t.NextAt.Milli()
		}
	}
	return at
}

// sameRows compares all rows with those that the log gives.
func (w *world) sameRows() error {
	for t := range tables {
		if n, m := len(w.store.tables[t]), len(w.fold.rows[t]); n != m {
			return fmt.Errorf("P10: %d rows of %s, the log gives %d", n, t.Name, m)
		}
		for _, m := range w.store.tables[t] {
			if err := w.sameRow(t, m.row.ID()); err != nil {
				return err
			}
		}
	}
	return w.sameRow(Table, testThread)
}

// do makes a unit and commits it.
func (w *world) do(decide func(*Book)) ([]logged, error) {
	u, b := w.begin()
	decide(b)
	return w.commit(u, b)
}

// advance sets the clock forward.
func (w *world) advance(d time.Duration) { w.now = notify.TimeOf(w.now.Add(d)) }

// visible is the default read of an inbox.
func (w *world) visible() (page []Entry) {
	for _, e := range all[*Entry](w.store, EntryTable) {
		if e.Visible() {
			page = append(page, *e)
		}
	}
	return page
}
