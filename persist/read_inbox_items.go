package persist

import (
	"context"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// InboxItems implements inbox.Reader.
func (r *Reads) InboxItems(ctx context.Context, q inbox.ItemQuery) (inbox.ItemPage, error) {
	l, err := newListing(inbox.RawOfThread, q.Cursor, q.Limit, q.Newest)
	if err != nil {
		return inbox.ItemPage{}, err
	}
	l.find(inbox.RawOfThread, q.ThreadID)
	l.equal("source", q.Source)
	l.rows.Only = append(l.rows.Only, ledger.Only{Column: "expired", Values: []any{int64(0)}})
	if q.State == inbox.ItemPending || q.State == inbox.ItemPosted {
		l.rows.Only = append(l.rows.Only, ledger.Only{Column: "acked_seq", Values: []any{int64(0)}})
	}
	return in(ctx, r, ForScans, func(s Snapshot) (out inbox.ItemPage, err error) {
		if _, out.Latest, err = s.Ends(); err != nil {
			return out, err
		}
		box, err := inboxOf(s, q.ThreadID)
		if err != nil {
			return out, err
		}
		if q.DigestID != "" {
			seq, err := digestOf(s, q, box)
			if err != nil {
				return out, err
			}
			l.find(inbox.RawOfDigest, seq)
		}
		switch {
		case box == nil, // items of one that was removed may be left
			q.State == inbox.ItemPending && box.PendingItems == 0,
			q.State == inbox.ItemPosted && box.UnackedItems == box.PendingItems:
			return out, nil
		}
		items := &itemStates{s: s, digests: map[int64]digestState{}}
		list, err := listOf(s, l, func(v ledger.Values) (*listedItem, error) { return items.listed(inbox.ReadRaw(v), q.State) })
		if err != nil {
			return out, err
		}
		for i := range list.Rows {
			out.Items = append(out.Items, list.Rows[i].RawItem)
		}
		out.Next = list.Next
		return out, nil
	})
}

// digestOf finds the digest that a query names.
func digestOf(s Snapshot, q inbox.ItemQuery, box *inbox.Inbox) (int64, error) {
	seq, ok := q.DigestID.Seq(inbox.DigestPrefix)
	if !ok || box == nil {
		return 0, inbox.ErrUnknownDigest
	}
	d, err := one(s, inbox.ReadDigest, inbox.DigestBySeq, seq)
	if err == nil && (d == nil || d.ThreadID != q.ThreadID) {
		err = inbox.ErrUnknownDigest
	}
	return seq, err
}

// listedItem is an item in a page of inbox/items.
type listedItem struct {
	inbox.RawItem
	read int // bytes of its event
}

// payloadShare is which part of what is read of an item counts in a page that does not show its
// payload: such a page reads at most so many times what it may have.
const payloadShare = 8

// Bytes returns how much it counts in a page.
func (it *listedItem) Bytes() int {
	n := len(it.NativeID) + len(it.Sender) + len(it.Summary) + len(it.About) + len(it.Outcome)
	for _, id := range it.SubscriptionIDs {
		n += len(id)
	}
	return max(n, it.read/payloadShare)
}

// itemStates finds the states of items. It reads each digest once.
type itemStates struct {
	s       Snapshot
	digests map[int64]digestState
}

// digestState is a digest with its newest snapshot, which may be nil.
type digestState struct {
	digest *inbox.Digest
	newest *inbox.Entry
}

// listed returns the item of a row, nil if it has another state, or is expired because its
// event was removed.
func (i *itemStates) listed(raw *inbox.Raw, want inbox.ItemState) (*listedItem, error) {
	state, err := i.of(raw)
	if err != nil || want != "" && state != want {
		return nil, err
	}
	body, size, err := received(i.s, raw.Seq)
	if err != nil || body == nil {
		return nil, err
	}
	return &listedItem{inbox.ItemOf(raw, body, state), size}, nil
}

func (i *itemStates) of(raw *inbox.Raw) (inbox.ItemState, error) {
	switch {
	case raw.AckedSeq != 0:
		return inbox.ItemAcked, nil
	case raw.Digest == 0:
		return inbox.ItemPosted, nil
	}
	of, known := i.digests[raw.Digest]
	if !known {
		var err error
		if of.digest, err = one(i.s, inbox.ReadDigest, inbox.DigestBySeq, raw.Digest); err != nil {
			return "", err
		}
		if of.digest != nil {
			if of.newest, err = one(i.s, entryOf, inbox.EntryBySeq, of.digest.Newest); err != nil {
				return "", err
			}
		}
		i.digests[raw.Digest] = of
	}
	if of.digest != nil && of.digest.IsPending(of.newest, raw) {
		return inbox.ItemPending, nil
	}
	return inbox.ItemPosted, nil
}

// maxItemIDs is how many items of an entry inbox/read names.
const maxItemIDs = 1000

// nameItems sets ItemIDs of entries. It returns of how many, at least one: a page ends before it
// would look at too many rows, or become too large.
func nameItems(s Snapshot, entries []inbox.Entry) (int, error) {
	const idBytes = 24 // of an id in JSON
	looked, bytes := 0, 0
	for n := range entries {
		e := &entries[n]
		if n > 0 && looked >= turns.MaxListScan {
			return n, nil
		}
		shown, err := shownItems(s, e, 0, maxItemIDs, turns.MaxListScan-looked)
		if err != nil {
			return 0, err
		}
		looked += shown.looked
		bytes += e.Bytes() + rowBytes + idBytes*len(shown.items)
		if n > 0 && (bytes > listBytes || shown.next != 0 && looked >= turns.MaxListScan) {
			return n, nil
		}
		e.ItemIDs, e.MoreItems = make([]notify.ID, 0, len(shown.items)), shown.next != 0
		for _, raw := range shown.items {
			if !raw.Expired {
				e.ItemIDs = append(e.ItemIDs, inbox.RawID(raw.Seq))
			}
		}
	}
	return len(entries), nil
}
