package dispatch

import (
	"context"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// lookUp reads the subscription of this id, nil if there is none, and after which seq
// a new one begins.
func (s *Service) lookUp(ctx context.Context, c *bridges.CreateSubscription) (old *bridges.Subscription, after int64, err error) {
	at, err := s.cfg.Position(ctx)
	if err != nil {
		return nil, 0, err
	}
	head := at.Latest
	err = s.cfg.Read(ctx, func(tx ledger.Reader) error {
		v, err := tx.Get(bridges.SubscriptionByID, c.SubscriptionID)
		if err != nil {
			return err
		}
		if v != nil {
			if old, err = bridges.ReadSubscription(v); err == nil && c.TurnID != "" && c.ThreadID == "" {
				c.ThreadID = old.ThreadID // also if its turn is no longer kept
			}
			return err
		}
		var of *turns.Turn
		if c.TurnID != "" {
			if of, err = turnOf(tx, c); err != nil {
				return err
			}
		}
		if c.ThreadID != "" {
			if v, err = tx.Get(threads.ByID, c.ThreadID); err != nil {
				return err
			}
			if v == nil {
				return threads.ErrNotFound
			}
		}
		switch {
		case c.From != nil && c.From.Beginning:
			return nil
		case c.From != nil && c.From.Seq != nil:
			if after = *c.From.Seq; after > head {
				return bridges.ErrAhead
			}
			return nil
		case c.From != nil || c.ThreadID == "":
			after = head
			return nil
		case of != nil:
			after = of.CreatedSeq - 1
			return nil
		}
		after, err = newestTurn(tx, c.ThreadID, head)
		return err
	})
	return old, after, err
}

// turnOf reads the turn of a new subscription, which is of the turn's thread.
func turnOf(tx ledger.Reader, c *bridges.CreateSubscription) (*turns.Turn, error) {
	v, err := tx.Get(turns.ByID, c.TurnID)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, turns.ErrNotFound
	}
	t, err := turns.Read(v)
	if err != nil {
		return nil, err
	}
	if c.ThreadID != "" && c.ThreadID != t.ThreadID {
		return nil, turns.Invalid("thread_id", turns.ReasonInvalid, "the turn is of another thread: leave thread_id out")
	}
	c.ThreadID = t.ThreadID
	return t, nil
}

// newestTurn returns the seq before the first event of the thread's active or newest
// turn, so that a subscription to a task that is running gets its end, also if that
// came a moment before.
func newestTurn(tx ledger.Reader, threadID string, head int64) (after int64, err error) {
	after = head
	err = tx.Scan(ledger.Range{Index: turns.OfThread, Prefix: []any{threadID}, Newest: true}, func(v ledger.Values) error {
		t, err := turns.Read(v)
		if err != nil {
			return err
		}
		if t.State == turns.Queued && t.Attempt <= 1 {
			return nil // it has not begun; the one before it may be active
		}
		after = t.CreatedSeq - 1
		return ledger.ErrEnough
	})
	return after, err
}
