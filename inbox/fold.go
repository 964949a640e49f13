package inbox

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// through names a group of rows for ledger.State.Rows: the raw items, entries or digests
// of the thread up to a seq. The other groups are those of a digest, named by its seq.
func through(seq int64) string { return "≤" + strconv.FormatInt(seq, 10) }

// ThroughOf returns the seq of a group made by through.
func ThroughOf(group string) (seq int64, ok bool) {
	digits, ok := strings.CutPrefix(group, "≤")
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseInt(digits, 10, 64)
	return seq, err == nil
}

// OpenKey identifies the digest that takes items of a key, for
// ledger.State.Row; at most one does.
type OpenKey struct{ ThreadID, Source, ResourceRef, EventFamily string }

// Fold applies an event of an inbox to its rows.
//
// An entry is visible if it is neither fully acknowledged nor superseded. It is
// fresh, "new" for users, if it is visible and has a raw item that is neither
// acknowledged nor told.
//
// Fold leaves Inbox.FlushAt, TimerAt and LeaseAt alone: they follow from the rows of
// digests, timers and entries (see overlay.schedule).
func Fold(s ledger.State, h *notify.Header, body any) {
	f := folding{s: s, h: h}
	switch b := body.(type) {
	case *Received:
		f.received(b)
	case *Posted:
		f.posted(b)
	case *Acked:
		f.acked(b)
	case *Withdrawn:
		if e := f.entry(seqOf(b.EntryID)); e != nil {
			f.ackEntry(e)
		}
	case *Told:
		f.tell(b.EntryIDs, b.TurnID)
		f.box().ToldTurn, f.box().Untold, f.box().ToldSeq = b.TurnID, false, h.Seq
	case *Untold:
		f.tell(b.EntryIDs, "")
		if b.Reason == UntoldLease {
			f.leased(b.EntryIDs)
			break
		}
		f.box().Untold = b.TurnID == f.box().ToldTurn
		f.box().Silent, f.box().WakeAt = b.Silent, h.Timestamp.Add(silentPause(b.Silent)).UnixMilli()
	case *Woken:
		f.tell(b.EntryIDs, "")
		f.box().lift(h.Seq)
		f.box().Woken = h.Seq
		f.release()
	case *Stalled:
		f.box().Stalled, f.box().StalledAt, f.box().WakeAt = b.Reason, h.Timestamp.Milli(), b.Until.Milli()
	case *Configured:
		f.box().Policy = b.Set
	case *Subscribed:
		row := b.Subscription
		row.CreatedSeq, row.ThreadID = h.Seq, h.ThreadID
		s.Put(&row)
	case *Unsubscribed:
		if row, ok := s.Row(SubscriptionTable, SubscriptionKey(h.ThreadID, b.SubscriptionID)).(*Subscription); ok {
			s.Put(&ledger.Removal{Of: SubscriptionTable, Key: []any{row.CreatedSeq}})
		}
	case *Expired:
		if b.SubjectThreadID == "" {
			f.expired(b)
		}
	case *TimerCreated:
		row := b.Timer
		row.CreatedSeq, row.ThreadID = h.Seq, h.ThreadID
		s.Put(&row)
		f.box().Timers++
	case *TimerFired:
		f.fired(b)
	case *TimerDeleted:
		if row, ok := s.Row(TimerTable, TimerKey(h.ThreadID, b.TimerID)).(*Timer); ok {
			s.Put(&ledger.Removal{Of: TimerTable, Key: []any{row.CreatedSeq}})
			f.box().Timers--
		}
	}
	if f.changed != nil {
		f.changed.UpdatedSeq = h.Seq
		s.Put(f.changed)
	}
}

// folding is one event being folded.
type folding struct {
	s       ledger.State
	h       *notify.Header
	changed *Inbox // a copy of the row; nil = not needed yet
}

// box returns the row of the inbox as the event leaves it.
func (f *folding) box() *Inbox {
	if f.changed == nil {
		if row, ok := f.s.Row(Table, f.h.ThreadID).(*Inbox); ok {
			f.changed = row.clone()
		} else {
			f.changed = &Inbox{ThreadID: f.h.ThreadID, fresh: true}
		}
	}
	return f.changed
}

// digest returns a copy of a digest that may be changed, nil if there is none.
func (f *folding) digest(seq int64) *Digest {
	if row, ok := f.s.Row(DigestTable, seq).(*Digest); ok {
		return row.clone()
	}
	return nil
}

// entry returns a copy of an entry that may be changed, nil if there is none.
func (f *folding) entry(seq int64) *Entry {
	if row, ok := f.s.Row(EntryTable, seq).(*Entry); ok {
		e := *row
		return &e
	}
	return nil
}

// seqOf returns the seq in an id, which may be provisional; 0 of "".
func seqOf(id notify.ID) int64 {
	_, digits, _ := strings.Cut(string(id), "_")
	seq, _ := strconv.ParseInt(digits, 10, 64)
	return seq
}

// order makes seqs comparable: provisional ones come after all others.
func order(seq int64) int64 {
	if seq < 0 {
		return 1<<62 - seq
	}
	return seq
}

// sizeOf returns how many bytes an item counts in the bound of an inbox: about what
// its event takes.
func sizeOf(b *Received) int64 {
	ids := 0
	for _, id := range b.SubscriptionIDs {
		ids += len(id)
	}
	return int64(ids + 256 + len(b.Payload) + len(b.Summary) + len(b.NativeID) + len(b.Sender) + len(b.About) + len(b.Outcome) + len(b.Link))
}

func (f *folding) received(b *Received) {
	raw := &Raw{
		Seq: f.h.Seq, ThreadID: f.h.ThreadID, Source: b.Source, NativeID: b.NativeID, Digest: seqOf(b.DigestID),
		OccurredAt: b.OccurredAt, ReceivedAt: f.h.Timestamp, Sender: b.Sender, Size: sizeOf(b), Chain: b.Chain,
		Link: b.Link, About: b.About, Outcome: b.Outcome, Passive: b.Flush == FlushPassive,
	}
	box := f.box()
	box.UnackedItems++
	box.UnackedBytes += raw.Size
	if raw.Digest != 0 {
		d := f.digest(raw.Digest)
		if d == nil {
			key := OpenKey{f.h.ThreadID, b.Source, b.ResourceRef, b.EventFamily}
			if old, ok := f.s.Row(DigestTable, key).(*Digest); ok {
				old = old.clone()
				old.Open = false
				f.s.Put(old)
			}
			d = &Digest{
				Seq: raw.Digest, ThreadID: f.h.ThreadID, Source: b.Source, ResourceRef: b.ResourceRef, EventFamily: b.EventFamily,
				Open: true, OpenedAt: f.h.Timestamp,
			}
		}
		if d.Pending == d.Passive {
			d.PendingAt = f.h.Timestamp
		}
		d.Pending++
		switch b.Flush {
		case FlushPassive:
			d.Passive++
		case FlushFirst:
			d.Failing = true
		}
		d.FlushAt, d.LastRaw = b.FlushAt.Milli(), raw.Seq
		if f.take(d, raw) {
			d.LastSummary = b.Summary
		}
		box.PendingItems++
		f.s.Put(d)
	}
	if turnID, seq, ok := EndOf(b.NativeID); ok && b.Source == SourceTurns {
		f.s.Put(&turns.Taken{TurnID: turnID, Seq: seq})
	}
	f.s.Put(raw)
}

// take counts a new item of a digest in what summaries are made of. It reports whether the item
// is the newest one about its subject: only that counts, and only one that is pending is a reason
// for a snapshot.
func (f *folding) take(d *Digest, r *Raw) (newest bool) {
	d.span(r)
	old, ok := f.s.Row(RawTable, r.AboutKey()).(*Raw)
	if !ok {
		d.count(r)
		return true
	}
	newest = r.NewerThan(old)
	if posted, _ := f.s.Row(EntryTable, d.Newest).(*Entry); d.IsPending(posted, old) && !old.Passive && !r.Passive {
		d.Passive++
		if r.Passive = !newest; newest {
			next := *old
			next.Passive = true
			f.s.Put(&next)
		}
	}
	if !newest {
		return false
	}
	if old.AckedSeq == 0 {
		d.Subjects--
		d.Outcomes.count(old.Outcome, -1)
	}
	d.count(r)
	return true
}

func (f *folding) posted(b *Posted) {
	e := b.Entry
	e.ThreadID, e.Seq, e.Digest, e.LastRaw = f.h.ThreadID, f.h.Seq, seqOf(b.Entry.DigestID), seqOf(b.Entry.LastRawID)
	e.name()
	e.Unacked, e.Fresh, e.AtOnce = e.Count, true, b.Reason == ReasonImmediate
	box := f.box()
	box.UnackedEntries++
	if d := f.digest(e.Digest); d != nil {
		n := len(b.NewRawIDs)
		d.Pending -= n
		d.Unacked += n
		d.Fresh += n
		box.PendingItems -= n
		if d.Pending == 0 {
			d.PendingAt, d.FlushAt, d.Passive = notify.Time{}, 0, 0
		}
		if b.Reason != ReasonImmediate && n > 0 {
			d.Failing = false
		}
		d.Revision, d.Newest = e.Revision, e.Seq
		if b.ClosesDigest {
			d.Open = false
		}
		e.Fresh = d.Fresh > 0
		f.s.Put(d)
	}
	if old := f.entry(seqOf(b.SupersedesEntryID)); old != nil {
		if old.Visible() {
			box.UnackedEntries--
			box.countFresh(old, false)
		}
		old.By, e.Leases = e.Seq, old.Leases
		old.name()
		f.s.Put(old)
	}
	if e.Fresh {
		box.NewEntries++
	}
	f.s.Put(&e)
}

// countFresh sets whether an entry is fresh, and counts it.
func (b *Inbox) countFresh(e *Entry, fresh bool) {
	switch {
	case e.Fresh && !fresh:
		b.NewEntries--
	case !e.Fresh && fresh:
		b.NewEntries++
	}
	e.Fresh = fresh
}

// eachItem calls visit with the raw items of an entry that are not acknowledged.
func eachItem(s ledger.State, e *Entry, visit func(*Raw)) {
	if e.Digest == 0 {
		if r, ok := s.Row(RawTable, e.LastRaw).(*Raw); ok && r.AckedSeq == 0 {
			visit(r)
		}
		return
	}
	s.Rows(RawTable, group(e.Digest), func(row ledger.Row) bool {
		if r := row.(*Raw); r.AckedSeq == 0 && order(r.Seq) <= order(e.LastRaw) {
			visit(r)
		}
		return true
	})
}

func (f *folding) acked(b *Acked) {
	if len(b.RawIDs) > 0 {
		f.ackedItems(b)
		return
	}
	// The entry of each digest that reaches furthest has all items of the others.
	last := map[int64]*Entry{}
	var list []*Entry
	for _, id := range b.EntryIDs {
		e := f.entry(seqOf(id))
		switch {
		case e == nil:
		case e.Digest == 0:
			list = append(list, e)
		case last[e.Digest] == nil:
			last[e.Digest] = e
			list = append(list, e)
		case order(e.LastRaw) > order(last[e.Digest].LastRaw):
			*last[e.Digest] = *e
		}
	}
	for _, e := range list {
		f.ackEntry(e)
	}
}

// ackedItems acknowledges items that were named. Those that belong to no digest are in the
// entries that are listed.
func (f *folding) ackedItems(b *Acked) {
	for _, id := range b.EntryIDs {
		if e := f.entry(seqOf(id)); e != nil && e.Digest == 0 {
			f.ackEntry(e)
		}
	}
	lists := map[int64][]*Raw{}
	var digests []int64
	for _, id := range b.RawIDs {
		r, ok := f.s.Row(RawTable, seqOf(id)).(*Raw)
		if !ok || r.Digest == 0 || r.AckedSeq != 0 {
			continue
		}
		if lists[r.Digest] == nil {
			digests = append(digests, r.Digest)
		}
		lists[r.Digest] = append(lists[r.Digest], r)
	}
	for _, digest := range digests {
		list := lists[digest]
		slices.SortFunc(list, func(x, y *Raw) int { return cmp.Compare(order(y.Seq), order(x.Seq)) })
		f.ackedInDigest(digest, list)
	}
}

// ackEntry acknowledges the items of an entry.
func (f *folding) ackEntry(e *Entry) {
	var list []*Raw // the newest first
	eachItem(f.s, e, func(r *Raw) { list = append(list, r) })
	switch {
	case len(list) == 0:
	case e.Digest == 0:
		f.ack(list[0])
		f.lose(e, 1, false)
	default:
		f.ackedInDigest(e.Digest, list)
	}
}

// ack acknowledges an item.
func (f *folding) ack(r *Raw) {
	box, next := f.box(), *r
	next.AckedSeq, next.AckedAt = f.h.Seq, f.h.Timestamp
	box.UnackedItems--
	box.UnackedBytes -= r.Size
	if box.AckedAt == 0 {
		box.AckedAt = f.h.Timestamp.Milli()
	}
	f.s.Put(&next)
}

// ackedInDigest acknowledges items of a digest that are in a snapshot, the newest first.
func (f *folding) ackedInDigest(seq int64, list []*Raw) {
	d := f.digest(seq)
	said := d.lastSaid(f.s)
	for _, r := range list {
		d.Unacked--
		if !r.Told {
			d.Fresh--
		}
		f.ack(r)
	}
	var snapshots []Entry
	f.s.Rows(EntryTable, group(seq), func(row ledger.Row) bool {
		if e := row.(*Entry); e.AckedAt.IsZero() {
			snapshots = append(snapshots, *e)
		}
		return true
	})
	for i := range snapshots {
		e := &snapshots[i]
		// What was not acknowledged until now was in every snapshot that reaches it.
		n := len(list) - sort.Search(len(list), func(i int) bool { return order(list[i].Seq) <= order(e.LastRaw) })
		f.lose(e, n, d.Fresh > 0)
	}
	d.clear()
	if d.Unacked+d.Pending == 0 {
		d.Open = false
	} else {
		f.s.Rows(RawTable, group(seq), func(row ledger.Row) bool {
			if r := row.(*Raw); r.AckedSeq == 0 {
				d.takeAgain(f.s, r)
			}
			return true
		})
	}
	if d.Unacked+d.Pending > 0 && said != nil && slices.ContainsFunc(list, func(r *Raw) bool { return r.Seq == said.Seq }) {
		d.LastSummary = "" // what is left must not say it
	}
	f.s.Put(d)
}

// lose takes n acknowledged items from an entry. fresh says whether a visible
// entry is still fresh.
func (f *folding) lose(e *Entry, n int, fresh bool) {
	visible := e.Visible()
	e.Unacked -= n
	if e.Unacked == 0 {
		e.AckedAt = f.h.Timestamp
	}
	if visible {
		f.box().countFresh(e, fresh && e.Unacked > 0)
		if e.Unacked == 0 {
			f.box().UnackedEntries--
		}
	}
	f.s.Put(e)
}

// tell marks the entries as told by the turn, or as new again if turnID is "".
func (f *folding) tell(ids []notify.ID, turnID string) {
	for _, id := range ids {
		e := f.entry(seqOf(id))
		if e == nil {
			continue
		}
		e.ToldByTurnID, e.ToldSeq = turnID, 0
		if turnID != "" {
			e.ToldSeq = f.h.Seq
		}
		n := 0
		var list []*Raw
		eachItem(f.s, e, func(r *Raw) {
			if r.Told != (turnID != "") {
				list = append(list, r)
			}
		})
		for _, r := range list {
			next := *r
			next.Told = turnID != ""
			n++
			f.s.Put(&next)
		}
		if turnID != "" {
			n = -n
		}
		d := f.digest(e.Digest)
		if d == nil {
			f.box().countFresh(e, e.Visible() && turnID == "")
			f.s.Put(e)
			continue
		}
		d.Fresh += n
		f.s.Put(d)
		if !e.Visible() {
			f.s.Put(e)
			e = f.entry(d.Newest)
		}
		if e != nil && e.Visible() {
			f.box().countFresh(e, d.Fresh > 0)
		}
		if e != nil {
			f.s.Put(e)
		}
	}
}

// leased counts a lease of the entries.
func (f *folding) leased(ids []notify.ID) {
	for _, id := range ids {
		if e := f.entry(seqOf(id)); e != nil {
			e.Leases++
			f.s.Put(e)
		}
	}
}

// lift ends what keeps a thread from being woken: all bounds count anew from this seq.
func (b *Inbox) lift(seq int64) {
	b.Silent, b.WakeAt, b.Stalled, b.StalledAt, b.Wakes, b.Lifted = 0, 0, "", 0, nil, seq
}

// release ends the hold on the thread.
func (f *folding) release() {
	if t, ok := f.s.Row(threads.Table, f.h.ThreadID).(*threads.Thread); ok && t.Held {
		next := *t
		next.Held = false
		f.s.Put(&next)
	}
}

// expired removes what was acknowledged before a time, up to a raw item. The rows of items
// stay for a while, so that duplicates are recognised.
func (f *folding) expired(b *Expired) {
	last := seqOf(b.ThroughRawID)
	upTo := last
	old := func(at notify.Time) bool { return !at.IsZero() && at.Before(b.AckedBefore.Time) }
	var rows []ledger.Row
	f.s.Rows(RawTable, through(last), func(row ledger.Row) bool {
		if r := *row.(*Raw); old(r.AckedAt) && !r.Expired {
			r.Expired = true
			rows = append(rows, &r)
		}
		return true
	})
	f.s.Rows(EntryTable, through(1<<62), func(row ledger.Row) bool {
		if e := row.(*Entry); old(e.AckedAt) && (e.LastRaw <= last || f.isExpired(e.LastRaw)) {
			rows = append(rows, &ledger.Removal{Of: EntryTable, Key: []any{e.Seq}})
			upTo = max(upTo, e.Seq)
			// Its newest snapshot was acknowledged after all others.
			if d := f.digest(e.Digest); d != nil && d.Newest == e.Seq && !d.Open && d.Unacked+d.Pending == 0 {
				rows = append(rows, &ledger.Removal{Of: DigestTable, Key: []any{d.Seq}})
			}
		}
		return true
	})
	for _, r := range rows {
		f.s.Put(r)
	}
	f.box().Expired, f.box().AckedAt = max(f.box().Expired, upTo), b.NextAckedAt.Milli()
}

// isExpired reports whether an item has expired before: its row may be gone since.
func (f *folding) isExpired(seq int64) bool {
	r, ok := f.s.Row(RawTable, seq).(*Raw)
	return !ok || r.Expired
}

func (f *folding) fired(b *TimerFired) {
	row, ok := f.s.Row(TimerTable, TimerKey(f.h.ThreadID, b.TimerID)).(*Timer)
	if !ok {
		return
	}
	if b.NextAt.IsZero() {
		f.s.Put(&ledger.Removal{Of: TimerTable, Key: []any{row.CreatedSeq}})
		f.box().Timers--
		return
	}
	next := *row
	next.NextAt, next.LastFiredAt = b.NextAt, b.PlannedAt
	f.s.Put(&next)
	f.box() // the row says when the next timer fires, even if no item follows
}

// silentPause returns how long a thread is not woken after so many wakes in a row
// that ended without output of the agent.
func silentPause(silent int) time.Duration {
	if silent <= 0 {
		return 0
	}
	return 5 * time.Second << min(silent-1, 3)
}
