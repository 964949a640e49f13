package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// The end of drain_seconds comes while the question is on its way to the log.
func TestQuestionAtTheEndOfADrainIsLeftToTheNextServer(t *testing.T) {
	for _, policy := range []*turns.RetryPolicy{nil, retrying()} {
		bubble(t, setup{cfg: engine.Config{DrainAfter: 4 * time.Second}}, func(h *harness) {
			c := h.tried(turns.Start{Retry: policy})
			asked := make(chan struct{})
			h.faults.holdBack(func(u *ledger.Unit) <-chan struct{} {
				for _, d := range u.Drafts {
					if d.Method == notify.ItemCreated {
						return asked
					}
				}
				return nil
			})
			h.drainBegins()
			id := items.NewID()
			go func() { _, _ = c.Sink.Ask(bg, id, permission(), turns.AskOptions{Resumes: true}) }()
			time.Sleep(5 * time.Second) // now the drain stops what still runs
			close(asked)
			synctest.Wait()
			h.restart()
			h.waitsWithoutProcess(c.TurnID, id)
			time.Sleep(time.Minute) // the drain of the former server has ended
		})
	}
}

// While the disk is full, what the agent says after its question is held. The stop comes then.
func TestStopOnAFullDiskTellsAnAgentThatWaitsNothing(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.faults.failAll(ledger.ErrStorageFull)
		_ = c.Emit(bg, items.Create{ItemID: items.NewID(), Status: items.StatusCompleted, Content: items.NewAgentMessage("beside it")})
		synctest.Wait()
		h.drainBegins()
		h.restart()
		if cause := contextCause(c); !errors.Is(cause, turns.ErrServerStops) {
			t.Errorf("cause %v", cause)
		}
		h.waitsWithoutProcess(c.TurnID, q.id)
		time.Sleep(time.Minute) // the drain of the former server has ended
	})
}

// Nothing would remember that the text cuts the question off.
func TestSteerThatCutsIsRefusedOnceTheTurnIsLeft(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c, q := h.asksOn(turns.Start{}, permission(), turns.AskOptions{})
		h.drainBegins()
		_, err := h.engine.Steer(bg, turns.Steer{TurnID: c.TurnID, Input: text("leave that"), Interrupt: true})
		if !errors.Is(err, turns.ErrDraining) {
			t.Errorf("steer: %v", err)
		}
		h.steer(c.TurnID, "be quick", false)
		h.restart()
		h.waitsWithoutProcess(c.TurnID, q.id)
		h.answer(q.id, "yes")
		again := h.next(h.agent)
		if again.said() != restartedText+"|do it|be quick" {
			t.Errorf("told %q", again.said())
		}
		again.end(turns.Completed)
		h.ended(c.TurnID)
	})
}
