package engine_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// race is a schedule that implementations of background work have got wrong. Its name
// begins with the numbers under which the review of such implementations lists it.
type race struct {
	name string
	o    setup
	run  func(h *harness)
}

func runRaces(t *testing.T, list []race) {
	for _, r := range list {
		t.Run(r.name, func(t *testing.T) { bubble(t, r.o, r.run) })
	}
}

// inThread reports whether a unit is of the thread.
func inThread(thread string) func(*ledger.Unit) bool {
	return func(u *ledger.Unit) bool { return len(u.Drafts) > 0 && u.Drafts[0].Header.ThreadID == thread }
}

// childOf is the parent of a child turn of the owner's active turn.
func childOf(owner string) *threads.Parent { return &threads.Parent{ThreadID: owner} }

// done lets a prompt say something and complete its turn.
func (h *harness) done(c *call, text string) {
	h.t.Helper()
	h.message(c, text)
	c.end(turns.Completed)
	h.ended(c.TurnID)
}

// A client that hangs up while the owner's actor is busy.
func TestCancelledStartOfAChildDoesNotHoldItsOwner(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family("b")
		release := h.hold(inThread("a"))
		h.message(c, "slow")
		synctest.Wait()
		ctx, cancel := context.WithCancel(bg)
		answered := make(chan error, 1)
		go func() {
			_, err := h.engine.Start(ctx, turns.Start{ThreadID: "b", Input: text("go"), Parent: &threads.Parent{ThreadID: "a"}, Background: true})
			answered <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		release()
		<-answered // started or not, as the race goes
		synctest.Wait()
		c.end(turns.Completed)
		h.ended(c.TurnID)
	})
}
