package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// drain drains and returns how long it took.
func (h *harness) drain() (time.Duration, error) {
	began := time.Now()
	err := h.engine.Drain(bg)
	return time.Since(began), err
}

func TestDrainLetsTurnsFinish(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		queued := h.start("a")
		go func() {
			time.Sleep(3 * time.Second)
			c.end(turns.Completed)
		}()
		if d, err := h.drain(); err != nil || d != 3*time.Second {
			t.Errorf("drained in %v: %v", d, err)
		}
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		h.idle(h.agent)
		if tn := h.turn(queued.TurnID); tn.State != turns.Queued {
			t.Errorf("the queued turn is %s", tn.State)
		}
		h.restart()
		c = h.next(h.agent)
		c.end(turns.Completed)
		h.ended(queued.TurnID)
	})
}

func TestDrainInterruptsWhatDoesNotFinish(t *testing.T) {
	for name, c := range map[string]struct {
		agent string
		takes time.Duration
	}{
		"cooperative": {"puppet", 6 * time.Second},
		"stubborn":    {"deaf", 6*time.Second + 1500*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", c.agent)
				r := h.start("a")
				d, err := h.drain()
				if err != nil || d != c.takes {
					t.Errorf("drained in %v: %v", d, err)
				}
				if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted || e.Reason != "server stopping" {
					t.Errorf("ended: %s", e)
				}
				if g := h.engine.Gate(); g.Active != 0 {
					t.Errorf("gate: %+v", g)
				}
			})
		})
	}
}

func TestDrainShortensADeadlineThatRuns(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{InterruptAfter: time.Hour}}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		h.interrupt(r.TurnID)
		if d, err := h.drain(); err != nil || d > 8*time.Second {
			t.Errorf("drained in %v: %v", d, err)
		}
		if e := h.ended(r.TurnID); e.Reason == "server stopping" {
			t.Errorf("the first reason was lost: %s", e)
		}
	})
}

func TestDrainRefusesNewTurnsAndLetsRunningOnesBeServed(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		done := make(chan error, 1)
		go func() { done <- h.engine.Drain(bg) }()
		synctest.Wait()
		if s := h.engine.State(); s != "draining" {
			t.Errorf("state %s", s)
		}
		for _, busy := range []turns.OnBusy{turns.BusyQueue, turns.BusyReject, turns.BusyInterrupt, turns.BusySteer} {
			if _, err := h.engine.Start(bg, turns.Start{ThreadID: "a", Input: text("x"), OnBusy: busy}); !errors.Is(err, turns.ErrDraining) {
				t.Errorf("start by %s: %v", busy, err)
			}
		}
		if _, err := h.engine.StartThread(bg, turns.StartThread{}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("a new thread: %v", err)
		}
		if r, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a"}); err != nil || r.Created {
			t.Errorf("a thread that is there: %+v, %v", r, err)
		}
		if _, err := h.engine.ThreadConfigure(bg, turns.Configure{ThreadID: "a", Config: settings("1")}); !errors.Is(err, turns.ErrDraining) {
			t.Errorf("configure: %v", err)
		}
		h.steer(c.TurnID, "one more thing", false)
		c.end(turns.Completed)
		c = h.next(h.agent) // the same turn, which may finish
		c.end(turns.Completed)
		if err := <-done; err != nil {
			t.Errorf("drain: %v", err)
		}
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestDrainWithoutTurnsIsOverAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if d, err := h.drain(); err != nil || d != 0 {
			t.Errorf("drained in %v: %v", d, err)
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.start("a")
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		began := time.Now()
		if err := h.engine.Drain(ctx); err == nil {
			t.Error("drained, with a turn active")
		}
		if d := time.Since(began); d != time.Second {
			t.Errorf("took %v", d)
		}
		h.restart()
	})
}

func TestDrainOfAPausedRuntimeKeepsThePause(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "quick")
		h.pause()
		q := h.start("a")
		if _, err := h.drain(); err != nil {
			t.Error(err)
		}
		h.resume() // nothing starts while draining
		h.none("started", func(e event) bool { return e.Method == notify.TurnStarted })
		h.pause()
		h.restart()
		h.none("started", func(e event) bool { return e.Method == notify.TurnStarted })
		h.resume()
		h.ended(q.TurnID)
		h.change("a", threads.VerbClose)
	})
}

// A stop that does not wait kills the agents. How they end then, and what they still say, is
// not theirs: the next server decides about each turn as after a kill.
func TestWhatAgentsSayOnceTheirTurnsWereLeftChangesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("d", "deaf")
		h.startWith(turns.Start{ThreadID: "d", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 2, BackoffSeconds: 1}})
		h.thread("e", "deaf")
		c, other := h.next(h.deaf), h.start("e")
		ends := h.next(h.deaf)
		cut := h.drainBegins()
		h.engine.Leave()
		h.engine.Leave() // once more does no harm
		for _, c := range []*call{c, ends} {
			_ = c.Emit(bg, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("too late")})
			c.end(turns.Failed)
		}
		synctest.Wait()
		h.restart()
		cut()
		if e := h.ended(other.TurnID); e.Method != notify.TurnInterrupted || e.Reason != turns.ServerRestarted {
			t.Errorf("ended: %s", e)
		}
		c = h.next(h.deaf)
		if c.Attempt != 2 {
			t.Errorf("it is attempt %d", c.Attempt)
		}
		c.end(turns.Completed)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended: %s", e)
		}
		for _, e := range h.seen {
			if strings.Contains(string(e.raw), "too late") {
				t.Errorf("kept: %s", e)
			}
		}
	})
}

// readsItem calls a function when the store is asked for an item: in the actor that takes
// the output which creates it.
type readsItem struct {
	engine.Rows
	asked *func()
}

func (r readsItem) Item(ctx context.Context, itemID string) (*items.Item, error) {
	if f := *r.asked; f != nil {
		f()
	}
	return r.Rows.Item(ctx, itemID)
}

func TestOutputAfterTheTurnsWereLeftIsNotTakenWithWhatCameBefore(t *testing.T) {
	say := func(id, text string) items.Op {
		return items.Create{ItemID: id, Status: items.StatusCompleted, Content: items.NewAgentMessage(text)}
	}
	var asked func()
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return readsItem{r, &asked} }}, func(h *harness) {
		p := h.prompt()
		asked = func() { // the actor is about to look for more
			asked = nil
			h.engine.Leave()
			h.emit(p, say(items.NewID(), "too late"))
		}
		h.emit(p, say("an id of the agent", "in time"))
		synctest.Wait()
		if asked != nil {
			t.Fatal("the id of an agent is not looked up")
		}
		h.restart()
		if e := h.ended(p.TurnID); e.Method != notify.TurnInterrupted || e.Reason != turns.ServerRestarted {
			t.Errorf("ended: %s", e)
		}
		kept := h.of(func(e event) bool { return strings.Contains(string(e.raw), "too late") })
		if len(kept) > 0 {
			t.Errorf("kept: %s", list(kept))
		}
	})
}
