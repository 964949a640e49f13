package inbox

import (
	"fmt"

	"github.com/seed82539d15/holon/notify"
)

// client is what somebody outside knows: a default read, and the events since.
// It uses only what the events say.
type client struct {
	entries map[notify.ID]Entry
	pending int
}

func (w *world) newClient() *client {
	c := &client{entries: map[notify.ID]Entry{}}
	for _, e := range w.visible() {
		c.entries[e.EntryID] = e
	}
	if box := w.box(); box != nil {
		c.pending = box.PendingItems
	}
	return c
}

func (c *client) follow(events []logged) {
	told := func(ids []notify.ID, turnID string) {
		for _, id := range ids {
			if e, ok := c.entries[id]; ok {
				e.ToldByTurnID = turnID
				c.entries[id] = e
			}
		}
	}
	for _, e := range events {
		switch b := e.body.(type) {
		case *Received:
			if b.DigestID != "" {
				c.pending++
			}
		case *Posted:
			if b.Entry.DigestID != "" {
				c.pending -= len(b.NewRawIDs)
			}
			delete(c.entries, b.SupersedesEntryID)
			c.entries[b.Entry.EntryID] = b.Entry
		case *Acked:
			for _, id := range b.EntryIDs {
				delete(c.entries, id)
			}
		case *Told:
			told(b.EntryIDs, b.TurnID)
		case *Untold:
			told(b.EntryIDs, "")
		case *Woken:
			told(b.EntryIDs, "")
		}
	}
}

// check compares what the client knows with a default read.
func (c *client) check(w *world) error {
	now := w.newClient()
	if len(c.entries) != len(now.entries) || c.pending != now.pending {
		return fmt.Errorf("P10: a client knows %d entries and %d pending items, a read has %d and %d", len(c.entries), c.pending, len(now.entries), now.pending)
	}
	for id, e := range now.entries {
		if known, ok := c.entries[id]; !ok || !sameEntry(&known, &e) {
			return fmt.Errorf("P10: a client knows %+v, a read has %+v", known, e)
		}
	}
	return nil
}
