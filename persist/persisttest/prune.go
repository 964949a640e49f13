package persisttest

import (
	"context"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist"
)

func prune(t *testing.T, h Harness) {
	ctx := context.Background()
	old := NewMaker(t, h.Store, "thread_old")
	old.Start()
	old.StartTurn("turn_old")
	old.Messages("turn_old", 5000, 5)
	old.EndTurn("turn_old")
	old.Commit() // 1 to 5003
	m := NewMaker(t, h.Store, "thread_a")
	m.Start().Commit() // 5004
	m.StartTurn("turn_a")
	m.Create("turn_a", "item_a", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Delta("turn_a", "item_a", "b", 1)
	m.Commit() // 5005 to 5007
	step := func(before, first, removed int64) {
		t.Helper()
		p, err := h.Store.Prune(ctx, before)
		if err != nil || p.First != first || p.Removed != removed {
			t.Fatalf("prune below %d: %+v, %v; want first %d, removed %d", before, p, err, first, removed)
		}
		pos, err := h.Store.Position(ctx)
		if err != nil || pos.First != first {
			t.Fatalf("position %+v, %v", pos, err)
		}
		page, err := h.Store.Page(ctx, notify.Query{MaxEvents: 1, MaxBytes: 1})
		if err != nil || page.First != first || page.Latest != pos.Latest {
			t.Fatalf("page %+v, %v", page, err)
		}
		if len(page.Events) > 0 && page.Events[0].Seq != first {
			t.Fatalf("the first event is %d, want %d", page.Events[0].Seq, first)
		}
	}
	step(0, 1, 0)
	step(11, 11, 10)
	step(5, 11, 0)
	step(1<<40, 5007, 4996) // the text of the open item is in the log
	if it, err := h.Store.Item(ctx, "item_a"); err != nil || textOf(t, it) != "ab" {
		t.Errorf("after a prune the open item is %+v, %v", it, err)
	}
	if l, err := h.Store.ListItems(ctx, items.Query{ThreadID: "thread_old"}); err != nil || len(l.Rows) == 0 {
		t.Errorf("a prune removed rows: %v", err)
	}
	m.Update("turn_a", "item_a", items.StatusCompleted, items.NewAgentMessage("ab"))
	m.EndTurn("turn_a")
	m.Commit()
	step(1<<40, 5010, 3) // nothing left
	if r := NewMaker(t, h.Store, "thread_b").Start().Commit(); r.First != 5010 {
		t.Errorf("after a whole prune the next seq is %d (I3)", r.First)
	}
	step(0, 5010, 0)
	out, err := persist.Refold(ctx, h.Store)
	if err != nil || len(out.Differences) > 0 || out.Pruned != 2 || out.Threads != 1 {
		t.Errorf("refold %+v, %v", out, err)
	}
}

func retention(t *testing.T, h Harness) {
	ctx := context.Background()
	m := NewMaker(t, h.Store, "thread_a")
	m.Start()
	m.Messages("", 1000, 5)
	m.Commit() // the n-th event is n ms after the epoch
	at := func(seq int64) time.Time { return epoch.Add(time.Duration(seq) * time.Millisecond) }
	for _, seq := range []int64{1, 2, 500, 1001} {
		if got, err := h.Store.ExpiredBefore(ctx, at(seq), at(5000)); err != nil || got != seq {
			t.Errorf("seq at the time of %d is %d, %v", seq, got, err)
		}
	}
	if got, err := h.Store.ExpiredBefore(ctx, at(5000), at(5000)); err != nil || got != 1002 {
		t.Errorf("seq in the future is %d, %v", got, err)
	}
	p, err := persist.Retention{MaxAgeDays: 1}.Enforce(ctx, h.Store, at(300).Add(24*time.Hour))
	if err != nil || p.First != 300 || p.Removed != 299 {
		t.Errorf("by age: %+v, %v", p, err)
	}
	if p, err = (persist.Retention{MaxBytes: 1 << 40}).Enforce(ctx, h.Store, at(0)); err != nil || p.Removed != 0 {
		t.Errorf("not too large: %+v, %v", p, err)
	}
	before, err := h.Store.UsedBytes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = (persist.Retention{MaxBytes: 1}).Enforce(ctx, h.Store, at(0)); err != nil || p.First != 1002 || p.Removed != 702 {
		t.Errorf("too large: %+v, %v", p, err)
	}
	if after, err := h.Store.UsedBytes(ctx); err != nil || after >= before {
		t.Errorf("used %d bytes before, %d after, %v", before, after, err)
	}
}

func refold(t *testing.T, h Harness) {
	events := mixedLog(t, h)
	m := NewMaker(t, h.Store, "thread_open")
	m.Start()
	m.StartTurn("turn_open")
	m.Create("turn_open", "item_open", items.StatusInProgress, items.NewAgentMessage("a"))
	m.Delta("turn_open", "item_open", "b", 1)
	m.Create("turn_open", "item_gone", items.StatusCompleted, items.NewAgentMessage("a"))
	m.Add(notify.ItemDeleted, "turn_open", "item_gone", &items.Deleted{ItemID: "item_gone", Type: "deleted", Status: items.StatusDeleted})
	m.Commit()
	out, err := persist.Refold(context.Background(), h.Store)
	if err != nil || len(out.Differences) > 0 || out.Threads != 6 || out.Pruned+out.Busy != 0 {
		t.Errorf("refold %+v, %v", out, err)
	}
	if want := int64(len(events)) + 6 - 3; out.Events != want { // 3 belong to no thread
		t.Errorf("%d events refolded, want %d", out.Events, want)
	}
}
