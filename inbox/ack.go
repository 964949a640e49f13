package inbox

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// MaxAckIDs is how many entries one inbox/ack names at most.
const MaxAckIDs = 1000

// Check checks what needs no inbox. The error is a *turns.InvalidError.
func (c *Ack) Check() error {
	n := 0
	for _, set := range []bool{c.EntryIDs != nil, c.ThroughEntryID != "", c.All} {
		if set {
			n++
		}
	}
	switch {
	case n != 1:
		return turns.Invalid("entry_ids", turns.ReasonRequired, "give exactly one of entry_ids, through_entry_id and all")
	case c.EntryIDs != nil && (len(c.EntryIDs) == 0 || len(c.EntryIDs) > MaxAckIDs):
		return turns.Invalid("entry_ids", turns.ReasonRange, "must have 1 to %d ids", MaxAckIDs)
	case c.All && c.AsOfSeq == nil:
		return turns.Invalid("as_of_seq", turns.ReasonRequired, "all needs the as_of_seq of a read")
	case !c.All && c.AsOfSeq != nil:
		return turns.Invalid("as_of_seq", turns.ReasonInvalid, "belongs to all only")
	case c.AsOfSeq != nil && *c.AsOfSeq < 0:
		return turns.Invalid("as_of_seq", turns.ReasonRange, "must not be negative")
	}
	return nil
}

// Ack acknowledges exactly the items of the entries that c selects. If an id is
// unknown, nothing is acknowledged. Errors: ErrEntryNotFound.
func (b *Book) Ack(c Ack) (AckResult, error) {
	entries, err := b.selected(c)
	if err != nil {
		return AckResult{}, err
	}
	return b.ackEntries(entries, ByClient, "")
}

// AckTold acknowledges the entries that a turn was told, when it completes.
func (b *Book) AckTold(turnID string) error {
	if b.rows.inbox().ToldTurn != turnID {
		return nil
	}
	_, err := b.ackEntries(b.rows.toldBy(turnID), ByTurn, turnID)
	return err
}

// selected lists the entries that c selects, the oldest first.
func (b *Book) selected(c Ack) (list []*Entry, err error) {
	switch {
	case c.ThroughEntryID != "":
		e, err := b.rows.entryOf(c.ThroughEntryID)
		if err != nil {
			return nil, err
		}
		list = b.rows.visibleAt(e.Seq - 1)
		return append(list, e), b.rows.err
	case c.All:
		return b.rows.visibleAt(*c.AsOfSeq), b.rows.err
	}
	for _, id := range c.EntryIDs {
		e, err := b.rows.entryOf(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list, b.rows.err
}

// ackEntries acknowledges the items of entries, and posts what remains of the
// snapshots that it acknowledges in part.
func (b *Book) ackEntries(entries []*Entry, by By, turnID string) (AckResult, error) {
	out := AckResult{RemainderEntryIDs: []notify.ID{}}
	seen := map[int64]bool{}
	perDigest := map[int64]int{}
	var ids []notify.ID
	var digests []int64
	for _, e := range entries {
		n := 0
		eachItem(b.rows, e, func(r *Raw) {
			if !seen[r.Seq] {
				seen[r.Seq] = true
				n++
			}
		})
		if n == 0 {
			continue
		}
		ids = append(ids, e.EntryID)
		if e.Digest != 0 {
			if perDigest[e.Digest] == 0 {
				digests = append(digests, e.Digest)
			}
			perDigest[e.Digest] += n
		}
	}
	if b.rows.err != nil || len(ids) == 0 {
		return out, b.rows.err
	}
	for _, seq := range digests { // the visible snapshot of each, if nothing of it is left
		d := b.rows.Row(DigestTable, seq).(*Digest)
		if id := EntryID(d.Newest); perDigest[seq] == d.Unacked && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	out.AckedItems = len(seen)
	before := b.rows.acked
	b.add(notify.InboxAcked, &Acked{EntryIDs: ids, RawCount: len(seen), By: by, TurnID: turnID})
	out.AckedEntries = b.rows.acked - before
	for _, seq := range digests {
		d := b.rows.Row(DigestTable, seq).(*Digest)
		if !d.Open && d.Unacked+d.Pending == 0 {
			b.stats.closed("")
		}
		if d.Unacked > 0 {
			out.RemainderEntryIDs = append(out.RemainderEntryIDs, b.postRemainder(d))
		}
	}
	return out, b.rows.err
}

// postRemainder posts a snapshot of what is left of the digest's posted items.
// Pending ones keep their window.
func (b *Book) postRemainder(d *Digest) notify.ID {
	rest, last := *d, int64(0)
	rest.FirstAt, rest.LastAt, rest.Senders = notify.Time{}, notify.Time{}, nil
	skip := d.Pending
	b.rows.Rows(RawTable, group(d.Seq), func(row ledger.Row) bool {
		r := row.(*Raw)
		switch {
		case r.AckedSeq != 0:
		case skip > 0: // the newest are the pending ones
			skip--
		default:
			if last == 0 {
				last = r.Seq
			}
			rest.include(r.OccurredAt, r.Sender)
		}
		return true
	})
	return b.postSnapshot(&rest, ReasonRemainder, []notify.ID{}, d.Unacked, last, false)
}
