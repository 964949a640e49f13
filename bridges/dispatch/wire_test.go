package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

func TestListsHavePagesInBothOrders(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		for _, id := range []string{"b1", "b2", "b3"} {
			w.bridge(id)
		}
		m := w.thread("a")
		turn(m, "t1")
		for i, id := range []string{"s1", "s2", "s3"} {
			w.subscribe(id, fmt.Sprint("b", 1+i/2), "a")
		}
		first := end(m, "t1")
		turn(m, "t2")
		second := end(m, "t2")
		synctest.Wait()

		bridgesOf := func(descending bool) (ids string) {
			q := bridges.BridgeQuery{Descending: descending, Limit: 2}
			for {
				list, next, _ := w.s.Bridges(q)
				for _, b := range list {
					ids += b.BridgeID + " "
				}
				if ids += "| "; next == "" {
					return ids
				}
				q.Cursor = next
			}
		}
		want(t, "bridges", bridgesOf(false), "b1 b2 | b3 | ")
		want(t, "bridges, descending", bridgesOf(true), "b3 b2 | b1 | ")

		subscriptionsOf := func(q bridges.SubscriptionQuery) (ids string) {
			for q.Limit = 2; ; {
				list, next, _, err := w.s.Subscriptions(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range list {
					ids += s.SubscriptionID + " "
				}
				if ids += "| "; next == "" {
					return ids
				}
				q.Cursor = next
			}
		}
		want(t, "subscriptions", subscriptionsOf(bridges.SubscriptionQuery{}), "s1 s2 | s3 | ")
		want(t, "subscriptions, newest first", subscriptionsOf(bridges.SubscriptionQuery{Newest: true}), "s3 s2 | s1 | ")
		want(t, "subscriptions of b1", subscriptionsOf(bridges.SubscriptionQuery{BridgeID: "b1", Newest: true}), "s2 s1 | ")
		want(t, "subscriptions of no thread", subscriptionsOf(bridges.SubscriptionQuery{ThreadID: "x"}), "| ")

		deliveriesOf := func(q bridges.DeliveryQuery) (ids string) {
			for q.Limit = 2; ; {
				list, next, _, err := w.s.Deliveries(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range list {
					ids += fmt.Sprint(d.Seq, d.SubscriptionID, " ")
				}
				if ids += "| "; next == "" {
					return ids
				}
				q.Cursor = next
			}
		}
		of := func(seq int64, subs ...string) (s string) {
			for _, sub := range subs {
				if sub == "|" {
					s += "| "
				} else {
					s += fmt.Sprint(seq, sub, " ")
				}
			}
			return s
		}
		want(t, "deliveries", deliveriesOf(bridges.DeliveryQuery{Oldest: true}), of(first, "s1", "s2", "|", "s3")+of(second, "s1", "|", "s2", "s3", "|"))
		want(t, "deliveries, newest first", deliveriesOf(bridges.DeliveryQuery{}), of(second, "s3", "s2", "|", "s1")+of(first, "s3", "|", "s2", "s1", "|"))
		want(t, "deliveries of s2", deliveriesOf(bridges.DeliveryQuery{SubscriptionID: "s2", Oldest: true}), of(first, "s2")+of(second, "s2", "|"))
		want(t, "deliveries of b2", deliveriesOf(bridges.DeliveryQuery{BridgeID: "b2"}), of(second, "s3")+of(first, "s3", "|"))
		want(t, "dead deliveries", deliveriesOf(bridges.DeliveryQuery{SubscriptionID: "s2", State: bridges.StateDead}), "| ")
		want(t, "delivered ones", deliveriesOf(bridges.DeliveryQuery{SubscriptionID: "s2", State: bridges.StateDelivered, Oldest: true}), of(first, "s2")+of(second, "s2", "|"))
		for _, bad := range []string{"x", "1", "-1/s1", "1/"} {
			if _, _, _, err := w.s.Deliveries(ctx, bridges.DeliveryQuery{Cursor: bad}); err == nil {
				t.Errorf("the cursor %q is accepted", bad)
			}
		}
	})
}

func TestRotationKeepsTheSecretsThatAreNotGiven(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		var opened bridges.Secrets
		w.s.cfg.Open = func(_ *bridges.Bridge, current bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
			opened = current
			return w.target, nil
		}
		create := bridges.CreateBridge{BridgeID: "n", Kind: bridges.KindNtfy, Secrets: bridges.Secrets{Topic: "topic-1", Token: "token-1"}}
		if _, err := w.s.BridgeCreate(ctx, create); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.BridgeRotate(ctx, bridges.RotateSecret{BridgeID: "n", Secrets: bridges.Secrets{Token: "token-2"}}); err != nil {
			t.Fatal(err)
		}
		if opened != (bridges.Secrets{Topic: "topic-1", Token: "token-2"}) {
			t.Errorf("after a new token the bridge has %+v", opened)
		}
		if _, err := w.s.BridgeRotate(ctx, bridges.RotateSecret{BridgeID: "n"}); err == nil {
			t.Error("a rotation without a secret is accepted")
		} else if bad, ok := errors.AsType[*turns.InvalidError](err); !ok || bad.Reason != turns.ReasonRequired {
			t.Error(err)
		}
	})
}

func TestARepeatedKeyIsAnsweredAfterItsBridgeHasGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		w.bridge("b")
		key := func(name string) *ledger.Key { return &ledger.Key{Key: name, Method: name} }
		server := "https://example.org"
		calls := map[string]func() (bridges.BridgeResult, error){
			"pause": func() (bridges.BridgeResult, error) {
				return w.s.BridgePause(ctx, bridges.ChangeBridge{BridgeID: "b", Key: key("pause")})
			},
			"resume": func() (bridges.BridgeResult, error) {
				return w.s.BridgeResume(ctx, bridges.ChangeBridge{BridgeID: "b", Key: key("resume")})
			},
			"update": func() (bridges.BridgeResult, error) {
				return w.s.BridgeUpdate(ctx, bridges.UpdateBridge{BridgeID: "b", URL: &server, Key: key("update")})
			},
			"rotate": func() (bridges.BridgeResult, error) {
				return w.s.BridgeRotate(ctx, bridges.RotateSecret{BridgeID: "b", Key: key("rotate")})
			},
		}
		seqs := map[string]int64{}
		for name, call := range calls {
			r, err := call()
			if err != nil {
				t.Fatal(err)
			}
			seqs[name] = r.Seq
		}
		if _, err := w.s.BridgeDelete(ctx, bridges.DeleteBridge{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		for name, call := range calls {
			if r, err := call(); err != nil || r.Seq != seqs[name] || r.Secret != "" {
				t.Errorf("%s again: %+v, %v", name, r, err)
			}
		}
	})
}

func TestARepeatedKeyIsAnsweredWithTheSameSeqs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		key := func(name string) *ledger.Key { return &ledger.Key{Key: name, Method: name} }
		zero := int64(0)
		w.thread("a")
		for _, c := range []struct {
			name string
			call func(k *ledger.Key) (created, updated, seq int64, err error)
		}{
			{"bridge/create", func(k *ledger.Key) (int64, int64, int64, error) {
				r, err := w.s.BridgeCreate(ctx, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, Settings: bridges.Settings{URL: "https://example.com"}, Key: k})
				return r.Bridge.CreatedSeq, r.Bridge.UpdatedSeq, r.Seq, err
			}},
			{"subscription/create", func(k *ledger.Key) (int64, int64, int64, error) {
				r, err := w.s.SubscriptionCreate(ctx, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", ThreadID: "a", Key: k})
				return r.Subscription.CreatedSeq, r.Subscription.UpdatedSeq, r.Seq, err
			}},
			{"bridge/pause", func(k *ledger.Key) (int64, int64, int64, error) {
				r, err := w.s.BridgePause(ctx, bridges.ChangeBridge{BridgeID: "b", Key: k})
				return r.Bridge.CreatedSeq, r.Bridge.UpdatedSeq, r.Seq, err
			}},
			{"subscription/reset", func(k *ledger.Key) (int64, int64, int64, error) {
				r, err := w.s.SubscriptionReset(ctx, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &zero, Reason: "again", Key: k})
				return r.Subscription.CreatedSeq, r.Subscription.UpdatedSeq, r.Seq, err
			}},
			{"subscription/delete", func(k *ledger.Key) (int64, int64, int64, error) {
				r, err := w.s.SubscriptionDelete(ctx, bridges.ChangeSubscription{SubscriptionID: "s", Key: k})
				return r.Subscription.CreatedSeq, r.Subscription.UpdatedSeq, r.Seq, err
			}},
		} {
			created, updated, seq, err := c.call(key(c.name))
			if err != nil || updated != seq || created > seq || created < 1 {
				t.Errorf("%s: created %d, updated %d, seq %d, %v", c.name, created, updated, seq, err)
			}
			if c2, u2, s2, err := c.call(key(c.name)); err != nil || c2 != created || u2 != updated || s2 != seq {
				t.Errorf("%s again: created %d, updated %d, seq %d, %v; want %d, %d, %d", c.name, c2, u2, s2, err, created, updated, seq)
			}
		}
	})
}

func TestResultsOfChangesSayHowFarTheServerHasLooked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		w.subscribe("s", "b", "a")
		end(m, "t1")
		looked := w.view("s").Cursor.ScannedSeq
		paused, err := w.s.SubscriptionPause(ctx, bridges.ChangeSubscription{SubscriptionID: "s"})
		if err != nil || looked == 0 || paused.Subscription.Cursor.ScannedSeq < looked {
			t.Errorf("a pause says %d, a read before said %d (%v)", paused.Subscription.Cursor.ScannedSeq, looked, err)
		}
		skipped, err := w.s.SubscriptionSkip(ctx, bridges.SkipSubscription{SubscriptionID: "s", Reason: "x"})
		if err != nil || skipped.Subscription.Cursor.ScannedSeq <= looked {
			t.Errorf("a skip says %d (%v)", skipped.Subscription.Cursor.ScannedSeq, err)
		}
		one := int64(1)
		reset, err := w.s.SubscriptionReset(ctx, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &one, Reason: "x"})
		if err != nil || reset.Subscription.Cursor.ScannedSeq != 1 {
			t.Errorf("a reset says %d (%v)", reset.Subscription.Cursor.ScannedSeq, err)
		}
		w.restart()
		if v := w.view("s"); v.Methods != nil {
			t.Errorf("after a restart the subscription has methods %v", v.Methods)
		}
	})
}

func TestTestsOfBridgesAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx := context.Background()
		w.bridge("b")
		hang := make(chan struct{})
		w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
			<-hang
			return bridges.Result{Outcome: bridges.Refused, Status: 404, Error: "status 404"}
		}
		results := make(chan bridges.TestResult, bridges.MaxTests)
		for range bridges.MaxTests {
			go func() {
				r, err := w.s.BridgeTest(ctx, "b", bridges.Target{})
				if err != nil {
					t.Error(err)
				}
				results <- r
			}()
		}
		synctest.Wait()
		if _, err := w.s.BridgeTest(ctx, "b", bridges.Target{}); !errors.Is(err, bridges.ErrTesting) {
			t.Errorf("one more: %v", err)
		}
		close(hang)
		for range bridges.MaxTests {
			if r := <-results; r.Delivered || r.Status != 404 || !strings.Contains(r.Error, "404") {
				t.Errorf("%+v", r)
			}
		}
	})
}
