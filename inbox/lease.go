package inbox

import (
	"slices"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The lease of a told entry begins with the end of the turn that was told. When it is over and the
// entry is not acknowledged, it is new again. Which entries are told, and when their turns ended, is
// in rows; Inbox.LeaseAt only says when to look: not after the first of these leases is over.

// The bounds of leases.
const (
	maxLeases    = 3   // of an entry, with those of the snapshots that it supersedes
	leasesAtOnce = 100 // entries that one unit makes new again: as many as a wake tells
)

// lapsed is what a turn was told and has not acknowledged in time.
type lapsed struct {
	turnID  string
	entries []*Entry
}

// EndLeases makes entries new again whose lease is over. It does nothing before Inbox.LeaseAt, except
// anew.
func EndLeases(b *Book, anew bool) error {
	box := b.rows.inbox()
	isDue := box.LeaseAt != 0 && box.LeaseAt <= b.Now.Milli()
	if !isDue && !anew || b.Settings.ToldLease == 0 {
		return nil // Reschedule sees to the last
	}
	l := b.rows.leases(b.Now.Time, b.Settings.ToldLease)
	for _, t := range l.over {
		b.add(notify.InboxUntold, &Untold{EntryIDs: idsOf(t.entries), TurnID: t.turnID, Silent: b.rows.box.Silent, Reason: UntoldLease})
	}
	b.rows.leaseAt(l.next)
	return b.rows.err
}

// LeaseNext returns when the first lease of an inbox is over, in milliseconds, as its rows are; 0 =
// none runs. It may have passed.
func LeaseNext(r ledger.Reader, box *Inbox, lease time.Duration, now time.Time) (int64, error) {
	v := overlay{threadID: box.ThreadID, committed: r, box: box}
	l := v.leases(now, lease)
	if len(l.over) > 0 {
		l.next = now.UnixMilli()
	}
	return l.next, v.err
}

// leased is what is known of the leases of an inbox.
type leased struct {
	over []lapsed // the entries whose lease is over, at most leasesAtOnce
	next int64    // when the first of the others is over or, if its turn has not ended, not before; 0 = none runs
}

// leases looks at all told entries.
func (v *overlay) leases(now time.Time, lease time.Duration) (l leased) {
	ends := map[string]time.Time{} // when leases are over, by turn
	n := 0
	v.scan(EntryTable, ledger.Range{
		Index: EntryOpen, Prefix: []any{v.threadID},
		Only: []ledger.Only{{Column: "fresh", Values: []any{int64(0)}}, {Column: "superseded_by", Values: []any{int64(0)}}},
	}, func(row ledger.Row) bool {
		e := row.(*Entry)
		if !e.Visible() || e.Fresh || e.Leases >= maxLeases {
			return true
		}
		turnID := v.tellerOf(e)
		if turnID == "" {
			return true
		}
		end, known := ends[turnID]
		if !known {
			end = v.leaseEnd(turnID, now, lease)
			ends[turnID] = end
		}
		if v.err != nil {
			return false
		}
		if end.After(now) {
			if at := notify.TimeOf(end).Milli(); l.next == 0 || at < l.next {
				l.next = at
			}
			return true
		}
		if n++; n > leasesAtOnce {
			l.next = now.UnixMilli()
			return false
		}
		i := slices.IndexFunc(l.over, func(t lapsed) bool { return t.turnID == turnID })
		if i < 0 {
			i, l.over = len(l.over), append(l.over, lapsed{turnID: turnID})
		}
		l.over[i].entries = append(l.over[i].entries, e)
		return true
	})
	return l
}

// tellerOf returns the turn that was told what a visible entry shows, "" if none was. A remainder shows
// what a snapshot before it has told.
func (v *overlay) tellerOf(e *Entry) (turnID string) {
	if turnID = e.ToldByTurnID; turnID != "" || e.Digest == 0 {
		return turnID
	}
	v.scan(EntryTable, ledger.Range{Index: EntryOfDigest, Prefix: []any{e.Digest}, Newest: true}, func(row ledger.Row) bool {
		turnID = row.(*Entry).ToldByTurnID
		return turnID == ""
	})
	return turnID
}

// leaseEnd returns when the lease of what a turn was told is over. Of a turn that has not ended it is
// not before a whole lease from now. A turn that was removed ended long ago, and so did one whose
// end is further away than any lease: the clock was set back since.
func (v *overlay) leaseEnd(turnID string, now time.Time, lease time.Duration) time.Time {
	c, err := v.committed.Get(turns.ByID, turnID)
	if v.failed(err) || c == nil {
		return now
	}
	t, err := turns.Read(c)
	switch {
	case v.failed(err):
		return now
	case !t.State.Ended():
		return now.Add(lease)
	}
	if end := t.CompletedAt.Add(lease); !end.After(now.Add(lease)) {
		return end
	}
	return now
}

// leaseAt sets when to look at leases.
func (v *overlay) leaseAt(at int64) {
	if v.box == nil || v.box.LeaseAt == at {
		return
	}
	box := v.box.clone()
	box.LeaseAt = at
	v.Put(box)
}

// nextLease returns when to look at leases, given the policy in force: never if nothing is told, and not
// later than a whole lease from now.
func (v *overlay) nextLease(now time.Time, lease time.Duration) int64 {
	th := v.unit.Thread()
	most := now.Add(lease).UnixMilli()
	switch at := v.box.LeaseAt; {
	case lease == 0 || v.box.UnackedEntries == v.box.NewEntries || th != nil && !th.Open():
		return 0
	case at > most:
		return most
	default:
		return at
	}
}
