package engine_test

import (
	"context"
	"errors"
	"github.com/seed82539d15/holon/engine"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// While a full disk holds a unit, the state of the thread is ahead of the log.
// No command may see it: its answer would say what is not durable (I1).

func wantFull(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ledger.ErrStorageFull) {
		t.Errorf("%s while a unit is held: %v", what, err)
	}
}

func TestCommandsAreRefusedWhileTheEndOfATurnIsHeld(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "deaf")
		s := h.start("a")
		c := h.next(h.deaf)
		interrupt, closing := key("k", "turn/interrupt", s.TurnID), key("l", "thread/close", "a")
		_, ended, err := h.engine.Interrupt(bg, turns.Interrupt{TurnID: s.TurnID, Key: interrupt})
		if err != nil || ended == nil {
			t.Fatalf("interrupt: %v", err)
		}
		_, closed, err := h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "a", Key: closing})
		if err != nil || closed == nil {
			t.Fatalf("close: %v", err)
		}
		h.faults.failAll(ledger.ErrStorageFull)
		c.end(turns.Completed)
		synctest.Wait()
		_, _, err = h.engine.Interrupt(bg, turns.Interrupt{TurnID: s.TurnID, Key: interrupt})
		wantFull(t, "the interrupt again", err)
		_, _, err = h.engine.CloseThread(bg, turns.CloseThread{ThreadID: "a", Key: closing})
		wantFull(t, "the close again", err)
		_, err = h.engine.StartThread(bg, turns.StartThread{ThreadID: "a"})
		wantFull(t, "a command that changes nothing", err)
		h.faults.heal()
		<-ended
		<-closed
	})
}

func TestForkWaitsForATurnWhoseEndIsHeld(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		first := h.start("a")
		h.next(h.agent).end(turns.Completed)
		h.ended(first.TurnID)
		second := h.start("a")
		c := h.next(h.agent)
		h.faults.fail(func(u *ledger.Unit) error {
			if len(u.Drafts) > 0 && u.Drafts[0].Header.ThreadID == "a" {
				return ledger.ErrStorageFull
			}
			return nil
		})
		c.end(turns.Completed)
		synctest.Wait()
		h.faults.heal() // there is space again, and the held unit still waits
		_, err := h.engine.ThreadFork(bg, turns.Fork{ThreadID: "a", NewThreadID: "b"})
		wantFull(t, "a fork", err)
		h.ended(second.TurnID)
	})
}

func TestClaimIsNotRepeatedWhileAUnitIsHeld(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		h.thread("a", "remote")
		h.startWith(turns.Start{ThreadID: "a", TimeoutSeconds: 5})
		k := key("k", "turn/claim", "remote")
		if _, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: "w", Key: k}); err != nil {
			t.Fatal(err)
		}
		h.faults.failAll(ledger.ErrStorageFull)
		time.Sleep(6 * time.Second) // the turn is stopped for its timeout
		synctest.Wait()
		_, err := h.workers.Claim(bg, turns.Claim{Agent: "remote", Worker: "w", Key: k})
		wantFull(t, "the claim again", err)
		h.faults.heal()
		time.Sleep(2 * engine.HeldRetry)
	})
}

// A full disk is not the worker's fault.
func TestWorkerKeepsItsLeaseWhileAUnitIsHeld(t *testing.T) {
	bubble(t, remotely(true), func(h *harness) {
		w := h.work()
		h.faults.failAll(ledger.ErrStorageFull)
		if err := h.engine.Host().Emit(bg, "a", []items.Op{said("by the way")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 30 {
			time.Sleep(turns.DefaultLease / 10)
			_, err := h.workers.Renew(bg, turns.Renew{Lease: *w.Lease})
			wantFull(t, "a renewal", err)
		}
		h.faults.heal()
		time.Sleep(2 * engine.HeldRetry)
		synctest.Wait()
		if _, err := h.workers.Renew(bg, turns.Renew{Lease: *w.Lease}); err != nil {
			t.Errorf("the worker was there all the time: %v", err)
		}
		h.none("rewind", func(e event) bool { return e.Method == notify.StreamRewind })
	})
}

func TestDrainWaitsForARetryThatIsHeld(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		c := h.tried(turns.Start{ThreadID: "a", Retry: retrying()})
		h.faults.failAll(ledger.ErrStorageFull)
		c.crash()
		synctest.Wait()
		go func() {
			time.Sleep(2 * time.Second)
			h.faults.heal()
		}()
		d, err := h.drain()
		if n := len(h.of(func(e event) bool { return e.Method == notify.StreamRewind })); n != 1 {
			t.Errorf("drained in %v (%v) with %d markers in the log", d, err, n)
		}
		time.Sleep(10 * time.Second)
	})
}

// The drain has left the slot of the worker's turn already.
func TestPanicInADrainLeavesASlotOnce(t *testing.T) {
	bubble(t, remotely(false), func(h *harness) {
		w := h.work()
		h.thread("b", "")
		other := h.start("b")
		c := h.next(h.agent)
		done := make(chan error, 1)
		go func() { done <- h.engine.Drain(bg) }()
		synctest.Wait()
		h.faults.fail(refusing(panics(notify.ItemCreated)))
		_, err := h.workers.WriteItems(bg, turns.WriteItems{Lease: *w.Lease, Ops: []turns.ItemOp{message("m", "x")}})
		if !errors.Is(err, turns.ErrInternal) {
			t.Errorf("write: %v", err)
		}
		synctest.Wait()
		h.faults.heal()
		select {
		case err := <-done:
			t.Fatalf("drained (%v) while %s runs; gate %+v", err, other.TurnID, h.engine.Gate())
		default:
		}
		c.end(turns.Completed)
		h.ended(other.TurnID)
		<-done
		h.idleGate()
	})
}

// turnFails lets Turn fail.
type turnFails struct {
	engine.Rows
	on *atomic.Bool
}

func (s turnFails) Turn(ctx context.Context, id string) (*turns.Turn, error) {
	if s.on.Load() {
		return nil, errors.New("odd")
	}
	return s.Rows.Turn(ctx, id)
}

func TestWaiterNeverGetsTheEndOfAnotherTurn(t *testing.T) {
	on := &atomic.Bool{}
	bubble(t, setup{rows: func(r engine.Rows) engine.Rows { return turnFails{r, on} }}, func(h *harness) {
		h.thread("a", "deaf")
		first := h.start("a")
		c := h.next(h.deaf)
		_, wait := h.interrupt(first.TurnID)
		h.faults.afterCommit(panics(notify.TurnInterrupted))
		on.Store(true)
		c.end(turns.Completed)
		synctest.Wait()
		on.Store(false)
		h.faults.afterCommit(nil)
		second := h.start("a")
		h.next(h.deaf).end(turns.Completed)
		h.ended(second.TurnID)
		synctest.Wait()
		select {
		case r := <-wait:
			t.Errorf("waited for %s and got the end of %s", first.TurnID, r.TurnID)
		default:
		}
	})
}

// fullFor refuses the units of one thread.
func fullFor(thread string) func(u *ledger.Unit) error {
	return func(u *ledger.Unit) error {
		if len(u.Drafts) > 0 && u.Drafts[0].Header.ThreadID == thread {
			return ledger.ErrStorageFull
		}
		return nil
	}
}

func TestQueuedTurnStartsAfterAHeldUnit(t *testing.T) {
	bubble(t, setup{cfg: engine.Config{MaxActiveTurns: 1}}, func(h *harness) {
		h.thread("a", "")
		h.thread("b", "")
		h.start("b")
		b := h.next(h.agent)
		q := h.start("a")
		h.faults.fail(fullFor("a"))
		if err := h.engine.Host().Emit(bg, "a", []items.Op{said("x")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.end(turns.Completed) // the slot is granted to a
		synctest.Wait()
		h.faults.heal()
		time.Sleep(time.Hour)
		synctest.Wait()
		if tn := h.turn(q.TurnID); tn.State != turns.Active {
			t.Fatalf("after an hour with space the turn is %s; gate %+v", tn.State, h.engine.Gate())
		}
	})
}

// drainsOnceHealed drains an engine whose disk has space again after a second.
func (h *harness) drainsOnceHealed() {
	h.t.Helper()
	go func() {
		time.Sleep(time.Second)
		h.faults.heal()
	}()
	if d, err := h.drain(); err != nil || d > 2*time.Second {
		h.t.Errorf("drained in %v: %v", d, err)
	}
}

func TestDrainDoesNotWaitForAnAttemptBehindAHeldUnit(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		h.thread("a", "")
		c := h.tried(turns.Start{ThreadID: "a", Retry: &turns.RetryPolicy{OnCrash: turns.CrashRetry, MaxAttempts: 3, BackoffSeconds: 60}})
		c.crash()
		synctest.Wait()
		h.faults.failAll(ledger.ErrStorageFull)
		if err := h.engine.Host().Emit(bg, "a", []items.Op{said("x")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.drainsOnceHealed()
	})
}

func TestDrainInterruptsAQuestionBehindAHeldUnit(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		h.ask(c, permission(), turns.AskOptions{})
		h.faults.failAll(ledger.ErrStorageFull)
		h.emit(c, said("x"))
		synctest.Wait()
		h.drainsOnceHealed()
	})
}

// A unit is held only over the moment at which the drain interrupts.
func TestDrainInterruptsATurnBehindAHeldUnit(t *testing.T) {
	bubble(t, setup{}, func(h *harness) {
		c := h.prompt()
		go func() {
			time.Sleep(5900 * time.Millisecond)
			h.faults.failAll(ledger.ErrStorageFull)
			_ = c.Emit(bg, said("x"))
			time.Sleep(200 * time.Millisecond)
			h.faults.heal()
		}()
		d, err := h.drain()
		if err != nil {
			t.Errorf("drained in %v: %v; asked to stop: %v", d, err, c.ctx.Err())
		}
	})
}

func TestTurnThatAFullDiskKeepsFromItsWorkerIsClaimedLater(t *testing.T) {
	bubble(t, setup{agents: []turns.Agent{remote{leases: turns.LeasePolicy{ClaimTimeout: 20 * time.Second}}}}, func(h *harness) {
		h.thread("a", "remote")
		r := h.start("a")
		h.faults.failAll(ledger.ErrStorageFull)
		for range 30 {
			time.Sleep(time.Second)
			_, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"})
			wantFull(t, "claim", err)
		}
		h.faults.heal()
		if c, err := h.workers.Claim(bg, turns.Claim{Agent: "remote"}); err != nil || c.Turn == nil || c.Turn.TurnID != r.TurnID {
			t.Fatalf("claimed %+v, %v", c.Turn, err)
		} else {
			h.complete(c.Lease)
		}
	})
}
