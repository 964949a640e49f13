package items

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Events are the events of items. Deltas change no row: see Item.
var Events = []ledger.EventType{
	ledger.Event[Created](notify.ItemCreated, ledger.OfItem, fold, "An item was created."),
	ledger.Event[Updated](notify.ItemUpdated, ledger.OfItem, fold, "An item changed; the event has its whole content."),
	ledger.Event[Deleted](notify.ItemDeleted, ledger.OfItem, fold, "An item was withdrawn."),
	ledger.Event[Delta](notify.ItemDelta, ledger.OfItem, nil, "Text to append to an open item."),
}

// OfBody returns the id of the item that an event is about; "" if there is none.
func OfBody(body any) string {
	switch b := body.(type) {
	case *Created:
		return b.ItemID
	case *Updated:
		return b.ItemID
	case *Deleted:
		return b.ItemID
	case *Delta:
		return b.ItemID
	}
	return ""
}

func fold(s ledger.State, h *notify.Header, body any) {
	prev, _ := s.Row(Table, OfBody(body)).(*Item)
	if next := Apply(prev, *h, body); next != nil {
		s.Put(next)
	}
}
