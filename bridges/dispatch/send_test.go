package dispatch

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/kindstest"
)

// stuckAfter is when nobody waits any more for a Send that does not return.
const stuckAfter = 20*time.Second + lateness

// withStuck makes the bridges whose names begin with "stuck" channels whose Send does
// not return.
func (w *world) withStuck() *kindstest.Stuck {
	channel := kindstest.NewStuck(w.t)
	w.change = func(cfg *Config) {
		cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
			if len(b.BridgeID) >= 5 && b.BridgeID[:5] == "stuck" {
				return channel, nil
			}
			return w.target, nil
		}
	}
	w.restart()
	return channel
}

// stuckIn is how many Sends of a bridge are stuck, as metrics show it.
func (w *world) stuckIn(bridge string) int {
	synctest.Wait()
	for _, b := range w.s.Stats().Bridges {
		if b.BridgeID == bridge {
			return b.Stuck
		}
	}
	return -1
}

// TestSendsThatDoNotReturnStopNoOtherBridge: their slots are free again, no second
// attempt begins before they have returned, and then it does.
func TestSendsThatDoNotReturnStopNoOtherBridge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		channel := w.withStuck()
		const n = 9 // of which each could take eight slots
		for i := range n {
			id := fmt.Sprint("stuck", i)
			w.bridge(id)
			for j := range maxBridgeSlots {
				w.subscribe(fmt.Sprint(id, "-", j), id, "")
			}
		}
		w.bridge("quick")
		w.subscribe("quick", "quick", "")
		m := w.thread("a")
		turn(m, "t1")
		seq := end(m, "t1")
		synctest.Wait()
		wantCount(t, "attempts under way", channel.Active(), maxSlots)
		time.Sleep(stuckAfter)
		want(t, "of the quick bridge", w.target.take(), fmt.Sprint("turn.completed ", seq))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		wantCount(t, "attempts of all stuck bridges", len(channel.Began()), n*maxBridgeSlots)
		wantCount(t, "stuck", w.stuckIn("stuck0"), maxBridgeSlots)
		wantCount(t, "stuck of the quick bridge", w.stuckIn("quick"), 0)
		id := bridges.DeliveryID("stuck0-0", seq)
		d, _, err := w.s.Delivery(background, id)
		if err != nil || d.State != bridges.StatePending || !d.Arrived || len(d.Tries) != 1 || d.Tries[0].Outcome != bridges.Failed || d.Tries[0].Error != stuckError {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := w.s.Redeliver(background, id, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantCount(t, "attempts after redeliver", len(channel.Began()), n*maxBridgeSlots)

		channel.Release()
		synctest.Wait()
		wantCount(t, "attempts when they have returned", channel.Active(), maxFailingSlots)
	})
}

// TestAStopDoesNotWaitForASendThatDoesNotReturn, whether it is stuck by then or not.
func TestAStopDoesNotWaitForASendThatDoesNotReturn(t *testing.T) {
	for _, before := range []time.Duration{0, stuckAfter} {
		inWorld(t, func(t *testing.T, w *world) {
			channel := w.withStuck()
			w.bridge("stuck")
			w.subscribe("s", "stuck", "")
			m := w.thread("a")
			turn(m, "t1")
			end(m, "t1")
			time.Sleep(before)
			synctest.Wait()
			began := time.Now()
			w.stop()
			if took := time.Since(began); took > time.Second+lateness { // Drain is a second
				t.Errorf("the stop took %v", took)
			}
			wantCount(t, "attempts under way", channel.Active(), 1)
			channel.Release() // the program would have ended
			w.open()
			synctest.Wait()
			time.Sleep(time.Minute)
			wantCount(t, "attempts after the start", channel.Active(), 1)
		})
	}
}

// TestOtherTurnsDoNotWaitForASendThatDoesNotReturn; those of a strict subscription do,
// because they have an order.
func TestOtherTurnsDoNotWaitForASendThatDoesNotReturn(t *testing.T) {
	for order, wanted := range map[bridges.Order]string{bridges.OrderTurn: "turn.started 7, turn.completed 8", bridges.OrderStrict: ""} {
		inWorld(t, func(t *testing.T, w *world) {
			release := make(chan struct{})
			defer close(release)
			w.bridge("b")
			w.target.set(func(o *bridges.Outgoing, n int) bridges.Result {
				if n == 1 {
					<-release
				}
				return bridges.Result{Outcome: bridges.Delivered, Status: 200}
			})
			w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnFinal, bridges.OnProgress}, Order: order})
			m := w.thread("a")
			turn(m, "t1") // 4
			end(m, "t1")  // 5
			other := w.thread("b")
			turn(other, "t2")
			end(other, "t2")
			time.Sleep(time.Hour)
			want(t, string(order), w.target.take(), wanted)
			release <- struct{}{}
			time.Sleep(time.Minute)
			rest := "turn.started 4, turn.started 4, turn.completed 5" // the first one returned too late
			if order == bridges.OrderStrict {
				rest += ", turn.started 7, turn.completed 8"
			}
			want(t, string(order)+" when it has returned", w.target.take(), rest)
		})
	}
}

// TestASubscriptionThatIsCreatedAgainDoesNotSendBesideAStuckSend of the same delivery.
func TestASubscriptionThatIsCreatedAgainDoesNotSendBesideAStuckSend(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		channel := w.withStuck()
		w.bridge("stuck")
		w.subscribe("s", "stuck", "")
		m := w.thread("a")
		turn(m, "t1")
		seq := end(m, "t1")
		time.Sleep(stuckAfter)
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "stuck"})
		to := seq - 1
		w.do(w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &to, Reason: "again"}))
		time.Sleep(time.Hour)
		synctest.Wait()
		wantCount(t, "attempts", len(channel.Began()), 1)
		channel.Release()
		synctest.Wait()
		wantCount(t, "attempts when it has returned", len(channel.Began()), 2)
	})
}

// TestABridgeTestAnswersAlthoughItsSendDoesNotReturn, and there is a bound.
func TestABridgeTestAnswersAlthoughItsSendDoesNotReturn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		channel := w.withStuck()
		w.bridge("stuck")
		for i := range maxStuck {
			r, err := w.s.BridgeTest(background, "stuck", bridges.Target{})
			if err != nil || r.Delivered || r.Error != stuckError || r.LatencyMs != stuckAfter.Milliseconds() {
				t.Fatalf("test %d: %+v, %v", i, r, err)
			}
		}
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if r, err := w.s.BridgeTest(ctx, "stuck", bridges.Target{}); err != nil || r.Error != stuckError {
			t.Errorf("%+v, %v", r, err)
		}
		w.subscribe("s", "stuck", "")
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		time.Sleep(time.Hour)
		wantCount(t, "attempts", len(channel.Began()), maxStuck)
		wantCount(t, "stuck", w.stuckIn("stuck"), maxStuck)
		channel.Release()
		synctest.Wait()
		wantCount(t, "attempts when they have returned", len(channel.Began()), maxStuck+1)
	})
}
