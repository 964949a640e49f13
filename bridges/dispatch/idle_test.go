package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

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
