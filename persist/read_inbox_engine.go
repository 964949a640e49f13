package persist

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// ReadToDecide calls f with the rows of one snapshot, which ends when f returns.
// It is for what the engine decides on, such as a unit of an inbox.Book.
func (r *Reads) ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error {
	return r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error { return f(s) })
}

// ReadRows calls f with one snapshot of the whole store, which ends when f returns.
// It is for checks that compare many rows.
func (r *Reads) ReadRows(ctx context.Context, f func(Snapshot) error) error {
	return r.db.Snapshot(ctx, ForScans, f)
}

// LoadInbox reads the row of an inbox; nil if the thread has none.
func (r *Reads) LoadInbox(ctx context.Context, threadID string) (*inbox.Inbox, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (*inbox.Inbox, error) { return inboxOf(s, threadID) })
}

// The first columns of inboxes are the thread, when it is due, whether it has new
// entries, and what is counted.
const (
	inboxThread  = 1
	inboxDue     = 2
	inboxPending = 4
	inboxUnacked = 5
)

// DueInboxes lists the threads whose inboxes have something to do by themselves
// until a time in milliseconds, the earliest first, at most limit of them. next is
// when the first inbox after those is due, which may have passed too; 0 = never,
// as things are.
func (r *Reads) DueInboxes(ctx context.Context, until int64, limit int) (ids []string, next int64, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		return s.Scan(ledger.Range{Index: inbox.ByDue, After: int64(0), First: inboxDue}, func(v ledger.Values) error {
			if at := v.Int(inboxDue - 1); at > until || len(ids) >= limit {
				next = at
				return ledger.ErrEnough
			}
			ids = append(ids, v.Text(0))
			return nil
		})
	})
	return ids, next, err
}

// InboxesWithNew lists the threads whose inboxes have new entries, in the order of
// their ids.
func (r *Reads) InboxesWithNew(ctx context.Context) (ids []string, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		return s.Scan(ledger.Range{Index: inbox.WithNew, After: "", First: inboxThread}, func(v ledger.Values) error {
			ids = append(ids, v.Text(0))
			return nil
		})
	})
	return ids, err
}

// InboxesToExpire lists the threads whose inboxes have something that was
// acknowledged before a time in milliseconds, or whose thread was closed before, the
// oldest first, at most limit of them.
func (r *Reads) InboxesToExpire(ctx context.Context, ackedBefore int64, limit int) (ids []string, err error) {
	err = r.db.Snapshot(ctx, ForEngine, func(s Snapshot) error {
		return s.Scan(ledger.Range{Index: inbox.ByAcked, After: int64(0), Until: ackedBefore, First: inboxThread}, func(v ledger.Values) error {
			if len(ids) >= limit {
				return ledger.ErrEnough
			}
			ids = append(ids, v.Text(0))
			return nil
		})
	})
	return ids, err
}

// RemovedInboxes lists the threads whose inbox was removed and of which raw items are
// left, in the order of their ids. It reads one item of each thread that has some,
// and is for the engine, which waits for it no longer than clients for a page.
func (r *Reads) RemovedInboxes(ctx context.Context) (ids []string, err error) {
	err = r.db.Snapshot(ctx, ForScans, func(s Snapshot) error {
		for thread, more := "", true; more; {
			more = false
			if err := s.Scan(ledger.Range{Index: inbox.RawOfThread, After: thread, First: 2}, func(v ledger.Values) error {
				thread, more = v.Text(1), true
				return ledger.ErrEnough
			}); err != nil || !more {
				return err
			}
			box, err := s.Get(inbox.ByThread, thread)
			if err != nil {
				return err
			}
			if box == nil {
				ids = append(ids, thread)
			}
		}
		return nil
	})
	return ids, err
}

// maxSubscribers bounds the subscriptions of one source: one for each of as many
// inboxes as a server can have.
const maxSubscribers = 100_000

// SubscriptionsOf lists the subscriptions of a source in all inboxes, the oldest
// first, at most 100,000 of them.
func (r *Reads) SubscriptionsOf(ctx context.Context, source string) ([]inbox.Subscription, error) {
	return in(ctx, r, ForEngine, func(s Snapshot) (list []inbox.Subscription, err error) {
		err = s.Scan(ledger.Range{Index: inbox.SubscriptionOfSource, Prefix: []any{source}}, func(v ledger.Values) error {
			if len(list) == maxSubscribers {
				return ledger.ErrEnough
			}
			sub, err := inbox.ReadSubscription(v)
			if err == nil {
				list = append(list, *sub)
			}
			return err
		})
		return list, err
	})
}

// Payloads reads the events of raw items by their seqs. Those that were removed
// from the log are missing in the result. The caller bounds how many it asks for.
func (r *Reads) Payloads(s ledger.Reader, seqs []int64) (map[int64]*inbox.Received, error) {
	found := make(map[int64]*inbox.Received, len(seqs))
	for _, seq := range seqs {
		body, _, err := received(s, seq)
		if err != nil {
			return nil, err
		}
		if body != nil {
			found[seq] = body
		}
	}
	return found, nil
}

// InboxTotals counts the pending and the unacknowledged raw items of all inboxes,
// for metrics. It reads a row of each inbox.
func InboxTotals(s ledger.Reader) (pending, unacked int64, err error) {
	err = s.Scan(ledger.Range{Index: inbox.ByThread, After: "", First: inboxUnacked}, func(v ledger.Values) error {
		pending += v.Int(inboxPending - 1)
		unacked += v.Int(inboxUnacked - 1)
		return nil
	})
	return pending, unacked, err
}

// NotWoken calls visit with the threads that are stalled, and with those that are held while
// something new waits, in no order: with what wakes are judged by. Closed threads may be
// among them.
func NotWoken(s ledger.Reader, visit func(*threads.Thread, *inbox.Inbox)) error {
	each := func(ix *ledger.Index, only func(*threads.Thread, *inbox.Inbox) bool) error {
		return s.Scan(ledger.Range{Index: ix, After: ""}, func(v ledger.Values) error {
			box, err := inbox.ReadRow(v)
			if err != nil {
				return err
			}
			row, err := s.Get(threads.BriefByID, box.ThreadID)
			if err != nil || row == nil {
				return err
			}
			t, err := threads.ReadBrief(row)
			if err == nil && only(t, box) {
				visit(t, box)
			}
			return err
		})
	}
	if err := each(inbox.Stopped, func(*threads.Thread, *inbox.Inbox) bool { return true }); err != nil {
		return err
	}
	return each(inbox.WithNew, func(t *threads.Thread, b *inbox.Inbox) bool { return t.Held && b.Stalled == "" })
}

var _ inbox.Reader = (*Reads)(nil)
