package inbox

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// expire follows the removal of what was acknowledged before a time.
func (m *naive) expire(before time.Time) error {
	var want []*naiveItem
	for _, it := range m.items {
		if it.acked && !it.expired && it.ackedAt.Before(before) {
			want = append(want, it)
		}
	}
	if len(m.events) == 0 {
		if len(want) > 0 {
			return fmt.Errorf("raw_%d was acknowledged at %s and is not removed", want[0].seq, want[0].ackedAt)
		}
		return nil
	}
	e, err := m.take(notify.InboxExpired)
	if err != nil {
		return err
	}
	last := seqOf(e.body.(*Expired).ThroughRawID)
	for _, it := range m.items {
		if it.acked && !it.expired && it.seq <= last && it.ackedAt.Before(before) {
			if !slices.Contains(want, it) {
				return fmt.Errorf("raw_%d was acknowledged at %s only, and is removed", it.seq, it.ackedAt)
			}
			it.expired = true
			want = slices.DeleteFunc(want, func(w *naiveItem) bool { return w == it })
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("raw_%d was acknowledged at %s and is not removed", want[0].seq, want[0].ackedAt)
	}
	gone := func(items []*naiveItem) bool {
		return !slices.ContainsFunc(items, func(it *naiveItem) bool { return !it.expired })
	}
	for _, e := range m.entries {
		e.removed = e.removed || gone(e.items)
	}
	for _, d := range m.digests {
		d.removed = d.removed || !d.open && gone(d.items)
	}
	return nil
}

// check compares the rows of the store with what they should be.
func (m *naive) check(w *world) error {
	for _, check := range []func(*world) error{m.checkDelay, m.checkItems, m.checkEntries, m.checkDigests, m.checkBox} {
		if err := check(w); err != nil {
			return err
		}
	}
	return nil
}

// checkDelay checks that the inbox flushes each item in time.
func (m *naive) checkDelay(w *world) error {
	for _, it := range m.items {
		if until := it.deadline.UnixMilli(); it.pending && (w.box().FlushAt == 0 || w.box().FlushAt > until) {
			return fmt.Errorf("P6: raw_%d must be in an entry at %d, the inbox waits until %d", it.seq, until, w.box().FlushAt)
		}
	}
	return nil
}

func (m *naive) checkItems(w *world) error {
	rows := all[*Raw](w.store, RawTable)
	if len(rows) != len(m.items) {
		return fmt.Errorf("P9: %d raw items are stored, want %d", len(rows), len(m.items))
	}
	in := map[*naiveItem]int{}
	for _, e := range m.entries {
		for _, it := range e.items {
			in[it]++
		}
	}
	last := int64(0)
	for i, it := range m.items {
		r := rows[i]
		if r.Seq <= last {
			return fmt.Errorf("P5: raw_%d comes after raw_%d", r.Seq, last)
		}
		last = r.Seq
		digest := int64(0)
		if it.digest != nil {
			digest = it.digest.seq
		}
		if r.Seq != it.seq || r.Source != it.source || r.NativeID != it.native || r.Digest != digest || r.AckedSeq != it.ackedSeq ||
			!r.AckedAt.Equal(it.ackedAt) || r.Expired != it.expired || !r.ReceivedAt.Equal(it.received) || r.Told != it.told && !it.acked {
			return fmt.Errorf("the row %+v, want %+v", r, it)
		}
		switch {
		case it.pending && (in[it] > 0 || it.acked || !it.digest.open):
			return fmt.Errorf("P1: raw_%d is pending, and acknowledged, in an entry or in a closed digest", it.seq)
		case !it.pending && in[it] == 0:
			return fmt.Errorf("P1: raw_%d is neither pending nor in an entry", it.seq)
		}
	}
	return nil
}

func (m *naive) checkEntries(w *world) error {
	rows := all[*Entry](w.store, EntryTable)
	visible := map[*naiveDigest]int64{}
	shown := map[*naiveItem]int64{}
	last := int64(0)
	for _, e := range m.entries {
		at := slices.IndexFunc(rows, func(r *Entry) bool { return r.Seq == e.seq })
		if e.removed != (at < 0) {
			return fmt.Errorf("ent_%d is stored: %v, removed: %v", e.seq, at >= 0, e.removed)
		}
		if e.seq <= last {
			return fmt.Errorf("P5: ent_%d comes after ent_%d", e.seq, last)
		}
		last = e.seq
		if at < 0 {
			continue
		}
		want := e.posted // P3: nothing else changes
		want.ToldByTurnID, want.AckedAt, want.SupersededBy, want.ToldSeq = e.toldBy, notify.Time{Time: e.ackedAt}, EntryID(e.by), e.toldSeq
		row := rows[at]
		if !sameEntry(row, &want) {
			return fmt.Errorf("P3: the row\n  %+v, want\n  %+v", *row, want)
		}
		if row.Unacked != len(unacked(e.items)) || row.Fresh != e.fresh() {
			return fmt.Errorf("ent_%d has %d unacknowledged items, fresh %v; want %d, %v", e.seq, row.Unacked, row.Fresh, len(unacked(e.items)), e.fresh())
		}
		if !row.Visible() {
			continue
		}
		if e.digest != nil && visible[e.digest] != 0 {
			return fmt.Errorf("P4: ent_%d and ent_%d of one digest are visible", visible[e.digest], e.seq)
		}
		visible[e.digest] = e.seq
		for _, it := range unacked(e.items) {
			if shown[it] != 0 {
				return fmt.Errorf("P4: raw_%d is in ent_%d and ent_%d, which are visible", it.seq, shown[it], e.seq)
			}
			shown[it] = e.seq
		}
	}
	for _, it := range m.items {
		if !it.acked && !it.pending && shown[it] == 0 {
			return fmt.Errorf("P1: raw_%d is not acknowledged, and no visible entry shows it", it.seq)
		}
	}
	return nil
}

func (m *naive) checkDigests(w *world) error {
	rows := all[*Digest](w.store, DigestTable)
	for _, d := range m.digests {
		at := slices.IndexFunc(rows, func(r *Digest) bool { return r.Seq == d.seq })
		if d.removed != (at < 0) {
			return fmt.Errorf("dig_%d is stored: %v, removed: %v", d.seq, at >= 0, d.removed)
		}
		if at < 0 {
			continue
		}
		want := Digest{
			Seq: d.seq, ThreadID: testThread, Source: d.source, ResourceRef: d.resource, EventFamily: d.family, Open: d.open,
			Revision: d.revision, Pending: len(d.pending()), OpenedAt: notify.Time{Time: d.opened}, LastRaw: d.items[len(d.items)-1].seq,
		}
		if want.Pending > 0 {
			want.PendingAt, want.FlushAt = notify.Time{Time: d.firstPending}, d.flush.UnixMilli()
		}
		if d.newest != nil {
			want.Newest = d.newest.seq
		}
		for _, it := range unacked(d.items) {
			if !it.pending {
				want.Unacked++
				if !it.told {
					want.Fresh++
				}
			}
			if want.FirstAt.IsZero() || it.occurred.Before(want.FirstAt.Time) {
				want.FirstAt.Time = it.occurred
			}
			if it.occurred.After(want.LastAt.Time) {
				want.LastAt.Time = it.occurred
			}
			if it.sender != "" && !slices.Contains(want.Senders, it.sender) {
				want.Senders = append(want.Senders, it.sender)
			}
		}
		slices.Sort(want.Senders)
		want.Subjects, want.Passive, want.Failing = len(d.subjects(unacked(d.items))), len(d.pending())-len(reasons(d.pending())), d.failing
		for _, it := range d.subjects(unacked(d.items)) {
			want.Outcomes.count(it.outcome, 1)
		}
		if got := rows[at]; got.Seq != want.Seq || got.Source != want.Source || got.ResourceRef != want.ResourceRef || got.EventFamily != want.EventFamily ||
			got.Open != want.Open || got.Revision != want.Revision || got.Newest != want.Newest || got.Pending != want.Pending || got.Unacked != want.Unacked ||
			got.Fresh != want.Fresh || !got.OpenedAt.Equal(want.OpenedAt.Time) || !got.PendingAt.Equal(want.PendingAt.Time) || got.FlushAt != want.FlushAt ||
			got.LastRaw != want.LastRaw || !got.FirstAt.Equal(want.FirstAt.Time) || !got.LastAt.Equal(want.LastAt.Time) || !slices.Equal(got.Senders, want.Senders) ||
			got.Subjects != want.Subjects || got.Passive != want.Passive || got.Failing != want.Failing || !maps.Equal(got.Outcomes, want.Outcomes) {
			return fmt.Errorf("the digest\n  %+v, want\n  %+v", *got, want)
		}
	}
	return nil
}

func (m *naive) checkBox(w *world) error {
	box := w.box()
	if box == nil {
		box = &Inbox{ThreadID: testThread}
	}
	want := Inbox{ThreadID: testThread, Policy: box.Policy, AckedAt: box.AckedAt, Expired: box.Expired, UpdatedSeq: box.UpdatedSeq, Wakes: box.Wakes, Lifted: m.lifted}
	kept := false
	for _, it := range m.items {
		if !it.acked {
			want.UnackedItems++
			want.UnackedBytes += it.size
		}
		if it.pending {
			want.PendingItems++
			if at := it.digest.flush.UnixMilli(); want.FlushAt == 0 || at < want.FlushAt {
				want.FlushAt = at
			}
		}
		kept = kept || it.acked && !it.expired
	}
	for _, e := range m.entries {
		if e.visible() {
			want.UnackedEntries++
		}
		if e.fresh() {
			want.NewEntries++
		}
	}
	for _, t := range m.timers {
		want.Timers++
		if at := t.next.UnixMilli(); want.TimerAt == 0 || at < want.TimerAt {
			want.TimerAt = at
		}
	}
	want.ToldTurn, want.Untold, want.Silent, want.ToldSeq = m.toldTurn, m.untold, m.silent, m.toldSeq
	want.Woken = m.lifted
	if !m.wakeAt.IsZero() {
		want.WakeAt = m.wakeAt.UnixMilli()
	}
	if m.stalled {
		want.Stalled, want.StalledAt = StallSilent, m.since.UnixMilli()
	}
	want.Lagged = m.lagged
	x, err := want.Values(0)
	if err != nil {
		return err
	}
	y, err := box.Values(0)
	if err != nil {
		return err
	}
	if !sameValues(x, y) {
		return fmt.Errorf("the inbox\n  %v, want\n  %v", y, x)
	}
	if kept != (box.AckedAt != 0) {
		return fmt.Errorf("acknowledged items are kept: %v, and the inbox says %d", kept, box.AckedAt)
	}
	if box.PendingItems > m.bounds.MaxPendingItems {
		return fmt.Errorf("%d items are pending, at most %d may be", box.PendingItems, m.bounds.MaxPendingItems)
	}
	return m.checkWake(w)
}

// checkWake checks P11: new entries wake the thread if it may be woken, and
// nothing else does.
func (m *naive) checkWake(w *world) error {
	may := m.settings.Wake == WakeIdle && !m.stalled && !m.now.Before(m.wakeAt) && len(m.freshEntries()) > 0
	got := MayWake(w.box(), &threads.Thread{State: threads.Running}, w.settings(), w.now.Time, 0)
	if got.OK != may {
		return fmt.Errorf("P11: the inbox wakes its thread: %v, want %v", got.OK, may)
	}
	return nil
}
