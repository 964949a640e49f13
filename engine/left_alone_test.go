package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// A thread that is left as it is in the log stays so, however long no command
// comes: an actor that reads it again would have a turn without an executor.
func TestThreadThatIsLeftAloneStaysSo(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		p := h.prompt()
		h.down()
		h.faults.onLoad(func(string) { panic("as the test says") })
		h.up()
		h.faults.heal()
		for range 3 {
			time.Sleep(2 * time.Hour)
			if _, _, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: p.TurnID}); !errors.Is(err, turns.ErrInternal) {
				t.Fatalf("interrupt: %v", err)
			}
		}
		h.restart()
		if e := h.ended(p.TurnID); e.Method != notify.TurnInterrupted {
			t.Errorf("ended %s", e)
		}
	})
}

// The commit that ends a turn answers the clients that wait for its end, and for
// the close of its thread, even if the actor panics after it.
func TestPanicAfterTheEndAnswersWhoWaitsForIt(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		h.thread("a", "deaf")
		r := h.start("a")
		h.next(h.deaf)
		_, ended := h.interrupt(r.TurnID)
		_, closed, err := h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		h.faults.afterCommit(panics(notify.TurnInterrupted))
		h.ended(r.TurnID)
		synctest.Wait()
		h.faults.heal()
		select {
		case end := <-ended:
			if end.TurnID != r.TurnID || end.State != string(turns.Interrupted) || end.Seq == 0 {
				t.Errorf("the end is %+v", end)
			}
		default:
			t.Error("a client that waits for the end is not answered")
		}
		select {
		case end := <-closed:
			if end.State != "closed" || end.Seq == 0 {
				t.Errorf("closed %+v", end)
			}
		default:
			t.Error("a client that waits for the close is not answered")
		}
		h.idleGate()
	})
}

// A thread that cannot be read again after a panic keeps no slot.
func TestPanicWhileAThreadIsReadAgainKeepsNoSlot(t *testing.T) {
	for name, half := range map[string]bool{"before it is read": false, "when it is half read": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, setup{}, func(h *harness) {
				h.thread("b", "")
				p := h.prompt()
				h.faults.fail(refusing(func(*ledger.Unit) { panic("as the test says") }))
				if half {
					h.faults.halve()
				} else {
					h.faults.onLoad(func(string) { panic("again") })
				}
				h.message(p, "x")
				synctest.Wait()
				h.faults.heal()
				h.idleGate()
				other := h.start("b")
				h.next(h.agent).end(turns.Completed)
				h.ended(other.TurnID)
				h.restart()
			})
		})
	}
}
