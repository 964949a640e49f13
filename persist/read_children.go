package persist

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Children counts the child turns of a thread that have not ended, by their policy,
// and the ends of child turns in its inbox that its agent was not told. It also lists
// those child turns that the active turn still waits for, if it waits. A turn that waits
// for a review has not ended for its owner, and nothing waits for it.
func (r *Reads) Children(ctx context.Context, threadID string) (turns.Children, error) {
	return in(ctx, r, ForPoints, func(s Snapshot) (c turns.Children, err error) {
		waits := map[string]bool{}
		if err := s.Scan(ledger.Range{
			Index: turns.UnfinishedOfThread, Prefix: []any{threadID}, Only: []ledger.Only{{Column: "state", Values: []any{string(turns.Active)}}},
		}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err == nil {
				for _, id := range t.WaitsFor {
					waits[id] = true
				}
			}
			return err
		}); err != nil {
			return c, err
		}
		if err := s.Scan(ledger.Range{Index: turns.Unsettled, Prefix: []any{threadID}}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err != nil {
				return err
			}
			if waits[t.TurnID] && !t.InReview() {
				c.WaitsFor = append(c.WaitsFor, t.TurnID)
			}
			switch {
			case t.State.Ended() && !t.InReview():
				c.Untold++ // on its way to the inbox
			case t.AttentionPolicy == turns.Blocking:
				c.Blocking++
			default:
				c.Notify++
			}
			return nil
		}); err != nil {
			return c, err
		}
		return c, inbox.EachFreshEnd(s, threadID, func(inbox.End) bool {
			c.Untold++
			return true
		})
	})
}
