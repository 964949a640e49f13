package inbox

import (
	"slices"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// Ingest stores items and returns the result of each. Items that are stored
// already change nothing. Without ErrFull all of them are stored.
func (b *Book) Ingest(items []Item) ([]Ingested, error) {
	items = b.rows.identified(items, b.Now)
	senders, err := b.room(items)
	if err != nil {
		return nil, err
	}
	results := make([]Ingested, len(items))
	for i := range items {
		results[i] = b.ingest(&items[i], senders[i])
	}
	return results, b.rows.err
}

// IngestOrLag stores those items that fit, and counts the others. An event that was
// counted is neither stored nor counted again.
func (b *Book) IngestOrLag(items []Item) ([]Ingested, error) {
	results := make([]Ingested, 0, len(items))
	for i := range items {
		if b.rows.counted(&items[i]) {
			continue
		}
		senders, err := b.room(items[i : i+1])
		if err == ErrFull {
			b.Lag(items[i].Source, 1)
			if e := items[i].Event; e != nil {
				b.rows.lagThrough(e.SubscriptionID, e.Seq)
			}
			continue
		}
		results = append(results, b.ingest(&items[i], senders[0]))
	}
	return results, b.rows.err
}

// dailyFor is how long an identity is remembered that is only a hash of what was sent. A
// sender repeats what was not accepted within hours; what it says again a day later, such as
// that a disk is full, has happened again.
const dailyFor = 24 * time.Hour

// identified returns the items with the identities under which they are stored. It changes
// none of items, for a decision may be made twice.
func (v *overlay) identified(items []Item, now notify.Time) []Item {
	if !slices.ContainsFunc(items, func(it Item) bool { return it.Daily }) {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		if items[i].Daily {
			items[i].NativeID = v.daily(items[i], now)
		}
	}
	return items
}

// daily returns the identity of a Daily item: with the day (UTC) on which the first of those
// came that are the same within dailyFor.
func (v *overlay) daily(it Item, now notify.Time) string {
	hash := it.NativeID
	on := func(t time.Time) string { return hash + "@" + t.UTC().Format(time.DateOnly) }
	it.NativeID = on(now.Add(-dailyFor))
	if old := v.stored(&it); old != nil && now.Sub(old.ReceivedAt.Time) < dailyFor {
		return it.NativeID
	}
	return on(now.Time)
}

// room returns ErrFull if not all of the items fit. Items of child turns always
// do. It returns the senders of those that are new, which are in the payloads:
// these are parsed once.
func (b *Book) room(items []Item) (senders []string, err error) {
	senders = make([]string, len(items))
	box := b.rows.inbox()
	pending, unacked, bytes := box.PendingItems, box.UnackedItems, box.UnackedBytes
	counted := map[nativeKey]bool{} // an item that comes twice is counted once
	for i := range items {
		it := &items[i]
		key := nativeKey{it.Source, it.NativeID}
		if counted[key] || b.rows.stored(it) != nil {
			continue
		}
		counted[key] = true
		senders[i] = it.sender()
		if it.Source == SourceTurns {
			continue
		}
		unacked++
		bytes += sizeOf(&Received{Payload: it.Payload, Summary: it.Summary, NativeID: it.NativeID, Sender: senders[i], About: it.About, Outcome: it.Outcome, SubscriptionIDs: it.SubscriptionIDs, Link: it.Link})
		if it.groupIn(&b.Settings) != nil {
			pending++
		}
		if unacked > b.Bounds.MaxUnackedItems || bytes > b.Bounds.MaxUnackedBytes || pending > b.Bounds.MaxPendingItems {
			return senders, ErrFull
		}
	}
	return senders, b.rows.err
}

// nativeKey identifies a raw item by its source, for Row.
type nativeKey struct{ source, nativeID string }

// ingest stores an item. sender is what room has found.
func (b *Book) ingest(it *Item, sender string) Ingested {
	if old := b.rows.stored(it); old != nil || b.rows.err != nil {
		b.stats.Duplicates++
		if old == nil {
			return Ingested{}
		}
		return Ingested{RawID: RawID(old.Seq), DigestID: DigestID(old.Digest), Duplicate: true}
	}
	body := &Received{
		Source: it.Source, NativeID: it.NativeID, OccurredAt: it.occurred(b.Now), Sender: sender, Summary: it.Summary,
		Payload: it.Payload, Truncated: it.Truncated, TotalBytes: it.TotalBytes, Chain: it.Chain,
		About: it.About, Outcome: it.Outcome, SubscriptionIDs: it.SubscriptionIDs, Link: it.Link,
	}
	var d *Digest
	g := it.groupIn(&b.Settings)
	if g != nil {
		d = digestFor(b, g, it.Source)
		newest := newestLike(b, d, it)
		if newest != nil && it.OccurredAt.IsZero() && newest.OccurredAt.After(body.OccurredAt.Time) {
			body.OccurredAt = newest.OccurredAt // what has no time of its own is the newest
		}
		if g.Flush == FlushFirst || g.Flush == FlushPassive {
			body.Flush = g.Flush
		}
		body.ResourceRef, body.EventFamily, body.Fallback = g.ResourceRef, g.EventFamily, g.ResourceRef == ""
	}
	seq := b.rows.unit.NextSeq() // after a rollover may have added an event
	body.RawID = RawID(seq)
	failing := false // before this item
	if g != nil {
		digest := seq
		if d != nil {
			digest, failing = d.Seq, d.Failing && d.Unacked > 0 // all that was shown may be acknowledged
			b.stats.Grouped++
			if d.Revision > 0 {
				b.stats.Merged++
			}
		} else {
			b.stats.Opened++
		}
		body.DigestID = DigestID(digest)
		body.FlushAt = flushAt(b, d, g)
	}
	b.add(notify.InboxReceived, body)
	b.rows.natives[nativeKey{it.Source, it.NativeID}] = seq
	b.stats.Received++
	out := Ingested{RawID: body.RawID, DigestID: body.DigestID}
	if body.DigestID == "" {
		reason := ReasonItem
		switch g := it.Grouping; {
		case it.OfJob:
			reason = ReasonJob
		case g != nil && g.Flush == FlushImmediate:
			reason = ReasonImmediate
		}
		out.EntryID = b.postItem(body, it.Grouping, reason)
		if e := b.rows.entryOfItem(seq); it.OfJob && e != nil {
			_, _ = b.ackEntries([]*Entry{e}, ByJob, "") // Err has its error
		}
		return out
	}
	d = b.rows.Row(DigestTable, seqOf(body.DigestID)).(*Digest)
	switch {
	case g.Breaks == BreaksAfter:
		out.EntryID = b.flush(d, ReasonImmediate, true)
	case g.Flush == FlushImmediate || g.Flush == FlushFirst && !failing:
		out.EntryID = b.flush(d, ReasonImmediate, false)
	case d.Pending-d.Passive >= b.Settings.MaxItems:
		out.EntryID = b.flush(d, ReasonSize, false)
	case body.Fallback && b.Settings.WakeWindow == 0:
		out.EntryID = b.flush(d, ReasonWindow, false)
	}
	return out
}

// fallbackWindows is after how many windows a fallback is posted at the latest.
const fallbackWindows = 5

// postItem posts an entry of one item.
func (b *Book) postItem(r *Received, g *Grouping, reason Reason) notify.ID {
	seq := b.rows.unit.NextSeq()
	e := Entry{
		EntryID: EntryID(seq), Kind: KindItem, Source: r.Source, Summary: summaryOfItem(r), Count: 1, LastRawID: r.RawID,
		FirstAt: r.OccurredAt, LastAt: r.OccurredAt, PostedAt: b.Now, Link: r.Link,
	}
	if g != nil {
		e.ResourceRef, e.EventFamily = g.ResourceRef, g.EventFamily
	}
	b.add(notify.InboxPosted, &Posted{Entry: e, Reason: reason, NewRawIDs: []notify.ID{r.RawID}})
	b.stats.posted(reason, 1, 0)
	b.stats.waited(0)
	return e.EntryID
}
