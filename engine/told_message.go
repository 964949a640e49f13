package engine

import (
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// A message to an agent is an item of its turn: if it were larger than an item may be, its end
// would be lost there, and a worker, or the next attempt, would not get it.

// wakeMessage returns inbox.WakeMessage with as much as fits into an item.
func (r *rules) wakeMessage(entries []*inbox.Entry, raws map[int64]*inbox.Received, unended []turns.Result) (msg items.UserMessage, told []*inbox.Entry) {
	for room, less := inbox.MostRoom, true; ; room, less = room.Less() {
		if msg, told = inbox.WakeMessage(entries, raws, unended, room); !less || r.fits(msg) {
			return msg, told
		}
	}
}

// childrenMessage returns inbox.ChildrenMessage with as much as fits into an item.
func (r *rules) childrenMessage(list []inbox.Earlier, more int) (msg items.UserMessage, whole []bool) {
	for room, less := inbox.MostRoom, true; ; room, less = room.Less() {
		if msg, whole = inbox.ChildrenMessage(list, more, room.Bytes); !less || r.fits(msg) {
			return msg, whole
		}
	}
}

// fits reports whether a message is not too large for an item.
func (r *rules) fits(msg items.UserMessage) bool {
	raw, err := items.Encode(msg)
	return err == nil && len(raw) <= r.cfg.MaxItemBytes
}

// tellInput records of a turn that is tried again that its input tells what an earlier prompt of it
// was told and no agent has read: it is new, and in the input again. What was superseded since,
// or what an answer under way tells, stays new.
func (w *childWriter) tellInput(input []items.UserMessage) error {
	inInput := map[string]bool{}
	for i := range input {
		for _, e := range input[i].Entries {
			inInput[e.EntryID] = true
		}
	}
	if len(inInput) == 0 {
		return nil
	}
	live := turns.EndsLive{}
	err := w.d.inbox.inSnapshot(func(b *inbox.Book) error {
		for len(inInput) > 0 {
			list, err := b.Fresh(func(e *inbox.Entry) bool { return !inInput[string(e.EntryID)] })
			if err != nil || len(list) == 0 {
				return err
			}
			told := list[:0:0]
			for _, e := range list {
				delete(inInput, string(e.EntryID))
				ends, err := inbox.EndsAmong(b, []*inbox.Entry{e})
				if err != nil {
					return err
				}
				if len(ends) == 1 {
					end := turns.EndsLive{ends[0].TurnID: ends[0].Seq}
					gone, err := end.Superseded(inbox.ReaderOf(b))
					if err != nil {
						return err
					}
					if len(gone) > 0 || w.d.rules.awaits.reserves(w.d.change.threadID, ends[0].TurnID) {
						continue
					}
					live[ends[0].TurnID] = ends[0].Seq
				}
				told = append(told, e)
			}
			if len(told) > 0 {
				b.Tell(told, w.d.active().turn.TurnID)
			}
		}
		return b.Err()
	})
	if len(live) > 0 {
		w.d.fence(live)
	}
	return err
}
