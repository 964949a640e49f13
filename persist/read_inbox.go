package persist

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// rawOf, entryOf and timerOf read raw items, entries and timers with the
// signature that one and rows need.
func rawOf(v ledger.Values) (*inbox.Raw, error)     { return inbox.ReadRaw(v), nil }
func entryOf(v ledger.Values) (*inbox.Entry, error) { return inbox.ReadEntry(v), nil }
func timerOf(v ledger.Values) (*inbox.Timer, error) { return inbox.ReadTimer(v), nil }

func inboxOf(s ledger.Reader, threadID string) (*inbox.Inbox, error) {
	return one(s, inbox.ReadRow, inbox.ByThread, threadID)
}

// eventsBySeq finds an event by its seq.
var eventsBySeq = &ledger.Index{
	Table:   ledger.NewTable(ledger.Table{Name: "events", Columns: []string{"seq", "method", "params"}}),
	Columns: []string{"seq"},
}

// received reads the event of a raw item, and how many bytes it has. It is nil if
// the event was removed from the log.
func received(s ledger.Reader, seq int64) (*inbox.Received, int, error) {
	v, err := s.Get(eventsBySeq, seq)
	if err != nil || v == nil || v.Text(1) != notify.InboxReceived {
		return nil, 0, err
	}
	_, body, err := events.Decode(v.Text(1), v.Blob(2))
	if err != nil {
		return nil, 0, fmt.Errorf("read raw item %d: %w", seq, err)
	}
	return body.(*inbox.Received), len(v.Blob(2)), nil
}

// ReadInbox implements inbox.Reader.
func (r *Reads) ReadInbox(ctx context.Context, q inbox.Read) (out inbox.Page, err error) {
	ix := inbox.EntryOpen
	if q.IncludeAcked {
		ix = inbox.EntryOfThread
	}
	l, err := newListing(ix, "", q.Limit, q.Newest)
	if err != nil {
		return out, err
	}
	l.find(ix, q.ThreadID)
	if q.AfterEntryID != "" {
		after, ok := q.AfterEntryID.Seq(inbox.EntryPrefix)
		if !ok {
			return out, inbox.ErrEntryNotFound
		}
		l.moveTo(after)
	}
	if !q.IncludeSuperseded {
		l.rows.Only = []ledger.Only{{Column: "superseded_by", Values: []any{int64(0)}}}
	}
	return in(ctx, r, ForScans, func(s Snapshot) (inbox.Page, error) {
		box, err := inboxOf(s, q.ThreadID)
		if err != nil {
			return inbox.Page{}, err
		}
		if box == nil { // entries of one that was removed may be left
			_, latest, err := s.Ends()
			return inbox.Page{Latest: latest}, err
		}
		list, err := listOf(s, l, entryOf)
		if err != nil {
			return inbox.Page{}, err
		}
		page := inbox.Page{Entries: list.Rows, Latest: list.Latest, UnackedEntries: box.UnackedEntries, PendingItems: box.PendingItems}
		if q.IncludeItemIDs {
			kept, err := nameItems(s, page.Entries)
			if err != nil {
				return inbox.Page{}, err
			}
			if kept < len(page.Entries) {
				page.Entries, list.Next = page.Entries[:kept], strconv.FormatInt(page.Entries[kept-1].Seq, 10)
			}
		}
		if list.Next != "" {
			seq, err := strconv.ParseInt(list.Next, 10, 64)
			if err != nil {
				return inbox.Page{}, err
			}
			page.Next = inbox.EntryID(seq)
		}
		return page, nil
	})
}

// ExpandEntry implements inbox.Reader. An entry is expired as soon as one of its
// items is: what is left of it would look like all of it.
func (r *Reads) ExpandEntry(ctx context.Context, q inbox.Expand) (out inbox.Expanded, err error) {
	entry, ok := q.EntryID.Seq(inbox.EntryPrefix)
	if !ok {
		return out, inbox.ErrEntryNotFound
	}
	after := int64(0)
	if q.AfterRawID != "" {
		if after, ok = q.AfterRawID.Seq(inbox.RawPrefix); !ok {
			return out, inbox.ErrEntryNotFound
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return in(ctx, r, ForScans, func(s Snapshot) (out inbox.Expanded, err error) {
		if _, out.Latest, err = s.Ends(); err != nil {
			return out, err
		}
		e, err := one(s, entryOf, inbox.EntryBySeq, entry)
		if err != nil {
			return out, err
		}
		box, err := inboxOf(s, q.ThreadID)
		switch {
		case err != nil:
			return out, err
		case e == nil || e.ThreadID != q.ThreadID:
			return out, missing(s, q.ThreadID, box, entry, e == nil)
		case box == nil: // it was removed, and this is left
			return out, inbox.ErrEntryExpired
		}
		x := &expansion{s: s, entry: e, after: after, limit: min(limit, maxLimit), out: &out}
		return out, x.read()
	})
}

// missing returns the error for an entry that is not in the inbox: retention may have
// removed it if there is none at all, alone or with the inbox of a closed thread.
func missing(s Snapshot, threadID string, box *inbox.Inbox, entry int64, none bool) error {
	if !none {
		return inbox.ErrEntryNotFound
	}
	upTo := int64(0)
	if box != nil {
		upTo = box.Expired
	} else if t, err := readThread(s, threadID); err != nil {
		return err
	} else if t != nil && t.State == threads.Closed {
		upTo = t.LatestSeq
	}
	if entry <= upTo {
		return inbox.ErrEntryExpired
	}
	return inbox.ErrEntryNotFound
}

// expansion reads a page of the raw items of an entry.
type expansion struct {
	s     Snapshot
	entry *inbox.Entry
	after int64
	limit int
	out   *inbox.Expanded
	bytes int
}

func (x *expansion) read() error {
	shown, err := shownItems(x.s, x.entry, x.after, x.limit, turns.MaxListScan)
	if err != nil {
		return err
	}
	list, next := shown.items, shown.next
	if x.after == 0 && next == 0 && len(list) != x.entry.Count {
		return inbox.ErrEntryExpired // the row of an item that expired has been removed
	}
	x.out.Items = make([]inbox.RawItem, 0, len(list))
	for i, raw := range list {
		if raw.Expired {
			return inbox.ErrEntryExpired
		}
		body, size, err := received(x.s, raw.Seq)
		if err != nil {
			return err
		}
		if body == nil {
			return inbox.ErrEntryExpired
		}
		if size += rowBytes; i > 0 && x.bytes+size > listBytes {
			next = list[i-1].Seq
			break
		}
		x.bytes += size
		it := inbox.ItemOf(raw, body, inbox.ItemPosted)
		if raw.AckedSeq != 0 {
			it.State = inbox.ItemAcked
		}
		it.Payload, it.Truncated, it.TotalBytes = body.Payload, body.Truncated, body.TotalBytes
		x.out.Items = append(x.out.Items, it)
	}
	x.out.Next = inbox.RawID(next)
	return nil
}

// shown is a page of what an entry shows. next is where the next page begins, 0 after the last
// row; looked is how many rows were looked at.
type shown struct {
	items  []*inbox.Raw
	next   int64
	looked int
}

// shownItems lists the rows of the items that an entry shows after a seq, at most limit of them,
// and looks at most at so many rows.
func shownItems(s Snapshot, e *inbox.Entry, after int64, limit, most int) (out shown, err error) {
	if e.Digest == 0 {
		out.looked = 1
		raw, err := one(s, rawOf, inbox.RawBySeq, e.LastRaw)
		if raw != nil && raw.Seq > after {
			out.items = append(out.items, raw)
		}
		return out, err
	}
	last := after
	err = s.Scan(ledger.Range{Index: inbox.RawOfDigest, Prefix: []any{e.Digest}, After: after, Until: e.LastRaw + 1}, func(v ledger.Values) error {
		raw := inbox.ReadRaw(v)
		shows := raw.AckedSeq == 0 || raw.AckedSeq > e.Seq // others were acknowledged when it was posted
		if out.looked == most || shows && len(out.items) == limit {
			out.next = last
			return ledger.ErrEnough
		}
		out.looked++
		last = raw.Seq
		if shows {
			out.items = append(out.items, raw)
		}
		return nil
	})
	return out, err
}

// ListTimers implements inbox.Reader.
func (r *Reads) ListTimers(ctx context.Context, threadID string) ([]inbox.Timer, error) {
	return in(ctx, r, ForScans, func(s Snapshot) ([]inbox.Timer, error) {
		list, err := rows(s, timerOf, ledger.Range{Index: inbox.TimerOfThread, Prefix: []any{threadID}})
		return valuesOf(list), err
	})
}

// InboxOf implements inbox.Reader. Subscriptions are in the order of their
// creation.
func (r *Reads) InboxOf(ctx context.Context, threadID string) (inbox.Overview, error) {
	return in(ctx, r, ForPoints, func(s Snapshot) (out inbox.Overview, err error) {
		if out.Inbox, err = inboxOf(s, threadID); err != nil {
			return out, err
		}
		list, err := rows(s, inbox.ReadSubscription, ledger.Range{Index: inbox.SubscriptionByID, Prefix: []any{threadID}})
		slices.SortFunc(list, func(a, b *inbox.Subscription) int { return cmp.Compare(a.CreatedSeq, b.CreatedSeq) })
		out.Subscriptions = valuesOf(list)
		return out, err
	})
}

// InboxRows implements inbox.Reader.
func (r *Reads) InboxRows(ctx context.Context, threadIDs []string) (map[string]*inbox.Inbox, error) {
	return in(ctx, r, ForPoints, func(s Snapshot) (map[string]*inbox.Inbox, error) {
		found := make(map[string]*inbox.Inbox, len(threadIDs))
		for _, id := range threadIDs {
			box, err := inboxOf(s, id)
			if err != nil {
				return nil, err
			}
			if box != nil {
				found[id] = box
			}
		}
		return found, nil
	})
}

// valuesOf returns what the pointers point to.
func valuesOf[T any](list []*T) []T {
	out := make([]T, len(list))
	for i, row := range list {
		out[i] = *row
	}
	return out
}
