package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// lent checks whose slots at their agents are lent. That nothing is lent or reclaimed twice,
// and nothing stays lent, is checked when the engine of any test stops.
func (h *harness) lent(threads ...string) {
	h.t.Helper()
	synctest.Wait()
	if got := h.model.lends(h.t); !slices.Equal(got, threads) {
		h.t.Errorf("the slots of %q are lent, want %q", got, threads)
	}
}

// owner is a turn of thread a whose agent waits for a child in two calls.
func (h *harness) owner(retry *turns.RetryPolicy) (c *call, child string, hangUp func()) {
	h.t.Helper()
	h.thread("a", "model")
	h.childThread("a", "b", "puppet")
	h.startWith(turns.Start{ThreadID: "a", Retry: retry})
	c = h.next(h.model)
	child = h.child("a", "b", true).TurnID
	ctx, cancel := context.WithCancel(bg)
	h.calling(ctx, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child}, TimeoutSeconds: seconds(60)})
	h.calling(ctx, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child}, TimeoutSeconds: seconds(60)})
	h.lent("a")
	return c, child, cancel
}

// A slot is lent while the agent waits in a call, however the call or its prompt ends.
func TestASlotIsLentWhileTheAgentWaitsInACall(t *testing.T) {
	for name, end := range map[string]func(h *harness, c *call, child string, hangUp func()){
		"the child ends": func(h *harness, c *call, _ string, _ func()) {
			h.done(h.next(h.agent), "the result")
			h.lent()
			h.speak(c)
		},
		"nobody waits any more": func(h *harness, c *call, _ string, hangUp func()) {
			hangUp()
			h.lent()
			c.end(turns.Completed)
		},
		"it has waited long enough": func(h *harness, c *call, _ string, _ func()) {
			time.Sleep(59 * time.Second)
			h.lent("a")
			time.Sleep(2 * time.Second)
			h.lent()
			c.end(turns.Completed)
		},
		"an interrupt": func(h *harness, c *call, _ string, _ func()) {
			h.interrupt(c.TurnID)
			h.ended(c.TurnID)
			h.lent()
		},
		"the agent has ended its prompt": func(h *harness, c *call, _ string, _ func()) {
			c.end(turns.Completed)
			h.lent()
		},
		"the agent is killed": func(h *harness, c *call, _ string, _ func()) {
			c.crash()
			h.ended(c.TurnID)
			h.lent()
		},
		"the thread is closed": func(h *harness, c *call, _ string, _ func()) {
			h.change("a", threads.VerbClose)
			h.ended(c.TurnID)
			h.lent()
		},
		"a restart": func(h *harness, c *call, _ string, _ func()) {
			h.restart()
			h.lent()
		},
		"a drain": func(h *harness, c *call, _ string, _ func()) {
			_, _ = h.drain()
			h.lent()
		},
		"its end waits for a full disk": func(h *harness, c *call, _ string, _ func()) {
			h.faults.failAll(ledger.ErrStorageFull)
			c.end(turns.Completed)
			synctest.Wait()
			h.faults.heal()
			h.ended(c.TurnID)
			h.lent()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c, child, hangUp := h.owner(nil)
				defer hangUp()
				end(h, c, child, hangUp)
			})
		})
	}
}

// What a call of an attempt before says is not of the next one.
func TestASlotIsLentByTheAttemptThatWaits(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, child, hangUp := h.owner(retrying())
		c.out <- turns.Outcome{State: turns.Failed, Cause: turns.CauseCrash}
		h.lent()
		time.Sleep(15 * time.Second)
		again := h.next(h.model)
		h.lent()
		h.calling(bg, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child}, TimeoutSeconds: seconds(90)})
		h.lent("a")
		hangUp() // the calls of the first attempt
		h.lent("a")
		time.Sleep(91 * time.Second)
		h.lent()
		h.speak(again)
	})
}

// A turn that a person is asked about keeps its slot: more questions than slots would
// start more agents than there is memory for.
func TestASlotIsNotLentToAPerson(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "model")
		h.start("a")
		c := h.next(h.model)
		q := h.ask(c, permission(), turns.AskOptions{})
		h.lent()
		h.allow(q)
		c.end(turns.Completed)
	})
}

// Who waits for a turn and is not the agent of its owner lends nothing.
func TestOnlyTheOwnersAgentLendsItsSlot(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		child := h.child("a", "b", true)
		ctx, cancel := context.WithCancel(bg)
		done := h.awaiting(ctx, turns.Await{OwnerThreadID: "a", TurnIDs: []string{child.TurnID}})
		h.lent()
		cancel()
		<-done
		r, wait, err := h.engine.Children().StartAndWait(bg, turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 20}, "a")
		if err != nil {
			t.Fatalf("%+v %v", r, err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _, _ = wait(bg)
		}()
		h.lent("a")
		<-ended
		h.lent()
		h.speak(c)
	})
}
