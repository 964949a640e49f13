package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// TestWithoutRoomALaneRests: it looks again now and then, not all the time.
func TestWithoutRoomALaneRests(t *testing.T) {
	var looks atomic.Int64
	inWorld(t, func(t *testing.T, w *world) {
		w.stop()
		w.change = func(c *Config) {
			c.Now = func() time.Time {
				if looks.Add(1) == 20_000 { // so that the test ends
					w.s.open.Store(0)
				}
				return time.Now()
			}
		}
		w.open()
		w.bridge("b")
		w.subscribe("s", "b", "")
		synctest.Wait()
		w.s.open.Store(bridges.MaxOpen)
		before := looks.Load()
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(time.Minute)
		if n := looks.Load() - before; n > 1000 {
			t.Errorf("looked at the clock %d times in a minute", n)
		}
		w.s.open.Store(0)
		time.Sleep(time.Minute)
		want(t, "with room", w.target.take(), "turn.completed 5")
	})
}

// TestAPausedLaneRests: what its follower has not passed does not matter before it
// goes on.
func TestAPausedLaneRests(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		ends(m, "t1") // 5
		synctest.Wait()
		w.do(w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		ends(m, "t2") // 8
		w.restart()
		synctest.Wait()
		l := w.s.known.lane("s")
		l.mu.Lock()
		rests := l.timer == nil
		l.mu.Unlock()
		if !rests {
			t.Error("a paused lane has set its timer")
		}
		w.target.set(nil)
		w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(time.Minute)
		want(t, "after", w.target.take(), "turn.completed 5, turn.completed 5, turn.completed 8")
	})
}

// TestAReceiptDoesNotWaitForTheNextAttempt: what is in the way of that one is its own
// business.
func TestAReceiptDoesNotWaitForTheNextAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var broken atomic.Bool
		w.stop()
		w.change = func(c *Config) {
			read := c.Read
			c.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
				if broken.Load() {
					return errors.New("it cannot be read")
				}
				return read(ctx, f)
			}
		}
		w.open()
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			if n == 1 {
				return bridges.Result{Outcome: bridges.Failed, Error: "status 500"}
			}
			broken.Store(n == 2)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		ends(m, "t1", "t2") // 5, 7
		time.Sleep(time.Minute)
		l := w.s.known.lane("s")
		l.mu.Lock()
		if l.cursor.LastSequence != 5 {
			t.Errorf("the receipt was not committed: %+v", l.cursor)
		}
		l.mu.Unlock()
		broken.Store(false)
		time.Sleep(time.Minute)
		want(t, "rows", w.deliveries("s"), "final 5 delivered, final 7 delivered")
	})
}

// TestWhatWasDeliveredBeforeAResetIsTakenBack: the target shows it, whatever has
// become of it since.
func TestWhatWasDeliveredBeforeAResetIsTakenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		ends(m, "t1") // 5
		want(t, "first", w.target.take(), "turn.completed 5")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}
		})
		w.do(w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: new(int64), Reason: "again"}))
		synctest.Wait()
		retry(m, "t1") // 8
		synctest.Wait()
		w.target.set(nil)
		time.Sleep(time.Hour)
		want(t, "arrived", w.target.take(), "turn.superseded 8")
	})
}

// TestABridgeThatFailsInItsOwnWayIsDisabledToo: a program that always says that it
// failed is no better than a server that is not there.
func TestABridgeThatFailsInItsOwnWayIsDisabledToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Status: 1, Error: "exit 1"}
		})
		m := w.thread("a")
		for _, id := range []string{"t1", "t2", "t3", "t4", "t5"} {
			ends(m, id)
			time.Sleep(24 * time.Hour)
		}
		synctest.Wait()
		if b, _, _ := w.s.Bridge("b"); b.State != bridges.Disabled || b.Reason != bridges.ReasonFailing {
			t.Errorf("%+v", b)
		}
	})
}

// TestARefusalSaysThatTheTargetIsThere: it ends a row of failures.
func TestARefusalSaysThatTheTargetIsThere(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			if n <= 2 || n == 4 {
				return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500", Unhealthy: true}
			}
			return bridges.Result{Outcome: bridges.Refused, Status: 404, Error: "status 404"}
		})
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(2 * time.Minute) // 4 attempts
		synctest.Wait()
		p := &w.s.slots
		p.mu.Lock()
		defer p.mu.Unlock()
		if o := w.s.known.lane("s").out; w.target.sends != 4 || o.fails() {
			t.Errorf("%d attempts, %d failures in a row", w.target.sends, o.unhealthy)
		}
	})
}
