package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// crashBefore lets the server die before it commits a unit that matches, and starts
// it again: what was committed until then is all that is left.
func (h *harness) crashBefore(match func(*ledger.Unit) bool, do func()) {
	h.t.Helper()
	tried := make(chan struct{}, 64)
	h.faults.fail(func(u *ledger.Unit) error {
		if match(u) {
			select {
			case tried <- struct{}{}:
			default:
			}
			return ledger.ErrStorageFull
		}
		return nil
	})
	do()
	select {
	case <-tried:
	case <-time.After(patience):
		h.t.Fatalf("the unit never came; the log is\n%s", list(h.seen))
	}
	synctest.Wait()
	h.restart()
}

func TestCrashBetweenTwoCommits(t *testing.T) {
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}
	runRaces(t, []race{
		{"R15 R7 W-M3 after the end of a background child, before its owner's inbox has it", setup{}, func(h *harness) {
			work := h.background()
			h.crashBefore(has(notify.InboxReceived), func() { h.done(work, "the result") })
			h.wokenOnce("the result")
		}},
		{"R15 W-M3 after the end of a blocking child, before its owner's inbox has it", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.crashBefore(has(notify.InboxReceived), func() { h.done(h.next(h.agent), "the result") })
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R7 before the wake", setup{}, func(h *harness) {
			work := h.background()
			h.crashBefore(has(notify.InboxTold), func() { h.done(work, "the result") })
			h.wokenOnce("the result")
		}},
		{"R7 before the prompt that tells a waiting owner", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.crashBefore(has(notify.InboxTold), func() { h.done(h.next(h.agent), "the result") })
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R2 R6 after the end of the owner, before its child is detached", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.start("a")
			c := h.next(h.model)
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retry})
			h.next(h.agent)
			h.crashBefore(has(notify.TurnDetached), func() {
				h.message(c, "oh")
				c.end(turns.Failed)
			})
			h.event(notify.TurnDetached, ofTurn(child.TurnID))
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
		}},
		{"R2 a detach by wait_seconds outlives the server", setup{}, func(h *harness) {
			c := h.family("b")
			r, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 5, Retry: retry}, "a")
			if err != nil {
				h.t.Fatal(err)
			}
			if r, _, err = wait(bg); err != nil || r.Detached == nil {
				h.t.Errorf("%+v, %v", r, err)
			}
			h.next(h.agent)
			h.speak(c)
			h.restart()
			if tn := h.turn(r.TurnID); tn.AttentionPolicy != turns.Notify {
				h.t.Errorf("%+v", tn)
			}
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
		}},
		{"R2 before the detach of wait_seconds: the owner waits", setup{}, func(h *harness) {
			c := h.family("b")
			_, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 5, Retry: retry}, "a")
			if err != nil {
				h.t.Fatal(err)
			}
			h.speakOn(c)
			h.next(h.agent)
			h.crashBefore(has(notify.TurnDetached), func() {
				if r, _, err := wait(bg); !errors.Is(err, ledger.ErrStorageFull) {
					h.t.Errorf("%+v, %v", r, err)
				}
			})
			h.done(h.next(h.agent), "the result")
			h.toldInTurn(c.TurnID, "the result")
		}},
		{"R2 after the interrupt of the owner, before that of its child", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Retry: retry})
			h.speakOn(c)
			h.waitsFor(c.TurnID, child.TurnID)
			h.next(h.agent)
			h.crashBefore(both(inThread("b"), has(notify.TurnProgress, notify.TurnInterrupted)), func() { h.interrupt(c.TurnID) })
			h.ended(child.TurnID)
			if tn := h.turn(child.TurnID); tn.State != turns.Interrupted || tn.InterruptedBy != turns.ByOwner {
				h.t.Errorf("%+v", tn)
			}
			h.idle(h.model)
		}},
		{"R31 after the retry of a child, before its end is withdrawn", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(work, "it went wrong")
			work.end(turns.Failed)
			h.took("a", 1)
			h.change("a", threads.VerbPause) // nothing wakes it
			h.speak(c)
			h.crashBefore(has(notify.InboxWithdrawn), func() { h.retry(child.TurnID) })
			h.event(notify.InboxWithdrawn, nil)
			h.change("a", threads.VerbResume)
			h.ended(child.TurnID) // the restart has interrupted it
			h.wokenOnce("was interrupted")
		}},
		{"R29 between the answer and its mark: told twice, and not lost", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.speakAndPause(c)
			a := h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1)
			h.crashBefore(has(notify.InboxAcked), func() { a.sent(true) })
			h.change("a", threads.VerbResume)
			h.wokenOnce("the result")
		}},
		{"R29 after the mark: told once", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", true)
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.speakAndPause(c)
			h.answered(h.awaiting(bg, awaitBy(child.TurnID)), 1).sent(true)
			h.event(notify.InboxAcked, nil)
			h.restart()
			h.change("a", threads.VerbResume)
			h.idle(h.model)
		}},
		{"R29 the server dies while a call waits", setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Retry: retry})
			ctx, cancel := context.WithCancel(bg)
			waits := h.awaiting(ctx, awaitBy(child.TurnID))
			h.speak(c)
			h.next(h.agent)
			h.down()
			cancel()
			<-waits
			h.up()
			h.done(h.next(h.agent), "the result")
			h.wokenOnce("the result")
		}},
		{"W-M3 after the close of the owner, before that of its child", setup{}, func(h *harness) {
			c := h.family("b")
			h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Retry: retry})
			h.next(h.agent)
			h.speak(c)
			h.crashBefore(both(inThread("b"), has(notify.ThreadClosed, notify.TurnProgress, notify.ThreadUpdated)), func() { h.change("a", threads.VerbClose) })
			h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
		}},
		{"W-M5 a client's stop outlives the server, and ends are recorded nevertheless", setup{}, func(h *harness) {
			c := h.family("b")
			h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Retry: retry})
			h.next(h.agent)
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.restart()
			h.done(h.next(h.agent), "the result")
			h.took("a", 1)
			h.restart()
			time.Sleep(time.Hour)
			h.idle(h.model)
			h.wakeNow("a")
			h.wokenOnce("the result")
		}},
	})
}

// speakAndPause ends the turn and pauses its thread before anything can wake it.
func (h *harness) speakAndPause(c *call) {
	h.t.Helper()
	h.change("a", threads.VerbPause)
	h.speak(c)
}
