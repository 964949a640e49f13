package sqlite

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/turns"
)

const unfinishedTurns = "SELECT turn_id, state, progress FROM turns WHERE state IN ('queued', 'active')"

// headOf reads the head without the counts of turns, and the unfinished turns.
func headOf(c *conn, f func(h persist.Head, unfinished []*turns.Turn)) error {
	var h persist.Head
	var unfinished []*turns.Turn
	var decodeErr error
	for _, q := range []struct {
		sql string
		f   func(row)
	}{
		{"SELECT log_id, first_seq, runtime FROM meta", func(r row) {
			h.LogID, h.First = r.Text(0), r.Int(1)
			h.Latest = h.First - 1
			decodeErr = decode(r.Blob(2), &h.Runtime)
		}},
		{"SELECT seq, time FROM events ORDER BY seq DESC LIMIT 1", func(r row) {
			h.Latest, h.LastEventAt = r.Int(0), notify.TimeFromMilli(r.Int(1))
		}},
		{"SELECT count(*) FROM threads", func(r row) { h.Threads = r.Int(0) }},
		{"SELECT thread_id FROM threads ORDER BY created_seq DESC LIMIT 1", func(r row) { h.LastThreadID = r.Text(0) }},
	} {
		if _, err := c.queryOne(q.sql, q.f); err != nil {
			return err
		}
	}
	if decodeErr != nil {
		return decodeErr
	}
	if err := c.query(unfinishedTurns, func(r row) error {
		unfinished = append(unfinished, &turns.Turn{
			TurnID: r.Text(0), State: turns.State(r.Text(1)), Progress: turns.Progress(r.Text(2)),
		})
		return nil
	}); err != nil {
		return err
	}
	f(h, unfinished)
	return nil
}

// storedHead reads the head of a log that another process may be writing.
func (s *Reader) storedHead(ctx context.Context) (*persist.Head, error) {
	head := &persist.Head{}
	err := s.points.read(ctx, func(c *conn) error {
		return headOf(c, func(h persist.Head, unfinished []*turns.Turn) {
			*head = h
			for _, t := range unfinished {
				head.Count(t)
			}
		})
	})
	return head, err
}

// Position implements turns.Reader. It reads the log, as all reads do whose seqs are checked
// against it: the head in memory follows a commit a moment later. It is one row, on connections
// that no client keeps busy.
func (s *Reader) Position(ctx context.Context) (at turns.Position, err error) {
	err = s.engine.read(ctx, func(c *conn) error { return position(c, &at) })
	return at, err
}

// Counts implements turns.Reader.
func (s *Reader) Counts(ctx context.Context) (turns.Counts, error) {
	h, err := s.head(ctx)
	n, sz := h.Counts(), s.fileSizes()
	n.DatabaseBytes, n.WALBytes = sz.database, sz.wal
	return n, err
}

// Runtime implements turns.Rows.
func (s *Reader) Runtime(ctx context.Context) (turns.Runtime, error) {
	h, err := s.head(ctx)
	return h.Runtime, err
}

// LeaseSecret implements turns.Rows.
func (s *Reader) LeaseSecret(ctx context.Context) (secret []byte, err error) {
	err = s.engine.read(ctx, func(c *conn) error {
		_, err := c.queryOne("SELECT secret FROM meta", func(r row) { secret = r.Blob(0) })
		return err
	})
	return secret, err
}
