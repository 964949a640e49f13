package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/turns"
)

// inTwoTargets is inWorld with a bridge "b" to w.target and a bridge "b2" to another one.
func inTwoTargets(t *testing.T, edits bool, f func(t *testing.T, w *world, other *target)) {
	inWorld(t, func(t *testing.T, w *world) {
		other := &target{edits: edits, shown: map[string]string{}}
		w.target.edits = edits
		w.change = func(cfg *Config) {
			cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
				if b.BridgeID == "b2" {
					return other, nil
				}
				return w.target, nil
			}
		}
		w.restart()
		w.bridge("b")
		w.bridge("b2")
		f(t, w, other)
	})
}

func (w *world) move(id, bridge string) bridges.SubscriptionResult {
	w.t.Helper()
	r, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: id, BridgeID: &bridge})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// down answers that nothing can be delivered now.
func down(*bridges.Outgoing, int) bridges.Result {
	return bridges.Result{Outcome: bridges.Failed, Status: 500, Error: "status 500"}
}

// TestAnotherTargetGetsWhatWasNotSent, with its id and its bytes, and nothing else: what was posted
// at the old target stays there.
func TestAnotherTargetGetsWhatWasNotSent(t *testing.T) {
	for _, how := range []string{"update", "update after a restart", "delete and create", "after a crash"} {
		t.Run(how, func(t *testing.T) {
			inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
				w.subscribe("s", "b", "")
				m := w.thread("a")
				turn(m, "t1")
				sent := end(m, "t1")
				want(t, "the old target", w.target.take(), fmt.Sprint("turn.completed ", sent))
				w.target.answer = down
				turn(m, "t2")
				unsent := end(m, "t2")
				time.Sleep(10 * time.Second)
				synctest.Wait()
				before, _, err := w.s.Delivery(background, bridges.DeliveryID("s", unsent))
				if err != nil || before.Attempts < 2 || before.BridgeID != "b" {
					t.Fatalf("%+v %v", before, err)
				}
				cursor := w.view("s").Cursor.LastSequence
				switch how {
				case "delete and create":
					if _, err := w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
						t.Fatal(err)
					}
					w.subscribe("s", "b2", "")
				case "update after a restart":
					w.restart()
					fallthrough
				default:
					r := w.move("s", "b2")
					if r.Subscription.BridgeID != "b2" || r.Subscription.Cursor.LastSequence != cursor || r.Subscription.Generation != 2 {
						t.Errorf("%+v", r.Subscription)
					}
				}
				if how == "after a crash" {
					w.crash()
				}
				time.Sleep(time.Second) // it has come to the end of the log again
				want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", unsent))
				if v := w.view("s"); v.Pending != 0 || v.State != bridges.Active || v.Cursor.LastSequence != unsent || v.BridgeID != "b2" {
					t.Errorf("%+v", v)
				}
				after, _, err := w.s.Delivery(background, bridges.DeliveryID("s", unsent))
				if err != nil || after.State != bridges.StateDelivered || after.BridgeID != "b2" || after.Attempts != 1 {
					t.Errorf("%+v %v", after, err)
				}
				if old, _, _ := w.s.Delivery(background, bridges.DeliveryID("s", sent)); old.BridgeID != "b" {
					t.Errorf("what was sent before: %+v", old)
				}
				w.target.answer = nil
				turn(m, "t3")
				next := end(m, "t3")
				want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", next))
				want(t, "the old target", w.target.take(), "")
				w.restart()
				time.Sleep(time.Minute)
				want(t, "the other target after a restart", other.take(), "")
				want(t, "the old target after a restart", w.target.take(), "")
			})
		})
	}
}

// TestMessagesAtTheOldTargetStay as they are: the cards begin anew, and what takes an old message
// back is posted, with its id.
func TestMessagesAtTheOldTargetStay(t *testing.T) {
	inTwoTargets(t, true, func(t *testing.T, w *world, other *target) {
		w.subscribe("s", "b", "", bridges.OnFinal, bridges.OnProgress, bridges.OnQuestions)
		m := w.thread("a")
		turn(m, "t1")
		synctest.Wait()
		first := end(m, "t1")
		synctest.Wait()
		turn(m, "t2")
		synctest.Wait()
		old := w.target.visible()
		w.move("s", "b2")
		second := end(m, "t2")
		synctest.Wait()
		want(t, "the end of the other turn", other.visible(), fmt.Sprint("turn.completed ", second))
		want(t, "the old target", w.target.visible(), old)

		m.Rewind("t1", "", turns.CauseRequest)
		marker := m.Commit().Last
		synctest.Wait()
		got := other.got[len(other.got)-1].envelope
		if got.Seq != marker || !slices.Contains(got.Supersedes, bridges.DeliveryID("s", first)) {
			t.Errorf("the take-back is %+v, want %d with %s", got, marker, bridges.DeliveryID("s", first))
		}
		want(t, "the other target", other.visible(), fmt.Sprintf("turn.completed %d, turn.superseded %d", second, marker))
		want(t, "the old target", w.target.visible(), old)

		turn(m, "t1")
		again := end(m, "t1") // it is shown in the card that the take-back has
		synctest.Wait()
		if visible := other.visible(); strings.Contains(visible, "superseded") || !strings.Contains(visible, fmt.Sprint("turn.completed ", again)) {
			t.Errorf("the other target shows %s", visible)
		}
		// Back at the first target nothing of before is touched either.
		w.move("s", "b")
		m.Rewind("t2", "", turns.CauseRequest)
		m.Commit()
		time.Sleep(time.Second)
		synctest.Wait()
		if visible := w.target.visible(); !strings.HasPrefix(visible, old+", turn.superseded") {
			t.Errorf("the first target shows %s, before it was %s", visible, old)
		}
	})
}

// TestAMoveWaitsForTheAttempt that is under way: its receipt is of the old target. A client that
// does not wait changes nothing.
func TestAMoveWaitsForTheAttempt(t *testing.T) {
	inTwoTargets(t, true, func(t *testing.T, w *world, other *target) {
		w.subscribe("s", "b", "")
		w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(10 * time.Second)
			return bridges.Result{Outcome: bridges.Delivered}
		}
		m := w.thread("a")
		var seqs []int64
		for _, id := range []string{"t1", "t2", "t3"} {
			turn(m, id)
			seqs = append(seqs, end(m, id))
		}
		synctest.Wait()
		b2 := "b2"
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		if _, err := w.s.SubscriptionUpdate(ctx, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: &b2}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if v := w.view("s"); v.BridgeID != "b" || v.Generation != 1 {
			t.Errorf("%+v", v)
		}
		done := make(chan struct{})
		for range 3 { // of several at once each is done
			go func() {
				w.move("s", "b2")
				done <- struct{}{}
			}()
		}
		for range 3 {
			<-done
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "the old target", w.target.take(), fmt.Sprint("turn.completed ", seqs[0]))
		want(t, "the other target", other.take(), fmt.Sprintf("turn.completed %d, turn.completed %d", seqs[1], seqs[2]))
		if v := w.view("s"); v.Generation != 2 || v.Pending != 0 {
			t.Errorf("%+v", v)
		}
	})
}

// TestAMoveThatIsRefusedChangesNothing.
func TestAMoveThatIsRefusedChangesNothing(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, _ *target) {
		w.subscribe("s", "b", "")
		w.thread("a")
		before := w.view("s").Subscription
		missing, same, to := "missing", "b", bridges.Target{}
		for name, c := range map[string]struct {
			c    bridges.UpdateSubscription
			want error
		}{
			"no such bridge":       {bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: &missing}, bridges.ErrBridgeNotFound},
			"no such subscription": {bridges.UpdateSubscription{SubscriptionID: "x", BridgeID: &same}, bridges.ErrSubscriptionNotFound},
			"the same target":      {bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: &same, Target: &to}, nil},
		} {
			if _, err := w.s.SubscriptionUpdate(background, c.c); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := w.view("s").Subscription; fmt.Sprintf("%+v", after) != fmt.Sprintf("%+v", before) {
			t.Errorf("%+v, want %+v", after, before)
		}
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b2"}); !errors.Is(err, bridges.ErrMoved) {
			t.Error("created again:", err)
		}
		if _, err := w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b2", ThreadID: "a"}); !errors.Is(err, bridges.ErrMoved) {
			t.Error("of another thread:", err)
		}
	})
}

// TestAMoveOutlivesTheEndOfTheTarget: who was gone is not the target any more. A full backlog is sent
// to the new one, also through a bridge that dropped what came while it was paused.
func TestAMoveOutlivesTheEndOfTheTarget(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		w.subscribe("s", "b", "")
		drop := bridges.PauseDrops
		if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b2", OnPause: &drop}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b2"}); err != nil {
			t.Fatal(err)
		}
		w.target.answer = down
		m := w.thread("a")
		const n = bridges.MaxBacklog
		persisttestEnds(m, n)
		time.Sleep(30 * time.Second)
		if v := w.view("s"); v.Pending != n {
			t.Fatalf("%+v", v)
		}
		w.move("s", "b2")
		if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "b2"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if v := w.view("s"); v.Pending != 0 || v.State != bridges.Active || len(other.got) != n {
			t.Errorf("%d arrived: %+v", len(other.got), v)
		}
	})
}

// persisttestEnds commits the ends of n turns.
func persisttestEnds(m *persisttest.Maker, n int) {
	for i := range n {
		id := fmt.Sprint("e", i)
		turn(m, id)
		end(m, id)
	}
}

// TestAMovedMismatchIsNotDropped: a pause of the new bridge from before the move does not concern what
// is repaired after it.
func TestAMovedMismatchIsNotDropped(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		w.subscribe("s", "b", "")
		drop := bridges.PauseDrops
		if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b2", OnPause: &drop}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: "b2"}); err != nil {
			t.Fatal(err)
		}
		m := w.thread("a")
		turn(m, "t1")
		wrong := endWrongly(m, "t1")
		synctest.Wait()
		w.move("s", "b2")
		if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "b2"}); err != nil {
			t.Fatal(err)
		}
		repair(m, "t1")
		w.restart() // mismatches are looked at again
		time.Sleep(time.Minute)
		want(t, "sent", other.take(), fmt.Sprint("turn.completed ", wrong))
	})
}
