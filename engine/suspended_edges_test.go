package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestPauseAndAnswerOfASuspendedTurn(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.pause()
		h.stopAndStart()
		h.waitsWithoutProcess(c.TurnID, q.id)
		h.answer(q.id, "yes")
		h.next(h.agent).end(turns.Completed) // it has started before the pause
		h.ended(c.TurnID)
		h.resume()
	})
}

// Many turns that wait over a restart take no slots, and keep none from waiting.
func TestManySuspendedTurnsTakeNoSlots(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 2, MaxWaitingTurns: 1}}, func(h *harness) {
		h.lends = true
		var list []*asked
		for i := range 3 {
			c, q := h.asksOn(turns.Start{ThreadID: fmt.Sprint("t", i)}, permission(), turns.AskOptions{})
			_ = c
			list = append(list, q)
		}
		h.restart()
		synctest.Wait()
		h.slots(0, 3)
		for _, q := range list {
			h.answer(q.id, "yes")
		}
		for range list {
			h.next(h.agent).end(turns.Completed)
		}
		h.idleGate()
	})
}

func TestSuspendedOwnerIsToldOfItsChildren(t *testing.T) {
	for _, background := range []bool{false, true} {
		bubble(t, setup{}, func(h *harness) {
			c := h.family("b")
			child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: background, Retry: retrying()})
			h.next(h.agent)
			q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
			h.restart()
			h.done(h.next(h.agent), "the result")
			h.ended(child.TurnID)
			h.idle(h.model)
			h.answer(q.id, "yes")
			again := h.next(h.model)
			if again.TurnID != c.TurnID || strings.Contains(again.said(), "the result") {
				t.Errorf("told %q", again.said())
			}
			h.message(again, "I know")
			again.end(turns.Completed)
			told := h.next(h.model)
			if !strings.Contains(told.said(), "the result") || (told.TurnID == c.TurnID) == background {
				t.Errorf("background %v: %s told %q", background, told.TurnID, told.said())
			}
			h.message(told, "thanks")
			told.end(turns.Completed)
			h.ended(told.TurnID)
			h.idle(h.model)
		})
	}
}

func TestOwnerWaitsForASuspendedChild(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		c := h.family("b")
		child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a")})
		work := h.next(h.agent)
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		q := h.ask(work, permission(), turns.AskOptions{Resumes: true})
		restart()
		h.waitsWithoutProcess(child.TurnID, q.id)
		h.waitsFor(c.TurnID, child.TurnID)
		restart()
		h.answer(q.id, "no")
		h.done(h.next(h.agent), "the result")
		h.toldInTurn(c.TurnID, "the result")
	})
}

// The answer is for the prompt that tells it, not for one after it.
func TestAnswerIsGivenInItsPromptOnly(t *testing.T) {
	for _, steered := range []bool{false, true} {
		bubble(t, setup{}, func(h *harness) {
			c := h.family("b")
			child := h.child("a", "b", false)
			work := h.next(h.agent)
			q := h.ask(c, permission(), turns.AskOptions{Resumes: true})
			h.done(work, "the result")
			h.ended(child.TurnID)
			h.restart()
			h.answer(q.id, "yes")
			again := h.next(h.model)
			if steered {
				h.steer(c.TurnID, "and more", false)
			}
			again.end(turns.Completed)
			next := h.next(h.model)
			second := h.ask(next, permission(), turns.AskOptions{Resumes: true})
			if it := h.item(second.id); it.Status != items.StatusPending {
				t.Errorf("steered %v: %s", steered, it.Content)
			}
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
		})
	}
}

// A turn whose agent only asks is not one that ends the server.
func TestQuestionsCountAsOutputOverRestarts(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		c := h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 2, BackoffSeconds: 1}})
		for range 5 {
			h.ask(c, permission(), turns.AskOptions{})
			restart()
			c = h.next(h.agent)
		}
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

// The second wait is one of an agent in the prompt after a restart.
func TestTurnThatWaitsAgainOutlivesAnotherRestart(t *testing.T) {
	overEnding(t, setup{}, func(h *harness, restart func()) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		restart()
		h.answer(q.id, "yes")
		again := h.next(h.agent)
		other := permission()
		other.Title = "and this?"
		second := h.ask(again, other, turns.AskOptions{Resumes: true})
		restart()
		h.waitsWithoutProcess(c.TurnID, second.id)
		h.answer(second.id, "no")
		third := h.next(h.agent)
		if third.said() != "The server was restarted while you waited for: and this?. The answer: No. Go on; repeat nothing that was done.|do it" {
			t.Errorf("told %q", third.said())
		}
		if third.Index != 2 {
			t.Errorf("prompt %d", third.Index)
		}
		third.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestCloseOfAThreadWhoseTurnIsSuspended(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.restart()
		h.waitsWithoutProcess(c.TurnID, q.id)
		h.closeThread(nil)
		h.restart()
		synctest.Wait()
		if it := h.item(q.id); it.Status == items.StatusPending {
			h.waitsWithoutProcess(c.TurnID, q.id)
			h.answer(q.id, "yes")
			h.next(h.agent).end(turns.Completed)
		}
		h.ended(c.TurnID)
		h.idleGate()
	})
}

// What was allowed before the kill may have been done: it is neither told nor given again.
func TestKillBetweenTwoAnswers(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, first := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		other := permission()
		other.Title = "and this?"
		second := h.ask(c, other, turns.AskOptions{Resumes: true})
		h.answer(first.id, "yes")
		h.got(first)
		h.restart()
		h.waitsWithoutProcess(c.TurnID, second.id)
		h.answer(second.id, "no")
		again := h.next(h.agent)
		if again.said() != "The server was restarted while you waited for: and this?. The answer: No. Go on; repeat nothing that was done.|do it" {
			t.Errorf("told %q", again.said())
		}
		third := h.ask(again, permission(), turns.AskOptions{Resumes: true})
		if it := h.item(third.id); it.Status != items.StatusPending {
			t.Errorf("asked again: %+v", it)
		}
		h.allow(third)
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}

func TestSuspendedWakeIsToldAndAcknowledgedOnce(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.startWith(turns.Start{ThreadID: "b", Parent: childOf("a"), Background: true})
		work := h.next(h.agent)
		h.speakOn(c)
		h.ended(c.TurnID)
		h.done(work, "the result")
		h.ended(child.TurnID)
		wake := h.next(h.model)
		h.message(wake, "I see")
		q := h.ask(wake, permission(), turns.AskOptions{Resumes: true})
		h.restart()
		h.waitsWithoutProcess(wake.TurnID, q.id)
		h.answer(q.id, "yes")
		again := h.next(h.model)
		if again.TurnID != wake.TurnID || strings.Count(again.said(), "the result") != 1 {
			t.Errorf("told %q", again.said())
		}
		again.end(turns.Completed)
		h.ended(wake.TurnID)
		h.idle(h.model)
	})
}
