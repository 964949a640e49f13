package engine_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// TestRetriesNeverLowerWhatAThreadHasSpent reports usage in an attempt that crashes, in
// the one that follows and fails, and in the one that a client asks for. It restarts the
// server between them.
func TestRetriesNeverLowerWhatAThreadHasSpent(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		spent := func(tokens int64, millionths int64) {
			t.Helper()
			got, err := h.reader.ReadThread(bg, "a", 0)
			if err != nil {
				t.Fatal(err)
			}
			var want *threads.Spent
			if tokens > 0 {
				want = &threads.Spent{TotalTokens: tokens, Millionths: millionths, Currency: "USD"}
			}
			if !reflect.DeepEqual(got.Thread.Spent, want) {
				t.Errorf("spent %+v, want %+v", got.Thread.Spent, want)
			}
		}
		use := func(c *call, tokens int64, amount float64) {
			h.emit(c, items.SetUsage{Usage: items.Usage{TotalTokens: tokens, Cost: &items.Cost{Amount: amount, Currency: "USD"}}})
		}
		c := h.tried(turns.Start{Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 5}})
		use(c, 1, .01)
		use(c, 7, .07) // what the attempt has used so far, so the last counts
		spent(0, 0)
		c.crash()
		second := h.next(h.agent)
		spent(7, 70_000)
		use(second, 20, .2)
		second.end(turns.Failed)
		h.endedIn(c.TurnID, 2)
		spent(27, 270_000)
		h.retry(c.TurnID)
		h.next(h.agent)
		spent(27, 270_000) // its end has counted it, and the marker says it again
		h.restart()        // what the third attempt would have used is not known
		spent(27, 270_000)
		last := h.next(h.agent)
		use(last, 100, 1)
		last.end(turns.Completed)
		h.endedIn(c.TurnID, 4)
		spent(127, 1_270_000)
	})
}

// spends adds up what threads have spent: what each attempt has used, once, when its end
// or the marker that supersedes it says so first. It also adds up the lines that items say
// were changed, each of which may say so once.
func (c *checker) spends(e event, body any) {
	if l := items.ChangedBy(body); l != nil {
		key := "lines of " + items.OfBody(body)
		if c.counted[key] {
			c.t.Errorf("%s are counted twice", key)
		}
		c.counted[key] = true
		c.threads[e.ThreadID] = c.threads[e.ThreadID].CountLines(l)
	}
	var used *items.Usage
	prev, attempt := c.turns[e.TurnID], e.Attempt
	switch b := body.(type) {
	case *turns.EndedEvent:
		used = b.Usage
	case *turns.RewindEvent:
		if b.Step == "" && prev != nil {
			used, attempt = b.Usage, prev.Attempt
		}
	}
	key := fmt.Sprint(e.TurnID, " ", attempt)
	if used == nil || c.counted[key] {
		return
	}
	c.counted[key] = true
	c.threads[e.ThreadID] = c.threads[e.ThreadID].Spend(used)
}
