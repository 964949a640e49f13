package engine_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func TestSteerBecomesTheNextPromptOfTheSameTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		c := h.next(h.agent)
		left := h.message(c, "first")
		s1 := h.steer(r.TurnID, "one", false)
		s2 := h.steer(r.TurnID, "two", false)
		if s1.State != turns.Active || s1.AcceptedItems != 1 || s1.Delivery != turns.DeliveryQueued || s1.AcceptedAt.IsZero() {
			t.Errorf("steered: %+v", s1)
		}
		if it := h.item(s1.ItemIDs[0]); it.Status != items.StatusInProgress {
			t.Errorf("before the agent has it the text is %s", it.Status)
		}
		h.idle(h.agent) // the current prompt continues
		c.end(turns.Completed)
		next := h.next(h.agent)
		if next.said() != "one|two" || next.TurnID != r.TurnID || next.Index != 1 {
			t.Errorf("second prompt is %q, %d of %s", next.said(), next.Index, next.TurnID)
		}
		for _, id := range []string{s1.ItemIDs[0], s2.ItemIDs[0], left} {
			if it := h.item(id); it.Status != items.StatusCompleted {
				t.Errorf("%s %s is %s", it.Type, id, it.Status)
			}
		}
		next.end(turns.Completed)
		if e := h.ended(r.TurnID); e.Method != notify.TurnCompleted || len(e.Undelivered) != 0 {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestSteerThatInterruptsCutsThePromptNotTheTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		c := h.next(h.agent)
		left := h.message(c, "half a sen")
		q := h.ask(c, permission(), turns.AskOptions{})
		h.steer(r.TurnID, "no, this", true)
		if a := h.got(q); a.Status != items.StatusCancelled {
			t.Errorf("the question of the cut prompt ended %s", a.Status)
		}
		next := h.next(h.agent)
		if next.said() != "no, this" || next.TurnID != r.TurnID {
			t.Errorf("next prompt is %q of %s", next.said(), next.TurnID)
		}
		if it := h.item(left); it.Status != items.StatusInterrupted {
			t.Errorf("the message of the cut prompt is %s", it.Status)
		}
		if tn := h.turn(r.TurnID); tn.State != turns.Active || tn.Progress != turns.Running {
			t.Errorf("turn is %s, %s", tn.State, tn.Progress)
		}
		next.end(turns.Completed)
		if e := h.ended(r.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestTurnThatIsCutNoLongerWaitsForAPerson(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		c := h.next(h.deaf)
		h.ask(c, permission(), turns.AskOptions{})
		h.steer(r.TurnID, "no, this", true)
		if tn := h.turn(r.TurnID); tn.Progress != turns.Running {
			t.Errorf("after the cut the turn is %s", tn.Progress)
		}
		if l := h.engine.Load(); l.Waiting != 0 {
			t.Errorf("%d turns wait for a person", l.Waiting)
		}
		c.end(turns.Completed)
		h.next(h.deaf).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestStubbornPromptThatIsCutIsGivenUpAndTheTurnGoesOn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		c := h.next(h.deaf)
		began := time.Now()
		h.steer(r.TurnID, "listen", true)
		next := h.next(h.deaf)
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("given up after %v", d)
		}
		select {
		case <-c.Over:
		default:
			t.Error("Over is not closed for the prompt that was given up")
		}
		if err := c.Emit(bg, items.Progress{Message: "late"}); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("emit of the old prompt: %v", err)
		}
		c.end(turns.Failed) // the agent no longer accepts text
		h.idle(h.deaf)
		if tn := h.turn(r.TurnID); tn.State != turns.Active {
			t.Errorf("the old prompt's end ended the turn: %s", tn.State)
		}
		next.end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestSteerThatTheEndOvertakesIsListedAsUndelivered(t *testing.T) {
	for name, end := range map[string]func(h *harness, c *call, turnID string){
		"interrupted": func(h *harness, _ *call, turnID string) { h.interrupt(turnID) },
		"failed":      func(_ *harness, c *call, _ string) { c.end(turns.Failed) },
		"stopped":     func(_ *harness, c *call, _ string) { c.end(turns.Interrupted) },
		"restarted":   func(h *harness, _ *call, _ string) { h.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "")
				r := h.start("a")
				c := h.next(h.agent)
				var ids []string
				ids = append(ids, h.steer(r.TurnID, "one", false).ItemIDs...)
				ids = append(ids, h.steer(r.TurnID, "two", false).ItemIDs...)
				end(h, c, r.TurnID)
				if e := h.ended(r.TurnID); !slices.Equal(e.Undelivered, ids) {
					t.Errorf("undelivered %v, want %v", e.Undelivered, ids)
				}
				for _, id := range ids {
					if it := h.item(id); it.Status != items.StatusInterrupted {
						t.Errorf("the text is %s", it.Status)
					}
				}
				h.idle(h.agent)
			})
		})
	}
}

func TestSteersOfATurnAreBounded(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxQueue: 3}}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		c := h.next(h.agent)
		for range 3 {
			h.steer(r.TurnID, "more", false)
		}
		if _, err := h.engine.Steer(bg, turns.Steer{TurnID: r.TurnID, Input: text("x")}); !errors.Is(err, turns.ErrQueueFull) {
			t.Errorf("the fourth: %v", err)
		}
		c.end(turns.Completed)
		c = h.next(h.agent)
		h.steer(r.TurnID, "again", false)
		c.end(turns.Completed)
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestStartOnBusySteerGoesToTheActiveTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		c := h.next(h.agent)
		s := h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusySteer, Input: text("also")})
		if s.TurnID != r.TurnID || !s.Steered || s.State != turns.Active || len(s.ItemIDs) != 1 || s.Delivery != turns.DeliveryQueued || s.StartedAt != r.StartedAt {
			t.Errorf("steered: %+v", s)
		}
		c.end(turns.Completed)
		next := h.next(h.agent)
		if next.said() != "also" || next.Input[0].Origin != items.OriginSteer {
			t.Errorf("prompt %q, origin %s", next.said(), next.Input[0].Origin)
		}
		next.end(turns.Completed)
		h.ended(r.TurnID)
		s = h.startWith(turns.Start{ThreadID: "a", OnBusy: turns.BusySteer})
		if s.Steered || s.State != turns.Active || s.TurnID == r.TurnID {
			t.Errorf("with none active it starts one: %+v", s)
		}
		h.next(h.agent).end(turns.Completed)
		h.ended(s.TurnID)
	})
}
