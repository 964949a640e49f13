package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

func failing(*bridges.Outgoing, int) bridges.Result {
	return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500", Unhealthy: true, Arrived: true}
}

func (g *target) set(f func(*bridges.Outgoing, int) bridges.Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = f
}

func (g *target) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sends
}

// TestAttemptsFollowTheLadderAndEndDead: ten retries at growing distances, then it is
// given up, which the log says; the cursor goes on.
func TestAttemptsFollowTheLadderAndEndDead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		turn(m, "t1")
		seq := end(m, "t1")
		synctest.Wait()
		for i, wait := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
			if n := w.target.count(); n != i+1 {
				t.Fatalf("%d attempts before retry %d", n, i+1)
			}
			time.Sleep(wait - time.Millisecond)
			synctest.Wait()
			if n := w.target.count(); n != i+1 {
				t.Fatalf("retry %d came early", i+1)
			}
			if v := w.view("s"); v.NextAttemptAt.IsZero() || v.Cursor.LastError != "status 500" || v.Cursor.LastSequence != 0 {
				t.Fatalf("%+v", v)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		want(t, "rows", w.deliveries("s"), "final 5 dead (status 500)")
		v := w.view("s")
		if v.Cursor.LastSequence != seq || v.Cursor.LastDeliveryID != "" || v.Dead != 1 || v.Pending != 0 {
			t.Errorf("%+v", v)
		}
		want(t, "events", w.events(seq), "delivery/dead")
		d, _, err := w.s.Delivery(context.Background(), bridges.DeliveryID("s", seq))
		if err != nil || d.Attempts != 11 || len(d.Tries) != 11 || d.Tries[10].Status != 500 {
			t.Errorf("%+v, %v", d, err)
		}

		// It can be sent again.
		w.target.set(nil)
		if _, err := w.s.Redeliver(context.Background(), d.DeliveryID, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "rows", w.deliveries("s"), "final 5 delivered")
		if after := w.view("s").Cursor; after.LastDeliveryID != "" || after.LastSequence != seq {
			t.Errorf("redeliver moved the cursor: %+v", after)
		}
	})
}

// TestARefusedDeliveryIsDeadAfterThreeAttempts, and does not make its bridge fail.
func TestARefusedDeliveryIsDeadAfterThreeAttempts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Refused, Status: 404, Error: "status 404"}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		time.Sleep(time.Hour)
		want(t, "rows", w.deliveries("s"), "final 5 dead (status 404)")
		if n := w.target.count(); n != 3 || w.s.known.bridge("b").unhealthy != 0 {
			t.Errorf("%d attempts, unhealthy %d", n, w.s.known.bridge("b").unhealthy)
		}
	})
}

// TestADeliveryThatFailsStandsAside: the others wait at first, then only those of its
// turn.
func TestADeliveryThatFailsStandsAside(t *testing.T) {
	for _, order := range []bridges.Order{bridges.OrderTurn, bridges.OrderStrict} {
		inWorld(t, func(t *testing.T, w *world) {
			w.bridge("b")
			w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnProgress, bridges.OnFinal}, Order: order})
			w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
				if o.Envelope().Data.TurnID == "t1" && !o.Envelope().Final {
					return bridges.Result{Outcome: bridges.Failed, Error: "status 500"}
				}
				return bridges.Result{Outcome: bridges.Delivered}
			})
			a, b := w.thread("a"), w.thread("b")
			turn(a, "t1")
			end(a, "t1")
			turn(b, "t2")
			time.Sleep(30 * time.Second) // three failures
			want(t, "at first", w.target.take(), "")
			time.Sleep(time.Minute)
			if order == bridges.OrderStrict {
				want(t, "strict", w.target.take(), "")
			} else {
				want(t, "of other turns", w.target.take(), "turn.started 7")
			}
			w.target.set(nil)
			time.Sleep(3 * time.Minute)
			if order == bridges.OrderStrict {
				want(t, "strict", w.target.take(), "turn.started 5, turn.completed 6, turn.started 7")
			} else {
				want(t, "of its turn, in order", w.target.take(), "turn.started 5, turn.completed 6")
			}
		})
	}
}

// TestWaitCostsNoAttempt: a target that asks to wait holds its whole bridge, also
// across a restart.
func TestWaitCostsNoAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.subscribe("other", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: time.Hour}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		w.target.set(nil)
		w.restart()
		time.Sleep(time.Hour - time.Second)
		before := w.target.count()
		want(t, "meanwhile", w.target.take(), "")
		time.Sleep(time.Minute)
		want(t, "after it", w.target.take(), "turn.completed 6, turn.completed 6")
		d, _, _ := w.s.Delivery(context.Background(), bridges.DeliveryID("s", 6))
		if d.Attempts != 1 || before > 2 {
			t.Errorf("%d attempts, %d sent before: %+v", d.Attempts, before, d.Tries)
		}
	})
}

// TestATargetThatAlwaysAsksToWaitIsAskedLessOften, however short the wait that it asks
// for; after a delivery it begins anew.
func TestATargetThatAlwaysAsksToWaitIsAskedLessOften(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		var at []time.Time
		waits := func(*bridges.Outgoing, int) bridges.Result {
			at = append(at, time.Now())
			return bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: time.Second}
		}
		gaps := func() string {
			synctest.Wait()
			var list []string
			for i := 1; i < len(at); i++ {
				list = append(list, fmt.Sprint(at[i].Sub(at[i-1])))
			}
			at = nil
			return strings.Join(list, " ")
		}
		w.subscribe("s", "b", "")
		m := w.thread("a")
		for i := range 2 {
			w.target.set(waits)
			id := fmt.Sprint("t", i)
			turn(m, id)
			end(m, id)
			time.Sleep(time.Hour)
			want(t, "waits", gaps(), "1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 8m32s 10m0s 10m0s 10m0s 10m0s")
			if b, _, err := w.s.Bridge("b"); err != nil || time.Until(b.HeldUntil.Time) > 10*time.Minute || !b.HeldUntil.After(time.Now()) {
				t.Errorf("%v, %v", b.HeldUntil, err)
			}
			w.target.set(nil)
			time.Sleep(10 * time.Minute)
			want(t, "then", w.deliveries("s")[len(w.deliveries("s"))-9:], "delivered")
		}
		// Who resumes the bridge wants to try again.
		w.target.set(waits)
		turn(m, "t2")
		end(m, "t2")
		time.Sleep(time.Minute)
		gaps()
		if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		want(t, "after resume", gaps(), "1s 2s")
	})
}

// TestWaitsOfOneMomentCountOnce: eight attempts that were under way together are told
// to wait once.
func TestWaitsOfOneMomentCountOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		for i := range maxBridgeSlots {
			w.subscribe(fmt.Sprint("s", i), "b", "")
		}
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(time.Second)
			return bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: 3 * time.Second}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		time.Sleep(2 * time.Second)
		if b, _, err := w.s.Bridge("b"); err != nil || time.Until(b.HeldUntil.Time) > 3*time.Second {
			t.Errorf("it waits for %v, %v", time.Until(b.HeldUntil.Time), err)
		}
	})
}

// TestGoneEndsIt: 410 disables the bridge of a webhook, and a subscription of the
// other kinds.
func TestGoneEndsIt(t *testing.T) {
	for _, kind := range []bridges.Kind{bridges.KindWebhook, bridges.KindSlack} {
		inWorld(t, func(t *testing.T, w *world) {
			if _, err := w.s.BridgeCreate(context.Background(), bridges.CreateBridge{BridgeID: "b", Kind: kind}); err != nil {
				t.Fatal(err)
			}
			w.subscribe("s", "b", "")
			w.target.set(func(*bridges.Outgoing, int) bridges.Result {
				return bridges.Result{Outcome: bridges.Gone, Status: 410, Error: "status 410"}
			})
			m := w.thread("a")
			turn(m, "t1")
			head := end(m, "t1")
			synctest.Wait()
			b, _, _ := w.s.Bridge("b")
			v := w.view("s")
			if kind == bridges.KindWebhook {
				want(t, "event", w.events(head), "bridge/disabled")
				if b.State != bridges.Disabled || b.Reason != bridges.ReasonGone || v.State != bridges.Active {
					t.Errorf("%+v, %+v", b, v)
				}
			} else {
				want(t, "event", w.events(head), "subscription/disabled")
				if b.State != bridges.Active || v.State != bridges.Disabled || v.Reason != bridges.ReasonGone {
					t.Errorf("%+v, %+v", b, v)
				}
			}
			w.target.set(nil)
			time.Sleep(time.Hour)
			want(t, "meanwhile", w.target.take(), "")
			if _, err := w.s.BridgeResume(context.Background(), bridges.ChangeBridge{BridgeID: "b"}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.s.SubscriptionResume(context.Background(), bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			want(t, "after resume", w.target.take(), fmt.Sprintf("turn.completed %d", head))
		})
	}
}

// TestABridgeThatFailsForDaysIsDisabled: on five days without a success.
func TestABridgeThatFailsForDaysIsDisabled(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		for day := range 5 {
			if b, _, _ := w.s.Bridge("b"); b.State != bridges.Active {
				t.Fatalf("day %d: %+v", day, b)
			}
			turn(m, fmt.Sprint("t", day))
			end(m, fmt.Sprint("t", day))
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if day == 1 {
				w.restart() // it remembers
			}
		}
		if b, _, _ := w.s.Bridge("b"); b.State != bridges.Disabled || b.Reason != bridges.ReasonFailing {
			t.Errorf("%+v", b)
		}
	})
}

// TestNoDeliveryCausesItself: what fails about deliveries of deliveries is no event.
func TestNoDeliveryCausesItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.create(bridges.CreateSubscription{SubscriptionID: "dead", BridgeID: "b", Methods: []string{notify.DeliveryDead}})
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Refused, Error: "status 404"}
		})
		m := w.thread("a")
		turn(m, "t1")
		head := end(m, "t1")
		time.Sleep(time.Hour)
		synctest.Wait()
		want(t, "events", w.events(head), "delivery/dead")
		want(t, "the delivery of it", w.deliveries("dead"), "event 7 dead (status 404)")
	})
}

// TestAFullDiskKeepsAReceipt: what was received and cannot be committed is held and
// committed later, not sent again.
func TestAFullDiskKeepsAReceipt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			w.life.mu.Lock()
			w.life.full = true
			w.life.mu.Unlock()
			return bridges.Result{Outcome: bridges.Delivered}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.life.mu.Lock()
		w.life.full = false
		w.life.mu.Unlock()
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "turn.completed 5")
		want(t, "rows", w.deliveries("s"), "final 5 delivered")
	})
}

// failingStore commits, and says that nobody knows whether it did.
type failingStore struct{ ledger.Log }

func (s failingStore) Append(u *ledger.Unit) (ledger.Receipt, error) {
	if _, err := s.Log.Append(u); err != nil {
		return ledger.Receipt{}, err
	}
	return ledger.Receipt{}, ledger.ErrStorageFailed
}

// TestAFailedDiskKeepsTheSecretsOfANewBridge, because it may be in the log.
func TestAFailedDiskKeepsTheSecretsOfANewBridge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.change = func(cfg *Config) { cfg.Store = failingStore{cfg.Store} }
		w.restart()
		if _, err := w.s.BridgeCreate(context.Background(), bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook}); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Fatal(err)
		}
		w.change = nil
		w.restart()
		if b, _, err := w.s.Bridge("b"); err != nil || b.State != bridges.Active {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

// TestAHoldOutlivesWhatIsDeliveredMeanwhile: what was under way when the target asked to
// wait says nothing of that, also after a restart.
func TestAHoldOutlivesWhatIsDeliveredMeanwhile(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s1", "b", "")
		w.subscribe("s2", "b", "")
		m := w.thread("a")
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			time.Sleep(time.Second) // both are under way
			if o.Envelope().Data.SubscriptionID == "s1" {
				return bridges.Result{Outcome: bridges.Wait, Status: 429, Error: "status 429", RetryAfter: time.Hour}
			}
			time.Sleep(time.Second)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		turn(m, "t")
		end(m, "t")
		time.Sleep(time.Minute)
		w.target.take()
		w.target.set(nil)
		w.restart()
		time.Sleep(30 * time.Minute)
		want(t, "while it is held", w.target.take(), "")
		time.Sleep(30 * time.Minute)
		want(t, "then", w.target.take(), "turn.completed 6")
		if b, _, err := w.s.Bridge("b"); err != nil || !b.HeldUntil.IsZero() {
			t.Errorf("%v: %v", b.HeldUntil, err)
		}
	})
}
