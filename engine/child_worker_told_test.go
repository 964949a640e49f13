package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/inbox"
)

// A worker claims all that its prompt tells, also if items of the log are small.
func TestAWorkerGetsWhatItWasTold(t *testing.T) {
	o := remotely(true)
	o.cfg.MaxItemBytes = 16 << 10
	bubble(t, o, func(h *harness) {
		c := h.ownedByWorker("b")
		h.configure("a", inbox.Policy{Wake: inbox.WakeIdle})
		for i := range 3 {
			h.child("a", "b", true)
			h.done(h.next(h.agent), fmt.Sprintf("result %d ", i)+strings.Repeat("x", 10<<10))
		}
		h.took("a", 3)
		h.write(c.Lease, message("m", "bye"))
		h.complete(c.Lease)
		h.ended(c.Turn.TurnID)
		synctest.Wait()
		p := h.claim("w")
		said := p.Input[0].Content[0].Text
		told, _ := h.timesTold("a")
		for i := range told {
			if !strings.Contains(said, fmt.Sprintf("result %d ", i)) {
				h.t.Errorf("%d ends are told, and the worker does not get result %d", told, i)
			}
		}
		h.write(p.Lease, message("n", "bye"))
		h.complete(p.Lease)
		h.ended(p.Turn.TurnID)
	})
}
