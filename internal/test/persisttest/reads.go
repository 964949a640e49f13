package persisttest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// sparseFilter looks for a few events in a log that is longer than what one
// page may look at.
func sparseFilter(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit()
	for range 9 {
		m.Messages("", 3000, 1)
		m.Commit()
	}
	if _, err := h.Store.Append(RuntimeUnit(t, turns.Runtime{}, true)); err != nil {
		t.Fatal(err)
	}
	for _, ids := range [][]string{nil, {"thread_a"}, {"thread_a", "thread_b"}} {
		q := notify.Query{Filter: notify.Filter{ThreadIDs: ids, Methods: []string{"holon/*", notify.ThreadStarted}}, MaxEvents: 100, MaxBytes: 1 << 20}
		p, err := h.Store.Page(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if p.Scanned > 25_000 || !p.More {
			t.Errorf("%v: one page looked at %d events, more is %v", ids, p.Scanned, p.More)
		}
		want := 2
		if ids != nil {
			want = 1
		}
		if got := paged(t, h.Store, q); len(got) != want {
			t.Errorf("%v: %d events, want %d", ids, len(got), want)
		}
	}
}

func listBytes(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 30, 100_000)
	m.Commit()
	seen := 0
	for cursor, first := "", true; first || cursor != ""; first = false {
		l, err := h.Store.ListItems(context.Background(), items.Query{Cursor: cursor, Limit: 1000})
		if err != nil || len(l.Rows) > 10 || len(l.Rows) == 0 {
			t.Fatalf("%d rows, %v", len(l.Rows), err)
		}
		seen += len(l.Rows)
		cursor = l.Next
	}
	if seen != 30 {
		t.Errorf("%d items, want 30", seen)
	}
}

func badCursors(t *testing.T, h Harness) {
	if _, err := h.Store.ListItems(context.Background(), items.Query{Cursor: "x"}); !errors.Is(err, notify.ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
	if _, err := h.Store.ListTurns(context.Background(), turns.Query{Cursor: "-1", Newest: true}); !errors.Is(err, notify.ErrBadCursor) {
		t.Errorf("bad cursor: %v", err)
	}
}

// snapshots reads an item while its text grows by one byte per event: text
// and latest_seq must be of one moment.
func snapshots(t *testing.T, h Harness) {
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage(""))
	m.Commit()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				it, latest, err := h.Store.ReadItem(context.Background(), "item_a")
				if err != nil || it == nil {
					t.Errorf("read: %v", err)
					return
				}
				if n := int64(len(textOf(t, it))); n != latest-3 {
					t.Errorf("%d bytes at seq %d", n, latest)
					return
				}
			}
		})
	}
	for n := range 200 {
		m.Delta("turn_a", "item_a", "x", n)
		m.Commit()
	}
	close(done)
	wg.Wait()
}
