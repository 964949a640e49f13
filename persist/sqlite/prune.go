package sqlite

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed82539d15/holon/persist"
)

// pruneStep is how many events one transaction removes: a few milliseconds
// between two batches of the appender.
const pruneStep = 2000

// Prune removes the events below a seq, in steps between commits. It stops at
// the first event of an unfinished turn or open item, whose text is still
// folded from the log, and at the head. It needs Run.
func (s *Store) Prune(ctx context.Context, before int64) (persist.Pruned, error) {
	var out persist.Pruned
	for done := false; !done; {
		if err := s.Healthy(); err != nil {
			return out, err
		}
		if err := s.Do(ctx, func() (err error) {
			var n int64
			if n, err = s.w.pruneStep(before); err != nil {
				return err
			}
			out.First = s.w.Head().First
			out.Removed += n
			done = n == 0
			return nil
		}); err != nil {
			return out, fmt.Errorf("prune below %d: %w", before, err)
		}
	}
	return out, nil
}

// pruneStep removes the oldest events, at most so many, and returns how many
// it has removed.
func (w *writer) pruneStep(before int64) (n int64, err error) {
	first := w.Head().First
	to := min(before, w.Head().Latest+1)
	if to <= first {
		return 0, nil
	}
	needed, err := w.neededFrom()
	if err != nil {
		return 0, err
	}
	if to = min(to, needed, first+pruneStep); to <= first {
		return 0, nil
	}
	if err := w.transaction(func() error {
		if n, err = w.conn.exec("DELETE FROM events WHERE seq < ?", to); err != nil {
			return err
		}
		_, err := w.conn.exec("UPDATE meta SET first_seq = ?", to)
		return err
	}); err != nil {
		w.failIfLost(err)
		return 0, err
	}
	w.Pruned(to)
	w.since.add(int(n) * 256) // freed pages are written too
	w.failIfLost(w.Maintain())
	return n, nil
}

// neededFrom is the lowest seq that something unfinished is folded from.
func (w *writer) neededFrom() (int64, error) {
	needed := int64(math.MaxInt64)
	_, err := w.conn.queryOne(`SELECT min(
		coalesce((SELECT min(created_seq) FROM turns WHERE state IN ('queued', 'active')), ?1),
		coalesce((SELECT min(created_seq) FROM items WHERE status IN ('pending', 'in_progress')), ?1))`,
		func(r row) { needed = r.Int(0) }, int64(math.MaxInt64))
	return needed, err
}

// SeqAt implements persist.Pruner. Times follow seqs, so it looks at a few
// events only.
func (s *View) SeqAt(ctx context.Context, at time.Time) (seq int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		var first, latest int64
		if err := ends(c, &first, &latest); err != nil {
			return err
		}
		low, high := first, latest+1 // the answer is in [low, high]
		for low < high {
			mid := low + (high-low)/2
			early := false
			if _, err := c.queryOne("SELECT time FROM events WHERE seq = ?", func(r row) { early = r.Int(0) < at.UnixMilli() }, mid); err != nil {
				return err
			}
			if early {
				low = mid + 1
			} else {
				high = mid
			}
		}
		seq = low
		return nil
	})
	return seq, err
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
