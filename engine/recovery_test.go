package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestRestartInterruptsWhatWasActiveAndKeepsItsText(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		msg := h.message(c, "half a sen")
		q := h.ask(c, permission(), turns.AskOptions{ExpiresAfter: time.Hour})
		s := h.steer(c.TurnID, "more", false)
		h.restart()
		e := h.ended(c.TurnID)
		if e.Method != notify.TurnInterrupted || e.Reason != "server restarted" || e.Message != "Turn interrupted: server restarted" {
			t.Errorf("ended: %s", e)
		}
		if len(e.Undelivered) != 1 || e.Undelivered[0] != s.ItemIDs[0] {
			t.Errorf("undelivered %v", e.Undelivered)
		}
		if it := h.item(msg); it.Status != items.StatusInterrupted || !strings.Contains(string(it.Content), "half a sen") {
			t.Errorf("message: %+v", it)
		}
		if it := h.item(q.id); it.Status != items.StatusCancelled {
			t.Errorf("question: %+v", it)
		}
		if g := h.engine.Gate(); g.Active != 0 {
			t.Errorf("gate: %+v", g)
		}
		r := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(r.TurnID)
	})
}

func TestRecoveryIsInTheLogBeforeTheEngineRuns(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("b", "")
		c := h.prompt()
		queued := h.start("a")
		h.down()
		h.upWithout()
		if err := h.engine.Recover(bg); err != nil {
			t.Fatal(err)
		}
		h.pump()
		if tn := h.turn(c.TurnID); tn.State != turns.Interrupted {
			t.Errorf("recovered, and the turn is %s", tn.State)
		}
		h.idle(h.agent)
		// A command that comes before Run does not overtake the queue.
		late := h.start("b")
		if late.State != turns.Queued {
			t.Errorf("a turn before Run is %s", late.State)
		}
		h.run()
		for range 2 {
			h.next(h.agent).end(turns.Completed)
		}
		h.ended(queued.TurnID)
		h.ended(late.TurnID)
	})
}

func TestQueuedTurnsStartByThemselvesInTheirOrder(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
		want := map[string][]string{}
		h.pause()
		for i := range 3 {
			th := fmt.Sprint("t", i)
			h.thread(th, "quick")
			for j := range 4 {
				r := h.startWith(turns.Start{ThreadID: th, Input: text(fmt.Sprint(th, ".", j)), Metadata: []byte(`{"n":1}`)})
				want[th] = append(want[th], r.TurnID)
			}
			r := h.startWith(turns.Start{ThreadID: th, OnBusy: turns.BusyInterrupt, Input: text("first")})
			want[th] = append([]string{r.TurnID}, want[th]...)
		}
		h.restart()
		h.resume()
		got := map[string][]string{}
		h.until("the end of all", func(all []event) bool {
			clear(got)
			n := 0
			for _, e := range all {
				if e.Method == notify.TurnStarted {
					got[e.ThreadID] = append(got[e.ThreadID], e.TurnID)
				}
				if e.Method == notify.TurnCompleted {
					n++
				}
			}
			return n == 15
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("started %v, want %v", got, want)
		}
		for _, e := range h.of(func(e event) bool { return e.Method == notify.ItemUpdated }) {
			if !strings.Contains(string(e.Content), "first") && !strings.Contains(string(e.Content), e.ThreadID+".") {
				t.Errorf("the input was lost: %s", e)
			}
		}
	})
}

func TestRestartClosesThreadsThatWereClosing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		h.next(h.deaf)
		if c, err := h.engine.ChangeThread(bg, turns.ChangeThread{ThreadID: "a", Verb: threads.VerbClose, Reason: "done"}); err != nil || c.State != threads.Closing {
			t.Fatalf("close: %+v, %v", c, err)
		}
		go h.deaf.free() // it notices the end of the server only then
		h.restart()
		closed := h.event(notify.ThreadClosed, nil)
		if e := h.ended(r.TurnID); e.Seq != closed.Seq-1 || closed.Reason != "done" {
			t.Errorf("%s, then %s", e, closed)
		}
	})
}

func TestSecondRestartFindsNothingToDo(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.restart()
		h.ended(c.TurnID)
		h.pump()
		before := len(h.seen)
		h.restart()
		h.pump()
		if len(h.seen) != before {
			t.Errorf("the log grew by\n%s", list(h.seen[before:]))
		}
	})
}

func TestCommandsOfAnEngineThatHasEndedAreRefused(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		e := h.engine
		h.down()
		if _, err := e.Start(bg, turns.Start{ThreadID: "a", Input: text("x")}); err != turns.ErrDraining {
			t.Errorf("start: %v", err)
		}
		h.up()
	})
}
