package sqlite

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// state is what is asked for so often (every holon/status) that it is kept in
// memory: always that of the newest commit, published as a whole.
type state struct {
	logID        string
	first        int64
	latest       int64
	lastEventAt  notify.Time
	runtime      turns.Runtime
	threads      int64
	lastThreadID string
	queued       int64
	active       int64
	waiting      int64
}

// mark is what is counted of a turn that has not ended.
type mark struct{ active, waiting bool }

// load fills the state from the database.
func (w *writer) load() (err error) {
	w.live = map[string]mark{}
	w.state = state{}
	st, err := stateOf(w.conn, w.count)
	st.queued, st.active, st.waiting = w.state.queued, w.state.active, w.state.waiting
	w.state = st
	w.publishState()
	return err
}

// stateOf reads the state, but for the counts of turns: it tells unfinished
// ones to count.
func stateOf(c *conn, count func(id string, st turns.State, p turns.Progress)) (st state, err error) {
	var decodeErr error
	if _, err := c.queryOne("SELECT log_id, first_seq, runtime FROM meta", func(r row) {
		st.logID, st.first = r.text(0), r.int(1)
		decodeErr = decode(r.blob(2), &st.runtime)
	}); err != nil {
		return st, err
	}
	if decodeErr != nil {
		return st, decodeErr
	}
	st.latest = st.first - 1
	if _, err := c.queryOne("SELECT seq, time FROM events ORDER BY seq DESC LIMIT 1", func(r row) {
		st.latest, st.lastEventAt = r.int(0), notify.TimeFromMilli(r.int(1))
	}); err != nil {
		return st, err
	}
	if _, err := c.queryOne("SELECT count(*) FROM threads", func(r row) { st.threads = r.int(0) }); err != nil {
		return st, err
	}
	if _, err := c.queryOne("SELECT thread_id FROM threads ORDER BY created_seq DESC LIMIT 1", func(r row) { st.lastThreadID = r.text(0) }); err != nil {
		return st, err
	}
	return st, c.query("SELECT turn_id, state, progress FROM turns WHERE state IN ('queued', 'active')", func(r row) error {
		count(r.text(0), turns.State(r.text(1)), turns.Progress(r.text(2)))
		return nil
	})
}

// mark counts what a committed unit has changed.
func (w *writer) mark(u *turns.Unit) {
	if len(u.Drafts) == 0 {
		return
	}
	if u.Thread != nil && u.BaseThreadSeq == 0 {
		w.state.threads++
		w.state.lastThreadID = u.Thread.ThreadID
	}
	for _, t := range u.Turns {
		w.count(t.TurnID, t.State, t.Progress)
	}
}

func (w *writer) count(id string, st turns.State, p turns.Progress) {
	add := func(m mark, n int64) {
		switch {
		case !m.active:
			w.state.queued += n
		default:
			w.state.active += n
			if m.waiting {
				w.state.waiting += n
			}
		}
	}
	if old, ok := w.live[id]; ok {
		add(old, -1)
		delete(w.live, id)
	}
	if st == turns.Queued || st == turns.Active {
		m := mark{active: st == turns.Active, waiting: p == turns.Waiting}
		add(m, 1)
		w.live[id] = m
	}
}

func (w *writer) publishState() {
	st := w.state
	w.store.state.Store(&st)
}

// Position implements turns.Reader.
func (s *Store) Position(context.Context) (turns.Position, error) {
	return s.state.Load().position(), nil
}

func (st *state) position() turns.Position {
	return turns.Position{LogID: st.logID, First: st.first, Latest: st.latest}
}

// Counts implements turns.Reader. The sizes may be a second old: holon/status
// is asked thousands of times a second.
func (s *Store) Counts(context.Context) (turns.Counts, error) {
	sz := s.sizes.Load()
	if sz == nil || time.Since(sz.at) > time.Second {
		fresh := s.fileSizes()
		sz = &fresh
		s.sizes.Store(sz)
	}
	return s.state.Load().counts(*sz), nil
}

func (st *state) counts(sz sizes) turns.Counts {
	return turns.Counts{
		Position: st.position(), LastEventAt: st.lastEventAt, LastThreadID: st.lastThreadID,
		Threads: st.threads, TurnsQueued: st.queued, TurnsActive: st.active, TurnsWaiting: st.waiting,
		DatabaseBytes: sz.database, WALBytes: sz.wal,
	}
}

// Runtime implements turns.Store.
func (s *Store) Runtime(context.Context) (turns.Runtime, error) {
	return s.state.Load().runtime, nil
}
