package inbox

import (
	"math"
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// flushAt returns when a digest is posted at the latest that an item of the group joins; d is nil
// if it opens the digest. A digest in which nothing but passive items waits is posted when its
// time is over.
func flushAt(b *Book, d *Digest, g *Grouping) notify.Time {
	waits := d != nil && d.Pending > d.Passive
	switch first := b.Now; {
	case g.Flush == FlushPassive && d != nil && d.Pending > 0: // the clock may have been set back
		return earlier(time.UnixMilli(d.FlushAt), b.Now.Add(b.Settings.MaxDigestAge))
	case g.Flush == FlushPassive:
		return notify.TimeOf(b.Now.Add(b.Settings.MaxDigestAge))
	default:
		window, most := b.Settings.Window, b.Settings.MaxDelay
		if g.ResourceRef == "" {
			window, most = b.Settings.WakeWindow, fallbackWindows*b.Settings.WakeWindow
		}
		if waits {
			first = d.PendingAt
		}
		return earlier(first.Add(most), b.Now.Add(window))
	}
}

// newestLike returns the newest item of the digest that is about the same, nil if there is none.
func newestLike(b *Book, d *Digest, it *Item) *Raw {
	if d == nil || it.About == "" {
		return nil
	}
	r, _ := b.rows.Row(RawTable, AboutKey{d.Seq, it.About}).(*Raw)
	return r
}

func earlier(x, y time.Time) notify.Time {
	if y.Before(x) {
		x = y
	}
	return notify.TimeOf(x)
}

// digestFor returns the open digest that an item joins; nil if it opens another
// one. What is pending in the digest before is then flushed.
func digestFor(b *Book, g *Grouping, source string) *Digest {
	d, _ := b.rows.Row(DigestTable, OpenKey{b.rows.threadID, source, g.ResourceRef, g.EventFamily}).(*Digest)
	if d == nil {
		return nil
	}
	if g.Breaks != BreaksBefore && b.Now.Sub(d.OpenedAt.Time) <= b.Settings.MaxDigestAge {
		return d
	}
	if d.Pending > 0 {
		b.flush(d, ReasonRollover, true)
	}
	b.stats.closed(ReasonRollover)
	return nil
}

// flush posts a snapshot of all items of the digest that are not acknowledged. At least one
// must be pending. closes says that the digest takes no further items.
func (b *Book) flush(d *Digest, reason Reason, closes bool) notify.ID {
	added := make([]notify.ID, 0, d.Pending)
	b.rows.Rows(RawTable, group(d.Seq), func(row ledger.Row) bool {
		if r := row.(*Raw); r.AckedSeq == 0 {
			added = append(added, RawID(r.Seq))
			b.stats.waited(b.Now.Sub(r.ReceivedAt.Time))
		}
		return len(added) < d.Pending
	})
	slices.Reverse(added)
	var newest *Raw
	if d.Subjects == 0 { // something newer about each was acknowledged before they came
		shown := *d
		newest = shown.show(b.rows, unackedOf(b, d))
		d = &shown
	} else {
		newest = d.newestCounted(b.rows)
	}
	id := b.postSnapshot(d, newest, reason, added, d.Unacked+d.Pending, d.LastRaw, closes)
	if closes && reason != ReasonRollover {
		b.stats.closed(reason)
	}
	return id
}

// unackedOf returns the items of the digest that are not acknowledged, the newest first.
func unackedOf(b *Book, d *Digest) (list []*Raw) {
	b.rows.Rows(RawTable, group(d.Seq), func(row ledger.Row) bool {
		if r := row.(*Raw); r.AckedSeq == 0 {
			list = append(list, r)
		}
		return true
	})
	return list
}

// postSnapshot posts a snapshot of count items up to the raw item last; newest is the one of them
// to which it leads. It supersedes the snapshot before, unless that is fully acknowledged.
func (b *Book) postSnapshot(d *Digest, newest *Raw, reason Reason, added []notify.ID, count int, last int64, closes bool) notify.ID {
	seq := b.rows.unit.NextSeq()
	body := &Posted{
		Entry: Entry{
			EntryID: EntryID(seq), Kind: KindSnapshot, DigestID: DigestID(d.Seq), Revision: d.Revision + 1, Source: d.Source,
			ResourceRef: d.ResourceRef, EventFamily: d.EventFamily, Fallback: d.ResourceRef == "", Summary: summaryOfDigest(d, count, last), Count: count,
			LastRawID: RawID(last), FirstAt: d.FirstAt, LastAt: d.LastAt, PostedAt: b.Now,
		},
		Reason: reason, NewRawIDs: added, ClosesDigest: closes,
	}
	if newest != nil {
		body.Entry.Link = linkTo(b.rows, newest)
	}
	if old, ok := b.rows.Row(EntryTable, d.Newest).(*Entry); ok && old.AckedAt.IsZero() {
		body.SupersedesEntryID = old.EntryID
	}
	b.add(notify.InboxPosted, body)
	b.stats.posted(reason, count, len(added))
	return body.Entry.EntryID
}

// FlushDue flushes the digests whose time has come.
func (b *Book) FlushDue() error {
	for _, d := range b.rows.pending(b.Now.Milli()) {
		b.flush(d, ReasonWindow, false)
	}
	return b.rows.err
}

// FlushAll flushes everything that is pending.
func (b *Book) FlushAll(reason Reason) ([]notify.ID, error) {
	ids := []notify.ID{}
	for _, d := range b.rows.pending(math.MaxInt64 - 1) {
		ids = append(ids, b.flush(d, reason, false))
	}
	return ids, b.rows.err
}

// Flush flushes one digest for inbox/flush, or everything if id is "". A digest without
// pending items gives no entry.
func (b *Book) Flush(id notify.ID) ([]notify.ID, error) {
	if id == "" {
		return b.FlushAll(ReasonManual)
	}
	seq, ok := id.Seq(DigestPrefix)
	if !ok {
		return nil, ErrDigestNotFound
	}
	d, ok := b.rows.Row(DigestTable, seq).(*Digest)
	switch {
	case b.rows.err != nil:
		return nil, b.rows.err
	case !ok || d.ThreadID != b.rows.threadID:
		return nil, ErrDigestNotFound
	case d.Pending == 0:
		return []notify.ID{}, nil
	}
	return []notify.ID{b.flush(d, ReasonManual, false)}, b.rows.err
}
