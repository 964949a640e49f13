package engine_test

import (
	"fmt"
	"testing"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// wokenAndWaiting is a wake of a that was told a message, has spoken or not, and waits for a
// child turn of b. It returns the wake's turn, the entry, and the child's prompt.
func (h *harness) wokenAndWaiting(speaks bool) (turnID string, told notify.ID, work *call) {
	h.t.Helper()
	h.thread("a", "model")
	h.childThread("a", "b", "puppet")
	told = h.send("a", "hello")
	c := h.next(h.model)
	child := h.child("a", "b", false)
	if speaks {
		h.message(c, "I see")
	}
	c.end(turns.Completed)
	h.waitsFor(c.TurnID, child.TurnID)
	return c.TurnID, told, h.next(h.agent)
}

// The end of a turn decides about every entry that it was told: what was told before the
// agent's last word is acknowledged, what was told after it is new again.
func TestEndOfATurnDecidesAboutAllThatItWasTold(t *testing.T) {
	for _, c := range []struct {
		name          string
		first, second bool // whether the agent speaks in the first prompt and in the second
		acked         int  // entries, of two
	}{
		{"it speaks in both prompts", true, true, 2},
		{"only in the first", true, false, 1},
		{"only in the second", false, true, 2},
		{"in none", false, false, 0},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, ", restarted ", restarts), func(t *testing.T) {
				bubble(t, setup{}, func(h *harness) {
					turnID, told, work := h.wokenAndWaiting(c.first)
					if restarts {
						child := work.TurnID
						h.restart() // the owner waits on; its child is over
						h.ended(child)
					} else {
						h.done(work, "the result")
					}
					p := h.next(h.model)
					if p.TurnID != turnID || len(toldIn(p)) != 1 {
						t.Fatalf("%v is told in %s", toldIn(p), p.TurnID)
					}
					end := toldIn(p)[0]
					if c.second {
						h.message(p, "and that, too")
					}
					p.end(turns.Completed)
					h.ended(turnID)
					acked := 0
					for _, b := range bodies[inbox.Acked](h, notify.InboxAcked, "a") {
						if acked += len(b.EntryIDs); b.By != inbox.ByTurn || b.TurnID != turnID {
							t.Errorf("acknowledged %+v", b)
						}
					}
					if acked != c.acked {
						t.Errorf("%d entries are acknowledged", acked)
					}
					again := []string{string(told), end}[c.acked:]
					if len(again) == 0 {
						h.idle(h.model)
						return
					}
					p = h.next(h.model)
					if got := toldIn(p); fmt.Sprint(got) != fmt.Sprint(again) {
						t.Errorf("told again are %v, want %v", got, again)
					}
					h.speak(p)
					if l := h.entries("a"); len(l) != 0 {
						t.Errorf("entries %s", ids(l))
					}
				})
			})
		}
	}
}

// Each attempt is told anew what the turn was told, so that a word of an earlier one does not
// count.
func TestWordsOfAnEarlierAttemptDoNotCount(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		turnID, told, work := h.wokenAndWaiting(true)
		h.done(work, "the result")
		p := h.next(h.model)
		end := toldIn(p)[0]
		p.crash()
		p = h.next(h.model)
		if got, want := toldIn(p), []string{string(told), end}; p.TurnID != turnID || p.Attempt != 2 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("told %v in attempt %d of %s", got, p.Attempt, p.TurnID)
		}
		p.end(turns.Completed) // without a word
		h.ended(turnID)
		h.wokenOnce("hello", "the result")
		if l := h.entries("a"); len(l) != 0 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

// A turn that is tried again by a client has its entries in its input again, also if another
// turn was told something in between.
func TestRetriedTurnAcknowledgesWhatItWasTold(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.send("a", "hello")
		c := h.next(h.model)
		h.message(c, "half")
		c.end(turns.Failed)
		h.ended(c.TurnID)
		h.send("a", "more")
		h.wokenOnce("more")
		h.retry(c.TurnID)
		again := h.next(h.model)
		if again.TurnID != c.TurnID || len(toldIn(again)) != 1 {
			t.Errorf("%v is told in %s", toldIn(again), again.TurnID)
		}
		h.speak(again)
		if l := h.entries("a"); len(l) != 0 {
			t.Errorf("entries %s", ids(l))
		}
	})
}

// A prompt that was cut before its agent got the input has told it nothing: the next prompt
// of the turn tells all of it. Otherwise the turn would complete, and acknowledge what its
// agent never saw.
func TestCutPromptThatWasNotReadIsToldAgain(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
		told := h.send("a", "hello")
		c := h.next(h.deaf)
		unread := turns.Outcome{State: turns.Interrupted, Unread: true}
		h.steer(c.TurnID, "look at this", true)
		c.out <- unread
		c = h.next(h.deaf)
		h.steer(c.TurnID, "at once", true)
		c.out <- turns.Outcome{State: turns.Failed, Unread: true} // it could not be started
		c = h.next(h.deaf)
		if got := toldIn(c); len(got) != 1 || got[0] != string(told) || len(c.Input) != 3 {
			t.Errorf("%v is told in %q", got, c.said())
		}
		h.steer(c.TurnID, "stop", true)
		c.end(turns.Interrupted) // it has read that
		c = h.next(h.deaf)
		if c.said() != "stop" {
			t.Errorf("the prompt after one that was read is %q", c.said())
		}
		h.speak(c)
		if l := h.entries("a"); len(l) != 0 {
			t.Errorf("entries %s", ids(l))
		}
	})
}
