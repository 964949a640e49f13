package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestInterruptEndsTheTurnInterruptedWhateverTheAgentSays(t *testing.T) {
	for _, out := range []turns.Outcome{
		{State: turns.Completed, StopReason: "end_turn"},
		{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_failed", Message: "oh"}},
		{State: turns.Interrupted, StopReason: "cancelled"},
	} {
		t.Run(string(out.State), func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "deaf")
				r := h.start("a")
				c := h.next(h.deaf)
				res, ended, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: r.TurnID, Reason: "enough"})
				if err != nil || res.State != string(turns.Interrupting) || res.Message != "Turn interrupted: enough" || ended == nil {
					t.Fatalf("interrupt: %+v, %v", res, err)
				}
				if context.Cause(c.ctx) == nil {
					t.Error("the agent was not told")
				}
				if tn := h.turn(r.TurnID); tn.Progress != turns.Interrupting || tn.State != turns.Active {
					t.Errorf("turn is %s, %s", tn.State, tn.Progress)
				}
				id := h.message(c, "what I still had") // kept until it returns
				c.out <- out
				last := <-ended
				e := h.ended(r.TurnID)
				if e.Method != notify.TurnInterrupted || e.Message != "Turn interrupted: enough" || e.Reason != "enough" {
					t.Errorf("ended: %s", e)
				}
				want := out.StopReason
				if out.Failure != nil {
					want = out.Failure.Message
				}
				if e.StopReason != want {
					t.Errorf("stop_reason %q, want %q", e.StopReason, want)
				}
				if last.State != string(turns.Interrupted) || last.Seq != e.Seq || last.Message != e.Message || last.InterruptedAt.IsZero() {
					t.Errorf("final answer %+v", last)
				}
				if it := h.item(id); it.Status != items.StatusInterrupted {
					t.Errorf("the open message is %s", it.Status)
				}
			})
		})
	}
}

func TestStubbornAgentIsGivenUpAtTheDeadline(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{InterruptAfter: 3 * time.Second}}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		c := h.next(h.deaf)
		began := time.Now()
		_, ended := h.interrupt(r.TurnID)
		<-ended
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("given up after %v", d)
		}
		if e := h.ended(r.TurnID); e.Method != notify.TurnInterrupted || e.StopReason == "" {
			t.Errorf("ended: %s", e)
		}
		<-c.Over
		before := len(h.of(func(event) bool { return true }))
		if err := c.Emit(bg, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage("late")}); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("late emit: %v", err)
		}
		if _, err := c.Ask(bg, permission(), turns.AskOptions{}); !errors.Is(err, turns.ErrPromptOver) {
			t.Errorf("late ask: %v", err)
		}
		c.end(turns.Completed)
		synctest.Wait()
		if after := len(h.of(func(event) bool { return true })); after != before {
			t.Errorf("%d late events are in the log", after-before)
		}
		s := h.start("a") // the thread continues
		h.next(h.deaf).end(turns.Completed)
		h.ended(s.TurnID)
	})
}

// patient is an agent with a deadline of its own, which it exceeds.
type patient struct{ agentFunc }

func (patient) StopWithin() time.Duration { return time.Minute }

func TestAgentWithADeadlineOfItsOwnIsNotCutBeforeIt(t *testing.T) {
	p := patient{agentFunc{"patient", func(_ context.Context, p *turns.Prompt) turns.Outcome {
		<-p.Over
		return turns.Outcome{}
	}}}
	bubble(t, setup{agents: []turns.Agent{p}}, func(h *harness) {
		for name, stop := range map[string]func(thread, turn string){
			"interrupt": func(_, id string) { h.interrupt(id) },
			"close":     func(th, _ string) { h.change(th, threads.VerbClose) },
			"timeout":   func(_, _ string) { time.Sleep(5 * time.Second) },
		} {
			h.thread(name, "patient")
			r := h.startWith(turns.Start{ThreadID: name, TimeoutSeconds: 5})
			stop(name, r.TurnID)
			began := time.Now()
			h.ended(r.TurnID)
			if d := time.Since(began); d != time.Minute {
				t.Errorf("%s: given up after %v", name, d)
			}
		}
	})
}

func TestAgentThatFloodsItsInboxIsGivenUpAtTheDeadline(t *testing.T) {
	// An actor that checked its deadlines only when its intake is empty
	// would never check them.
	flood := agentFunc{"flood", func(_ context.Context, p *turns.Prompt) turns.Outcome {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				op := items.Create{Status: items.StatusCompleted, Content: items.NewAgentMessage("x")}
				for err := error(nil); err == nil; {
					op.ItemID = items.NewID()
					err = p.Emit(bg, op)
				}
			})
		}
		wg.Wait()
		return turns.Outcome{}
	}}
	// Without a bubble: there, time stops as long as any goroutine is busy.
	h := newHarness(t, setup{cfg: engine.Config{InterruptAfter: 50 * time.Millisecond}, agents: []turns.Agent{flood}})
	h.thread("a", "flood")
	r := h.start("a")
	_, ended := h.interrupt(r.TurnID)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the turn did not end")
	}
	// The engine can be stopped during a flood, too.
	h.start("a")
	down := make(chan struct{})
	go func() { h.down(); close(down) }()
	select {
	case <-down:
	case <-time.After(20 * time.Second):
		t.Fatal("the engine did not stop")
	}
}

// Without a reason an interrupt says who asked for it, as far as the server knows.
func TestAnInterruptSaysWhoAskedForIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		first := h.start("a")
		c := h.next(h.agent)
		for by, want := range map[turns.By]string{"": "requested by a client", "token:phone": "requested by phone", turns.ByOwner: "requested by the owner's agent"} {
			queued := h.start("a")
			if _, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: queued.TurnID, By: by}); err != nil {
				t.Fatal(err)
			}
			if e := h.ended(queued.TurnID); e.Reason != want {
				t.Errorf("by %q: %q", by, e.Reason)
			}
		}
		c.end(turns.Completed)
		h.ended(first.TurnID)
	})
}

func TestInterruptOfAQueuedTurnIsFinalAtOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		first := h.start("a")
		c := h.next(h.agent)
		second, third := h.start("a"), h.start("a")
		if second.Position != 1 || third.Position != 2 || second.State != turns.Queued || second.QueuedAt.IsZero() {
			t.Errorf("queued: %+v, %+v", second, third)
		}
		res, ended := h.interrupt(second.TurnID)
		if res.State != string(turns.Interrupted) || ended != nil {
			t.Errorf("interrupt: %+v", res)
		}
		if e := h.ended(second.TurnID); e.Method != notify.TurnInterrupted || e.Seq != res.Seq {
			t.Errorf("ended: %s", e)
		}
		c.end(turns.Completed)
		h.ended(first.TurnID)
		h.next(h.agent).end(turns.Completed)
		h.ended(third.TurnID)
		h.none("the interrupted one started", func(e event) bool { return e.TurnID == second.TurnID && e.Method == notify.TurnStarted })
	})
}

func TestEveryInterrupterIsToldTheEnd(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		c := h.next(h.deaf)
		_, one := h.interrupt(r.TurnID)
		res, two := h.interrupt(r.TurnID)
		if res.State != string(turns.Interrupting) {
			t.Errorf("the second: %+v", res)
		}
		c.end(turns.Completed)
		if a, b := <-one, <-two; a != b || a.State != string(turns.Interrupted) {
			t.Errorf("%+v and %+v", a, b)
		}
		if n := len(h.of(func(e event) bool { return e.Method == notify.TurnProgress })); n != 1 {
			t.Errorf("interrupting was said %d times", n)
		}
	})
}

func TestTimeoutFailsTheTurnAndDoesNotCountWhileAPersonIsAwaited(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		began := time.Now()
		r := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 10})
		c := h.next(h.agent)
		time.Sleep(6 * time.Second)
		q := h.ask(c, permission(), turns.AskOptions{})
		if tn := h.turn(r.TurnID); tn.Progress != turns.Waiting {
			t.Errorf("asked, and %s", tn.Progress)
		}
		if l := h.engine.Load(); l.Waiting != 1 {
			t.Errorf("%d turns wait", l.Waiting)
		}
		time.Sleep(time.Hour)
		if _, err := h.engine.Respond(bg, turns.Respond{ItemID: q.id, OptionKind: items.AllowOnce}); err != nil {
			t.Fatal(err)
		}
		h.got(q)
		if l := h.engine.Load(); l.Waiting != 0 {
			t.Errorf("%d turns wait", l.Waiting)
		}
		e := h.ended(r.TurnID)
		if d := time.Since(began); d != time.Hour+10*time.Second {
			t.Errorf("timed out after %v", d)
		}
		if e.Method != notify.TurnFailed || e.Error.Kind != "timeout" {
			t.Errorf("ended: %s", e)
		}
	})
}

func TestDefaultTimeoutIsOfTurnsThatNameNone(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{DefaultTimeout: time.Minute}}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		began := time.Now()
		h.ended(r.TurnID)
		if d := time.Since(began); d != time.Minute {
			t.Errorf("timed out after %v", d)
		}
	})
}

func TestInterruptOfATurnThatTimesOutStillInterruptsIt(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 1})
		c := h.next(h.deaf)
		h.event(notify.TurnProgress, func(e event) bool { return e.State == string(turns.Interrupting) })
		_, ended := h.interrupt(r.TurnID)
		c.end(turns.Completed)
		if res := <-ended; res.State != string(turns.Interrupted) {
			t.Errorf("accepted, but %+v", res)
		}
	})
}

func TestAgentThatPanicsFailsItsTurnAndNothingElse(t *testing.T) {
	boom := agentFunc{"boom", func(ctx context.Context, p *turns.Prompt) turns.Outcome {
		_ = p.Emit(ctx, items.Create{ItemID: items.NewID(), Content: items.NewAgentMessage("I am about to")})
		panic("boom")
	}}
	bubble(t, setup{agents: []turns.Agent{boom}}, func(h *harness) {
		h.thread("a", "boom")
		r := h.start("a")
		e := h.ended(r.TurnID)
		if e.Method != notify.TurnFailed || e.Error.Kind != "agent_failed" {
			t.Errorf("ended: %s", e)
		}
		h.ended(h.start("a").TurnID)
	})
}

func TestFailureOfAnAgentIsKept(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		r := h.start("a")
		c := h.next(h.agent)
		h.emit(c, items.SetUsage{Usage: items.Usage{InputTokens: 3, TotalTokens: 3}})
		open := h.message(c, "half")
		c.out <- turns.Outcome{State: turns.Failed, Message: "m", StopReason: "s", Failure: &turns.Failure{Kind: "agent_failed", Message: "why"}}
		e := h.ended(r.TurnID)
		tn := h.turn(r.TurnID)
		if e.Method != notify.TurnFailed || tn.Error.Message != "why" || tn.StopReason != "s" || tn.Usage.InputTokens != 3 || tn.Usage.Type != items.KindUsage {
			t.Errorf("ended: %+v", tn)
		}
		if it := h.item(open); it.Status != items.StatusFailed {
			t.Errorf("the open message is %s", it.Status)
		}
	})
}

func TestThreadOfAnAgentThatIsGoneFailsItsTurns(t *testing.T) {
	bubble(t, setup{agents: []turns.Agent{agentFunc{"old", nil}}}, func(h *harness) {
		h.thread("a", "old")
		h.down()
		h.o.agents = nil
		h.up()
		r := h.start("a")
		if e := h.ended(r.TurnID); e.Method != notify.TurnFailed || e.Error.Kind != "agent_unavailable" {
			t.Errorf("ended: %s", e)
		}
	})
}
