package dispatch

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/turns"
)

// again makes a subscription send again what came after a seq.
func (w *world) again(id string, to int64) {
	w.t.Helper()
	if _, err := w.s.SubscriptionReset(context.Background(), bridges.ResetSubscription{SubscriptionID: id, ToSeq: &to, Reason: "again"}); err != nil {
		w.t.Fatal(err)
	}
}

// TestATakeBackNamesADeliveryOnce, also after a reset.
func TestATakeBackNamesADeliveryOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		first := end(m, "t1")
		want(t, "the end", w.target.take(), "turn.completed 5")
		marker := retry(m, "t1")
		want(t, "taken back", w.target.take(), "turn.superseded 6")
		w.again("s", first)
		time.Sleep(time.Second)
		d, _, err := w.s.Delivery(context.Background(), bridges.DeliveryID("s", marker))
		if err != nil || fmt.Sprint(d.Supersedes) != fmt.Sprint([]string{bridges.DeliveryID("s", first)}) {
			t.Errorf("after a reset: %v, %v", d.Supersedes, err)
		}
		want(t, "again", w.target.take(), "turn.superseded 6")
	})
}

// TestAResetForgetsNothingThatTheReceiverShows: what an earlier generation has sent is
// taken back, though it is not sent again.
func TestAResetForgetsNothingThatTheReceiverShows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		first := end(m, "t1")
		want(t, "the end", w.target.take(), "turn.completed 5")
		change := bridges.ChangeSubscription{SubscriptionID: "s"}
		if _, err := w.s.SubscriptionPause(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		retry(m, "t1")
		w.again("s", first-1)
		if _, err := w.s.SubscriptionResume(context.Background(), change); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		want(t, "after the reset", w.target.take(), "turn.superseded 7")
	})
}

// TestAResetChangesNoMessageToAnOlderEvent, not even if the newer one has no receipt.
func TestAResetChangesNoMessageToAnOlderEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnProgress)
		m := w.thread("a")
		turn(m, "t1")
		want(t, "the start", w.target.take(), "turn.started 4")
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			if o.Envelope().Seq == 6 { // it is shown, and the answer is lost
				return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		})
		retry(m, "t1")
		want(t, "the next attempt", w.target.take(), "turn.superseded 5, turn.started 6")
		w.target.set(nil)
		w.again("s", 0)
		time.Sleep(time.Minute)
		want(t, "again", w.target.take(), "turn.started 6")
		want(t, "rows", w.deliveries("s"), "progress 4 superseded, superseded 5 suppressed (stale), progress 6 delivered")
	})
}

// TestAResetDoesNotUndoATakeBack: an event that a take-back without a receipt may have
// replaced is not shown again, although it may have arrived itself.
func TestAResetDoesNotUndoATakeBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnProgress}, Order: bridges.OrderStrict})
		lost := func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(time.Second)
			return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}
		}
		w.target.set(lost)
		m := w.thread("a")
		turn(m, "t1")
		time.Sleep(2 * time.Second)
		w.target.set(nil)
		time.Sleep(time.Minute)
		w.target.take()
		want(t, "the start", w.target.visible(), "turn.started 4")
		w.target.set(lost)
		m.Rewind("t1", "", turns.CauseRequest)
		m.Commit()
		synctest.Wait()
		w.again("s", 0) // while it is under way
		synctest.Wait()
		w.target.set(nil)
		time.Sleep(time.Minute)
		want(t, "after the reset", w.target.take(), "turn.superseded 5, turn.superseded 5")
		want(t, "rows", w.deliveries("s"), "progress 4 suppressed (stale), superseded 5 delivered")
	})
}

// TestAResetDuringATakeBackStays: the take-back notes what a message shows in rows that
// the reset has changed meanwhile.
func TestAResetDuringATakeBackStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnProgress)
		m := w.thread("a")
		turn(m, "t1")
		synctest.Wait()
		w.target.set(func(o *bridges.Outgoing, _ int) bridges.Result {
			time.Sleep(time.Second)
			return bridges.Result{Outcome: bridges.Delivered}
		})
		m.Rewind("t1", "", turns.CauseRequest)
		m.Commit()
		synctest.Wait()
		w.again("s", 0)
		synctest.Wait()
		want(t, "after the reset", w.deliveries("s"), "progress 4 superseded, superseded 5 pending")
		time.Sleep(time.Minute)
		want(t, "after the take-back", w.deliveries("s"), "progress 4 superseded, superseded 5 delivered")
		want(t, "visible", w.target.visible(), "turn.superseded 5")
	})
}

// TestADeletionEndsTheAttempt: a subscription that is created again at once sends one
// delivery at a time.
func TestADeletionEndsTheAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		slow := &slowTarget{target: w.target}
		w.change = func(cfg *Config) {
			cfg.Open = func(*bridges.Bridge, bridges.Secrets, *bridges.Secrets) (bridges.Channel, error) { return slow, nil }
		}
		w.restart()
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		if _, err := w.s.SubscriptionDelete(context.Background(), bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
			t.Fatal(err)
		}
		want(t, "rows", w.deliveries("s"), "final 5 pending")
		w.subscribe("s", "b", "")
		time.Sleep(time.Minute)
		want(t, "rows", w.deliveries("s"), "final 5 delivered")
		if slow.most != 1 {
			t.Errorf("%d attempts at once", slow.most)
		}
		if n := w.s.open.Load(); n != 0 {
			t.Errorf("%d deliveries are counted as open", n)
		}
	})
}

// slowTarget takes ten seconds for an attempt, unless it is cut.
type slowTarget struct {
	*target
	mu         sync.Mutex
	busy, most int
}

func (s *slowTarget) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	s.add(1)
	defer s.add(-1)
	select {
	case <-time.After(10 * time.Second):
		return s.target.Send(ctx, o)
	case <-ctx.Done():
		return bridges.Result{Outcome: bridges.Failed, Error: "canceled", Arrived: true}
	}
}

func (s *slowTarget) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += n
	s.most = max(s.most, s.busy)
}

// TestAResetCountsWhatIsRedelivered: what a client has asked for again belongs to the new
// generation after a reset, whether it waits, is under way, or was asked for after the
// reset, and its receipt moves the cursor.
func TestAResetCountsWhatIsRedelivered(t *testing.T) {
	for _, when := range []string{"waits", "under way", "after"} {
		t.Run(when, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				w.subscribe("s", "b", "")
				m := w.thread("a")
				turn(m, "t1")
				seq := end(m, "t1")
				want(t, "first", w.target.take(), "turn.completed 5")
				w.target.set(func(*bridges.Outgoing, int) bridges.Result {
					if when == "under way" {
						time.Sleep(time.Second)
						return bridges.Result{Outcome: bridges.Delivered}
					}
					return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused"}
				})
				redeliver := func() {
					if _, err := w.s.Redeliver(context.Background(), bridges.DeliveryID("s", seq), nil); err != nil {
						t.Fatal(err)
					}
				}
				if when == "after" {
					change := bridges.ChangeSubscription{SubscriptionID: "s"}
					_, err := w.s.SubscriptionPause(context.Background(), change)
					w.again("s", 0)
					redeliver()
					if _, err2 := w.s.SubscriptionResume(context.Background(), change); err != nil || err2 != nil {
						t.Fatal(err, err2)
					}
				} else {
					redeliver()
					time.Sleep(time.Millisecond)
					w.again("s", 0)
				}
				time.Sleep(100 * time.Millisecond)
				if when != "under way" {
					w.target.set(nil)
				}
				time.Sleep(time.Minute)
				want(t, "rows", w.deliveries("s"), "final 5 delivered")
				if v := w.view("s"); v.Cursor.LastSequence != seq || v.Cursor.LastDeliveryID != bridges.DeliveryID("s", seq) {
					t.Errorf("the cursor: %+v", v.Cursor)
				}
			})
		})
	}
}

// TestAResetDecidesAnew: what was delivered before is not sent again if it no longer
// holds, also if it has to wait for its turn.
func TestAResetDecidesAnew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnProgress, bridges.OnQuestions}, Order: bridges.OrderStrict})
		m := w.thread("a")
		turn(m, "t1")
		ask(m, "t1", "i1")
		want(t, "at first", w.target.take(), "turn.started 4, item.created 5")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused"}
		})
		w.again("s", 0)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		want(t, "after the reset", w.deliveries("s"), "progress 4 pending, question 5 pending")
		answer(m, "t1", "i1")
		w.target.set(nil)
		time.Sleep(time.Minute)
		want(t, "rows", w.deliveries("s"), "progress 4 delivered, question 5 suppressed (answered), answer 8 delivered")
	})
}

// TestAResetSendsWhatIsNoLongerKept: its body is made again, and stored.
func TestAResetSendsWhatIsNoLongerKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnProgress)
		m := w.thread("a")
		turn(m, "t1") // its turn stays open, so its row stays
		want(t, "the start", w.target.take(), "turn.started 4")
		time.Sleep(bridges.KeepDelivered + time.Hour)
		w.target.set(failing)
		w.again("s", 0)
		synctest.Wait()
		if _, err := w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil { // of held: it is old
			t.Fatal(err)
		}
		synctest.Wait()
		w.target.take()
		w.target.set(nil)
		w.restart() // which reads the body
		time.Sleep(time.Hour)
		time.Sleep(time.Hour)
		want(t, "again", w.target.take(), "turn.started 4")
	})
}

// TestWhatIsSettledAgainIsKept: what is to be removed was found before it was delivered
// again.
func TestWhatIsSettledAgainIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		_, waiting := backlog(t, w, 1)
		resume(t, w)
		synctest.Wait()
		id := bridges.DeliveryID("s", waiting[0])
		old, _, err := w.s.Delivery(background, id)
		if err != nil {
			t.Fatal(err)
		}
		old.ExpiresAt = old.NextAttemptAt // zero: it is to be removed
		time.Sleep(bridges.KeepDelivered - time.Hour)
		if _, err := w.s.Redeliver(background, id, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := (retention{w.s}).expireOne(&old); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.s.Delivery(background, id); err != nil {
			t.Errorf("it was delivered again an instant ago: %v", err)
		}
	})
}
