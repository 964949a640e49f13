package dispatch

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// TestADeliveryThatOthersHavePassedIsTheLastOne: the cursor says so, and does not look
// like one without any delivery.
func TestADeliveryThatOthersHavePassedIsTheLastOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(o *bridges.Outgoing, n int) bridges.Result {
			if o.Envelope().Seq == 5 && n < 8 {
				return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		m := w.thread("a")
		ends(m, "t1", "t2") // 5, 7
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if c := w.view("s").Cursor; c.LastSequence != 7 || c.LastDeliveryID != bridges.DeliveryID("s", 7) {
			t.Fatalf("%+v", c)
		}
		time.Sleep(2 * time.Hour)
		want(t, "rows", w.deliveries("s"), "final 5 delivered, final 7 delivered")
		c := w.view("s").Cursor
		if c.LastSequence != 7 || c.LastDeliveryID != bridges.DeliveryID("s", 5) || time.Since(c.LastDeliveredAt.Time) > 2*time.Hour || c.LastError != "" {
			t.Errorf("%+v", c)
		}
		ends(m, "t3")
		if c := w.view("s").Cursor; c.LastSequence != 9 || c.LastDeliveryID != bridges.DeliveryID("s", 9) {
			t.Errorf("%+v", c)
		}
	})
}

// TestTheBoundOfSubscriptionsHoldsForThoseThatAreCreatedAgain.
func TestTheBoundOfSubscriptionsHoldsForThoseThatAreCreatedAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		synctest.Wait() // Run has looked at its lanes
		known := &w.s.known
		known.mu.Lock()
		lanes := known.lanes
		known.lanes = map[string]*lane{}
		other := &lane{}
		for i := range bridges.MaxSubscriptions {
			known.lanes[fmt.Sprint("other", i)] = other
		}
		known.mu.Unlock()
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b"}); !errors.Is(err, bridges.ErrTooMany) {
			t.Errorf("%v", err)
		}
		known.mu.Lock()
		known.lanes = lanes
		known.mu.Unlock()
		w.subscribe("s", "b", "")
	})
}
