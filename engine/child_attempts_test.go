package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// A turn that a client tries again also waits for blocking child turns of its earlier
// attempt that have not stopped yet.
func TestRetriedOwnerWaitsForWhatIsStillStopping(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "deaf")
		h.start("a")
		c := h.next(h.model)
		child := h.child("a", "b", false)
		h.next(h.deaf)
		h.interrupt(c.TurnID)
		h.endedIn(c.TurnID, 1)
		h.retry(c.TurnID)
		h.speakOn(h.next(h.model))
		h.waitsFor(c.TurnID, child.TurnID)
		h.ended(child.TurnID)
		h.speak(h.next(h.model))
		if tn := h.turn(c.TurnID); tn.State != turns.Completed || tn.Attempt != 2 {
			t.Errorf("%+v", tn)
		}
	})
}

// What a child turn has started in its first attempt ends with its second.
func TestFailureOfAChildInterruptsTheChildrenOfAllItsAttempts(t *testing.T) {
	for name, byHand := range map[string]bool{"tried again by its policy": false, "tried again by a client": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("a", "model")
				h.childThread("a", "b", "model")
				h.childThread("b", "c", "puppet")
				h.start("a")
				top := h.next(h.model)
				policy := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 2, BackoffSeconds: 1}
				mid := h.startWith(turns.Start{ThreadID: "b", Parent: &threads.Parent{ThreadID: "a"}, Retry: policy})
				c := h.next(h.model)
				low := h.child("b", "c", true)
				if byHand {
					h.interrupt(mid.TurnID) // by a client: it leaves c
					h.endedIn(mid.TurnID, 1)
					h.retry(mid.TurnID)
				} else {
					c.crash()
				}
				c = h.next(h.model)
				h.message(c, "no")
				c.end(turns.Failed)
				if h.ended(low.TurnID); h.turn(low.TurnID).InterruptedBy != turns.ByOwner {
					t.Errorf("%+v", h.turn(low.TurnID))
				}
				h.interrupt(top.TurnID)
				h.ended(top.TurnID)
				time.Sleep(time.Second)
			})
		})
	}
}

func TestNewAttemptsOfOwners(t *testing.T) {
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 1}
	// started is an owner's first attempt with a child that has ended and was told, one
	// that has ended, one in the background, and a blocking one, which is left alone.
	started := func(h *harness) (owner string, c *call, background, blocking *call) {
		h.thread("a", "model")
		for _, id := range []string{"b", "d", "e"} {
			h.childThread("a", id, "puppet")
		}
		h.childThread("a", "f", "deaf")
		s := h.startWith(turns.Start{ThreadID: "a", Retry: retry})
		c = h.next(h.model)
		told := h.child("a", "b", true)
		h.done(h.next(h.agent), "told already")
		h.answered(h.awaiting(bg, awaitBy(told.TurnID)), 1).sent(true)
		h.child("a", "d", true)
		h.done(h.next(h.agent), "not told yet")
		h.startWith(turns.Start{ThreadID: "e", Parent: childOf("a"), Background: true, Retry: retry})
		background = h.next(h.agent)
		h.child("a", "f", false)
		h.took("a", 1)
		return s.TurnID, c, background, h.next(h.deaf)
	}
	// second checks the prompt of the second attempt, and what follows.
	second := func(h *harness, owner string, background, blocking *call, by turns.By) {
		p := h.next(h.model)
		if p.TurnID != owner || p.Attempt != 2 || len(p.Input) < 2 {
			h.t.Fatalf("prompt %+v", p.Prompt)
		}
		h.toldAt(p, 1, "told already", "not told yet", background.TurnID, blocking.TurnID)
		if len(p.Input[1].Entries) != 0 {
			h.t.Errorf("the list is %+v", p.Input[1])
		}
		if h.ended(blocking.TurnID); h.turn(blocking.TurnID).InterruptedBy != by {
			h.t.Errorf("%+v", h.turn(blocking.TurnID))
		}
		h.took("a", 2)
		if by == turns.ByOwner { // it has stopped after the list was made
			h.speakOn(p)
			p = h.next(h.model) // blocking children of any attempt are told in the turn
			if p.TurnID != owner || strings.Contains(p.said(), "not told yet") {
				h.t.Errorf("told in %s: %s", p.TurnID, p.said())
			}
			h.told(p, "was interrupted")
		}
		h.speak(p)
		h.ended(owner)
		if tn := h.turn(background.TurnID); tn.State != turns.Active {
			h.t.Errorf("%+v", tn)
		}
	}
	runRaces(t, []race{
		{"R35 by its policy", setup{}, func(h *harness) {
			owner, c, background, blocking := started(h)
			c.crash()
			second(h, owner, background, blocking, turns.ByOwner)
			h.done(background, "in the background")
			h.wokenOnce("in the background")
		}},
		{"R7 R35 by a restart", setup{}, func(h *harness) {
			owner, _, background, blocking := started(h)
			h.restart()
			h.agentGetsItAgain(background)
			second(h, owner, background, blocking, turns.ByServer)
		}},
		{"R34 a waiting owner is told of the first attempt's child once, whatever its attempts", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			s := h.startWith(turns.Start{ThreadID: "a", Retry: retry})
			c := h.next(h.model)
			child := h.child("a", "b", false)
			h.speakOn(c)
			h.waitsFor(s.TurnID, child.TurnID)
			h.done(h.next(h.agent), "the result")
			p := h.next(h.model)
			h.told(p, "the result")
			h.message(p, "I see")
			p.crash()
			p = h.next(h.model) // it has what the first attempt was told, and the list
			if p.Attempt != 2 || len(p.Input) != 3 {
				h.t.Errorf("prompt %+v", p.Prompt)
			}
			h.speak(p)
			h.idle(h.model)
		}},
	})
}

// toldAt checks the message at index i of a prompt.
func (h *harness) toldAt(p *call, i int, words ...string) {
	h.t.Helper()
	one := *p
	prompt := *p.Prompt
	prompt.Input = p.Input[i : i+1]
	one.Prompt = &prompt
	for _, w := range words {
		if !strings.Contains(one.said(), w) {
			h.t.Errorf("%q is not in %s", w, one.said())
		}
	}
}

// agentGetsItAgain waits for the next attempt of a prompt.
func (h *harness) agentGetsItAgain(c *call) {
	h.t.Helper()
	for {
		again := h.next(h.agent)
		if again.TurnID == c.TurnID && again.Attempt > c.Attempt {
			return
		}
	}
}

// Another attempt is not what a client asks for anew: what keeps the thread from being
// woken stays while the turn waits in the queue.
func TestRetryOfAChildThatIsQueuedLiftsNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family()
		h.childThread("a", "b", "model")
		child := h.child("a", "b", true)
		work := h.next(h.model)
		h.message(work, "no")
		work.end(turns.Failed)
		h.endedIn(child.TurnID, 1)
		h.took("a", 1)
		x := h.start("b")
		h.next(h.model)
		h.interrupt(x.TurnID) // by a client: b is held
		h.ended(x.TurnID)
		h.change("b", threads.VerbPause)
		h.retry(child.TurnID)
		h.event(notify.TurnQueued, ofTurn(child.TurnID))
		if th, err := h.reader.ReadThread(bg, "b", 0); err != nil || !th.Thread.Held {
			t.Errorf("queued again: held %v, %v", th.Thread.Held, err)
		}
		h.change("b", threads.VerbResume)
		h.done(h.next(h.model), "yes")
		h.speak(c)
		h.wokenOnce("yes")
	})
}

// The events of a child turn say whose it is, also those after its first.
func TestEventsOfChildTurnsHaveTheirParent(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		h.child("a", "b", true)
		queued := h.child("a", "b", true)
		h.done(h.next(h.agent), "the first")
		work := h.next(h.agent)
		h.message(work, "no")
		work.end(turns.Failed)
		h.endedIn(queued.TurnID, 1)
		h.took("a", 2)
		h.child("a", "b", true)
		work = h.next(h.agent)
		h.retry(queued.TurnID)
		h.done(work, "the third")
		h.done(h.next(h.agent), "at last")
		list := bodies[turns.StartedEvent](h, notify.TurnStarted, "b")
		again := bodies[turns.QueuedEvent](h, notify.TurnQueued, "b")
		if len(list) != 4 || len(again) != 2 {
			t.Fatalf("%d starts, %d times queued", len(list), len(again))
		}
		check := func(what string, i int, p *threads.Parent, got turns.Child) {
			if p == nil || p.ThreadID != "a" || p.TurnID != c.TurnID || p.Attempt != 1 || got != (turns.Child{AttentionPolicy: turns.Notify, Title: "work of b", RootThreadID: "a"}) {
				t.Errorf("%s %d: parent %+v, %+v", what, i, p, got)
			}
		}
		for i, b := range list {
			check("start", i, b.Parent, b.Child)
		}
		for i, b := range again {
			check("queued", i, b.Parent, b.Child)
		}
		h.speak(c)
		h.speak(h.next(h.model))
	})
}

// The list of a new attempt has a bound, and says what is beyond it. What still runs
// is not what it leaves out.
func TestNewAttemptIsToldHowManyChildrenAreNotListed(t *testing.T) {
	hosttest.Long(t)
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.childThread("a", "q", "quick")
		h.startWith(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 3, BackoffSeconds: 1}})
		c := h.next(h.model)
		running := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Title: "the oldest"})
		work := h.next(h.agent)
		last := ""
		for i := range 203 {
			last = h.startWith(turns.Start{ThreadID: "q", Parent: childOf("a"), Background: true, Title: fmt.Sprintf("work %d", i)}).TurnID
			synctest.Wait()
		}
		h.ended(last)
		c.crash()
		p := h.next(h.model)
		text := p.Input[len(p.Input)-1].Text()
		for _, want := range []string{"started 204 pieces of", running.TurnID, last, "\"work 4\"", "\n4 more are not listed:"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %.600s … %s", want, text, text[max(0, len(text)-300):])
			}
		}
		if n := strings.Count(text, "\n- child: "); n != 200 || strings.Contains(text, "\"work 3\"") {
			t.Errorf("%d are listed", n)
		}
		h.speak(p)
		h.done(work, "at last")
		h.change("a", threads.VerbClose)
	})
}
