package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// TestAStopWaitsForReceipts: what was received is committed before Run returns, and
// nothing is written after it.
func TestAStopWaitsForReceipts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var answered atomic.Bool
		w.change = func(cfg *Config) {
			cfg.Now = func() time.Time { // called after the slot was given back
				if answered.CompareAndSwap(true, false) {
					time.Sleep(10 * time.Second)
				}
				return time.Now()
			}
		}
		w.restart()
		synctest.Wait() // Run has begun: time stands still while it waits for a lane that sleeps
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			answered.Store(true)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		w.stop()
		rows := w.deliveries("s")
		time.Sleep(time.Minute) // what would still be written
		want(t, "rows", rows, "final 5 delivered")
	})
}

// TestAPausedSubscriptionDoesNothing, whatever waits in it, also after a restart.
func TestAPausedSubscriptionDoesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		change := bridges.ChangeSubscription{SubscriptionID: "s"}
		if _, err := w.s.SubscriptionPause(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		turn(m, "t2")
		end(m, "t2") // which its follower does not see
		w.restart()
		time.Sleep(time.Minute)
		timer := func() *time.Timer {
			l := w.s.known.lane("s")
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.timer
		}
		before := timer()
		time.Sleep(time.Hour)
		if timer() != before {
			t.Error("its timer was set again")
		}
		w.target.set(nil)
		if _, err := w.s.SubscriptionResume(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		want(t, "after the pause", w.deliveries("s"), "final 5 delivered, final 8 delivered")
	})
}
