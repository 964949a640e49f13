package engine_test

import (
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestTurnRunsFromStartToEnd(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		if r.State != turns.Active || r.StartedAt.IsZero() || r.Seq != 3 {
			t.Errorf("started: %+v", r)
		}
		c := h.next(h.agent)
		if c.said() != "do it" || c.TurnID != r.TurnID || c.Attempt != 1 || c.Index != 0 {
			t.Errorf("prompt: %+v", c.Prompt)
		}
		id := h.message(c, "hello ")
		h.emit(c, items.Append{ItemID: id, Text: "world"}, items.Update{ItemID: id, Status: items.StatusCompleted})
		c.end(turns.Completed)
		if e := h.ended(r.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		if it := h.item(id); it.Status != items.StatusCompleted {
			t.Errorf("item: %+v", it)
		}
	})
}
