package engine_test

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/persist"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// TestLinesAreOfTheThreadThatChangedThem changes files in an attempt that crashes, in the
// one that follows, and in one that a client asks for, and restarts the server between
// them. What has not completed is not counted, and nothing twice.
func TestLinesAreOfTheThreadThatChangedThem(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		lines := func(added, removed int64) {
			t.Helper()
			time.Sleep(time.Second) // of the bubble: output is committed together with what follows soon
			l, err := h.reader.Summaries(bg, turns.SummaryQuery{Query: threads.Query{IDs: []string{"a"}}})
			if err != nil {
				t.Fatal(err)
			}
			got, want := l.Rows[0].Summary.Changed, items.Lines{Added: added, Removed: removed}
			if want == (items.Lines{}) && got != nil || want != (items.Lines{}) && (got == nil || *got != want) || l.Rows[0].Summary.Spent != nil {
				t.Errorf("changed %+v, want %+v; spent %+v", got, want, l.Rows[0].Summary.Spent)
			}
		}
		edit := func(before, after string) items.FileChange {
			return items.FileChange{Type: items.KindFileChange, Changes: []items.Change{
				{Path: "a.go", Operation: "modify", OldText: before, NewText: after}, {Path: "b.go", Operation: "add", NewText: "x\n"},
			}}
		}
		c := h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5}})
		h.emit(c, items.Create{ItemID: "item_read", Status: items.StatusCompleted, Content: items.ToolCall{Type: items.KindToolCall}})
		lines(0, 0)
		h.emit(c, items.Create{ItemID: "item_1", Status: items.StatusCompleted, Content: edit("a\nb\nc\n", "a\nB\nc\nd\n")})
		lines(3, 1)
		h.emit(c, items.Create{ItemID: "item_2", Status: items.StatusInProgress, Content: edit("", "")})
		h.emit(c, items.Create{ItemID: "item_3", Status: items.StatusInProgress, Content: edit("a", "b")})
		lines(3, 1)
		h.emit(c, items.Update{ItemID: "item_2", Status: items.StatusCompleted, Content: edit("a\nb\n", "")})
		lines(4, 3)
		h.emit(c, items.Create{ItemID: "item_4", Status: items.StatusFailed, Content: edit("a", "b")})
		c.crash() // item_3 has not completed
		second := h.next(h.agent)
		lines(4, 3)
		h.emit(second, items.Create{ItemID: "item_5", Status: items.StatusCompleted, Content: edit("", "")})
		lines(5, 3)
		h.restart()
		lines(5, 3)
		third := h.next(h.agent)
		h.emit(third, items.Create{ItemID: "item_6", Status: items.StatusInProgress, Content: edit("", "")})
		h.emit(third, items.Update{ItemID: "item_6", Status: items.StatusCompleted})
		third.end(turns.Failed)
		h.endedIn(c.TurnID, 3)
		lines(6, 3)
		h.retry(c.TurnID)
		last := h.next(h.agent)
		h.emit(last, items.Create{ItemID: "item_7", Status: items.StatusInProgress, Content: edit("", "")})
		last.end(turns.Completed) // the item completes with its turn
		h.endedIn(c.TurnID, 4)
		lines(7, 3)
		out, err := persist.Refold(bg, h.reader)
		if err != nil || len(out.Differences) > 0 {
			t.Errorf("%+v, %v", out.Differences, err)
		}
	})
}
