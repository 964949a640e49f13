package engine_test

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

// What a further prompt of the turn has told is in the input of the next attempt, so that its
// list of child turns needs the state only.
func TestAListDoesNotRepeatWhatTheInputTells(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.childThread("a", "b", "puppet")
		h.startWith(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5, BackoffSeconds: 1}})
		c := h.next(h.model)
		child := h.child("a", "b", false)
		h.speakOn(c)
		h.waitsFor(c.TurnID, child.TurnID)
		h.done(h.next(h.agent), "the result")
		p := h.next(h.model)
		h.told(p, "the result")
		p.crash()
		p = h.next(h.model)
		if n := strings.Count(p.said(), "\nthe result\n"); n != 1 || !strings.Contains(p.said(), "Your turn is being tried again.") {
			t.Errorf("it has the result %d times: %s", n, p.said())
		}
		h.speak(p)
	})
}
