package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/persist"
)

// How long a step of a prune removes events. It does so in pieces of so many
// events, and ends early after a piece if a unit waits for the appender: a write
// waits for a piece and the commit of the step.
const (
	pruneFor   = 2 * time.Millisecond
	prunePiece = 32
)

// Prune removes the events below a seq, in steps between commits. It stops at
// the first delta of an open item that is in no row yet, at the first raw item
// that is not acknowledged, at the floor (see KeepFrom), and at the head. If ctx ends, it ends after the running step and
// returns what was removed with the error. It needs Run. Several prunes may run
// at once.
func (s *Store) Prune(ctx context.Context, before int64) (out persist.Pruned, err error) {
	out.First = s.w.Head().First
	if before, err = s.prunable(ctx, before); err != nil {
		return out, fmt.Errorf("prune: %w", err)
	}
	back := writeBack{store: s}
	defer func() { err = errors.Join(err, back.close()) }()
	for {
		if err := errors.Join(ctx.Err(), s.Healthy()); err != nil {
			return out, err
		}
		n := int64(0)
		if err := s.Do(ctx, func() (err error) {
			n, err = s.w.pruneStep(before)
			out.First, out.Removed = s.w.Head().First, out.Removed+n
			return err
		}); err != nil {
			return out, fmt.Errorf("prune below %d: %w", before, err)
		}
		if n == 0 {
			break
		}
		if err := back.after(ctx); err != nil {
			return out, fmt.Errorf("prune below %d: %w", before, err)
		}
	}
	if out.Removed == 0 {
		return out, nil
	}
	// A later commit makes the steps durable. This one does, before the caller
	// gets its result.
	if err := s.Do(ctx, func() error {
		err := s.w.Probe()
		s.w.failIfLost(err)
		return err
	}); err != nil {
		return out, fmt.Errorf("prune below %d: %w", before, err)
	}
	return out, nil
}

// prunable bounds before by what is still read from the log. One call per prune
// is enough: what an item needs later is above the present head.
func (s *Store) prunable(ctx context.Context, before int64) (int64, error) {
	latest := s.w.Head().Latest
	err := s.reader.engine.read(ctx, func(c *conn) error {
		needed, err := persist.NeededFrom(&tx{c})
		before = min(before, needed, latest+1)
		return err
	})
	return before, err
}

// KeepFrom sets the floor: a function that returns the seq from which on readers
// still need the log. A prune stops there. The goroutine that runs the appender
// calls it before each step; it must not block. KeepFrom must be called before
// the first Prune.
func (s *Store) KeepFrom(floor func() int64) { s.floor = floor }

// noFloor returns the floor of a store without KeepFrom: all may be pruned.
func noFloor() int64 { return math.MaxInt64 }

// pruneStep removes some of the oldest events below before, and returns how many.
func (w *writer) pruneStep(before int64) (n int64, err error) {
	to := w.Head().First
	end := min(before, w.Head().Latest+1, w.store.floor())
	if end <= to {
		return 0, nil
	}
	began := time.Now()
	if err := w.unsynced(func() error {
		for to < end && (n == 0 || w.store.QueueDepth() == 0 && time.Since(began) < pruneFor) {
			to = min(to+prunePiece, end)
			removed, err := w.conn.exec(deleteBelow, to)
			if err != nil {
				return err
			}
			n += removed
		}
		if _, err := w.conn.exec(dropRuns, to); err != nil {
			return err
		}
		_, err := w.conn.exec(moveFirst, to)
		return err
	}); err != nil {
		w.failIfLost(err)
		return 0, err
	}
	w.Pruned(to)
	return n, nil
}

const (
	deleteBelow = "DELETE FROM events WHERE seq < ?"
	moveFirst   = "UPDATE meta SET first_seq = ?"
)

// unsynced executes a transaction without an fsync. The next durable transaction
// makes it durable too, because both are in the same write-ahead log in their
// order. After a power cut it may be lost, with everything after it. So it is
// only for changes that no caller learns of before a durable transaction.
func (w *writer) unsynced(f func() error) error {
	if err := w.conn.run("PRAGMA synchronous = NORMAL"); err != nil {
		return err
	}
	err := w.transaction(f)
	if e := w.conn.run("PRAGMA synchronous = " + w.synchronous); e != nil {
		return errors.Join(err, fmt.Errorf("commit durably again: %w: %w", ledger.ErrStorageFailed, e))
	}
	return err
}

// UsedBytes implements persist.Pruner. It counts the pages in use, because the
// file keeps its size after a prune and is filled again.
func (s *Store) UsedBytes(ctx context.Context) (used int64, err error) {
	err = s.reader.read(ctx, func(c *conn) error {
		_, err := c.queryOne(`SELECT (p.page_count - f.freelist_count) * s.page_size
			FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`, func(r row) { used = r.Int(0) })
		return err
	})
	return used, err
}
