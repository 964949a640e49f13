package persist

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Children counts the child turns of a thread that have not ended, by their policy,
// and the ends of child turns in its inbox that its agent was not told. It also lists
// those child turns that the active turn still waits for, if it waits. A turn that waits
// for a review has not ended for its owner, and nothing waits for it. A closed thread has no
// room for more.
func (r *Reads) Children(ctx context.Context, threadID string) (turns.Children, error) {
	return in(ctx, r, ForPoints, func(s Snapshot) (c turns.Children, err error) {
		waits, active := map[string]bool{}, ""
		if err := s.Scan(ledger.Range{
			Index: turns.UnfinishedOfThread, Prefix: []any{threadID}, Only: []ledger.Only{{Column: "state", Values: []any{string(turns.Active)}}},
		}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err == nil {
				active = t.TurnID
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
			case t.State.Ended() && !t.InReview() && t.Job != "":
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
		if c.Room, err = roomOf(s, threadID, active); err != nil {
			return c, err
		}
		return c, inbox.EachFreshEnd(s, threadID, func(inbox.End) bool {
			c.Untold++
			return true
		})
	})
}

// roomOf returns how many more child turns of a thread may start now; active is its active turn,
// "" = none.
func roomOf(s Snapshot, threadID, active string) (int, error) {
	v, err := s.Get(threads.ByID, threadID)
	if v == nil || err != nil {
		return 0, err
	}
	t, err := threads.Read(v)
	if err != nil || !t.Open() {
		return 0, err
	}
	return turns.Room(s, threadID, active, t.Root())
}
