package sqlite

import (
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

// writer is the one connection that changes the database. It belongs to the
// goroutine that runs the appender; before Run, to the one that opens.
type writer struct {
	conn  *conn
	store *Store
	state state           // as committed
	live  map[string]mark // turns that are queued or active, as committed
	since wal             // what was written since the last checkpoint
	keys  int64           // how many idempotency keys are kept
	limit int64           // bytes of write-ahead log past which readers are waited for
	shm   *int            // descriptor of the index of the write-ahead log: see disown
}

// errStale says that a unit was made on a state of its thread that is not the
// log's: another owner has written in between. It cannot happen as long as
// one actor owns a thread.
var errStale = errors.New("the thread has moved on since the change was made")

// errMixed says that a unit has events of several threads.
var errMixed = errors.New("a unit has events of more than one thread")

// Commit implements persist.Committer.
func (w *writer) Commit(units []*turns.Unit) (persist.Committed, error) {
	b := batch{w: w, next: w.state.latest + 1, runtime: w.state.runtime}
	b.out.Outcomes = make([]persist.Outcome, len(units))
	if err := w.transaction(func() error {
		for i, u := range units {
			if err := b.unit(u, &b.out.Outcomes[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return persist.Committed{}, err
	}
	for i, u := range units {
		if out := &b.out.Outcomes[i]; out.Err == nil && out.Receipt.Stored == nil {
			settle(u, out.Receipt)
			w.mark(u)
		}
	}
	w.state.latest, w.state.runtime = b.next-1, b.runtime
	if n := len(b.out.Events); n > 0 {
		w.state.lastEventAt = b.out.Events[n-1].Time
	}
	w.publishState()
	w.since.add(b.bytes)
	return b.out, nil
}

// transaction executes f between BEGIN and COMMIT. Whatever fails, nothing of
// it stays, or the store is failed for good.
func (w *writer) transaction(f func() error) error {
	if _, err := w.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return classify("begin", err)
	}
	err := f()
	op := "append"
	if err == nil {
		op = "commit"
		_, err = w.conn.exec("COMMIT")
	}
	if err == nil {
		return nil
	}
	err = classify(op, err)
	// SQLite rolls back by itself after some errors; if it has not and cannot,
	// what is written later might land in this transaction.
	if !w.conn.c.AutoCommit() {
		if _, e := w.conn.exec("ROLLBACK"); e != nil && !w.conn.c.AutoCommit() {
			return fmt.Errorf("roll back after %w: %w: %w", err, turns.ErrStorageFailed, e)
		}
	}
	if op == "commit" && !endedUnwritten(err) {
		if e := w.disown(); e != nil {
			return fmt.Errorf("%w; it may come back after a crash: %w: %w", err, turns.ErrStorageFailed, e)
		}
	}
	return err
}

// batch is the state of a log in the middle of a transaction.
type batch struct {
	w       *writer
	next    int64 // seq of the next event
	runtime turns.Runtime
	bytes   int
	out     persist.Committed
}

// unit executes one unit. What it refuses goes into out and leaves no trace;
// an error it returns undoes the whole transaction.
func (b *batch) unit(u *turns.Unit, out *persist.Outcome) error {
	if u.Key != nil {
		stored, err := storedKey(b.w.conn, u.Key.Key, b.w.store.now())
		if err != nil {
			return err
		}
		if stored != nil {
			out.Receipt.Stored = stored
			return nil
		}
	}
	if u.StartsTurn && b.runtime.Paused {
		out.Err = turns.ErrRuntimePaused
		return nil
	}
	threadID, err := threadOfDrafts(u.Drafts)
	if err != nil {
		out.Err = err
		return nil
	}
	if out.Err, err = b.fence(u); out.Err != nil || err != nil {
		return err
	}
	first, n := b.next, int64(len(u.Drafts))
	if n == 0 {
		out.Receipt.Last = first - 1
		if u.Thread != nil {
			out.Receipt.Last = u.Thread.LatestSeq
		}
		return b.key(u, out.Receipt.Last)
	}
	last := first + n - 1
	if threadID != "" {
		var current bool
		if u.Thread != nil {
			current, err = putThread(b.w.conn, u.Thread, first, u.BaseThreadSeq, last, u.BaseThreadSeq+n)
		} else {
			var changed int64
			changed, err = b.w.conn.exec(advanceThread, last, u.BaseThreadSeq+n, threadID, u.BaseThreadSeq)
			current = changed == 1
		}
		if err != nil {
			return err
		}
		if !current {
			out.Err = fmt.Errorf("append to %s after %d: %w", threadID, u.BaseThreadSeq, errStale)
			return nil
		}
	}
	if err := b.events(u); err != nil {
		return err
	}
	if err := b.rows(u, first); err != nil {
		return err
	}
	out.Receipt.First, out.Receipt.Last = first, last
	return b.key(u, last)
}

func threadOfDrafts(drafts []notify.Draft) (string, error) {
	if len(drafts) == 0 {
		return "", nil
	}
	id := drafts[0].Header.ThreadID
	for i := range drafts {
		if drafts[i].Header.ThreadID != id {
			return "", errMixed
		}
	}
	return id, nil
}

const insertEvent = `INSERT INTO events (seq, thread_seq, thread_id, item_id, method, time, params, span) VALUES (?,?,?,?,?,?,?,?)`

// orNull keeps absent ids out of the indexes.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (b *batch) events(u *turns.Unit) error {
	insert, err := b.w.conn.prepare(insertEvent)
	if err != nil {
		return err
	}
	for i := range u.Drafts {
		e := u.Drafts[i].Event(b.next, u.BaseThreadSeq+int64(i)+1)
		var span any // NULL: nothing supersedes the event
		if e.Span != 0 {
			span = e.Span
		}
		if e.Method == notify.StreamRewind {
			e.Hides = hides(u, i)
		}
		if _, err := insert.exec(e.Seq, e.ThreadSeq, orNull(e.ThreadID), orNull(e.ItemID), e.Method, e.Time.Milli(), e.Params, span); err != nil {
			return err
		}
		b.next++
		b.bytes += len(e.Params)
		b.out.Events = append(b.out.Events, e)
	}
	return nil
}

func (b *batch) rows(u *turns.Unit, first int64) error {
	for _, t := range u.Turns {
		if err := putTurn(b.w.conn, t, first); err != nil {
			return err
		}
	}
	for _, it := range u.Items {
		if err := putItem(b.w.conn, it, first); err != nil {
			return err
		}
		b.bytes += len(it.Content)
	}
	for _, s := range u.Steps {
		if err := putStep(b.w.conn, s, first); err != nil {
			return err
		}
	}
	if u.Runtime == nil {
		return nil
	}
	raw, err := encode(u.Runtime, false)
	if err != nil {
		return err
	}
	b.runtime = *u.Runtime
	_, err = b.w.conn.exec("UPDATE meta SET runtime = ?", raw)
	return err
}

// settle gives the unit's rows the seqs they have got: the actor takes them
// as its memory when the commit has returned.
func settle(u *turns.Unit, r turns.Receipt) {
	if len(u.Drafts) == 0 {
		return
	}
	if u.Thread != nil {
		u.Thread.Settle(r.First)
		u.Thread.LatestSeq, u.Thread.LatestThreadSeq = r.Last, u.BaseThreadSeq+int64(len(u.Drafts))
	}
	for _, t := range u.Turns {
		t.Settle(r.First)
	}
	for _, it := range u.Items {
		it.Settle(r.First)
	}
	for _, s := range u.Steps {
		s.Settle(r.First)
	}
	for i := range u.Drafts {
		if s := u.Drafts[i].Span; s != nil {
			s.Settle(r.First)
		}
	}
}

// Probe implements persist.Committer.
func (w *writer) Probe() error {
	return w.transaction(func() error {
		_, err := w.conn.exec("UPDATE meta SET probed_at = ?", w.store.now().UnixMilli())
		return err
	})
}
