package engine_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// asking starts a turn in a thread of its own that waits for a person.
func (h *harness) asking(thread string) (*call, *asked) {
	h.t.Helper()
	h.thread(thread, "")
	h.start(thread)
	c := h.next(h.agent)
	q := h.ask(c, permission(), turns.AskOptions{})
	synctest.Wait()
	return c, q
}

func (h *harness) allow(q *asked) {
	h.t.Helper()
	if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); err != nil {
		h.t.Fatalf("respond: %v", err)
	}
	h.got(q)
	synctest.Wait()
}

func (h *harness) slots(active, lent int) {
	h.t.Helper()
	synctest.Wait()
	if g := h.engine.Gate(); g.Active-g.Granted != active || g.Lent != lent {
		h.t.Errorf("the gate counts %+v, want %d slots and %d turns without one", g, active, lent)
	}
}

// Questions that nobody answers keep no turn from starting, and a turn that is
// answered continues at once.
func TestTurnThatWaitsForAPersonHasNoSlot(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		var asking []*asked
		var calls []*call
		for i := range 5 {
			c, q := h.asking(fmt.Sprint("asks", i))
			calls, asking = append(calls, c), append(asking, q)
		}
		h.slots(0, 5)
		busy := h.prompt()
		h.slots(1, 5)
		if l := h.engine.Load(); l.Active != 6 || l.Waiting != 5 || l.Slots != 1 {
			t.Errorf("load %+v", l)
		}
		h.allow(asking[0])
		h.allow(asking[1])
		h.slots(3, 3) // over the limit
		h.thread("next", "")
		next := h.start("next")
		busy.end(turns.Completed)
		calls[0].end(turns.Completed)
		h.ended(calls[0].TurnID)
		h.idle(h.agent) // one is still running
		calls[1].end(turns.Completed)
		if c := h.next(h.agent); c.TurnID != next.TurnID {
			t.Errorf("started %s", c.TurnID)
		} else {
			c.end(turns.Completed)
		}
		h.ended(next.TurnID)
		// However the others end, no slot stays taken.
		h.interrupt(calls[2].TurnID)
		h.interrupt(calls[3].TurnID)
		calls[4].end(turns.Failed)
		for _, c := range calls {
			h.ended(c.TurnID)
		}
		h.slots(0, 0)
	})
}

// A second question of the same turn, and one that is answered while another
// is open, change nothing.
func TestSlotFollowsTheLastOpenQuestion(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		c, first := h.asking("a")
		second := h.ask(c, permission(), turns.AskOptions{})
		h.slots(0, 1)
		h.allow(first)
		h.slots(0, 1)
		h.allow(second)
		h.slots(1, 0)
		third := h.ask(c, permission(), turns.AskOptions{ExpiresAfter: time.Minute})
		h.slots(0, 1)
		time.Sleep(time.Minute)
		h.got(third)
		h.slots(1, 0)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		h.slots(0, 0)
	})
}

func TestTurnsThatWaitAboveTheBoundKeepTheirSlots(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2, MaxWaitingTurns: 1}}, func(h *harness) {
		_, first := h.asking("a")
		h.asking("b")
		h.asking("c")
		h.slots(2, 1)
		h.thread("d", "")
		if r := h.start("d"); r.State != turns.Queued {
			t.Errorf("the turn is %s", r.State)
		}
		h.idle(h.agent)
		h.allow(first)
		h.slots(2, 1) // another gives its slot back instead
	})
}

// A full disk: a turn that asks has its slot until the log says that it
// waits, and one that is answered while the disk is full waits on.
func TestSlotIsGivenBackWithTheLog(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		h.thread("a", "")
		h.start("a")
		c := h.next(h.agent)
		h.faults.failAll(ledger.ErrStorageFull)
		healed := time.AfterFunc(10*engine.HeldRetry, h.faults.heal)
		asked := make(chan *asked)
		go func() { asked <- h.ask(c, permission(), turns.AskOptions{}) }()
		h.slots(1, 0)
		q := <-asked
		healed.Stop()
		h.slots(0, 1)
		h.faults.failAll(ledger.ErrStorageFull)
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionID: "yes"}); err == nil {
			t.Error("answered on a full disk")
		}
		h.slots(0, 1)
		h.faults.heal()
		h.allow(q)
		h.slots(1, 0)
		c.crash()
		h.ended(c.TurnID)
		h.slots(0, 0)
	})
}

// An attempt that is given up at a question waits for the next one like any other.
func TestAttemptThatDiesAtAQuestionKeepsCount(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		c := h.tried(turns.Start{})
		h.ask(c, permission(), turns.AskOptions{})
		h.slots(0, 1)
		c.crash()
		h.marker(c.TurnID, 1)
		h.slots(1, 0)
		c = h.next(h.agent)
		c.end(turns.Completed)
		h.endedIn(c.TurnID, 2)
		h.slots(0, 0)
	})
}

// A turn that had to keep its slot gives it back as soon as fewer wait
// without one, or it would keep others from starting until it is answered.
func TestTurnThatKeptItsSlotGivesItBackWhenItMay(t *testing.T) {
	for name, continues := range map[string]bool{"one is answered": true, "one is interrupted": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1, MaxWaitingTurns: 1}}, func(h *harness) {
				first, q := h.asking("a")
				second, _ := h.asking("b")
				h.slots(1, 1)
				h.thread("c", "")
				queued := h.start("c")
				h.idle(h.agent)
				if continues {
					h.allow(q)
					h.slots(1, 1)
					first.end(turns.Completed)
				} else {
					h.interrupt(first.TurnID)
				}
				h.ended(first.TurnID)
				c := h.next(h.agent)
				h.slots(1, 1)
				c.end(turns.Completed)
				h.ended(queued.TurnID)
				h.interrupt(second.TurnID)
				h.ended(second.TurnID)
				h.slots(0, 0)
			})
		})
	}
}
