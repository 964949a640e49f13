package inbox

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

const (
	// MaxAckIDs is how many entries, or items, one inbox/ack names at most.
	MaxAckIDs = 1000
	// ackAtOnce is after how many items a unit acknowledges no further entry: the commit of
	// 1,000 takes some 130 ms, and nobody else writes meanwhile.
	ackAtOnce = 1000
)

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Ack) Check() error {
	n := 0
	for _, set := range []bool{c.EntryIDs != nil, c.ThroughEntryID != "", c.All, c.RawIDs != nil} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return turns.Invalid("entry_ids", turns.ReasonRequired, "give exactly one of entry_ids, through_entry_id, all and raw_ids")
	case c.EntryIDs != nil && (len(c.EntryIDs) == 0 || len(c.EntryIDs) > MaxAckIDs):
		return turns.Invalid("entry_ids", turns.ReasonRange, "must have 1 to %d ids", MaxAckIDs)
	case c.RawIDs != nil && (len(c.RawIDs) == 0 || len(c.RawIDs) > MaxAckIDs):
		return turns.Invalid("raw_ids", turns.ReasonRange, "must have 1 to %d ids", MaxAckIDs)
	case c.All && c.AsOfSeq == nil:
		return turns.Invalid("as_of_seq", turns.ReasonRequired, "all needs the as_of_seq of a read")
	case !c.All && c.AsOfSeq != nil:
		return turns.Invalid("as_of_seq", turns.ReasonInvalid, "belongs to all only")
	case c.AsOfSeq != nil && *c.AsOfSeq < 0:
		return turns.Invalid("as_of_seq", turns.ReasonRange, "must not be negative")
	}
	return nil
}

// Ack acknowledges exactly the items that c names, or those of the entries that it selects, or a
// piece of them. If an id is unknown, nothing is acknowledged. Errors: ErrEntryNotFound,
// ErrEntryExpired, ErrItemNotFound, ErrItemExpired; a *turns.InvalidError with ReasonPending.
func (b *Book) Ack(c Ack) (AckResult, error) {
	if c.RawIDs != nil {
		items, err := b.rows.named(c.RawIDs)
		if err != nil {
			return AckResult{}, err
		}
		return ackItems(b, items, cmp.Or(c.By, ByClient))
	}
	entries, next, err := b.selected(c)
	if err != nil {
		return AckResult{}, err
	}
	r, err := b.ackEntries(entries, cmp.Or(c.By, ByClient), "")
	r.Next = next
	return r, err
}

// AckTold acknowledges the entries that a turn was told, when it completes.
func (b *Book) AckTold(turnID string) error {
	_, err := b.ackEntries(b.rows.toldBy(turnID), ByTurn, turnID)
	return err
}

// selected lists the entries that c selects, the oldest first. If there are more than one
// piece, next is where the next one begins.
func (b *Book) selected(c Ack) (list []*Entry, next int64, err error) {
	switch {
	case c.ThroughEntryID != "":
		e, err := b.rows.entryOf(c.ThroughEntryID)
		if err != nil {
			return nil, 0, about("through_entry_id", err)
		}
		list, next = b.rows.visibleAt(e.Seq-1, c.After, ackAtOnce)
		if next != 0 || c.After != 0 {
			list = atLast(b.rows, e, list, next == 0)
		}
		if next == 0 {
			list = append(list, e)
		}
		return list, next, b.rows.err
	case c.All:
		list, next = b.rows.visibleAt(*c.AsOfSeq, c.After, ackAtOnce)
		return list, next, b.rows.err
	}
	for i, id := range c.EntryIDs {
		e, err := b.rows.entryOf(id)
		if err != nil {
			return nil, 0, about(fmt.Sprintf("entry_ids[%d]", i), err)
		}
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list, 0, b.rows.err
}

// atLast moves the earlier snapshots of e's digest from the list of their piece to
// that of the last piece, which has e: what they leave of the digest would be posted as a
// remainder, and e acknowledges it.
func atLast(rows *overlay, e *Entry, list []*Entry, last bool) []*Entry {
	if e.Digest == 0 {
		return list
	}
	list = slices.DeleteFunc(list, func(other *Entry) bool { return other.Digest == e.Digest })
	if last {
		before, _ := rows.visibleAt(e.Seq-1, 0, math.MaxInt) // the rest is acknowledged: few
		for _, other := range before {
			if other.Digest == e.Digest {
				list = append(list, other)
			}
		}
	}
	return list
}

// ackEntries acknowledges the items of entries, and posts what remains of the
// snapshots that it acknowledges in part.
func (b *Book) ackEntries(entries []*Entry, by By, turnID string) (AckResult, error) {
	left := newUnacked(b.rows)
	var ids []notify.ID
	var digests []int64
	for _, e := range entries {
		switch {
		case !left.any(e):
			continue
		case e.Digest != 0 && !slices.Contains(digests, e.Digest):
			digests = append(digests, e.Digest)
		}
		ids = append(ids, e.EntryID)
	}
	if b.rows.err != nil || len(ids) == 0 {
		return AckResult{RemainderEntryIDs: []notify.ID{}}, b.rows.err
	}
	for _, seq := range digests { // the visible snapshot of each, if nothing of it is left
		d := b.rows.Row(DigestTable, seq).(*Digest)
		if id := EntryID(d.Newest); left.reached[seq] == d.Unacked && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return addAck(b, &Acked{EntryIDs: ids, RawCount: left.total(), By: by, TurnID: turnID}, digests)
}

// ackItems acknowledges these items, and posts what remains of the snapshots that show them.
func ackItems(b *Book, items []*Raw, by By) (AckResult, error) {
	body := &Acked{EntryIDs: []notify.ID{}, By: by}
	var digests []int64
	named := map[int64]int{} // by digest
	for _, r := range items {
		if r.AckedSeq != 0 {
			continue
		}
		body.RawIDs = append(body.RawIDs, RawID(r.Seq))
		if r.Digest == 0 {
			if e := b.rows.entryOfItem(r.Seq); e != nil {
				body.EntryIDs = append(body.EntryIDs, e.EntryID)
			}
			continue
		}
		if named[r.Digest] == 0 {
			digests = append(digests, r.Digest)
		}
		named[r.Digest]++
	}
	if b.rows.err != nil || len(body.RawIDs) == 0 {
		return AckResult{RemainderEntryIDs: []notify.ID{}}, b.rows.err
	}
	for _, seq := range digests {
		if d := b.rows.Row(DigestTable, seq).(*Digest); named[seq] == d.Unacked {
			body.EntryIDs = append(body.EntryIDs, EntryID(d.Newest))
		}
	}
	body.RawCount = len(body.RawIDs)
	return addAck(b, body, digests)
}

// addAck adds the event, and posts what remains of the visible snapshots of these digests.
func addAck(b *Book, body *Acked, digests []int64) (AckResult, error) {
	out := AckResult{AckedItems: body.RawCount, RemainderEntryIDs: []notify.ID{}}
	before := b.rows.acked
	b.add(notify.InboxAcked, body)
	out.AckedEntries = b.rows.acked - before
	for _, seq := range digests {
		d := b.rows.Row(DigestTable, seq).(*Digest)
		if !d.Open && d.Unacked+d.Pending == 0 {
			b.stats.closed("")
		}
		if d.Unacked > 0 {
			out.RemainderEntryIDs = append(out.RemainderEntryIDs, postRemainder(b, d))
		}
	}
	return out, b.rows.err
}

// unackedItems counts the items of entries that are not acknowledged. It reads the items of
// each digest once, however many of its snapshots are counted.
type unackedItems struct {
	rows    *overlay
	digests map[int64][]int64 // seqs of the posted items of a digest, the newest first
	reached map[int64]int     // by digest: how many of them the counted entries reach
	items   map[int64]bool    // seqs of items that belong to no digest
}

func newUnacked(rows *overlay) *unackedItems {
	return &unackedItems{rows: rows, digests: map[int64][]int64{}, reached: map[int64]int{}, items: map[int64]bool{}}
}

// any reports whether the entry has such an item.
func (u *unackedItems) any(e *Entry) bool {
	if e.Digest == 0 {
		r, ok := u.rows.Row(RawTable, e.LastRaw).(*Raw)
		if ok = ok && r.AckedSeq == 0; ok {
			u.items[e.LastRaw] = true
		}
		return ok
	}
	list, ok := u.digests[e.Digest]
	if !ok {
		u.rows.Rows(RawTable, group(e.Digest), func(row ledger.Row) bool {
			if r := row.(*Raw); r.AckedSeq == 0 {
				list = append(list, r.Seq)
			}
			return true
		})
		u.digests[e.Digest] = list
	}
	n := len(list) - sort.Search(len(list), func(i int) bool { return order(list[i]) <= order(e.LastRaw) })
	u.reached[e.Digest] = max(u.reached[e.Digest], n)
	return n > 0
}

// total returns how many such items the counted entries have.
func (u *unackedItems) total() int {
	n := len(u.items)
	for _, of := range u.reached {
		n += of
	}
	return n
}

// postRemainder posts a snapshot of what is left of the digest's posted items.
// Pending ones keep their window.
func postRemainder(b *Book, d *Digest) notify.ID {
	shown := unackedOf(b, d)
	if len(shown) <= d.Pending { // Err says why they cannot be read
		return ""
	}
	shown = shown[d.Pending:] // the newest are the pending ones
	rest := *d
	newest := rest.show(b.rows, shown)
	if said := d.lastSaid(b.rows); said != nil && shown[0].Seq == d.LastRaw {
		newest = said
	}
	return b.postSnapshot(&rest, newest, ReasonRemainder, []notify.ID{}, d.Unacked, shown[0].Seq, false)
}
