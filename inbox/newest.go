package inbox

import (
	"slices"

	"github.com/seed82539d15/holon/ledger"
)

// isNewest reports whether the item is the newest of its digest about its subject.
func isNewest(s ledger.State, r *Raw) bool {
	newest, ok := s.Row(RawTable, r.AboutKey()).(*Raw)
	return !ok || newest.Seq == r.Seq
}

// lastSaid returns the item that has said the digest's LastSummary, nil if there is none: the
// last one that is the newest about its subject.
func (d *Digest) lastSaid(s ledger.State) (said *Raw) {
	if d.LastSummary == "" {
		return nil
	}
	s.Rows(RawTable, group(d.Seq), func(row ledger.Row) bool {
		if r := row.(*Raw); r.AckedSeq == 0 && isNewest(s, r) {
			said = r
		}
		return said == nil
	})
	return said
}

// newestCounted returns the item that a snapshot of all of the digest leads to: the one that it
// quotes, otherwise the newest of those that count. There is none if Subjects is 0.
func (d *Digest) newestCounted(s ledger.State) (newest *Raw) {
	if said := d.lastSaid(s); said != nil {
		return said
	}
	s.Rows(RawTable, group(d.Seq), func(row ledger.Row) bool {
		if r := row.(*Raw); r.AckedSeq == 0 && isNewest(s, r) && (newest == nil || r.NewerThan(newest)) {
			newest = r
		}
		return newest == nil || newest.OccurredAt.Before(d.LastAt.Time) // nothing is newer than that
	})
	return newest
}

// show makes a digest say what these items are about, the newest arrival first, and returns the
// newest of those that it counts. Of all that was posted about the same the newest counts, also if
// it was acknowledged before; what is pending is not known yet. If none of the items counts, one
// about each subject is counted, and what came of it is not said: that is not true any more.
func (d *Digest) show(v *overlay, items []*Raw) (newest *Raw) {
	d.clear()
	if len(items) == 0 { // they could not be read
		return nil
	}
	snapshot, _ := v.Row(EntryTable, d.Newest).(*Entry)
	isPending := func(r *Raw) bool { return d.IsPending(snapshot, r) }
	shown := map[string]*Raw{}
	for _, r := range items {
		d.span(r)
		if old := shown[r.About]; old == nil || r.NewerThan(old) {
			shown[r.About] = r
		}
	}
	var subjects, counted []*Raw
	for _, r := range items {
		if r.About != "" && shown[r.About] != r {
			continue
		}
		subjects = append(subjects, r)
		if newest := v.newestBut(isPending, r.AboutKey()); newest == nil || newest.Seq == r.Seq {
			counted = append(counted, r)
			d.count(r)
		}
	}
	if len(counted) == 0 {
		counted, d.Subjects = subjects, len(subjects)
	}
	return slices.MaxFunc(counted, func(x, y *Raw) int {
		if x.NewerThan(y) {
			return 1
		}
		return -1
	})
}

// linkTo returns where an entry leads whose newest item is r: nowhere, if something newer about the
// same leads nowhere, such as that it was deleted.
func linkTo(s ledger.State, r *Raw) string {
	if newest, ok := s.Row(RawTable, r.AboutKey()).(*Raw); ok && newest.Link == "" {
		return ""
	}
	return r.Link
}
