package inbox

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// The bounds of what one prompt tells.
const (
	MaxToldEntries = 100
	MaxToldBytes   = 64 << 10
)

// Fresh lists the oldest entries that are fresh, at most MaxToldEntries.
func (b *Book) Fresh() ([]*Entry, error) {
	var list []*Entry
	b.scan(EntryTable, ledger.Range{Index: EntryNew, Prefix: []any{b.ThreadID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.Fresh {
			list = append(list, e)
		}
		return len(list) < MaxToldEntries
	})
	return list, b.err
}

// Tell says that the turn's prompt tells the entries.
func (b *Book) Tell(entries []*Entry, turnID string) {
	b.add(notify.InboxTold, &Told{EntryIDs: idsOf(entries), TurnID: turnID})
}

func idsOf(entries []*Entry) []notify.ID {
	ids := make([]notify.ID, len(entries))
	for i, e := range entries {
		ids[i] = e.EntryID
	}
	return ids
}

// toldBy lists the entries that a turn was told and that are not fully
// acknowledged.
func (b *Book) toldBy(turnID string) (list []*Entry) {
	b.scan(EntryTable, ledger.Range{Index: EntryTold, Prefix: []any{turnID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.ToldByTurnID == turnID && e.AckedAt.IsZero() {
			list = append(list, e)
		}
		return true
	})
	return list
}

// Untell makes the entries that a turn was told new again: it ended without a
// word of its agent. After maxSilent such wakes in a row nothing wakes the thread.
func (b *Book) Untell(turnID string) error {
	if b.inbox().ToldTurn != turnID || b.inbox().Untold {
		return nil
	}
	list := b.toldBy(turnID)
	if b.err != nil || len(list) == 0 {
		return b.err
	}
	b.add(notify.InboxUntold, &Untold{EntryIDs: idsOf(list), TurnID: turnID, Silent: b.inbox().Silent + 1})
	if b.box.Silent >= maxSilent && b.box.Stalled == "" {
		b.add(notify.InboxStalled, &Stalled{Reason: StallSilent})
	}
	return b.err
}

// WakeNow makes entries that were told and are not acknowledged new again, and
// ends what keeps the thread from being woken.
func (b *Book) WakeNow() ([]notify.ID, error) {
	var list []*Entry
	b.scan(EntryTable, ledger.Range{Index: EntryOpen, Prefix: []any{b.ThreadID}}, func(row ledger.Row) bool {
		if e := row.(*Entry); e.Visible() && !e.Fresh {
			list = append(list, e)
		}
		return true
	})
	if b.err != nil {
		return nil, b.err
	}
	box, th := b.inbox(), b.unit.Thread()
	held := th != nil && th.Held
	if len(list) > 0 || held || box.Stalled != "" && box.Stalled != stallLifted || box.Silent > 0 {
		b.add(notify.InboxWoken, &Woken{EntryIDs: idsOf(list)})
	}
	return idsOf(list), b.err
}
