package threads

import (
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// CountLines returns the row of a thread in which an item has changed these lines. The
// row's UpdatedSeq stays, as in Spend. What is superseded counts, too.
func (t *Thread) CountLines(l *items.Lines) *Thread {
	if l == nil {
		return t
	}
	next, all := *t, items.Lines{}
	if t.Lines != nil {
		all = *t.Lines
	}
	all.Added, all.Removed = sum(all.Added, l.Added), sum(all.Removed, l.Removed)
	next.Lines = &all
	return &next
}

// ItemEvents are the events of items. They also change the row of the thread: they say
// which lines of files its items have changed.
var ItemEvents = func() []ledger.EventType {
	list := slices.Clone(items.Events)
	for i := range list {
		fold := list[i].Fold
		if fold == nil {
			continue
		}
		list[i].Fold = func(s ledger.State, h *notify.Header, body any) {
			fold(s, h, body)
			if l := items.ChangedBy(body); l != nil {
				if t, ok := s.Row(Table, h.ThreadID).(*Thread); ok {
					s.Put(t.CountLines(l))
				}
			}
		}
	}
	return list
}()
