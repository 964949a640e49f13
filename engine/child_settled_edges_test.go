package engine_test

import (
	"testing"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestEndsThatWaitOverWhatHappensToTheirSiblings(t *testing.T) {
	inReviewNow := func(h *harness) (one *call, r turns.StartResult) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.childThread("a", "d", "puppet")
		h.start("a")
		c := h.next(h.model)
		h.child("a", "d", true)
		one = h.next(h.agent)
		r = h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true, Review: turns.ReviewOnSuccess})
		reviewed := h.next(h.agent)
		h.speak(c)
		h.done(reviewed, "two")
		return one, r
	}
	runRaces(t, []race{
		{"rejected sibling waits again, then told together", setup{}, func(h *harness) {
			one, r := inReviewNow(h)
			h.review(r.TurnID, turns.Rejected)
			again := h.next(h.agent)
			h.done(one, "one")
			h.took("a", 1)
			h.idle(h.model)
			h.message(again, "better")
			again.end(turns.Failed)
			h.wokenOnce("one", "better")
		}},
		{"rejected, continuation closed", setup{}, func(h *harness) {
			one, r := inReviewNow(h)
			h.review(r.TurnID, turns.Rejected)
			h.next(h.agent)
			h.done(one, "one")
			h.took("a", 1)
			h.idle(h.model)
			h.change("b", threads.VerbClose)
			h.wokenOnce("one", "was interrupted")
		}},
		{"in review, hand-retried, goes on waiting", setup{}, func(h *harness) {
			one, r := inReviewNow(h)
			h.retry(r.TurnID)
			again := h.next(h.agent)
			h.done(one, "one")
			h.took("a", 1)
			h.idle(h.model)
			h.done(again, "again")
			h.wokenOnce("one")
			h.review(r.TurnID, turns.Approved)
			h.wokenOnce("again")
		}},
		{"paused runtime over the time", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.pause()
			time.Sleep(time.Hour)
			h.idle(h.model)
			h.resume()
			h.wokenOnce("one")
		}},
		{"owner paused over the time", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "one")
			h.took("a", 1)
			h.change("a", threads.VerbPause)
			time.Sleep(time.Hour)
			h.idle(h.model)
			h.change("a", threads.VerbResume)
			h.wokenOnce("one")
		}},
		{"wake none to idle", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.configure("a", inbox.Policy{Wake: inbox.WakeNone})
			h.done(work[0], "one")
			h.took("a", 1)
			time.Sleep(10 * time.Minute)
			h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
			h.idle(h.model)
			time.Sleep(20*time.Minute + 5*time.Second)
			h.wokenOnce("one")
		}},
		{"hand-retry of a told sibling while the other waits", setup{}, func(h *harness) {
			work := h.siblings(3)
			h.done(work[0], "one")
			h.message(work[1], "bad")
			work[1].end(turns.Failed)
			h.took("a", 2)
			h.idle(h.model)
			h.retry(work[1].TurnID)
			again := h.next(h.agent)
			h.done(work[2], "three")
			h.idle(h.model)
			h.done(again, "good")
			h.wokenOnce("one", "three", "good")
		}},
		{"slots full when it is overdue", setup{cfg: engine.Config{MaxActiveTurns: 2}}, func(h *harness) {
			h.thread("a", "model")
			h.childThread("a", "b", "puppet")
			h.childThread("a", "d", "puppet")
			h.start("a")
			c := h.next(h.model)
			h.child("a", "b", true)
			one := h.next(h.agent)
			h.child("a", "d", true)
			h.speak(c)
			two := h.next(h.agent)
			h.thread("x", "")
			h.start("x")
			h.done(one, "one")
			x := h.next(h.agent)
			h.took("a", 1)
			time.Sleep(time.Hour)
			h.idle(h.model)
			x.end(turns.Completed)
			h.wokenOnce("one")
			h.done(two, "two")
			h.wokenOnce("two")
		}},
		{"attempt 1 spoke, attempt 2 silent: new again", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			h.message(c, "words")
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			p.end(turns.Completed)
			h.ended(c.TurnID)
			h.wokenOnce("the result")
		}},
		{"attempt 2 spoke, attempt 3 silent: new again", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			h.message(p, "words")
			p.crash()
			p = h.next(h.model)
			h.listed(p, "the result")
			p.end(turns.Completed)
			h.ended(c.TurnID)
			h.wokenOnce("the result")
		}},
		{"attempt 2 spoke, attempt 3 silent over a restart", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			h.message(p, "words")
			h.restart()
			p = h.next(h.model)
			h.listed(p, "the result")
			p.end(turns.Completed)
			h.ended(c.TurnID)
			h.wokenOnce("the result")
		}},
		{"attempt 2 interrupted before it read", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.idle(h.model)
			h.wakeNow("a")
			h.wokenOnce("the result")
		}},
	})
}
