package persist

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// maxReviewsLookedAt bounds OldestWaits. With more reviews that wait, it is the oldest of
// those of the turns that began first.
const maxReviewsLookedAt = 1000

// Waits are since when the oldest question and the oldest end of a turn have waited for
// a person; zero = none waits.
type Waits struct{ Question, Review time.Time }

// OldestWaits reads what waits for a person, for metrics.
func (r *Reads) OldestWaits(ctx context.Context) (w Waits, err error) {
	err = r.db.Snapshot(ctx, ForScans, func(s Snapshot) error {
		pending := []ledger.Only{{Column: "status", Values: []any{string(items.StatusPending)}}}
		const until = 10 // created_at
		err := s.Scan(ledger.Range{Index: items.Open, After: int64(0), Only: pending, First: until}, func(v ledger.Values) error {
			w.Question = notify.TimeFromMilli(v.Int(until - 1)).Time
			return ledger.ErrEnough
		})
		if err != nil {
			return err
		}
		looked := 0
		return s.Scan(ledger.Range{Index: turns.PendingReviews, After: int64(0)}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			if w.Review.IsZero() || t.CompletedAt.Before(w.Review) {
				w.Review = t.CompletedAt.Time
			}
			if looked++; looked == maxReviewsLookedAt {
				return ledger.ErrEnough
			}
			return nil
		})
	})
	return w, err
}
