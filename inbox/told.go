package inbox

import (
	"cmp"
	"slices"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// The bounds of what one prompt tells.
const (
	MaxToldEntries = 100
	MaxToldBytes   = 64 << 10
)

// Fresh lists the oldest entries that are fresh, at most MaxToldEntries. Those
// that the unit itself has posted or made fresh are among them. skip leaves entries
// out; nil = none.
func (b *Book) Fresh(skip func(*Entry) bool) ([]*Entry, error) {
	var list []*Entry
	for _, row := range b.rows.overlay[EntryTable] {
		if e := row.(*Entry); e.Fresh && (skip == nil || !skip(e)) {
			list = append(list, e)
		}
	}
	changed := len(list)
	b.rows.scan(EntryTable, ledger.Range{Index: EntryNew, Prefix: []any{b.rows.threadID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); b.rows.overlay[EntryTable][e.ID()] == nil && (skip == nil || !skip(e)) {
			list = append(list, e)
		}
		return len(list)-changed < MaxToldEntries
	})
	sortEntries(list)
	return list[:min(len(list), MaxToldEntries)], b.rows.err
}

// sortEntries puts the oldest first.
func sortEntries(list []*Entry) {
	slices.SortFunc(list, func(x, y *Entry) int { return cmp.Compare(order(x.Seq), order(y.Seq)) })
}

// Tell records that the turn's prompt tells the entries.
func (b *Book) Tell(entries []*Entry, turnID string) {
	b.add(notify.InboxTold, &Told{EntryIDs: idsOf(entries), TurnID: turnID})
	if lease := b.Settings.ToldLease; lease != 0 && b.rows.inbox().LeaseAt == 0 {
		b.rows.leaseAt(b.Now.Add(lease).UnixMilli()) // the turn ends after now
	}
}

// TellNewAttempt records that the list for a new attempt of a turn tells these entries, those of
// them that an earlier attempt was not told, and does not tell those that are left. What of these
// an earlier attempt was told is new again: this one does not know it.
func TellNewAttempt(b *Book, turnID string, told, left []*Entry) {
	fresh := func(e *Entry) bool { return e.Fresh }
	if again := slices.DeleteFunc(left, fresh); len(again) > 0 {
		b.add(notify.InboxUntold, &Untold{EntryIDs: idsOf(again), TurnID: turnID, Silent: b.rows.inbox().Silent})
	}
	if first := slices.DeleteFunc(told, func(e *Entry) bool { return !fresh(e) }); len(first) > 0 {
		b.Tell(first, turnID)
	}
}

func idsOf(entries []*Entry) []notify.ID {
	ids := make([]notify.ID, len(entries))
	for i, e := range entries {
		ids[i] = e.EntryID
	}
	return ids
}

// Untell makes the entries new again that a turn was told after its agent's last word, whose
// item has the seq word; 0 = it has said nothing. What it was told before stays told. wake
// says that the turn was a wake. After maxSilent such wakes in a row nothing wakes the thread.
func (b *Book) Untell(turnID string, wake bool, word int64) error {
	list := slices.DeleteFunc(b.rows.toldBy(turnID), func(e *Entry) bool { return order(e.ToldSeq) < order(word) })
	if b.rows.err != nil || len(list) == 0 {
		return b.rows.err
	}
	silent := b.rows.inbox().Silent
	if wake {
		silent++
	}
	b.add(notify.InboxUntold, &Untold{EntryIDs: idsOf(list), TurnID: turnID, Silent: silent})
	if b.rows.box.Silent >= maxSilent && b.rows.box.Stalled == "" {
		b.add(notify.InboxStalled, &Stalled{Reason: StallSilent})
	}
	return b.rows.err
}

// WakeNow makes entries that were told and are not acknowledged new again, and
// ends what keeps the thread from being woken, and what ends of child turns wait for. Entries that the active turn was told stay
// as they are ("" = no turn is active): the end of that turn decides about them.
func (b *Book) WakeNow(active string) ([]notify.ID, error) {
	left := map[int64]bool{} // seqs of entries, and of digests: a remainder shows less than the entry that was told
	if active != "" {
		for _, e := range b.rows.toldBy(active) {
			left[e.Seq] = true
			if e.Digest != 0 {
				left[e.Digest] = true
			}
		}
	}
	var list []*Entry
	b.rows.scan(EntryTable, ledger.Range{Index: EntryOpen, Prefix: []any{b.rows.threadID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.Visible() && !e.Fresh && !left[e.Seq] && !left[e.Digest] {
			list = append(list, e)
		}
		return true
	})
	if b.rows.err != nil {
		return nil, b.rows.err
	}
	box, th := b.rows.inbox(), b.rows.unit.Thread()
	held := th != nil && th.Held
	if len(list) > 0 || held || box.NewEntries > 0 || box.Stalled != "" || box.Silent > 0 || len(box.Wakes) > 0 {
		b.add(notify.InboxWoken, &Woken{EntryIDs: idsOf(list)})
	}
	return idsOf(list), b.rows.err
}
