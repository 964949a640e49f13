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

// How many events one step removes. Writes wait for a step, so it is to last
// pruneFor, which is what a few commits take. A step begins small because
// events can be large.
const (
	pruneFor   = 2 * time.Millisecond
	pruneFirst = 64
	pruneLeast = 16
	pruneMost  = 4096
)

// Prune removes the events below a seq, in steps between commits. It stops at
// the first delta of an open item that is in no row yet, at the floor (see
// KeepFrom), and at the head. It ends
// after the step that is under way when ctx ends, and then returns what was
// removed with the error. It needs Run. Two may run at once.
func (s *Store) Prune(ctx context.Context, before int64) (out persist.Pruned, err error) {
	out.First = s.w.Head().First
	if before, err = s.mayGo(ctx, before); err != nil {
		return out, fmt.Errorf("prune: %w", err)
	}
	back := writeBack{store: s}
	defer func() { err = errors.Join(err, back.close()) }()
	size := int64(pruneFirst)
	for {
		if err := errors.Join(ctx.Err(), s.Healthy()); err != nil {
			return out, err
		}
		n := int64(0)
		if err := s.Do(ctx, func() (err error) {
			n, err = s.w.pruneStep(before, &size)
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
	// The steps are made durable by what is committed after them: before the
	// answer, by this.
	if err := s.Do(ctx, func() error {
		err := s.w.Probe()
		s.w.failIfLost(err)
		return err
	}); err != nil {
		return out, fmt.Errorf("prune below %d: %w", before, err)
	}
	return out, nil
}

// mayGo bounds before by what is still read from the log. It is asked once for
// a prune: what an item needs later is above the head of now.
func (s *Store) mayGo(ctx context.Context, before int64) (int64, error) {
	latest := s.w.Head().Latest
	err := s.engine.read(ctx, func(c *conn) error {
		needed, err := persist.NeededFrom(&tx{c})
		before = min(before, needed, latest+1)
		return err
	})
	return before, err
}

// KeepFrom makes floor say from which seq on the log is still needed by its
// readers: a prune stops there. It is called by the goroutine that runs the
// appender, before each step, and must not block. KeepFrom must be called
// before the first Prune.
func (s *Store) KeepFrom(floor func() int64) { s.floor = floor }

// everythingMayGo is the floor of a store that has been given none.
func everythingMayGo() int64 { return math.MaxInt64 }

// pruneStep removes the oldest events, at most size, and returns how many it
// has removed. It sets the size of the next step.
func (w *writer) pruneStep(before int64, size *int64) (n int64, err error) {
	first := w.Head().First
	to := min(before, w.Head().Latest+1)
	if to <= first {
		return 0, nil
	}
	if to = min(to, w.store.floor(), first+*size); to <= first {
		return 0, nil
	}
	began := time.Now()
	if err := w.relaxed(func() error {
		if n, err = w.conn.exec(deleteBelow, to); err != nil {
			return err
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
	*size = nextStep(*size, time.Since(began))
	w.Pruned(to)
	return n, nil
}

const (
	deleteBelow = "DELETE FROM events WHERE seq < ?"
	moveFirst   = "UPDATE meta SET first_seq = ?"
)

// relaxed is a transaction without an fsync of its own: the next durable one
// makes it durable too, because both are in the same write-ahead log in their
// order. After a power cut it may not have happened, and nothing after it has
// then. So it is only for what nobody is told of before a durable transaction.
func (w *writer) relaxed(f func() error) error {
	if err := w.conn.run("PRAGMA synchronous = NORMAL"); err != nil {
		return err
	}
	err := w.transaction(f)
	if e := w.conn.run("PRAGMA synchronous = " + w.synchronous); e != nil {
		return errors.Join(err, fmt.Errorf("commit durably again: %w: %w", ledger.ErrStorageFailed, e))
	}
	return err
}

// nextStep is the size of the step after one that took so long: half the way
// to the size that would have taken pruneFor.
func nextStep(size int64, took time.Duration) int64 {
	fits := float64(size) * float64(pruneFor) / float64(max(took, 1))
	return int64(min(max((float64(size)+fits)/2, pruneLeast), pruneMost))
}

// UsedBytes implements persist.Pruner: the pages in use, because the file
// itself keeps its size after a prune and fills up again.
func (s *View) UsedBytes(ctx context.Context) (used int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		_, err := c.queryOne(`SELECT (p.page_count - f.freelist_count) * s.page_size
			FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`, func(r row) { used = r.Int(0) })
		return err
	})
	return used, err
}
