package engine

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Rows is what the engine reads of the store.
type Rows interface {
	turns.Rows
	InboxRows
}

// InboxRows is what the engine reads of inboxes. All methods may be called from
// many goroutines. Times are in milliseconds.
type InboxRows interface {
	// ReadToDecide calls f with one snapshot of all rows, on connections that only
	// the engine uses. f must not ask for another one: they are few.
	ReadToDecide(ctx context.Context, f func(ledger.Reader) error) error
	// LoadInbox reads the row of an inbox, nil if there is none.
	LoadInbox(ctx context.Context, threadID string) (*inbox.Inbox, error)
	// DueInboxes lists the threads whose inbox has something to do by until, the
	// earliest first and at most limit, and when the next one has; 0 = never.
	DueInboxes(ctx context.Context, until int64, limit int) (threadIDs []string, next int64, err error)
	// InboxesWithNew lists the threads that have new entries.
	InboxesWithNew(ctx context.Context) ([]string, error)
	// InboxesToExpire lists threads with items that were acknowledged before, or
	// that were closed before, at most limit.
	InboxesToExpire(ctx context.Context, before int64, limit int) ([]string, error)
	// RemovedInboxes lists threads without an inbox that still have items of one.
	RemovedInboxes(ctx context.Context) ([]string, error)
	// SubscriptionsOf lists the subscriptions of a source, of all threads.
	SubscriptionsOf(ctx context.Context, source string) ([]inbox.Subscription, error)
	// Payloads reads the events of raw items by their seqs. One that was pruned is
	// missing.
	Payloads(r ledger.Reader, seqs []int64) (map[int64]*inbox.Received, error)
}

// lastWord returns the seq of the newest item that the agent has made in the live attempt of a
// turn, 0 without one.
func (r *rules) lastWord(t *turns.Turn) (seq int64, err error) {
	var kinds []any
	for _, k := range items.Kinds {
		if speaks(k) {
			kinds = append(kinds, string(k))
		}
	}
	err = r.inboxes.ReadToDecide(context.Background(), func(rd ledger.Reader) error {
		return rd.Scan(ledger.Range{
			Index: items.OfThread, Prefix: []any{t.ThreadID}, Newest: true, Until: t.CreatedSeq, Live: turns.SupersededItems,
			Only: []ledger.Only{{Column: "turn_id", Values: []any{t.TurnID}}, {Column: "type", Values: kinds}}, First: 1,
		}, func(v ledger.Values) error {
			seq = v.Int(0)
			return ledger.ErrEnough
		})
	})
	return seq, err
}

// oneByOne is a Reader whose every call has a snapshot of its own. The rows of a
// thread's inbox are changed by its actor only, so that the actor sees the same as
// in one snapshot. While a scan visits rows, other reads use its snapshot: a second one
// could wait for the connection that the first has.
type oneByOne struct {
	rows InboxRows
	scan ledger.Reader // of the scan that is under way; nil without one
}

// Get implements ledger.Reader.
func (o *oneByOne) Get(ix *ledger.Index, key ...any) (v ledger.Values, err error) {
	if o.scan != nil {
		return o.scan.Get(ix, key...)
	}
	err = o.rows.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		v, err = r.Get(ix, key...)
		return err
	})
	return v, err
}

// Scan implements ledger.Reader.
func (o *oneByOne) Scan(rg ledger.Range, f func(ledger.Values) error) error {
	if o.scan != nil {
		return o.scan.Scan(rg, f)
	}
	return o.rows.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		o.scan = r
		defer func() { o.scan = nil }()
		return r.Scan(rg, f)
	})
}
