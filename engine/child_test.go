package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// childThread starts a child thread of an owner.
func (h *harness) childThread(owner, id, agent string) {
	h.t.Helper()
	if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: id, Agent: agent, Parent: &threads.Parent{ThreadID: owner}}); err != nil {
		h.t.Fatalf("start %s below %s: %v", id, owner, err)
	}
}

// child starts a child turn.
func (h *harness) child(owner, thread string, background bool) turns.StartResult {
	h.t.Helper()
	return h.startWith(turns.Start{ThreadID: thread, Parent: &threads.Parent{ThreadID: owner}, Background: background, Title: "work of " + thread})
}

// family is an owner with child threads, and the first prompt of its turn.
func (h *harness) family(children ...string) *call {
	h.t.Helper()
	h.thread("a", "model")
	for _, id := range children {
		h.childThread("a", id, "puppet")
	}
	h.start("a")
	return h.next(h.model)
}

// results are those of a look at the turns.
func (h *harness) await(c turns.Await) (turns.AwaitResult, func(bool)) {
	h.t.Helper()
	r, sent, err := h.engine.Children().Await(bg, c, "")
	if err != nil {
		h.t.Fatalf("await %+v: %v", c, err)
	}
	return r, sent
}

func seconds(n float64) *float64 { return &n }

// waitsFor waits until the turn waits for these child turns.
func (h *harness) waitsFor(turnID string, ids ...string) {
	h.t.Helper()
	h.until("waits for children", func([]event) bool {
		t := h.turn(turnID)
		return t.WaitsForChildren() && slices.Equal(t.WaitsFor, ids)
	})
}

func TestOwnersTurnWaitsForItsBlockingChildrenAndIsToldOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c")
		one, two := h.child("a", "b", false), h.child("a", "c", false)
		if one.AttentionPolicy != turns.Blocking || one.Parent == nil || one.Parent.TurnID != c.TurnID || one.Parent.Attempt != 1 || one.Wake != string(inbox.WakeIdle) {
			t.Errorf("started %+v", one)
		}
		h.message(c, "both are at work")
		c.end(turns.Completed)
		h.waitsFor(c.TurnID, one.TurnID, two.TurnID)
		h.slots(2, 1)
		first, second := h.next(h.agent), h.next(h.agent)
		h.message(first, "the first result")
		first.end(turns.Completed)
		h.idle(h.model)
		h.message(second, "the second result")
		second.end(turns.Completed)
		again := h.next(h.model)
		if again.TurnID != c.TurnID || again.Index != 1 || len(again.Input) != 1 || again.Input[0].Origin != items.OriginWake || len(toldIn(again)) != 2 {
			t.Fatalf("prompt %+v", again.Prompt)
		}
		for _, want := range []string{"the first result", "the second result", one.TurnID, "work of b"} {
			if !strings.Contains(again.said(), want) {
				t.Errorf("%q is not in %s", want, again.said())
			}
		}
		h.speak(again)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended %s", e)
		}
		h.idle(h.model)
		if n := h.wakes("a"); n != 0 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, entries %s", n, ids(h.entries("a")))
		}
	})
}

func TestBackgroundChildrenWakeTheirOwnerOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c")
		h.child("a", "b", true)
		h.child("a", "c", true)
		h.speak(c)
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Fatalf("ended %s", e)
		}
		h.start("a")
		busy := h.next(h.model)
		for range 2 {
			child := h.next(h.agent)
			h.message(child, "done "+child.ThreadID)
			child.end(turns.Completed)
			h.ended(child.TurnID)
		}
		h.idle(h.model)
		h.speak(busy)
		wake := h.next(h.model)
		if wake.TurnID == c.TurnID || len(toldIn(wake)) != 2 || !strings.Contains(wake.said(), "done b") || !strings.Contains(wake.said(), "done c") {
			t.Fatalf("woken with %s", wake.said())
		}
		if tn := h.turn(wake.TurnID); tn.Chain != 1 || !tn.Wake {
			t.Errorf("the wake is %+v", tn)
		}
		h.speak(wake)
		h.idle(h.model)
		if n := h.wakes("a"); n != 1 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, entries %s", n, ids(h.entries("a")))
		}
	})
}

func TestWaitingOwnerSurvivesARestart(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		h.o.cfg.DrainAfter = time.Second
		child := h.startWith(turns.Start{ThreadID: "b", Parent: &threads.Parent{ThreadID: "a"}, Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9}})
		c.end(turns.Completed)
		h.waitsFor(c.TurnID, child.TurnID)
		h.next(h.agent)
		h.restart()
		if tn := h.turn(c.TurnID); !tn.WaitsForChildren() || tn.Attempt != 1 {
			t.Fatalf("after the restart: %+v", tn)
		}
		again := h.next(h.agent)
		h.message(again, "at last")
		again.end(turns.Completed)
		p := h.next(h.model)
		if p.TurnID != c.TurnID || p.Attempt != 1 || p.Index != 1 || !strings.Contains(p.said(), "at last") {
			t.Errorf("prompt %+v", p.Prompt)
		}
		h.speak(p)
		h.ended(c.TurnID)
		h.idle(h.model)
	})
}

func TestClientsTurnDetachesWhatTheOwnerWaitsFor(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		next := h.start("a")
		if e := h.ended(c.TurnID); e.Method != notify.TurnCompleted {
			t.Errorf("ended %s", e)
		}
		if e := h.event(notify.TurnDetached, nil); e.TurnID != child.TurnID || e.Reason != string(turns.DetachQueued) {
			t.Errorf("detached %s", e)
		}
		p := h.next(h.model)
		if p.TurnID != next.TurnID {
			t.Errorf("%s follows", p.TurnID)
		}
		h.speak(p)
		work := h.next(h.agent)
		h.message(work, "later")
		work.end(turns.Completed)
		wake := h.next(h.model)
		if !strings.Contains(wake.said(), "later") {
			t.Errorf("woken with %s", wake.said())
		}
		h.speak(wake)
	})
}

// speakOn ends a prompt with a message. The turn may go on.
func (h *harness) speakOn(c *call) {
	h.t.Helper()
	h.message(c, "ok")
	c.end(turns.Completed)
}

func TestInterruptOfTheOwnerInterruptsBlockingChildrenOnly(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c")
		blocking, background := h.child("a", "b", false), h.child("a", "c", true)
		h.speakOn(c)
		h.waitsFor(c.TurnID, blocking.TurnID)
		first, second := h.next(h.agent), h.next(h.agent)
		if first.TurnID != blocking.TurnID {
			first, second = second, first
		}
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		<-first.ctx.Done()
		if e := h.ended(blocking.TurnID); e.Method != notify.TurnInterrupted || h.turn(blocking.TurnID).InterruptedBy != turns.ByOwner {
			t.Errorf("ended %s", e)
		}
		synctest.Wait()
		if second.ctx.Err() != nil {
			t.Error("the background child is interrupted")
		}
		second.end(turns.Completed)
		h.ended(background.TurnID)
		h.idle(h.model) // held: the client stopped it
	})
}

func TestFailureOfTheOwnerDetachesItsBlockingChildren(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		h.message(c, "oh")
		c.end(turns.Failed)
		h.ended(c.TurnID)
		if e := h.event(notify.TurnDetached, nil); e.TurnID != child.TurnID || e.Reason != string(turns.DetachOwnerEnded) {
			t.Errorf("detached %s", e)
		}
		work := h.next(h.agent)
		h.message(work, "still done")
		work.end(turns.Completed)
		wake := h.next(h.model)
		if !strings.Contains(wake.said(), "still done") {
			t.Errorf("woken with %s", wake.said())
		}
		h.speak(wake)
	})
}

func TestRetryOfAChildWithdrawsAnEndThatWasNotTold(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		work := h.next(h.agent)
		h.message(work, "it went wrong")
		work.end(turns.Failed)
		h.until("taken in", func([]event) bool { return len(h.entries("a")) == 1 })
		h.retry(child.TurnID)
		h.event(notify.InboxWithdrawn, nil)
		again := h.next(h.agent)
		h.message(again, "now it is right")
		again.end(turns.Completed)
		h.until("taken in again", func([]event) bool { return len(h.entries("a")) == 1 })
		h.speak(c)
		wake := h.next(h.model)
		if len(toldIn(wake)) != 1 || strings.Contains(wake.said(), "went wrong") || !strings.Contains(wake.said(), "now it is right") {
			t.Errorf("woken with %s", wake.said())
		}
		h.speak(wake)
		h.idle(h.model)
	})
}

func TestAwaitTellsWhatItsAnswerShowsOnce(t *testing.T) {
	for name, written := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.family("b")
				child := h.child("a", "b", true)
				work := h.next(h.agent)
				h.message(work, "the answer")
				work.end(turns.Completed)
				r, sent := h.await(turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID, "turn_none"}})
				if len(r.Results) != 2 || r.Results[0].State != turns.Completed || r.Results[0].Text != "the answer" || r.Results[0].EntryID == "" ||
					r.Results[1].State != turns.NotFound || r.TimedOut || sent == nil {
					t.Fatalf("%+v", r)
				}
				h.speak(c) // the turn ends while the answer is on its way
				h.idle(h.model)
				sent(written)
				if written {
					h.idle(h.model)
					if acked := bodies[inbox.Acked](h, notify.InboxAcked, "a"); len(acked) != 1 || acked[0].By != inbox.ByAwait {
						t.Errorf("acked %+v", acked)
					}
					return
				}
				wake := h.next(h.model)
				if !strings.Contains(wake.said(), "the answer") {
					t.Errorf("woken with %s", wake.said())
				}
				h.speak(wake)
			})
		})
	}
}

func TestAwaitWaitsAndTimesOut(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c")
		one, two := h.child("a", "b", false), h.child("a", "c", false)
		at := time.Now()
		r, _ := h.await(turns.Await{OwnerThreadID: "a", TimeoutSeconds: seconds(30)})
		if !r.TimedOut || len(r.Results) != 2 || time.Since(at) != 30*time.Second || r.Results[0].State != turns.Active {
			t.Errorf("%+v after %v", r, time.Since(at))
		}
		if r, _ = h.await(turns.Await{OwnerThreadID: "a", TimeoutSeconds: seconds(0)}); len(r.Results) != 2 || r.TimedOut {
			t.Errorf("a look: %+v", r)
		}
		done := make(chan turns.AwaitResult, 1)
		go func() {
			r, sent, err := h.engine.Children().Await(bg, turns.Await{OwnerThreadID: "a", TurnIDs: []string{one.TurnID, two.TurnID}, WaitFor: turns.WaitAll}, "")
			if err != nil {
				h.t.Errorf("await: %v", err)
			}
			if sent != nil {
				sent(true)
			}
			done <- r
		}()
		for range 2 {
			synctest.Wait()
			select {
			case r := <-done:
				t.Fatalf("answered %+v", r)
			default:
			}
			work := h.next(h.agent)
			work.end(turns.Completed)
			h.ended(work.TurnID)
		}
		if r := <-done; len(r.Results) != 2 || !r.Results[0].Accepted() || !r.Results[1].Accepted() || r.TimedOut {
			t.Errorf("%+v", r)
		}
		h.speak(c) // all is told: it completes
		h.ended(c.TurnID)
		h.idle(h.model)
	})
}

func TestWaitSecondsWaitsThenDetaches(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "c")
		r, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: &threads.Parent{ThreadID: "a"}, WaitSeconds: 20}, "a")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now()
		r, sent, err := wait(bg)
		if err != nil || sent != nil || time.Since(at) != 20*time.Second || r.Detached == nil || r.Detached.Reason != turns.DetachTimeout || r.AttentionPolicy != turns.Notify {
			t.Errorf("%+v, %v after %v", r, err, time.Since(at))
		}
		h.next(h.agent).end(turns.Completed)
		r, wait, err = h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "c", Input: text("go"), Parent: &threads.Parent{ThreadID: "a"}, WaitSeconds: 20}, "a")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			work := h.next(h.agent)
			h.message(work, "quick")
			work.end(turns.Completed)
		}()
		if r, sent, err = wait(bg); err != nil || sent == nil || len(r.Results) != 1 || r.Results[0].Text != "quick" || r.Detached != nil {
			t.Errorf("%+v, %v", r, err)
		} else {
			sent(true)
		}
		h.speak(c)
		wake := h.next(h.model) // for the detached one only
		if l := toldIn(wake); len(l) != 1 || !strings.Contains(wake.said(), "thread b") {
			t.Errorf("woken with %s", wake.said())
		}
		h.speak(wake)
		h.idle(h.model)
	})
}

func TestChildTurnsBelongToChildThreads(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.thread("x", "puppet")
		var bad *turns.InvalidError
		start := func(c turns.Start) error {
			c.Input = text("go")
			_, err := h.engine.Start(bg, c)
			return err
		}
		if err := start(turns.Start{ThreadID: "x", Parent: &threads.Parent{ThreadID: "a"}}); !errors.As(err, &bad) || bad.Reason != turns.ReasonNotOwn {
			t.Errorf("a thread of its own: %v", err)
		}
		if err := start(turns.Start{ThreadID: "x", Parent: &threads.Parent{ThreadID: "none"}}); !errors.Is(err, threads.ErrNotFound) {
			t.Errorf("no such owner: %v", err)
		}
		h.childThread("a", "b", "")
		if th, err := h.reader.ReadThread(bg, "b", 0); err != nil || th.Thread.Agent != "model" || th.Thread.Level != 1 || th.Thread.RootThreadID != "a" {
			t.Errorf("%+v, %v", th.Thread, err)
		}
		r := h.child("a", "b", false)
		if r.AttentionPolicy != turns.Notify || r.Parent.TurnID != "" {
			t.Errorf("without a turn of the owner: %+v", r)
		}
		h.change("a", threads.VerbClose)
		h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "b" })
		if err := start(turns.Start{ThreadID: "b", Parent: &threads.Parent{ThreadID: "a"}}); !errors.Is(err, threads.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if _, err := h.engine.StartThread(bg, turns.StartThread{Parent: &threads.Parent{ThreadID: "a"}}); !errors.Is(err, threads.ErrClosed) {
			t.Errorf("a child thread of a closed one: %v", err)
		}
	})
}

// What a request leaves out is the owner's for a new thread; one that exists has it
// already.
func TestChildThreadIsFoundAgainWhateverItsAgent(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		if _, err := h.engine.StartThread(bg, turns.StartThread{ThreadID: "a", Agent: "model", Cwd: "/repo"}); err != nil {
			t.Fatal(err)
		}
		below := func(c turns.StartThread) (turns.StartThreadResult, error) {
			c.ThreadID, c.Parent = "b", childOf("a")
			return h.engine.StartThread(bg, c)
		}
		if r, err := below(turns.StartThread{Agent: "puppet", Cwd: "/repo/b"}); err != nil || !r.Created {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, c := range []turns.StartThread{{}, {Agent: "puppet"}, {Cwd: "/repo/b"}} {
			if r, err := below(c); err != nil || r.Created || r.Agent != "puppet" {
				t.Errorf("again with %+v: %+v, %v", c, r, err)
			}
		}
		for _, c := range []turns.StartThread{{Agent: "model"}, {Cwd: "/repo"}} {
			if r, err := below(c); !errors.Is(err, threads.ErrConflict) {
				t.Errorf("again with %+v: %+v, %v", c, r, err)
			}
		}
	})
}

func TestBoundsOfChildTurns(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1000, MaxQueue: 100}}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.start("a")
		c := h.next(h.model)
		var first string
		for i := range turns.MaxChildren {
			if r := h.child("a", "b", i%2 == 0); i == 0 {
				first = r.TurnID
			}
		}
		_, err := h.engine.Start(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: &threads.Parent{ThreadID: "a"}})
		var many *turns.TooManyError
		if !errors.As(err, &many) || len(many.TurnIDs) == 0 || many.TurnIDs[0] != first || many.ForGood {
			t.Errorf("one too many: %v", err)
		}
		owner := "a"
		for i := range threads.MaxLevel {
			id := fmt.Sprint("deep", i)
			h.childThread(owner, id, "puppet")
			owner = id
		}
		if _, err := h.engine.StartThread(bg, turns.StartThread{Parent: &threads.Parent{ThreadID: owner}}); !errors.As(err, &many) || !many.ForGood {
			t.Errorf("too deep: %v", err)
		}
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		h.change("a", threads.VerbClose)
		h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == owner })
	})
}

// A child turn that is tried again counts like one that starts, whatever its policy.
func TestBoundsOfChildTurnsThatAreTriedAgain(t *testing.T) {
	for name, background := range map[string]bool{"background": true, "waited for": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1000, MaxQueue: 100}}, func(h *harness) {
				c := h.family("b", "d")
				failed := h.child("a", "b", background)
				h.next(h.agent).end(turns.Failed)
				h.endedIn(failed.TurnID, 1)
				var first, last turns.StartResult
				for i := range turns.MaxChildren {
					if last = h.child("a", "d", background); i == 0 {
						first = last
					}
				}
				var many *turns.TooManyError
				if _, err := h.engine.Retry(bg, turns.Retry{TurnID: failed.TurnID}); !errors.As(err, &many) || len(many.TurnIDs) == 0 || many.TurnIDs[0] != first.TurnID {
					t.Errorf("one too many: %v", err)
				}
				if tn := h.turn(failed.TurnID); tn.State != turns.Failed || tn.Attempt != 1 {
					t.Errorf("it was refused, and is %+v", tn)
				}
				h.interrupt(last.TurnID)
				h.ended(last.TurnID)
				h.retry(failed.TurnID)
				if _, err := h.engine.Start(bg, turns.Start{ThreadID: "d", Input: text("go"), Parent: childOf("a")}); !errors.As(err, &many) {
					t.Errorf("it does not count: %v", err)
				}
				h.interrupt(c.TurnID)
				h.ended(c.TurnID)
				h.change("a", threads.VerbClose)
				h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "a" })
			})
		})
	}
}

// Two child turns that are tried again at once, with room for one.
func TestBoundOfChildTurnsHoldsWhenTwoAreTriedAgain(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1000, MaxQueue: 100}}, func(h *harness) {
		c := h.family("b", "d", "e")
		one, two := h.child("a", "b", true), h.child("a", "d", true)
		h.next(h.agent).end(turns.Failed)
		h.next(h.agent).end(turns.Failed)
		h.endedIn(one.TurnID, 1)
		h.endedIn(two.TurnID, 1)
		for range turns.MaxChildren - 1 {
			h.child("a", "e", true)
		}
		release := h.hold(both(inThread("b"), has(notify.StreamRewind)))
		answered := make(chan error, 1)
		go func() {
			_, err := h.engine.Retry(bg, turns.Retry{TurnID: one.TurnID})
			answered <- err
		}()
		synctest.Wait()
		h.retry(two.TurnID)
		release()
		var many *turns.TooManyError
		if err := <-answered; !errors.As(err, &many) || errors.Is(err, turns.ErrOwnerMoved) {
			t.Errorf("both are tried again: %v", err)
		}
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		h.change("a", threads.VerbClose)
		h.event(notify.ThreadClosed, func(e event) bool { return e.ThreadID == "a" })
	})
}

func TestMessageThatWasHeldBackDoesNotEndTheWaitForChildren(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		h.emit(c, items.Progress{Message: "one"}, items.Progress{Message: "two"}) // the second waits for a second to pass
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if tn := h.turn(c.TurnID); !tn.WaitsForChildren() {
			t.Errorf("it waits no more: %+v", tn)
		}
		h.done(h.next(h.agent), "done")
		h.speak(h.next(h.model))
		h.ended(c.TurnID)
	})
}
