package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// agentAwaits lets the agent of the owner a wait for turns, and returns once nothing moves.
func (h *harness) agentAwaits(c turns.Await) <-chan answer {
	h.t.Helper()
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.AwaitResult, a.sent, a.err = h.engine.Children().Await(bg, c, "a")
		answered <- a
	}()
	synctest.Wait()
	return answered
}

// detachedFor are the turns that were detached, with the reason.
func (h *harness) detachedFor() map[string]turns.Detach {
	h.t.Helper()
	synctest.Wait()
	out := map[string]turns.Detach{}
	for _, e := range h.of(func(e event) bool { return e.Method == notify.TurnDetached }) {
		out[e.TurnID] = turns.Detach(e.Reason)
	}
	return out
}

// cut checks that an answer was cut short now, before the time that it might have waited.
func (h *harness) cut(from <-chan answer, why turns.CutShort, ends int) answer {
	h.t.Helper()
	a := h.answered(from, ends)
	if a.Reason != why || a.TimedOut {
		h.t.Errorf("the answer is %+v, want the reason %q", a.AwaitResult, why)
	}
	return a
}

func all(c turns.Await) turns.Await {
	c.WaitFor = turns.WaitAll
	return c
}

func TestQueuedTurnEndsTheWaitOfTheOwnersAgent(t *testing.T) {
	for name, c := range map[string]struct{ before, all, named bool }{
		"queued before, any, named": {true, false, true}, "queued before, all, named": {true, true, true},
		"queued during, any, named": {false, false, true}, "queued during, all, named": {false, true, true},
		"queued before, any, implied": {true, false, false}, "queued during, all, implied": {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				owner := h.family("b", "d", "f")
				one, two, background := h.child("a", "b", false), h.child("a", "d", false), h.child("a", "f", true)
				ids := []string{one.TurnID, background.TurnID}
				if !c.named {
					ids = nil
				}
				asks := awaitBy(ids...)
				if c.all {
					asks = all(asks)
				}
				person := h.awaiting(bg, awaitBy(one.TurnID)) // holon await --owner
				var waits <-chan answer
				var next turns.StartResult
				if c.before {
					next = h.start("a")
					waits = h.agentAwaits(asks)
				} else {
					waits = h.agentAwaits(asks)
					h.notAnswered(waits)
					next = h.start("a")
				}
				a := h.cut(waits, turns.CutQueued, 0)
				if len(a.Results) == 0 || a.Results[0].State != turns.Active {
					t.Errorf("results %+v", a.Results)
				}
				want := map[string]turns.Detach{one.TurnID: turns.DetachQueued}
				if !c.named {
					want[two.TurnID] = turns.DetachQueued
				}
				if got := h.detachedFor(); len(got) != len(want) || got[one.TurnID] != turns.DetachQueued {
					t.Errorf("detached %v, want %v", got, want)
				}
				if a.Seq < h.event(notify.TurnDetached, nil).Seq {
					t.Errorf("the answer is of seq %d", a.Seq)
				}
				h.cut(h.agentAwaits(asks), turns.CutQueued, 0) // a further call only looks
				h.notAnswered(person)
				h.speakOn(owner)
				if e := h.ended(owner.TurnID); e.Method != notify.TurnCompleted {
					t.Errorf("ended %s", e)
				}
				p := h.next(h.model)
				if p.TurnID != next.TurnID {
					t.Errorf("%s follows", p.TurnID)
				}
				for range 3 {
					h.done(h.next(h.agent), "the result")
				}
				h.answered(person, 1).sent(true)
				h.speak(p)
				h.speak(h.next(h.model)) // woken by the other two
				h.idle(h.model)
			})
		})
	}
}

func TestLookDetachesNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		h.start("a")
		look := awaitBy(child.TurnID)
		look.TimeoutSeconds = seconds(0)
		h.cut(h.agentAwaits(look), turns.CutQueued, 0)
		if got := h.detachedFor(); len(got) != 0 {
			t.Errorf("detached %v", got)
		}
		h.speakOn(c)
		h.ended(c.TurnID)
		h.done(h.next(h.agent), "the result")
		h.speak(h.next(h.model))
	})
}

// What has ended is in the answer, and is told by it.
func TestCutAnswerTellsTheEndsThatItShows(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "d")
		one, two := h.child("a", "b", false), h.child("a", "d", false)
		waits := h.agentAwaits(all(awaitBy(one.TurnID, two.TurnID)))
		first, second := h.next(h.agent), h.next(h.agent)
		h.done(first, "the result")
		h.notAnswered(waits)
		next := h.start("a")
		h.cut(waits, turns.CutQueued, 1).sent(true)
		if got := h.detachedFor(); len(got) != 1 || got[second.TurnID] != turns.DetachQueued {
			t.Errorf("detached %v", got)
		}
		h.speak(c)
		if p := h.next(h.model); p.TurnID != next.TurnID || len(p.Input) != 1 {
			t.Errorf("told again: %+v", p.Prompt)
		} else {
			h.speak(p)
		}
		h.done(second, "the other result")
		h.wokenOnce("the other result")
	})
}

// An answer that has an end, and need not wait, is no reason to wait again: the agent is told
// that a person waits as long as something goes on. Once all has ended, it is not.
func TestAnswerWithAnEndSaysThatAPersonWaits(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b", "d")
		one, two := h.child("a", "b", false), h.child("a", "d", false)
		first, second := h.next(h.agent), h.next(h.agent)
		h.done(first, "the result")
		synctest.Wait()
		next := h.start("a")
		h.cut(h.agentAwaits(awaitBy(one.TurnID)), "", 1)
		h.cut(h.agentAwaits(awaitBy(one.TurnID, two.TurnID)), turns.CutQueued, 1).sent(true)
		if got := h.detachedFor(); len(got) != 1 || got[second.TurnID] != turns.DetachQueued {
			t.Errorf("detached %v", got)
		}
		h.speak(c)
		if p := h.next(h.model); p.TurnID != next.TurnID {
			t.Errorf("the next turn is %+v", p.Prompt)
		} else {
			h.speak(p)
		}
		h.done(second, "the other result")
		h.wokenOnce("the other result")
	})
}

// heldBack holds back the way of one end into the inbox: the reading of its text.
type heldBack struct {
	engine.Rows
	turnID *string
	gate   chan struct{}
}

func (g heldBack) LastMessage(ctx context.Context, turnID string) (*items.Item, error) {
	if turnID == *g.turnID {
		<-g.gate
	}
	return g.Rows.LastMessage(ctx, turnID)
}

// The turn is queued while the end of the child is on its way to the inbox: the answer
// waits for it, and nothing is detached.
func TestEndInTheMomentOfTheCut(t *testing.T) {
	var held heldBack
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows {
		held = heldBack{r, new(string), make(chan struct{})}
		return held
	}}, func(h *harness) {
		c := h.family("b", "d")
		child, other := h.child("a", "b", false), h.child("a", "d", false)
		waits := h.agentAwaits(all(awaitBy(child.TurnID, other.TurnID)))
		first, second := h.next(h.agent), h.next(h.agent)
		if first.TurnID != child.TurnID {
			first, second = second, first
		}
		h.message(first, "the result")
		h.notAnswered(waits)
		*held.turnID = first.TurnID
		first.end(turns.Completed)
		h.ended(first.TurnID)
		synctest.Wait()
		next := h.start("a")
		h.notAnswered(waits)
		close(held.gate)
		a := h.cut(waits, turns.CutQueued, 1)
		a.sent(true)
		if got := h.detachedFor(); len(got) != 1 || got[second.TurnID] != turns.DetachQueued || a.Results[0].Text != "the result" {
			t.Errorf("detached %v, answered %+v", got, a.AwaitResult)
		}
		h.speak(c)
		if p := h.next(h.model); p.TurnID != next.TurnID || len(p.Input) != 1 {
			t.Errorf("told again: %+v", p.Prompt)
		} else {
			h.speak(p)
		}
		h.done(second, "the other result")
		h.wokenOnce("the other result")
	})
}

func TestSteerEndsTheWaitOfTheOwnersAgent(t *testing.T) {
	for name, c := range map[string]struct{ before, injected, all bool }{
		"queued text before, any": {true, false, false}, "queued text during, all": {false, false, true},
		"injected during, any": {false, true, false}, "injected during, all": {false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				owner := h.family("b")
				child := h.child("a", "b", false)
				if c.injected {
					owner.Sink.OnSteer(func(context.Context, items.UserMessage) error { return nil })
				}
				asks := awaitBy(child.TurnID)
				if c.all {
					asks = all(asks)
				}
				person := h.awaiting(bg, awaitBy(child.TurnID))
				var waits <-chan answer
				if c.before {
					h.steer(owner.TurnID, "hurry", false)
					waits = h.agentAwaits(asks)
				} else {
					waits = h.agentAwaits(asks)
					h.notAnswered(waits)
					if r := h.steer(owner.TurnID, "hurry", false); (r.Delivery == turns.Injected) != c.injected {
						t.Fatalf("the steer is %s", r.Delivery)
					}
				}
				h.cut(waits, turns.CutSteered, 0)
				if got := h.detachedFor(); len(got) != 0 {
					t.Errorf("detached %v", got)
				}
				h.notAnswered(person)
				again := h.agentAwaits(asks)
				if c.injected { // it has the text: it may wait on
					h.notAnswered(again)
				} else {
					h.cut(again, turns.CutSteered, 0)
					h.speakOn(owner)
					owner = h.next(h.model) // with the text
					again = h.agentAwaits(asks)
					h.notAnswered(again)
				}
				h.done(h.next(h.agent), "the result")
				h.answered(person, 1).sent(true)
				h.answered(again, 1).sent(true)
				h.speak(owner)
				h.idle(h.model)
			})
		})
	}
}

// A steer that the agent takes may come when it has chosen to wait already: it gets the text
// after the call. Once it has said something, it has read it.
func TestSteerBetweenTheChoiceToWaitAndTheCall(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		c.Sink.OnSteer(func(context.Context, items.UserMessage) error { return nil })
		if r := h.steer(c.TurnID, "hurry", false); r.Delivery != turns.Injected {
			t.Fatalf("the steer is %s", r.Delivery)
		}
		synctest.Wait()
		h.cut(h.agentAwaits(awaitBy(child.TurnID)), turns.CutSteered, 0)
		told := h.agentAwaits(awaitBy(child.TurnID))
		h.notAnswered(told) // it knows
		h.steer(c.TurnID, "more", false)
		h.cut(told, turns.CutSteered, 0)
		h.steer(c.TurnID, "and more", false)
		h.message(c, "I hurry")
		synctest.Wait()
		waits, parallel := h.agentAwaits(awaitBy(child.TurnID)), h.agentAwaits(awaitBy(child.TurnID))
		h.notAnswered(waits)
		h.steer(c.TurnID, "still more", false)
		h.cut(waits, turns.CutSteered, 0)
		h.cut(parallel, turns.CutSteered, 0)
		h.done(h.next(h.agent), "the result")
		h.answered(h.agentAwaits(awaitBy(child.TurnID)), 1).sent(true)
		h.speak(c)
		h.idle(h.model)
	})
}

// The next prompt has what was steered.
func TestSteerOfAnEarlierPromptEndsNoWait(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		h.steer(c.TurnID, "hurry", false)
		c.end(turns.Completed)
		c = h.next(h.model)
		waits := h.agentAwaits(awaitBy(child.TurnID))
		h.notAnswered(waits)
		h.done(h.next(h.agent), "the result")
		h.answered(waits, 1).sent(true)
		h.speak(c)
		h.idle(h.model)
	})
}

// A child's message is news, and no reason to end the wait.
func TestMessageOfAChildEndsNoWait(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", false)
		waits := h.agentAwaits(awaitBy(child.TurnID))
		h.send("a", "news")
		h.notAnswered(waits)
		h.done(h.next(h.agent), "the result")
		h.answered(waits, 1).sent(true)
		h.speak(c)
		h.speak(h.next(h.model))
	})
}

func TestCutOfWaitSeconds(t *testing.T) {
	for name, c := range map[string]struct {
		caller     string
		steer      bool
		background bool
		reason     turns.CutShort
		detached   bool
	}{
		"the agent, queued":                {"a", false, false, turns.CutQueued, true},
		"the agent, queued, in background": {"a", false, true, turns.CutQueued, false},
		"the agent, steered":               {"a", true, false, turns.CutSteered, false},
		"a program, queued":                {"", false, false, turns.CutQueued, true},
		"a program, steered":               {"", true, false, "", false},
		"a program, queued, in background": {"", false, true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				owner := h.family("b")
				r, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), Background: c.background, WaitSeconds: 20}, c.caller)
				if err != nil {
					t.Fatal(err)
				}
				type answer struct {
					turns.StartResult
					sent func(bool)
					err  error
				}
				answered := make(chan answer, 1)
				go func() {
					r, sent, err := wait(bg)
					answered <- answer{r, sent, err}
				}()
				synctest.Wait()
				began := time.Now()
				if c.steer {
					h.steer(owner.TurnID, "hurry", false)
				} else {
					h.start("a")
				}
				synctest.Wait()
				if c.reason == "" {
					if len(answered) > 0 {
						t.Fatalf("answered %+v", <-answered)
					}
					h.done(h.next(h.agent), "the result")
				}
				a := <-answered
				if a.err != nil || a.Reason != c.reason || (a.Detached != nil) != c.detached || len(a.Results) != 1 || time.Since(began) != 0 {
					t.Errorf("answered %+v after %s", a, time.Since(began))
				}
				if a.sent != nil {
					a.sent(true)
				}
				if got := h.detachedFor(); c.detached != (got[r.TurnID] == turns.DetachQueued) {
					t.Errorf("detached %v", got)
				}
				if policy := h.turn(r.TurnID).AttentionPolicy; policy != a.AttentionPolicy {
					t.Errorf("the answer says %s, the turn is %s", a.AttentionPolicy, policy)
				}
				h.speakOn(owner)
				if c.reason != "" {
					h.speakOn(h.next(h.model)) // what the person has said
					h.done(h.next(h.agent), "the result")
				}
				h.speak(h.next(h.model))
			})
		})
	}
}

// A call that has outlived its turn or attempt keeps nobody waiting, and what happens to
// the next turn is no reason to end it.
func TestCallOfAnEarlierTurnIsNotCut(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		work := h.next(h.agent)
		waits := h.agentAwaits(awaitBy(child.TurnID))
		h.interrupt(c.TurnID)
		h.ended(c.TurnID)
		h.start("a")
		next := h.next(h.model)
		h.steer(next.TurnID, "hurry", false)
		h.start("a")
		h.notAnswered(waits)
		h.done(work, "the result")
		h.answered(waits, 1).sent(true)
		h.speakOn(next)
		h.speak(h.next(h.model))
		h.speak(h.next(h.model))
	})
}

// After a restart the queue is read from the log. (What was steered is in the input of the
// next attempt.)
func TestWaitIsCutAfterARestart(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
		h.next(h.model)
		next := h.start("a")
		h.restart()
		c := h.next(h.model)
		child := h.child("a", "b", false)
		h.cut(h.agentAwaits(awaitBy(child.TurnID)), turns.CutQueued, 0)
		if got := h.detachedFor(); got[child.TurnID] != turns.DetachQueued {
			t.Errorf("detached %v", got)
		}
		h.speakOn(c)
		p := h.next(h.model)
		if p.TurnID != next.TurnID {
			t.Errorf("%s follows", p.TurnID)
		}
		h.done(h.next(h.agent), "the result")
		h.speak(p)
		h.speak(h.next(h.model))
	})
}
