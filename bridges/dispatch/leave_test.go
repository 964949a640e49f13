package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// hang makes attempts wait until the returned function says how they end.
func (g *target) hang() (end func(bridges.Result)) {
	answers := make(chan bridges.Result)
	g.set(func(*bridges.Outgoing, int) bridges.Result { return <-answers })
	return func(r bridges.Result) {
		g.set(nil)
		select {
		case answers <- r:
		case <-time.After(time.Hour): // there is no attempt
		}
	}
}

// TestATargetThatIsGoneDoesNotReviveADeletedSubscription: the answer to an attempt
// that was under way comes after the deletion, also of the bridge.
func TestATargetThatIsGoneDoesNotReviveADeletedSubscription(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindNtfy}); err != nil {
			t.Fatal(err)
		}
		w.subscribe("s", "b", "")
		answer := w.target.hang()
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "b", Cascade: true}); err != nil {
			t.Fatal(err)
		}
		answer(bridges.Result{Outcome: bridges.Gone, Status: 410, Error: "status 410"})
		if v := w.view("s"); v.State != bridges.Deleted {
			t.Fatalf("the subscription is %s", v.State)
		}
		w.restart()
	})
}

// TestASubscriptionThatIsCreatedAgainWaitsForTheAttemptUnderWay: two lanes would
// write one cursor, and refuse each other's receipts for ever.
func TestASubscriptionThatIsCreatedAgainWaitsForTheAttemptUnderWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		ends(m, "t1") // 5
		want(t, "first", w.target.take(), "turn.completed 5")
		answer := w.target.hang()
		ends(m, "t2") // 7
		synctest.Wait()
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		created := make(chan bridges.SubscriptionResult)
		go func() { created <- w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b"}) }()
		synctest.Wait()
		answer(bridges.Result{Outcome: bridges.Delivered})
		if r := <-created; !*r.Created || r.Subscription.Cursor.LastSequence != 7 {
			t.Errorf("%+v", r)
		}
		ends(m, "t3")
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "turn.completed 7, turn.completed 11")
		want(t, "rows", w.deliveries("s"), "final 5 delivered, final 7 delivered, final 11 delivered")
		if v := w.view("s"); v.Cursor.LastSequence != 11 || v.Pending != 0 {
			t.Errorf("%+v", v)
		}

		// Who does not want to wait longer does not get it later.
		answer = w.target.hang()
		ends(m, "t4")
		synctest.Wait()
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if _, err := w.s.SubscriptionCreate(ctx, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b"}); err != context.DeadlineExceeded {
			t.Errorf("created while the attempt is under way: %v", err)
		}
		answer(bridges.Result{Outcome: bridges.Delivered})
	})
}

// TestAClientThatLeavesDoesNotStopItsSubscription: the change is durable, so it is
// carried out although nobody waits for the answer.
func TestAClientThatLeavesDoesNotStopItsSubscription(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		leaving := func() context.Context {
			ctx, cancel := context.WithCancel(background)
			w.life.mu.Lock()
			defer w.life.mu.Unlock()
			w.life.onCommit = func(*ledger.Unit) { cancel() }
			return ctx
		}
		stay := func() {
			w.life.mu.Lock()
			defer w.life.mu.Unlock()
			w.life.onCommit = nil
		}
		w.do(w.s.SubscriptionCreate(leaving(), bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b"}))
		stay()
		ends(m, "t1") // 5
		want(t, "after create", w.target.take(), "turn.completed 5")
		w.do(w.s.SubscriptionUpdate(leaving(), bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{bridges.OnFinal, bridges.OnInbox}}))
		stay()
		ends(m, "t2") // 8
		want(t, "after update", w.target.take(), "turn.completed 8")
		w.do(w.s.SubscriptionReset(leaving(), bridges.ResetSubscription{SubscriptionID: "s", ToSeq: new(int64), Reason: "again"}))
		stay()
		time.Sleep(time.Second)
		want(t, "after reset", w.target.take(), "turn.completed 5, turn.completed 8")
	})
}

// TestADeletedBridgeChangesNothing: the last attempt of a bridge says nothing of the one
// that was created under its name.
func TestADeletedBridgeChangesNothing(t *testing.T) {
	for _, r := range []bridges.Result{{Outcome: bridges.Gone, Status: 410, Error: "gone"}, {Outcome: bridges.Failed, Unhealthy: true, Error: "timeout"}, {Outcome: bridges.Wait, Status: 429, Error: "status 429"}} {
		t.Run(string(r.Outcome), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				w.subscribe("s", "b", "")
				m := w.thread("a")
				goOn := make(chan struct{})
				w.target.set(func(*bridges.Outgoing, int) bridges.Result {
					<-goOn
					return r
				})
				turn(m, "t")
				end(m, "t")
				synctest.Wait()
				if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "b", Cascade: true}); err != nil {
					t.Fatal(err)
				}
				if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, Settings: bridges.Settings{URL: "https://other.example.com"}}); err != nil {
					t.Fatal(err)
				}
				made, _, _ := w.s.Bridge("b")
				close(goOn)
				synctest.Wait()
				w.target.set(nil)
				w.restart()
				now, _, err := w.s.Bridge("b")
				if err != nil || now.URL != made.URL || now.State != bridges.Active || len(now.FailedDays) > 0 || now.Generation != made.Generation || !now.HeldUntil.IsZero() {
					t.Errorf("%+v, want %+v: %v", now, made, err)
				}
			})
		})
	}
}

// TestRedeliverOfADeletedSubscription: it was deleted while the command waited for its
// lane.
func TestRedeliverOfADeletedSubscription(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t")
		id := bridges.DeliveryID("s", end(m, "t"))
		synctest.Wait()
		l := w.s.known.lane("s")
		if _, err := w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
			t.Fatal(err)
		}
		w.s.known.lanes["s"] = l // as the command has found it
		if r, err := w.s.Redeliver(background, id, nil); !errors.Is(err, bridges.ErrDeliveryNotFound) {
			t.Errorf("%+v: %v", r.Delivery, err)
		}
		delete(w.s.known.lanes, "s")
		want(t, "rows", w.deliveries("s"), "final 5 delivered")
	})
}
