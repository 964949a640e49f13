package persist

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/seed82539d15/holon/internal/events"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// folding is the rebuild of one thread: a ledger.State with its rows in memory.
// Of items that have ended it does not keep the content.
type folding struct {
	thread  string
	upTo    int64
	events  int64
	row     *threads.Thread
	turns   map[string]*turns.Turn
	items   map[string]*foldedItem
	tries   map[string][]*turns.Step // by turn, in the order in which they began
	inbox   *foldedInbox
	taken   map[string]int64 // by child turn of this owner: its end that the inbox has
	runtime turns.Runtime
	diffs   []Difference
}

// foldedItem is an item whose content is kept only while it is open. Then the
// hash replaces it.
type foldedItem struct {
	items.Item
	deltas []string
	hash   [sha256.Size]byte
}

func newFolding(thread string, upTo int64) *folding {
	return &folding{
		thread: thread, upTo: upTo,
		turns: map[string]*turns.Turn{}, items: map[string]*foldedItem{}, tries: map[string][]*turns.Step{},
		inbox: newFoldedInbox(), taken: map[string]int64{},
	}
}

func (f *folding) read(ctx context.Context, r turns.Reader) error {
	return eachEvent(ctx, r, notify.Filter{ThreadIDs: []string{f.thread}}, f.upTo, func(method string, h notify.Header, body any) error {
		f.events++
		if h.ThreadSeq != f.events {
			f.diff("events", fmt.Sprint(h.Seq), "thread_seq", fmt.Sprint(h.ThreadSeq), fmt.Sprint(f.events))
		}
		return f.apply(method, h, body)
	})
}

func (f *folding) apply(method string, h notify.Header, body any) error {
	old := f.items[items.OfBody(body)]
	switch b := body.(type) {
	case *items.Delta:
		if old != nil {
			old.deltas = append(old.deltas, b.Delta.Text)
		}
	case *items.Deleted: // the event has no content: the item keeps its own
		if old != nil {
			content, err := items.Fold(old.Content, old.deltas)
			if err != nil {
				return err
			}
			old.Content = content
		}
	}
	events.Fold(f, method, &h, body)
	if f.row != nil {
		f.row.LatestSeq, f.row.LatestThreadSeq = h.Seq, h.ThreadSeq
	}
	if i := tryAt(f.tries[h.TurnID], h.Step, h.Epoch); i >= 0 && len(h.Lineage) > 0 {
		if by := f.tries[h.TurnID][i].HiddenBy; by != 0 { // the fence should have refused it (I8)
			f.diff("events", fmt.Sprint(h.Seq), "lineage", fmt.Sprintf("a try that %d has superseded", by), notify.TurnLate)
		}
	}
	return nil
}

// Row implements ledger.State.
func (f *folding) Row(t *ledger.Table, id any) ledger.Row {
	switch t {
	case threads.Table:
		if f.row != nil {
			return f.row
		}
	case turns.Table:
		if row := f.turns[id.(string)]; row != nil {
			return row
		}
	case items.Table:
		if it := f.items[id.(string)]; it != nil {
			return &it.Item
		}
	case turns.RuntimeTable:
		return &f.runtime
	default:
		return f.inbox.Row(t, id)
	}
	return nil
}

// Rows implements ledger.State.
func (f *folding) Rows(t *ledger.Table, group string, visit func(ledger.Row) bool) {
	if t != turns.StepTable {
		f.inbox.Rows(t, group, visit)
		return
	}
	list := f.tries[group]
	for i := len(list) - 1; i >= 0 && visit(list[i]); i-- {
	}
}

// Put implements ledger.State.
func (f *folding) Put(row ledger.Row) {
	switch r := row.(type) {
	case *threads.Thread:
		f.row = r
	case *turns.Turn:
		f.turns[r.TurnID] = r
	case *turns.Step:
		list := f.tries[r.TurnID]
		if i := tryAt(list, r.Step, r.Epoch); i >= 0 {
			list[i] = r
		} else {
			f.tries[r.TurnID] = append(list, r)
		}
	case *turns.Taken:
		f.taken[r.TurnID] = r.Seq
	case *turns.Runtime:
		f.runtime = *r
	case *items.Item:
		it := &foldedItem{Item: *r}
		if old := f.items[r.ItemID]; old != nil {
			it.hash = old.hash
		}
		switch {
		case r.Status.Open():
			it.hash = [sha256.Size]byte{}
		case r.Content != nil:
			it.hash, it.Content = hashJSON(r.Content), nil
		}
		f.items[r.ItemID] = it
	default:
		f.inbox.Put(row)
	}
}

// tryAt returns the index of a try, -1 if it is not in the list. It begins with
// the newest.
func tryAt(list []*turns.Step, step string, epoch int) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Epoch == epoch && list[i].Step == step {
			return i
		}
	}
	return -1
}
