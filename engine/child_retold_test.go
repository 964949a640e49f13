package engine_test

import (
	"strings"
	"testing"
	"time"
)

// A turn that was told entries, was interrupted before its agent said a word and is tried again by
// hand has them in its input: nothing tells them once more.
func TestARetryByHandTellsWhatItsInputTellsOnce(t *testing.T) {
	runRaces(t, []race{
		{"a turn of a client", setup{}, func(h *harness) {
			work := h.siblings(2)
			h.done(work[0], "the result")
			h.took("a", 1)
			c := h.start("a")
			p := h.next(h.model)
			h.told(p, "the result")
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.retry(c.TurnID)
			p = h.next(h.model)
			if n := strings.Count(p.said(), "\nthe result\n"); n != 1 {
				h.t.Errorf("it has the result %d times: %s", n, p.said())
			}
			h.speak(p)
			h.idle(h.model)
		}},
		{"a wake", setup{}, func(h *harness) {
			work := h.siblings(1)
			h.done(work[0], "the result")
			p := h.next(h.model)
			h.told(p, "the result")
			h.interrupt(p.TurnID)
			h.ended(p.TurnID)
			h.retry(p.TurnID)
			p = h.next(h.model)
			if n := strings.Count(p.said(), "\nthe result\n"); n != 1 {
				h.t.Errorf("it has the result %d times: %s", n, p.said())
			}
			h.speak(p)
			h.idle(h.model)
		}},
		{"a wake with a message", setup{}, func(h *harness) {
			h.thread("a", "model")
			h.send("a", "hello")
			p := h.next(h.model)
			h.interrupt(p.TurnID)
			h.ended(p.TurnID)
			h.retry(p.TurnID)
			p = h.next(h.model)
			if !strings.Contains(p.said(), "hello") {
				h.t.Errorf("it lacks the message: %s", p.said())
			}
			h.speak(p)
			time.Sleep(time.Minute) // longer than the pause after a silent wake
			h.idle(h.model)
		}},
	})
}
