package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// drained drains, restarts and checks that the drain took at most this long.
func (h *harness) drained(within time.Duration) {
	h.t.Helper()
	if d, err := h.drain(); err != nil || d > within {
		h.t.Errorf("drained in %v: %v", d, err)
	}
}

func TestDrainWhileAnOwnerWaits(t *testing.T) {
	short := setup{cfg: engine.Config{DrainAfter: 4 * time.Second}}
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}
	// waiting is an owner that waits for a child turn, and its prompt.
	waiting := func(h *harness) (owner string, work *call) {
		c := h.family("b")
		child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retry})
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		return c.TurnID, h.next(h.agent)
	}
	runRaces(t, []race{
		{"R10 it is left to the next server", short, func(h *harness) {
			owner, _ := waiting(h)
			h.drained(5 * time.Second)
			tn := h.turn(owner)
			if !tn.WaitsForChildren() || tn.Attempt != 1 {
				h.t.Fatalf("%+v", tn)
			}
			h.restart()
			h.done(h.next(h.agent), "the result") // the drain has given its attempt up
			h.toldInTurn(owner, "the result")
		}},
		{"R9 R17 no prompt starts in the drain, and none is lost", short, func(h *harness) {
			owner, work := waiting(h)
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.drained(2 * time.Second)
			}()
			time.Sleep(time.Second)
			h.done(work, "the result")
			<-done
			h.idle(h.model)
			if tn := h.turn(owner); !tn.WaitsForChildren() {
				h.t.Errorf("%+v", tn)
			}
			h.restart()
			h.toldInTurn(owner, "the result")
		}},
		{"R10 a prompt that ends in the drain leaves its turn waiting", short, func(h *harness) {
			c := h.family("b")
			h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retry})
			work := h.next(h.agent)
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.drained(3 * time.Second)
			}()
			time.Sleep(time.Second)
			h.speakOn(c)
			time.Sleep(time.Second)
			h.done(work, "the result")
			<-done
			h.restart()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R9 text that is steered in the drain", short, func(h *harness) {
			owner, work := waiting(h)
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.drained(3 * time.Second)
			}()
			time.Sleep(time.Second)
			h.steer(owner, "how is it going?", false)
			h.idle(h.model)
			h.done(work, "the result")
			<-done
			h.restart()
			p := h.next(h.model)
			if p.TurnID != owner || p.said() != "how is it going?" {
				h.t.Errorf("prompt %+v", p.Prompt)
			}
			h.speakOn(p)
			h.toldInTurn(owner, "the result")
		}},
		{"R17 a wake is given up by the drain and goes on", short, func(h *harness) {
			h.done(h.background(), "the result")
			wake := h.next(h.model)
			h.drained(6 * time.Second)
			h.restart()
			again := h.next(h.model)
			if again.TurnID != wake.TurnID || again.said() != wake.said() {
				h.t.Errorf("prompt %+v", again.Prompt)
			}
			h.speak(again)
			h.idle(h.model)
		}},
		{"R9 a call of the agent that waits does not hold the drain up", short, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			h.next(h.agent)
			answered := h.calling(bg, awaitBy(child.TurnID))
			h.drained(6 * time.Second)
			<-c.ctx.Done()
			if err := <-answered; err != nil { // the child was interrupted by the drain, and its end is in the inbox
				h.t.Error(err)
			}
		}},
	})
}

func TestFullDiskWhileAnOwnerWaits(t *testing.T) {
	runRaces(t, []race{
		{"R39 the child's end waits for space, then the owner is told", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			work := h.next(h.agent)
			h.message(work, "the result")
			synctest.Wait()
			h.faults.failAll(ledger.ErrStorageFull)
			work.end(turns.Completed)
			time.Sleep(time.Minute)
			h.idle(h.model)
			h.faults.heal()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R39 W-M9 the owner's inbox has no space", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.faults.fail(fullFor("a"))
			h.done(h.next(h.agent), "the result")
			time.Sleep(time.Minute)
			h.idle(h.model)
			h.faults.heal()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R39 the prompt that tells it cannot be stored", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.faults.fail(func(u *ledger.Unit) error {
				if has(notify.InboxTold)(u) {
					return ledger.ErrStorageFull
				}
				return nil
			})
			h.done(h.next(h.agent), "the result")
			time.Sleep(time.Minute)
			h.idle(h.model)
			h.faults.heal()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R39 the owner's prompt ends while nothing can be stored", setup{}, func(h *harness) {
			c := h.family("b")
			h.child("a", "b", false)
			work := h.next(h.agent)
			h.message(c, "ok")
			h.message(work, "the result")
			synctest.Wait()
			h.faults.failAll(ledger.ErrStorageFull)
			c.end(turns.Completed)
			work.end(turns.Completed)
			synctest.Wait()
			_, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: c.TurnID})
			if !errors.Is(err, ledger.ErrStorageFull) {
				h.t.Errorf("an interrupt: %v", err)
			}
			time.Sleep(time.Minute)
			h.faults.heal()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R39 a unit of the owner is held while its child ends", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.faults.fail(fullFor("a"))
			if err := h.engine.Host().Emit(bg, "a", []items.Op{said("by the way")}); err != nil {
				h.t.Fatal(err)
			}
			synctest.Wait()
			h.done(h.next(h.agent), "the result")
			time.Sleep(time.Minute)
			h.faults.heal()
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R2 the children of an owner that has ended are detached once there is space", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			work := h.next(h.agent)
			h.faults.fail(fullFor("b"))
			h.message(c, "oh")
			c.end(turns.Failed)
			h.ended(c.TurnID)
			time.Sleep(time.Minute)
			if h.turn(child.TurnID).AttentionPolicy != turns.Blocking {
				h.t.Error("detached without space")
			}
			h.faults.heal()
			h.event(notify.TurnDetached, ofTurn(child.TurnID))
			h.done(work, "the result")
			h.wokenOnce("the result")
		}},
		{"R29 the mark of an answer cannot be stored: told again", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			h.done(h.next(h.agent), "the result")
			a := h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1)
			h.speak(c)
			h.faults.fail(fullFor("a"))
			a.sent(true)
			synctest.Wait()
			h.faults.heal()
			h.wokenOnce("the result")
		}},
		{"R6 a child turn that cannot be stored leaves its owner free", setup{}, func(h *harness) {
			c := h.family("b")
			h.faults.fail(fullFor("b"))
			_, err := h.engine.Start(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a")})
			if !errors.Is(err, ledger.ErrStorageFull) {
				h.t.Errorf("started: %v", err)
			}
			h.speak(c)
			h.faults.heal()
			h.idle(h.agent)
		}},
	})
}
