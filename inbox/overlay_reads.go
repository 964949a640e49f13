package inbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// stored returns the raw item of this identity, nil if there is none.
func (v *overlay) stored(it *Item) *Raw {
	key := nativeKey{it.Source, it.NativeID}
	switch seq, known := v.natives[key]; {
	case known && seq == 0:
		return nil
	case known:
		return v.Row(RawTable, seq).(*Raw)
	}
	r, _ := v.get(RawTable, RawByNative, v.threadID, it.Source, it.NativeID).(*Raw)
	if r == nil && v.err == nil {
		v.natives[key] = 0
	}
	return r
}

// entryOf finds an entry by its id.
func (v *overlay) entryOf(id notify.ID) (*Entry, error) {
	seq, ok := id.Seq(EntryPrefix)
	if !ok {
		return nil, ErrEntryNotFound
	}
	e, ok := v.Row(EntryTable, seq).(*Entry)
	if v.err != nil {
		return nil, v.err
	}
	switch {
	case !ok && seq <= v.inbox().Expired:
		return nil, ErrEntryExpired
	case !ok || e.ThreadID != v.threadID:
		return nil, ErrEntryNotFound
	}
	return e, nil
}

// named finds items by their ids, each once. An item that is pending, in no snapshot yet, was not
// shown to anybody.
func (v *overlay) named(ids []notify.ID) (list []*Raw, err error) {
	known := make(map[int64]bool, len(ids))
	for i, id := range ids {
		field := fmt.Sprintf("raw_ids[%d]", i)
		r, err := v.itemOf(id)
		switch {
		case err != nil:
			return nil, about(field, err)
		case v.isPending(r):
			return nil, turns.Invalid(field, ReasonPending, "%s waits in a digest, and no entry shows it yet: inbox/flush posts it", id)
		case !known[r.Seq]:
			known[r.Seq] = true
			list = append(list, r)
		}
	}
	return list, v.err
}

// itemOf finds a raw item by its id.
func (v *overlay) itemOf(id notify.ID) (*Raw, error) {
	seq, ok := id.Seq(RawPrefix)
	if !ok {
		return nil, ErrItemNotFound
	}
	r, ok := v.Row(RawTable, seq).(*Raw)
	if v.err != nil {
		return nil, v.err
	}
	switch {
	case ok && r.ThreadID != v.threadID:
		return nil, ErrItemNotFound
	case ok && r.Expired, !ok && seq <= v.inbox().Expired:
		return nil, ErrItemExpired
	case !ok:
		return nil, ErrItemNotFound
	}
	return r, nil
}

func (v *overlay) isPending(r *Raw) bool {
	d, ok := v.Row(DigestTable, r.Digest).(*Digest)
	if !ok {
		return false
	}
	newest, _ := v.Row(EntryTable, d.Newest).(*Entry)
	return d.IsPending(newest, r)
}

// entryOfItem returns the entry of one raw item that belongs to no digest, nil if
// there is none. It was posted with the item, as the next event.
func (v *overlay) entryOfItem(raw int64) *Entry {
	next := raw + 1
	if raw < 0 {
		next = raw - 1
	}
	e, ok := v.Row(EntryTable, next).(*Entry)
	if !ok || e.LastRaw != raw || e.Digest != 0 {
		return nil
	}
	return e
}

// newestAbout finds the newest item of a digest that is about the same. A digest that the unit
// itself has opened has no committed items.
func (v *overlay) newestAbout(key AboutKey) (row ledger.Row) {
	own, _ := v.overlay[RawTable][v.abouts[key]].(*Raw)
	if own != nil {
		row = own
	}
	if key.About == "" || key.Digest <= 0 {
		return row
	}
	v.scan(RawTable, ledger.Range{Index: RawAbout, Prefix: []any{key.Digest, key.About}, Newest: true}, func(r ledger.Row) bool {
		if own == nil || r.(*Raw).NewerThan(own) {
			row = r
		}
		return false
	})
	return row
}

// newestBut does what newestAbout does, for the items that are not left out.
func (v *overlay) newestBut(leftOut func(*Raw) bool, key AboutKey) (newest *Raw) {
	if r, ok := v.newestAbout(key).(*Raw); !ok || !leftOut(r) {
		return r
	}
	for _, row := range v.overlay[RawTable] {
		if r := row.(*Raw); r.AboutKey() == key && !leftOut(r) && (newest == nil || r.NewerThan(newest)) {
			newest = r
		}
	}
	if key.Digest <= 0 {
		return newest
	}
	v.scan(RawTable, ledger.Range{Index: RawAbout, Prefix: []any{key.Digest, key.About}, Newest: true}, func(row ledger.Row) bool {
		r := row.(*Raw)
		if !leftOut(r) && (newest == nil || r.NewerThan(newest)) {
			newest = r
		}
		return leftOut(r) // the first one that is not is the newest
	})
	return newest
}

// visibleAt lists the entries after one seq and up to another that were visible then and are
// not fully acknowledged now: also those that are superseded since. It ends after items items;
// next is the seq of the last entry then.
func (v *overlay) visibleAt(seq, after int64, items int) (list []*Entry, next int64) {
	v.scan(EntryTable, ledger.Range{Index: EntryOpen, Prefix: []any{v.threadID}, After: after, Until: seq + 1}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.AckedAt.IsZero() && (e.By == 0 || order(e.By) > seq) {
			list = append(list, e)
			if items -= e.Unacked; items <= 0 {
				next = e.Seq
			}
		}
		return next == 0
	})
	return list, next
}

// toldBy lists the entries that a turn was told and that are not fully
// acknowledged.
func (v *overlay) toldBy(turnID string) (list []*Entry) {
	v.scan(EntryTable, ledger.Range{Index: EntryTold, Prefix: []any{turnID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.ToldByTurnID == turnID && e.AckedAt.IsZero() {
			list = append(list, e)
		}
		return true
	})
	return list
}

// pending lists the digests with pending items that are due until a time in milliseconds, in the
// order of their flush.
func (v *overlay) pending(until int64) (list []*Digest) {
	if v.inbox().PendingItems == 0 {
		return nil
	}
	add := func(d *Digest) {
		if d.Pending > 0 && d.FlushAt <= until {
			list = append(list, d)
		}
	}
	for _, row := range v.overlay[DigestTable] {
		add(row.(*Digest))
	}
	v.failed(v.committed.Scan(ledger.Range{Index: DigestFlush, Prefix: []any{v.threadID}, Until: until + 1}, func(c ledger.Values) error {
		d, err := ReadDigest(c)
		if err == nil && v.overlay[DigestTable][d.Seq] == nil {
			add(d)
		}
		return err
	}))
	slices.SortFunc(list, func(x, y *Digest) int {
		return cmp.Or(cmp.Compare(x.FlushAt, y.FlushAt), cmp.Compare(order(x.Seq), order(y.Seq)))
	})
	return list
}

// finish returns the rows that the unit changes, in the order in which they must
// be written.
func (v *overlay) finish() []ledger.Row {
	list := make([]ledger.Row, 0, len(v.changed)+1)
	for _, r := range v.changed {
		if _, removal := r.(*ledger.Removal); removal {
			list = append(list, r)
			continue
		}
		if v.gone[r.Table()][createdSeq(r)] {
			continue // removed after it was changed; one that is new never is
		}
		list = append(list, v.overlay[r.Table()][r.ID()])
	}
	if v.boxNew {
		list = append(list, v.box)
	}
	return list
}

// schedule sets when the inbox has something to do by itself: at the earliest
// flush of a digest, at the earliest timer, and when the first lease of told entries is over.
func (v *overlay) schedule(now time.Time, lease time.Duration) {
	v.box.FlushAt, v.box.TimerAt, v.box.LeaseAt = v.nextFlush(), v.nextTimer(), v.nextLease(now, lease)
}

// nextFlush returns the earliest flush of a digest, in milliseconds; 0 = none.
func (v *overlay) nextFlush() (at int64) {
	least := func(d *Digest) {
		if d.Pending > 0 && (at == 0 || d.FlushAt < at) {
			at = d.FlushAt
		}
	}
	for _, row := range v.overlay[DigestTable] {
		least(row.(*Digest))
	}
	if v.box.PendingItems > 0 {
		v.first(DigestTable, DigestFlush, func(row ledger.Row) { least(row.(*Digest)) })
	}
	return at
}

// nextTimer returns the earliest planned time of a timer, in milliseconds; 0 = none.
func (v *overlay) nextTimer() (at int64) {
	least := func(t *Timer) {
		if at == 0 || t.NextAt.Milli() < at {
			at = t.NextAt.Milli()
		}
	}
	for _, row := range v.overlay[TimerTable] {
		least(row.(*Timer))
	}
	if v.box.Timers > 0 {
		v.first(TimerTable, TimerNext, func(row ledger.Row) { least(row.(*Timer)) })
	}
	return at
}
