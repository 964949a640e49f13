package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// waiters lets n requests of a requester wait for a turn until stop is called.
func (h *harness) waiters(requester ledger.Requester, turnID string, n int) (stop func()) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, _, err := h.engine.Children().Await(ctx, turns.Await{TurnIDs: []string{turnID}, Requester: requester}, "")
			if !errors.Is(err, context.Canceled) {
				h.t.Errorf("a request of %q ended with %v", requester, err)
			}
		})
	}
	synctest.Wait()
	return func() { cancel(); wg.Wait() }
}

// oneSlot asks for one more slot.
func (h *harness) oneSlot(requester ledger.Requester, turnID string, want error) {
	h.t.Helper()
	c := turns.Await{TurnIDs: []string{turnID}, Requester: requester, TimeoutSeconds: seconds(0)}
	if _, _, err := h.engine.Children().Await(bg, c, ""); !errors.Is(err, want) {
		h.t.Errorf("one more of %q gets %v, want %v", requester, err, want)
	}
}

func TestOneRequesterLeavesSlotsToOthers(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.family()
		stop := h.waiters("token:phone", c.TurnID, turns.MaxAwaitingEach)
		h.oneSlot("token:phone", c.TurnID, turns.ErrAwaitShareFull)
		h.oneSlot("agent:a", c.TurnID, nil)
		h.oneSlot("", c.TurnID, nil)
		var others []func()
		for i := range turns.MaxAwaiting/turns.MaxAwaitingEach - 1 {
			others = append(others, h.waiters(ledger.Requester(fmt.Sprint("token:", i)), c.TurnID, turns.MaxAwaitingEach))
		}
		h.oneSlot("", c.TurnID, turns.ErrAwaitsFull)
		stop()
		owner := h.waiters("", c.TurnID, turns.MaxAwaitingEach) // who has no share
		h.oneSlot("", c.TurnID, turns.ErrAwaitsFull)
		owner()
		h.oneSlot("token:phone", c.TurnID, nil)
		for _, stop := range others {
			stop()
		}
		h.oneSlot("token:0", c.TurnID, nil)
		h.speak(c)
	})
}

// Without a slot to wait in, turn/start with wait_seconds is turn/start without: the
// owner waits for its child and is told of it.
func TestStartWithoutASlotToWaitInStarts(t *testing.T) {
	for name, slots := range map[string]map[ledger.Requester]int{
		"in the share": {"agent:a": turns.MaxAwaitingEach},
		"at all":       {"": turns.MaxAwaiting},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				c := h.family("b")
				h.thread("x", "model")
				h.start("x")
				other := h.next(h.model)
				for requester, n := range slots {
					defer h.waiters(requester, other.TurnID, n)()
				}
				start := turns.Start{ThreadID: "b", Input: text("go"), Parent: childOf("a"), WaitSeconds: 20, Requester: "agent:a", Key: key("k", "turn/start")}
				r, wait, err := h.engine.Children().StartAndWait(bg, start, "a")
				if err != nil || wait != nil {
					t.Fatalf("it waits: %v, %v", wait != nil, err)
				}
				if r.Waited == nil || *r.Waited || r.AttentionPolicy != turns.Blocking || r.Detached != nil || r.Results != nil {
					t.Errorf("the answer is %+v", r)
				}
				again, wait, err := h.engine.Children().StartAndWait(bg, start, "a")
				if err != nil || wait != nil || again.TurnID != r.TurnID || again.Waited == nil {
					t.Errorf("the same key again: %+v, %v, %v", again, wait != nil, err)
				}
				h.speakOn(c)
				h.waitsFor(c.TurnID, r.TurnID)
				h.done(h.next(h.agent), "the result of b")
				h.toldInTurn(c.TurnID, "the result of b")
				if n := len(h.of(func(e event) bool { return e.Method == notify.TurnDetached })); n != 0 {
					t.Errorf("%d detached", n)
				}
			})
		})
	}
}
