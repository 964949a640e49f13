package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// counted is what ObserveTurns was given: a line for each commit.
type counted struct {
	mu    sync.Mutex
	lines []string
}

func (c *counted) observe(s *turns.Stats) {
	line := s.Agent + ":"
	for _, end := range s.Ends {
		line += " " + string(end)
	}
	for _, d := range s.Took {
		line += fmt.Sprint(" took ", d)
	}
	for _, d := range s.Waits {
		line += fmt.Sprint(" waited ", d)
	}
	for _, u := range s.Used {
		line += fmt.Sprint(" in ", u.InputTokens, " out ", u.OutputTokens)
		if u.Cost != nil {
			line += fmt.Sprintf(" cost %.2f %s", u.Cost.Amount, u.Cost.Currency)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

// want waits until everything is at rest, and then compares what was counted since the
// last time.
func (c *counted) want(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.lines, want) {
		t.Errorf("counted\n\t%s\nwant\n\t%s", strings.Join(c.lines, "\n\t"), strings.Join(want, "\n\t"))
	}
	c.lines = nil
}

// counting is bubble with what is counted.
func counting(t *testing.T, f func(h *harness, got *counted)) {
	t.Helper()
	got := &counted{}
	bubble(t, setup{cfg: engine.Config{ObserveTurns: got.observe}}, func(h *harness) { f(h, got) })
}

func (h *harness) uses(c *call, in, out int64, cost float64) {
	h.t.Helper()
	u := items.Usage{InputTokens: in, OutputTokens: out}
	if cost > 0 {
		u.Cost = &items.Cost{Amount: cost, Currency: "USD"}
	}
	h.emit(c, items.SetUsage{Usage: u})
}

func TestEachEndOfATurnIsCountedOnce(t *testing.T) {
	counting(t, func(h *harness, got *counted) {
		h.thread("a", "")
		first, second := h.start("a"), h.start("a")
		c := h.next(h.agent)
		time.Sleep(3 * time.Second)
		h.uses(c, 10, 2, 0.5) // the last report is that of the attempt
		h.uses(c, 20, 4, 0.75)
		got.want(t)
		c.end(turns.Completed)
		h.ended(first.TurnID)
		got.want(t, "puppet: completed took 3s in 20 out 4 cost 0.75 USD")

		third := h.start("a")
		h.interrupt(third.TurnID) // it is queued, and never runs
		got.want(t, "puppet: interrupted")
		c = h.next(h.agent)
		time.Sleep(time.Second)
		c.end(turns.Failed)
		h.ended(second.TurnID)
		got.want(t, "puppet: failed took 1s")

		// What was running when the server died is counted by the next one.
		h.start("a")
		h.next(h.agent)
		h.restart()
		got.want(t, "puppet: interrupted took 0s")
		h.restart()
		got.want(t)
	})
}

func TestAttemptsCostAndTheTurnEndsOnce(t *testing.T) {
	counting(t, func(h *harness, got *counted) {
		c := h.tried(turns.Start{}) // its next attempt begins after 5 s to 10 s
		time.Sleep(time.Second)
		h.uses(c, 10, 1, 0.25)
		c.crash()
		_, wait := h.marker(c.TurnID, 1)
		got.want(t, "puppet: in 10 out 1 cost 0.25 USD")
		c = h.next(h.agent)
		time.Sleep(2 * time.Second)
		h.uses(c, 30, 3, 0.5)
		c.end(turns.Failed)
		h.ended(c.TurnID)
		took := h.turn(c.TurnID).CompletedAt.Sub(h.turn(c.TurnID).FirstStartedAt.Time)
		if took < 8*time.Second {
			t.Fatalf("it took %s, and its second attempt began after %s", took, wait.Timestamp)
		}
		got.want(t, fmt.Sprintf("puppet: failed took %s in 30 out 3 cost 0.50 USD", took))

		// A turn that is retried after its end has another one. What its first end
		// counted is not counted again, nor the time until somebody retried it.
		time.Sleep(time.Hour)
		h.retry(c.TurnID)
		c = h.next(h.agent)
		got.want(t)
		time.Sleep(4 * time.Second)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		got.want(t, "puppet: completed took 4s")
	})
}

func TestReviewedEndsCountWhenTheyAreAccepted(t *testing.T) {
	counting(t, func(h *harness, got *counted) {
		approved := h.inReview("a", turns.ReviewAlways, turns.Completed)
		got.want(t, "puppet: took 0s")
		h.review(approved, turns.Approved)
		got.want(t, "puppet: completed")

		rejected := h.inReview("b", turns.ReviewAlways, turns.Failed)
		got.want(t, "puppet: took 0s")
		h.review(rejected, turns.Rejected) // another turn continues it
		got.want(t)
		c := h.next(h.agent)
		c.end(turns.Completed)
		h.ended(c.TurnID)
		got.want(t, "puppet: took 0s")
		h.review(c.TurnID, turns.Blocked)
		got.want(t, "puppet: completed")
	})
}

func TestWaitsForAPersonAreCountedByQuestion(t *testing.T) {
	counting(t, func(h *harness, got *counted) {
		c, q := h.asking("a")
		time.Sleep(90 * time.Second)
		got.want(t)
		h.allow(q)
		got.want(t, "puppet: waited 1m30s")
		h.ask(c, permission(), turns.AskOptions{ExpiresAfter: time.Minute, OnExpiry: "cancel"})
		time.Sleep(61 * time.Second)
		got.want(t, "puppet: waited 1m0s")
		h.ask(c, permission(), turns.AskOptions{})
		time.Sleep(time.Second)
		c.end(turns.Completed) // nobody waits for the answer any more
		h.ended(c.TurnID)
		got.want(t, "puppet: completed took 2m32s waited 1s")
	})
}

// Agents of kind acp report what their session has cost, which goes on over turns and
// restarts.
func TestTheCostOfASessionIsCountedOnce(t *testing.T) {
	counting(t, func(h *harness, got *counted) {
		h.thread("a", "model")
		turn := func(cost float64, want string) {
			t.Helper()
			r := h.start("a")
			c := h.next(h.model)
			h.uses(c, 1, 1, cost)
			c.end(turns.Completed)
			h.ended(r.TurnID)
			got.want(t, "model: completed took 0s in 1 out 1"+want)
		}
		turn(0.25, " cost 0.25 USD")
		turn(1, " cost 0.75 USD")
		turn(0, "") // it reports none
		turn(1, " cost 0.00 USD")
		time.Sleep(time.Minute) // nothing of the thread is in memory any more
		turn(1.5, " cost 0.50 USD")
		h.restart()
		turn(2, " cost 0.50 USD")
		h.restart()
		turn(0.5, " cost 0.50 USD") // a new session

		r := h.startWith(turns.Start{ThreadID: "a", Retry: retrying()})
		c := h.next(h.model)
		h.uses(c, 1, 1, 0.75)
		c.crash()
		h.marker(r.TurnID, 1)
		got.want(t, "model: in 1 out 1 cost 0.25 USD")
		c = h.next(h.model)
		h.uses(c, 1, 1, 1)
		c.end(turns.Completed)
		h.ended(r.TurnID)
		took := h.turn(r.TurnID).CompletedAt.Sub(h.turn(r.TurnID).FirstStartedAt.Time)
		got.want(t, fmt.Sprintf("model: completed took %s in 1 out 1 cost 0.25 USD", took))
	})
}
