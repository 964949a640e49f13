package persisttest

import (
	"context"
	"testing"

	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Assigning is a row that calls Then in the moment between the commit of its unit and the
// publication: readers see the unit, and neither the tail nor the head in memory has it.
type Assigning struct {
	ledger.Row
	Then func()
}

// AssignSeqs implements ledger.Row.
func (r *Assigning) AssignSeqs(first int64) {
	r.Row.AssignSeqs(first)
	r.Then()
}

// AssignAtItem makes the first item of a unit an Assigning.
func AssignAtItem(t testing.TB, u *ledger.Unit, then func()) {
	t.Helper()
	for i, r := range u.Rows {
		if _, is := r.(*items.Item); is {
			u.Rows[i] = &Assigning{Row: r, Then: then}
			return
		}
	}
	t.Fatal("the unit has no item")
}

// position checks that no read returns a seq that Position does not have, also not while a
// commit is being published.
func position(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_a", items.StatusCompleted, items.NewNotice("info", "x"))
	called := false
	u := m.Unit()
	AssignAtItem(t, u, func() {
		called = true
		before := h.Tail.Head()
		for name, read := range map[string]func() (int64, error){
			"thread/read": func() (int64, error) {
				r, err := h.Store.ReadThread(ctx, "thread_a", 1)
				return r.Latest, err
			},
			"thread/list": func() (int64, error) {
				l, err := h.Store.Summaries(ctx, turns.SummaryQuery{})
				return l.Latest, err
			},
			"turn/list":   func() (int64, error) { return latestOf(h.Store.ListTurns(ctx, turns.Query{})) },
			"item/list":   func() (int64, error) { return latestOf(h.Store.ListItems(ctx, items.Query{ThreadID: "thread_a"})) },
			"cursor/list": func() (int64, error) { return latestOf(h.Store.ListCursors(ctx, cursors.Query{})) },
			"inbox/read": func() (int64, error) {
				r, err := h.Store.ReadInbox(ctx, inbox.Read{ThreadID: "thread_a"})
				return r.Latest, err
			},
			"event/list": func() (int64, error) {
				r, err := h.Store.Page(ctx, notify.Query{MaxEvents: 1, MaxBytes: 1})
				return r.Latest, err
			},
		} {
			latest, err := read()
			at, failed := h.Store.Position(ctx)
			if err != nil || failed != nil || latest <= before || at.Latest < latest {
				t.Errorf("%s returns %d (%v), the log ends at %d (%v), and %d was published", name, latest, err, at.Latest, failed, before)
			}
		}
	})
	if _, err := h.Store.Append(u); err != nil || !called {
		t.Errorf("append: %v, called %v", err, called)
	}
}

func latestOf[R any](l turns.List[R], err error) (int64, error) { return l.Latest, err }
