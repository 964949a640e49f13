package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// siblings is an idle owner of n background child turns of one turn, and their prompts.
func (h *harness) siblings(n int) (work []*call) {
	h.t.Helper()
	h.thread("a", "model")
	for i := range n {
		h.childThread("a", fmt.Sprintf("b%02d", i), "puppet")
	}
	h.start("a")
	c := h.next(h.model)
	for i := range n {
		h.child("a", fmt.Sprintf("b%02d", i), true)
		work = append(work, h.next(h.agent))
	}
	h.speak(c)
	h.ended(c.TurnID)
	return work
}

// Many ends within a few seconds are one wake, which has all of them.
func TestSeveralEndsAreOneWake(t *testing.T) {
	const n = 33
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: n + 1}}, func(h *harness) {
		work := h.siblings(n)
		for i, c := range work {
			time.Sleep(150 * time.Millisecond)
			h.done(c, fmt.Sprintf("result %02d", i))
			if i < n-1 {
				h.idle(h.model)
			}
		}
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("result %02d", i))
		}
		h.wokenOnce(words...)
		if w, s := h.wakes("a"), h.stalls("a"); w != 1 || len(s) != 0 || len(h.entries("a")) != 0 {
			t.Errorf("%d wakes, stalled %v, entries %s", w, s, ids(h.entries("a")))
		}
	})
}

// An end waits for its siblings whatever they do, at the latest until its time, and not longer
// over restarts. Whatever else there is to tell is told at once, and the end with it.
func TestEndsWaitForTheirSiblings(t *testing.T) {
	retry := &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 9, BackoffSeconds: 60}
	runRaces(t, []race{
		{"with each, every end wakes", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.configure("a", inbox.Policy{WakeWhen: inbox.WhenEach})
			h.done(work[0], "one")
			h.wokenOnce("one")
			h.done(work[1], "two")
			h.wokenOnce("two")
		}},
		{"each is what a change of the policy brings at once", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.idle(h.model)
			h.configure("a", inbox.Policy{WakeWhen: inbox.WhenEach})
			h.wokenOnce("one")
		}},
		{"for half an hour at most", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			posted := time.Now()
			time.Sleep(30*time.Minute - 2*time.Second)
			h.idle(h.model)
			p := h.next(h.model)
			if late := time.Since(posted) - 30*time.Minute; late < 0 || late > time.Second {
				h.t.Errorf("woken %v after its time", late)
			}
			h.told(p, "one")
			if said := p.said(); !strings.Contains(said, "\n- not ended: the turn "+work[1].TurnID+` "work of b01" in thread b01 is running`) ||
				!strings.HasSuffix(said, "\n1 child turn beside these has not ended: you are told when it ends.\n") {
				h.t.Errorf("what still runs is not in %s", said)
			}
			h.speak(p)
			h.done(work[1], "two")
			h.wokenOnce("two")
		}},
		{"for as long as the policy says", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.configure("a", inbox.Policy{WakeMaxWaitMs: ms(5 * time.Second)})
			h.done(work[0], "one")
			h.took("a", 1)
			time.Sleep(3 * time.Second)
			h.idle(h.model)
			time.Sleep(2 * time.Second)
			h.wokenOnce("one")
		}},
		{"without a bound", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.configure("a", inbox.Policy{WakeMaxWaitMs: new(int64)})
			h.done(work[0], "one")
			time.Sleep(20 * time.Hour)
			h.idle(h.model)
			h.done(work[1], "two")
			h.wokenOnce("one", "two")
		}},
		{"over a restart, and what is overdue then wakes at once", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.childThread("a", "d", "puppet")
			h.start("a")
			c := h.next(h.model)
			h.child("a", "b", true)
			work := h.next(h.agent)
			h.startWith(turns.Start{ThreadID: "d", Parent: childOf("a"), Background: true, Retry: retry})
			h.next(h.agent)
			h.speak(c)
			h.done(work, "one")
			h.took("a", 1)
			h.restart()
			h.next(h.agent) // the next attempt
			h.idle(h.model)
			h.down()
			time.Sleep(time.Hour)
			h.up()
			h.wokenOnce("one")
		}},
		{"while they are queued, retried, asking or paused", setup{}, func(h *harness) {
			h.thread("a", "model")
			for _, id := range []string{"b", "d", "e", "f"} {
				h.childThread("a", id, "puppet")
			}
			h.start("a")
			c := h.next(h.model)
			h.child("a", "b", true)
			first := h.next(h.agent)
			h.child("a", "b", true) // queued behind it
			r := h.startWith(turns.Start{ThreadID: "d", Parent: childOf("a"), Background: true, Retry: retry})
			retried := h.next(h.agent)
			h.child("a", "e", true)
			asking := h.next(h.agent)
			h.change("f", threads.VerbPause)
			h.child("a", "f", true) // paused
			h.speak(c)
			h.change("b", threads.VerbPause)
			h.done(first, "one")
			h.took("a", 1)
			retried.crash()
			h.marker(r.TurnID, 1)
			q := h.ask(asking, permission(), turns.AskOptions{})
			h.idle(h.model)
			h.allow(q)
			h.done(asking, "three")
			h.idle(h.model)
			h.change("b", threads.VerbResume)
			h.done(h.next(h.agent), "two")
			h.idle(h.model)
			h.change("f", threads.VerbResume)
			h.done(h.next(h.agent), "four")
			h.idle(h.model)
			h.done(h.next(h.agent), "five") // the next attempt of the one that crashed
			h.wokenOnce("one", "two", "three", "four", "five")
		}},
		{"not for one in review", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.childThread("a", "d", "puppet")
			h.start("a")
			c := h.next(h.model)
			h.child("a", "d", true)
			work := h.next(h.agent)
			r := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Review: turns.ReviewOnSuccess})
			reviewed := h.next(h.agent)
			h.speak(c)
			h.done(work, "one")
			h.took("a", 1)
			h.idle(h.model)
			h.done(reviewed, "two")
			h.wokenOnce("one")
			h.review(r.TurnID, turns.Approved)
			h.wokenOnce("two")
		}},
		{"not for those of another turn", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.start("a")
			c := h.next(h.model)
			h.childThread("a", "d", "puppet")
			h.child("a", "d", true)
			other := h.next(h.agent)
			h.done(work[0], "one")
			h.took("a", 1)
			h.speak(c)
			h.idle(h.model)
			h.done(other, "other")
			h.wokenOnce("one", "other")
		}},
		{"not if it works for no turn", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.childThread("a", "d", "puppet")
			h.child("a", "b", true)
			h.child("a", "d", true)
			h.done(h.next(h.agent), "one")
			h.wokenOnce("one")
			h.done(h.next(h.agent), "two")
			h.wokenOnce("two")
		}},
		{"not behind a message", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.idle(h.model)
			h.send("a", "hello")
			h.wokenOnce("one", "hello")
			h.done(work[1], "two")
			h.wokenOnce("two")
		}},
		{"not behind a turn of a client", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.idle(h.model)
			c := h.start("a")
			p := h.next(h.model)
			if p.TurnID != c.TurnID || !strings.Contains(p.said(), "one") {
				h.t.Errorf("prompt %s", p.said())
			}
			h.speak(p)
			h.done(work[1], "two")
			h.wokenOnce("two")
		}},
		{"again after a turn of a client that has said nothing to it", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.send("a", "hello")
			h.speak(h.next(h.model)) // a wake, whose count a client's turn begins anew
			h.done(work[0], "one")
			h.took("a", 1)
			h.start("a")
			p := h.next(h.model)
			if !strings.Contains(p.said(), "one") {
				h.t.Errorf("prompt %s", p.said())
			}
			p.end(turns.Completed)
			h.ended(p.TurnID)
			h.idle(h.model)
			h.done(work[1], "two")
			h.wokenOnce("one", "two")
		}},
		{"not if a client asks", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.idle(h.model)
			h.wakeNow("a")
			h.wokenOnce("one")
			h.done(work[1], "two")
			h.wokenOnce("two")
		}},
		{"an end that an answer has told does not, and its siblings are told when they end", setup{}, func(h *harness) {
			work := h.siblings(3)
			h.done(work[0], "one")
			h.took("a", 1)
			h.answered(h.awaiting(bg, awaitBy(work[0].TurnID)), 1).sent(true)
			h.done(work[1], "two")
			h.idle(h.model)
			h.done(work[2], "three")
			h.wokenOnce("two", "three")
		}},
		{"and no longer than a wait for them in an answer", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			answer := h.awaiting(bg, awaitBy(work[1].TurnID))
			h.done(work[1], "two")
			h.answered(answer, 1).sent(true)
			h.wokenOnce("one")
		}},
		{"and a wake that is held back by a bound comes later", setup{}, func(h *harness) {
			work := h.siblings(2)
			c := h.start("a")
			h.next(h.model)
			h.interrupt(c.TurnID) // by a client: a is held
			h.ended(c.TurnID)
			h.done(work[0], "one")
			h.done(work[1], "two")
			h.took("a", 2)
			time.Sleep(time.Hour)
			h.idle(h.model)
			h.wakeNow("a")
			h.wokenOnce("one", "two")
		}},
		{"one that is interrupted or whose thread is closed has ended", setup{}, func(h *harness) {
			work := h.siblings(3)
			h.done(work[0], "one")
			h.interrupt(work[1].TurnID)
			h.idle(h.model)
			h.change("b02", threads.VerbClose)
			h.wokenOnce("one", "was interrupted", "was interrupted")
		}},
	})
}

// An end that was posted before the clock was set back by a day waits for its siblings no longer.
func TestEndsWaitNoLongerAfterTheClockWasSetBack(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.childThread("a", "d", "puppet")
		h.configure("a", inbox.Policy{WakeMaxWaitMs: ms(5 * time.Minute)})
		h.change("d", threads.VerbPause)
		h.start("a")
		c := h.next(h.model)
		h.child("a", "b", true)
		h.child("a", "d", true)
		work := h.next(h.agent)
		h.speak(c)
		h.done(work, "one")
		h.took("a", 1)
		h.edit("UPDATE inbox_entries SET posted_at = posted_at + 86400000")
		began := time.Now()
		p := h.next(h.model)
		if waited := time.Since(began); waited > 6*time.Minute {
			t.Errorf("woken after %v", waited)
		}
		h.speak(p)
		h.edit("UPDATE inbox_entries SET posted_at = posted_at - 86400000")
	})
}
