package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// retried is an owner's turn, and its first prompt, that is tried again when it crashes.
func (h *harness) retried(children ...string) *call {
	h.t.Helper()
	h.thread("a", "model")
	for _, id := range children {
		h.childThread("a", id, "puppet")
	}
	h.startWith(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5, BackoffSeconds: 1}})
	return h.next(h.model)
}

// background starts a background child turn in a thread, which ends with this text at once.
func (h *harness) ends(thread, text string) (turnID string) {
	h.t.Helper()
	r := h.child("a", thread, true)
	h.done(h.next(h.agent), text)
	return r.TurnID
}

// listed is the list of child turns in the prompt of a new attempt.
func (h *harness) listed(p *call, words ...string) string {
	h.t.Helper()
	h.toldAt(p, len(p.Input)-1, words...)
	if last := p.Input[len(p.Input)-1]; len(last.Entries) != 0 || !strings.HasPrefix(last.Text(), "Your turn is being tried again.") {
		h.t.Errorf("the list is %+v", last)
	}
	return p.Input[len(p.Input)-1].Text()
}

// timesTold is how often the inbox of a thread has told an entry, and whether it was untold.
func (h *harness) timesTold(thread string) (told, untold int) {
	h.t.Helper()
	synctest.Wait()
	for _, b := range bodies[inbox.Told](h, notify.InboxTold, thread) {
		told += len(b.EntryIDs)
	}
	for _, b := range bodies[inbox.Untold](h, notify.InboxUntold, thread) {
		untold += len(b.EntryIDs)
	}
	return told, untold
}

// A new attempt is told each result once: by its list, or later.
func TestEachResultIsToldOnceToANewAttempt(t *testing.T) {
	big := func(i int) string { return fmt.Sprintf("result %d ", i) + strings.Repeat("x", turns.MaxResultText) }
	runRaces(t, []race{
		{"what the list has in full is told by it, in the unit of the start", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			committed := h.units()
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			h.speak(p)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 1 || untold != 0 || len(h.entries("a")) != 0 || h.wakes("a") != 0 {
				h.t.Errorf("told %d, untold %d, entries %s", told, untold, ids(h.entries("a")))
			}
			if !slices.ContainsFunc(committed(), func(list []string) bool {
				return slices.Contains(list, notify.TurnStarted) && slices.Contains(list, notify.InboxTold)
			}) {
				h.t.Errorf("the units are %v", committed())
			}
		}},
		{"over a kill before and after that", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			h.crashBefore(has(notify.InboxTold), func() { c.crash() })
			p := h.next(h.model)
			h.listed(p, "the result")
			h.restart()
			p = h.next(h.model)
			h.listed(p, "the result")
			h.speak(p)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 1 || untold != 0 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, untold %d, entries %s", told, untold, ids(h.entries("a")))
			}
		}},
		{"it is new again if the last attempt says nothing", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			p.end(turns.Completed)
			h.ended(c.TurnID)
			h.wokenOnce("the result")
		}},
		{"and if a client retries a turn that has ended", setup{}, func(h *harness) {
			c := h.retried("b", "d")
			h.child("a", "d", true)
			slow := h.next(h.agent)
			h.ends("b", "the result")
			h.took("a", 1)
			h.message(c, "no")
			c.end(turns.Failed)
			h.endedIn(c.TurnID, 1)
			h.retry(c.TurnID)
			p := h.next(h.model)
			h.listed(p, "the result", "is running")
			h.speak(p)
			h.idle(h.model)
			h.done(slow, "later")
			h.wokenOnce("later")
		}},
		{"what has no room is told later", setup{cfg: engine.Config{MaxActiveTurns: 9}}, func(h *harness) {
			c := h.retried("b")
			for i := range 6 {
				h.ends("b", big(i))
			}
			h.took("a", 6)
			c.crash()
			p := h.next(h.model)
			list := h.listed(p, "\n3 results will follow in a further prompt.\n") // three fit
			h.speak(p)
			h.ended(c.TurnID)
			wake := h.next(h.model)
			h.told(wake, "result 0", "result 1", "result 2")
			h.speak(wake)
			h.idle(h.model)
			for i := range 6 {
				if in := strings.Contains(list, fmt.Sprintf("result %d ", i)); in != (i > 2) {
					h.t.Errorf("result %d is in the list: %v", i, in)
				}
			}
			if told, untold := h.timesTold("a"); told != 6 || untold != 0 {
				h.t.Errorf("told %d, untold %d", told, untold)
			}
		}},
		{"what has no room in a third attempt is new again", setup{cfg: engine.Config{MaxActiveTurns: 9}}, func(h *harness) {
			c := h.retried("b")
			for i := range 3 {
				h.ends("b", big(i))
			}
			h.took("a", 3)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "result 0", "result 1", "result 2")
			for i := range 3 {
				h.ends("b", big(3+i))
			}
			h.took("a", 6)
			p.crash()
			p = h.next(h.model)
			h.listed(p, "result 3", "result 4", "result 5")
			h.speak(p)
			h.ended(c.TurnID)
			wake := h.next(h.model)
			h.told(wake, "result 0", "result 1", "result 2")
			h.speak(wake)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 9 || untold != 3 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, untold %d", told, untold)
			}
		}},
		{"what an earlier list has told is new again if this one has no line of it", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the first result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the first result")
			for i := range 200 {
				h.ends("b", fmt.Sprintf("result %d", i))
			}
			synctest.Wait()
			p.crash()
			p = h.next(h.model)
			if list := h.listed(p, "\n1 more are not listed: "); strings.Contains(list, "the first result") {
				h.t.Errorf("it is in the list: %s", list)
			}
			h.speak(p)
			h.wokenOnce("the first result")
			if told, untold := h.timesTold("a"); told != 202 || untold != 1 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, untold %d, entries %s", told, untold, ids(h.entries("a")))
			}
		}},
		{"the prompt after a restart during a question has the list of its attempt", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			q := h.ask(p, permission(), turns.AskOptions{Resumes: true})
			h.restart()
			h.answer(q.id, "yes")
			p = h.next(h.model)
			if p.Attempt != 2 || strings.Count(p.said(), "the result\n") != 1 {
				h.t.Errorf("the prompt of attempt %d is %s", p.Attempt, p.said())
			}
			h.restart()
			p = h.next(h.model)
			if p.Attempt != 3 || strings.Count(p.said(), "the result\n") != 1 || strings.Contains(p.said(), "may I?") {
				h.t.Errorf("the prompt of attempt %d is %s", p.Attempt, p.said())
			}
			h.speak(p)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 1 || untold != 0 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, untold %d, entries %s", told, untold, ids(h.entries("a")))
			}
		}},
		{"the new end of a child that was tried again after a list had told its first", setup{}, func(h *harness) {
			c := h.retried("b")
			r := h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(work, "the first")
			work.end(turns.Failed)
			h.took("a", 1)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the first")
			h.retry(r.TurnID)
			h.done(h.next(h.agent), "the second")
			h.took("a", 2)
			p.crash()
			p = h.next(h.model)
			h.listed(p, "the second")
			h.speak(p)
			h.idle(h.model)
			if told, untold := h.timesTold("a"); told != 2 || untold != 0 || h.wakes("a") != 0 || len(h.entries("a")) != 0 {
				h.t.Errorf("told %d, untold %d, %d wakes, entries %s", told, untold, h.wakes("a"), ids(h.entries("a")))
			}
		}},
		{"what an answer under way tells is listed by its state", setup{}, func(h *harness) {
			c := h.retried("b")
			id := h.ends("b", "the result")
			h.took("a", 1)
			answer := h.answered(h.awaiting(bg, awaitBy(id)), 1)
			c.crash()
			p := h.next(h.model)
			if list := h.listed(p, "completed", "\n1 result will follow in a further prompt.\n"); strings.Contains(list, "the result\n") {
				h.t.Errorf("the list has what an answer tells: %s", list)
			}
			answer.sent(false)
			h.speak(p)
			h.wokenOnce("the result")
		}},
		{"what is on its way to the inbox is listed by its state", setup{}, func(h *harness) {
			c := h.retried("b")
			h.child("a", "b", true)
			work := h.next(h.agent)
			release := h.hold(has(notify.InboxReceived))
			h.done(work, "the result")
			c.crash()
			synctest.Wait()
			release()
			p := h.next(h.model)
			list := h.listed(p, "completed")
			in := strings.Contains(list, "the result\n")
			h.speak(p)
			if !in {
				h.wokenOnce("the result")
			}
			h.idle(h.model)
			if told, _ := h.timesTold("a"); told != 1 {
				h.t.Errorf("told %d times", told)
			}
		}},
		{"what a person has acknowledged is listed, and told to nobody", setup{}, func(h *harness) {
			c := h.retried("b")
			h.ends("b", "the result")
			h.took("a", 1)
			h.ackEntries("a", h.entries("a")[0].EntryID)
			c.crash()
			p := h.next(h.model)
			h.listed(p, "the result")
			h.speak(p)
			h.idle(h.model)
			if told, _ := h.timesTold("a"); told != 0 {
				h.t.Errorf("told %d times", told)
			}
		}},
		{"an end that is superseded meanwhile refuses the start, and is not in the next list", setup{}, func(h *harness) {
			c := h.retried("b")
			r := h.child("a", "b", true)
			work := h.next(h.agent)
			h.message(work, "the first")
			work.end(turns.Failed)
			h.took("a", 1)
			ctx, cancel := context.WithCancel(bg)
			defer cancel()
			release := h.hold(both(inThread("a"), has(notify.InboxTold)))
			c.crash()
			synctest.Wait()
			if _, err := h.engine.Retry(ctx, turns.Retry{TurnID: r.TurnID}); err != nil {
				h.t.Logf("the retry waits for the owner: %v", err)
			}
			release()
			p := h.next(h.model)
			h.speak(p)
			if h.turn(r.TurnID).Attempt == 2 {
				h.done(h.next(h.agent), "the second")
				h.wokenOnce("the second")
			}
			h.idle(h.model)
		}},
	})
}
