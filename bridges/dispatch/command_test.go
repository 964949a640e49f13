package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

var background = context.Background()

func (w *world) bridgePause(id, reason string) {
	w.t.Helper()
	if _, err := w.s.BridgePause(background, bridges.ChangeBridge{BridgeID: id, Reason: reason}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) bridgeResume(id string) {
	w.t.Helper()
	if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: id}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) do(_ bridges.SubscriptionResult, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// ends makes turns that end.
func ends(m *persisttest.Maker, ids ...string) (last int64) {
	for _, id := range ids {
		turn(m, id)
		last = end(m, id)
	}
	return last
}

// TestAPausedBridgeWaitsOrDrops: what comes during the pause is delivered after it, or
// suppressed, also if the server was restarted in between.
func TestAPausedBridgeWaitsOrDrops(t *testing.T) {
	for _, onPause := range []bridges.OnPause{bridges.PauseWaits, bridges.PauseDrops} {
		inWorld(t, func(t *testing.T, w *world) {
			if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, OnPause: onPause}); err != nil {
				t.Fatal(err)
			}
			w.subscribe("s", "b", "")
			m := w.thread("a")
			ends(m, "t1")
			want(t, "before", w.target.take(), "turn.completed 5")
			w.bridgePause("b", "night") // 6
			ends(m, "t2")               // 8
			want(t, "during", w.target.take(), "")
			w.restart()
			ends(m, "t3") // 10
			synctest.Wait()
			w.bridgeResume("b") // 11
			ends(m, "t4")       // 13
			time.Sleep(time.Second)
			if onPause == bridges.PauseWaits {
				want(t, "after", w.target.take(), "turn.completed 8, turn.completed 10, turn.completed 13")
				return
			}
			want(t, "after", w.target.take(), "turn.completed 13")
			want(t, "rows", w.deliveries("s"), "final 5 delivered, final 8 suppressed (paused), final 10 suppressed (paused), final 13 delivered")
		})
	}
}

func TestASuppressedEventKeepsTheLastDelivery(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, OnPause: bridges.PauseDrops}); err != nil {
			t.Fatal(err)
		}
		w.subscribe("s", "b", "")
		m := w.thread("a")
		first := ends(m, "t1")
		synctest.Wait()
		w.bridgePause("b", "")
		dropped := ends(m, "t2")
		c := w.view("s").Cursor
		if c.LastSequence != dropped || c.LastDeliveryID != bridges.DeliveryID("s", first) {
			t.Errorf("%+v", c)
		}
	})
}

func TestAPausedSubscriptionWaits(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		w.do(w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s", Reason: "lunch"}))
		ends(m, "t1", "t2")
		want(t, "during", w.target.take(), "")
		if v := w.view("s"); v.State != bridges.Paused || v.Reason != "lunch" {
			t.Errorf("%+v", v)
		}
		w.restart()
		want(t, "after a restart", w.target.take(), "")
		w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(time.Second)
		want(t, "after", w.target.take(), "turn.completed 6, turn.completed 8")
	})
}

// damage changes the row of a turn without an event.
func (w *world) damage(m *persisttest.Maker, id string, state turns.State) {
	w.t.Helper()
	row := *m.Turns[id]
	row.State = state
	if _, err := w.store.Append(&ledger.Unit{Rows: []ledger.Row{&row}}); err != nil {
		w.t.Fatal(err)
	}
}

// TestAMismatchIsHeld: an end with which the rows disagree is reported and not sent,
// events of other turns pass, and it is settled by repair, skip or reset.
func TestAMismatchIsHeld(t *testing.T) {
	for _, way := range []string{"repair", "skip", "reset", "retry"} {
		t.Run(way, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				m := w.thread("a")
				turn(m, "t1")
				w.subscribe("s", "b", "")
				w.do(w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
				seq := end(m, "t1")
				w.damage(m, "t1", turns.Active)
				w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
				time.Sleep(time.Minute)
				ends(m, "t2")
				time.Sleep(time.Minute)
				want(t, "arrived", w.target.take(), "turn.completed 10")
				want(t, "events", w.events(seq), "subscription/resumed, delivery/mismatch")
				why := "the event says completed, the turn is active"
				want(t, "rows", w.deliveries("s"), "final 6 mismatch ("+why+"), final 10 delivered")
				w.restart()
				want(t, "after a restart", w.deliveries("s"), "final 6 mismatch ("+why+"), final 10 delivered")
				switch way {
				case "repair":
					w.damage(m, "t1", turns.Completed)
					w.restart()
					time.Sleep(time.Second)
					want(t, "after the repair", w.target.take(), "turn.completed 6")
				case "skip":
					w.do(w.s.SubscriptionSkip(background, bridges.SkipSubscription{SubscriptionID: "s", Seq: seq, Reason: "known"}))
					want(t, "after the skip", w.deliveries("s"), "final 6 suppressed (skipped: known), final 10 delivered")
				case "reset":
					w.damage(m, "t1", turns.Completed)
					w.do(w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &[]int64{seq - 1}[0], Reason: "repaired"}))
					time.Sleep(time.Second)
					want(t, "after the reset", w.target.take(), "turn.completed 6, turn.completed 10")
				case "retry":
					w.damage(m, "t1", turns.Completed)
					retry(m, "t1")
					want(t, "after the retry", w.target.take(), "")
					want(t, "rows", w.deliveries("s"), "final 6 superseded, final 10 delivered")
				}
			})
		})
	}
}

// TestAResetSendsAgainUnderTheSameIDs, in a new generation, with the same bytes.
func TestAResetSendsAgainUnderTheSameIDs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		ends(m, "t1", "t2", "t3") // 5, 7, 9
		synctest.Wait()
		w.target.mu.Lock()
		first := w.target.got
		w.target.mu.Unlock()
		w.target.take()
		five := int64(5)
		r, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &five, Reason: "the receiver lost its data"})
		if err != nil || r.Subscription.Generation != 2 || r.Subscription.Cursor.LastSequence != 5 || r.Subscription.Cursor.LastDeliveryID != "" {
			t.Errorf("%+v, %v", r, err)
		}
		want(t, "events", w.events(9), "cursor/reset, subscription/reset")
		time.Sleep(time.Second)
		synctest.Wait()
		w.target.mu.Lock()
		second := w.target.got
		w.target.mu.Unlock()
		for i, a := range second {
			if a.id != first[i+1].id || a.body != first[i+1].body {
				t.Errorf("again: %s %s\nfirst: %s %s", a.id, a.body, first[i+1].id, first[i+1].body)
			}
		}
		want(t, "again", w.target.take(), "turn.completed 7, turn.completed 9")
		w.restart()
		time.Sleep(time.Second)
		want(t, "after a restart", w.target.take(), "")
		ahead := int64(1000)
		if _, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &ahead, Reason: "x"}); !errors.Is(err, bridges.ErrAhead) {
			t.Errorf("beyond the log: %v", err)
		}
	})
}

// TestADeletedSubscriptionContinuesWhereItWas when it is created again, and is another
// one with another target.
func TestADeletedSubscriptionContinuesWhereItWas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		target := bridges.Target{Channel: "C1"}
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Target: target})
		m := w.thread("a")
		first := ends(m, "t1")
		want(t, "before", w.target.take(), "turn.completed 5")
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		ends(m, "t2")
		want(t, "meanwhile", w.target.take(), "")
		v := w.view("s")
		if v.State != bridges.Deleted || v.Target != (bridges.Target{}) || v.Cursor.LastSequence != first {
			t.Errorf("%+v", v)
		}
		if list, _, _, err := w.s.Subscriptions(background, bridges.SubscriptionQuery{}); err != nil || len(list) != 0 {
			t.Errorf("%+v, %v", list, err)
		}
		if list, _, _, err := w.s.Subscriptions(background, bridges.SubscriptionQuery{IncludeDeleted: true}); err != nil || len(list) != 1 {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Target: target, ThreadID: "b"}); !errors.Is(err, bridges.ErrMoved) {
			t.Errorf("with another thread: %v", err)
		}
		w.restart()
		r := w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Target: target})
		if r.Created == nil || !*r.Created || r.Subscription.Cursor.LastSequence != first {
			t.Errorf("%+v", r)
		}
		time.Sleep(time.Second)
		want(t, "after", w.target.take(), "turn.completed 8")
		if r = w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Target: target}); r.Created == nil || *r.Created {
			t.Errorf("created twice: %+v", r)
		}
	})
}

// TestADeletedSubscriptionIsForgottenInTheEnd, with all that belongs to it.
func TestADeletedSubscriptionIsForgottenInTheEnd(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.subscribe("other", "b", "")
		m := w.thread("a")
		for i := range 300 {
			ends(m, fmt.Sprint("t", i))
		}
		synctest.Wait()
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(89 * 24 * time.Hour)
		if v := w.view("s"); v.State != bridges.Deleted || v.Cursor.LastSequence == 0 {
			t.Errorf("%+v", v)
		}
		time.Sleep(2 * 24 * time.Hour)
		if _, _, err := w.s.Subscription(background, "s"); !errors.Is(err, bridges.ErrSubscriptionNotFound) {
			t.Errorf("%v", err)
		}
		_ = w.s.cfg.Read(background, func(tx ledger.Reader) error {
			c, _ := cursors.Get(tx, cursors.Name{ConsumerID: "subscription:s", StreamName: "events"})
			other, _ := cursors.Get(tx, cursors.Name{ConsumerID: "subscription:other", StreamName: "events"})
			d, _ := bridges.DeliveryOf(tx, "s", 5)
			if c.Exists || d != nil || !other.Exists {
				t.Errorf("%+v, %+v, %+v", c, d, other)
			}
			return nil
		})
	})
}

// TestABacklogIsHeld until a client says whether to send it.
func TestABacklogIsHeld(t *testing.T) {
	for _, way := range []string{"resume", "skip"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.bridge("b")
			m := w.thread("a")
			const n = bridges.MaxBacklog + 100
			for i := range n {
				m.Attempt(fmt.Sprint("t", i))
				m.EndTurn(fmt.Sprint("t", i))
				if i%50 == 0 {
					m.Commit()
				}
			}
			m.Commit()
			head := w.store.Tail().Head()
			w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", From: &bridges.From{Beginning: true}})
			time.Sleep(time.Minute)
			synctest.Wait()
			if v := w.view("s"); v.State != bridges.Held || v.Reason != bridges.ReasonBacklog || w.target.count() != 0 {
				t.Fatalf("%+v, %d sent", v, w.target.count())
			}
			want(t, "events", w.events(head), "subscription/created, subscription/held")
			w.restart()
			if way == "resume" {
				w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := w.target.count(); got != n {
					t.Errorf("%d were sent, want %d", got, n)
				}
				return
			}
			w.do(w.s.SubscriptionSkip(background, bridges.SkipSubscription{SubscriptionID: "s", Reason: "old"}))
			ends(m, "new")
			time.Sleep(time.Hour)
			synctest.Wait()
			if v := w.view("s"); w.target.count() != 1 || v.State != bridges.Active || v.Pending != 0 {
				t.Errorf("%d were sent, %+v", w.target.count(), v)
			}
		})
	}
}

// TestARestartDuringABurstHoldsNothing: what is behind when the server starts has not
// had the time to deliver. One that does not deliver within a minute is held, as ever.
func TestARestartDuringABurstHoldsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			time.Sleep(20 * time.Millisecond)
			return bridges.Result{Outcome: bridges.Delivered, Status: 200}
		})
		m := w.thread("a")
		n := 0
		burst := func(ends int) {
			for range ends {
				n++
				m.Attempt(fmt.Sprint("t", n))
				m.EndTurn(fmt.Sprint("t", n))
				if n%50 == 0 {
					m.Commit()
				}
			}
			m.Commit()
		}
		m.At(time.Now())
		burst(1)
		time.Sleep(time.Second)
		burst(bridges.MaxBacklog + 300)
		time.Sleep(time.Second)
		if v := w.view("s"); v.State != bridges.Active || v.Pending < bridges.MaxBacklog/2 {
			t.Fatalf("it does not deliver a burst: %s, %d wait", v.State, v.Pending)
		}
		for range 3 {
			w.restart()
			burst(100)
			time.Sleep(time.Second)
			if v := w.view("s"); v.State != bridges.Active {
				t.Fatalf("after a restart it is %s: %s", v.State, v.Reason)
			}
		}
		time.Sleep(time.Hour)
		if v := w.view("s"); v.State != bridges.Active || v.Pending != 0 {
			t.Fatalf("%+v", v)
		}
		got := map[string]bool{}
		w.target.mu.Lock()
		for _, a := range w.target.got {
			got[a.deliveryID] = true
		}
		w.target.mu.Unlock()
		wantCount(t, "delivered", len(got), n)

		w.target.set(failing)
		w.restart()
		time.Sleep(time.Minute)
		m.At(time.Now())
		burst(bridges.MaxBacklog + 100)
		time.Sleep(time.Second)
		if v := w.view("s"); v.State != bridges.Held {
			t.Errorf("after the first minute it is %s", v.State)
		}
	})
}

// TestABacklogOfTheFirstMinuteIsJudgedAfterIt: it is spared, not forgotten.
func TestABacklogOfTheFirstMinuteIsJudgedAfterIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		w.restart()
		m.At(time.Now())
		for n := range bridges.MaxBacklog + 100 {
			m.Attempt(fmt.Sprint("t", n))
			m.EndTurn(fmt.Sprint("t", n))
			if n%50 == 0 {
				m.Commit()
			}
		}
		m.Commit()
		time.Sleep(50 * time.Second)
		if v := w.view("s"); v.State != bridges.Active {
			t.Fatalf("in the first minute it is %s", v.State)
		}
		time.Sleep(20 * time.Second)
		if v := w.view("s"); v.State != bridges.Held || v.Reason != bridges.ReasonBacklog {
			t.Errorf("after the first minute it is %s: %s", v.State, v.Reason)
		}
	})
}

// TestOldEventsAreHeld: who sleeps for more than a week is asked first.
func TestOldEventsAreHeld(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.do(w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(8 * 24 * time.Hour)
		w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(time.Second)
		if v := w.view("s"); v.State != bridges.Held {
			t.Fatalf("%+v", v)
		}
		w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), "turn.completed 6")
	})
}

// TestAfterARestoreEverythingIsPaused: what was sent since the backup is not known.
func TestAfterARestoreEverythingIsPaused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		w.stop()
		w.target.set(nil)
		w.target.take()
		w.openAs("log_restored")
		time.Sleep(time.Hour)
		b, _, _ := w.s.Bridge("b")
		if b.State != bridges.Paused || b.Reason != bridges.ReasonRestored {
			t.Errorf("%+v", b)
		}
		want(t, "meanwhile", w.target.take(), "")
		w.bridgeResume("b")
		time.Sleep(48 * time.Hour)
		synctest.Wait()
		w.target.mu.Lock()
		got := w.target.got
		w.target.mu.Unlock()
		if len(got) != 1 || got[0].id != "restored:notif:s:5" || got[0].envelope.LogID != "log_restored" {
			t.Errorf("%+v", got)
		}
	})
}

// A bridge that was paused before the backup is paused once more by the restore. What
// comes after its resumption must not count as of the first pause.
func TestOneResumptionEndsThePauseBeforeARestoreToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, OnPause: bridges.PauseDrops}); err != nil {
			t.Fatal(err)
		}
		w.subscribe("s", "b", "")
		m := w.thread("a")
		w.bridgePause("b", "night")
		ends(m, "t1")
		synctest.Wait()
		w.stop()
		w.openAs("log_restored")
		ends(m, "t2")
		synctest.Wait()
		w.bridgeResume("b")
		last := ends(m, "t3")
		time.Sleep(time.Second)
		want(t, "after", w.target.take(), fmt.Sprintf("turn.completed %d", last))
	})
}

// TestWhatLeftTheLogIsLost: retention waits for a subscription, up to its bound; then
// the log says what was lost.
func TestWhatLeftTheLogIsLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		ends(m, "t1", "t2")
		m.Messages("", 40, 400) // more than the tail holds
		m.Commit()
		if p, err := w.store.Prune(background, 7); err != nil || p.First != 7 {
			t.Fatalf("%+v, %v", p, err)
		}
		head := w.store.Tail().Head()
		w.subscribe("s", "b", "")
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), "turn.completed 8")
		want(t, "events", w.events(head), "subscription/created, delivery/lost")
	})
}

// TestFromWhereANewSubscriptionBegins.
func TestFromWhereANewSubscriptionBegins(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		ends(m, "t1", "t2") // 4, 6
		six := int64(5)
		for _, c := range []struct {
			name, thread string
			from         *bridges.From
			want         string
		}{
			{"all from now", "", nil, ""},
			{"all from the beginning", "", &bridges.From{Beginning: true}, "turn.completed 4, turn.completed 6"},
			{"all from a seq", "", &bridges.From{Seq: &six}, "turn.completed 6"},
			{"a thread from its newest turn", "a", nil, "turn.completed 6"},
			{"a thread from now", "a", &bridges.From{}, ""},
		} {
			w.create(bridges.CreateSubscription{BridgeID: "b", ThreadID: c.thread, From: c.from})
			time.Sleep(time.Second)
			want(t, c.name, w.target.take(), c.want)
		}
	})
}

func TestCommandsAreDoneOnceForAKey(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		key := func(k, method string) *ledger.Key { return &ledger.Key{Key: k, Method: method} }
		r, err := w.s.BridgeCreate(background, bridges.CreateBridge{Kind: bridges.KindWebhook, Key: key("1", "bridge/create")})
		if err != nil || r.Secret == "" || r.Bridge.SecretHint != r.Secret[len(r.Secret)-4:] {
			t.Fatalf("%+v, %v", r, err)
		}
		again, err := w.s.BridgeCreate(background, bridges.CreateBridge{Kind: bridges.KindWebhook, Key: key("1", "bridge/create")})
		if err != nil || again.Secret != "" || again.Bridge.BridgeID != r.Bridge.BridgeID || again.Seq != r.Seq {
			t.Errorf("%+v, %v", again, err)
		}
		s := w.create(bridges.CreateSubscription{BridgeID: r.Bridge.BridgeID, Key: key("2", "subscription/create")})
		if two := w.create(bridges.CreateSubscription{BridgeID: r.Bridge.BridgeID, Key: key("2", "subscription/create")}); two.Subscription.SubscriptionID != s.Subscription.SubscriptionID || two.Seq != s.Seq {
			t.Errorf("%+v and %+v", s, two)
		}
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: r.Bridge.BridgeID}); !errors.Is(err, bridges.ErrInUse) {
			t.Errorf("%v", err)
		}
		gone, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: r.Bridge.BridgeID, Cascade: true, Key: key("3", "bridge/delete")})
		if err != nil {
			t.Fatal(err)
		}
		if two, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: r.Bridge.BridgeID, Cascade: true, Key: key("3", "bridge/delete")}); err != nil || two.Seq != gone.Seq {
			t.Errorf("%+v, %v", two, err)
		}
		if len(w.secrets.kept) != 0 {
			t.Errorf("%d secrets are left", len(w.secrets.kept))
		}
		want(t, "events", w.events(0), "bridge/created, subscription/created, subscription/deleted, bridge/deleted")
	})
}

// TestRotation: for a day both secrets count.
func TestRotation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		type opened struct{ current, previous string }
		var last atomic.Pointer[opened]
		w.change = func(c *Config) {
			c.Open = func(_ *bridges.Bridge, s bridges.Secrets, p *bridges.Secrets) (bridges.Channel, error) {
				with := &opened{current: s.Secret}
				if p != nil {
					with.previous = p.Secret
				}
				last.Store(with)
				return w.target, nil
			}
		}
		w.restart()
		first, _ := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook})
		second, err := w.s.BridgeRotate(background, bridges.RotateSecret{BridgeID: "b"})
		if got := *last.Load(); err != nil || got != (opened{second.Secret, first.Secret}) || second.Secret == first.Secret {
			t.Fatalf("%v: %+v", err, got)
		}
		time.Sleep(23 * time.Hour)
		w.restart()
		if got := *last.Load(); got != (opened{second.Secret, first.Secret}) {
			t.Error("after 23 hours and a restart the old secret does not count")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := *last.Load(); got != (opened{current: second.Secret}) || len(w.secrets.kept) != 1 {
			t.Errorf("after a day: %+v, %d kept", got, len(w.secrets.kept))
		}
	})
}

// TestBridgesOfTheConfiguration come, change and go with it.
func TestBridgesOfTheConfiguration(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configured = []Configured{{Bridge: bridges.Bridge{BridgeID: "c", Kind: bridges.KindCommand, OnPause: bridges.PauseWaits}, Channel: w.target}}
		w.restart()
		w.restart()
		w.subscribe("s", "c", "")
		m := w.thread("a")
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "c", Cascade: true}); !errors.Is(err, bridges.ErrConfigured) {
			t.Errorf("%v", err)
		}
		keep := w.configured
		w.configured = nil
		w.restart()
		ends(m, "t1")
		time.Sleep(time.Second)
		want(t, "without it", w.target.take(), "")
		if b, _, _ := w.s.Bridge("c"); b.State != bridges.Disabled || b.Reason != bridges.ReasonNotConfigured {
			t.Errorf("%+v", b)
		}
		w.configured = keep
		w.restart()
		time.Sleep(time.Second)
		want(t, "with it again", w.target.take(), "turn.completed 6")
		want(t, "events", w.events(0), "bridge/created, subscription/created, bridge/disabled, bridge/updated")
	})
}

// A bridge that has left the configuration can be deleted, and comes back with it as a
// new one.
func TestABridgeThatLeftTheConfigurationCanBeDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configured = []Configured{{Bridge: bridges.Bridge{BridgeID: "c", Kind: bridges.KindCommand, OnPause: bridges.PauseWaits}, Channel: w.target}}
		keep := w.configured
		w.restart()
		w.subscribe("s", "c", "")
		w.configured = nil
		w.restart()
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "c"}); !errors.Is(err, bridges.ErrInUse) {
			t.Errorf("with a subscription: %v", err)
		}
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "c", Cascade: true}); err != nil {
			t.Errorf("deleted: %v", err)
		}
		w.configured = keep
		w.restart()
		if b, _, _ := w.s.Bridge("c"); b.State != bridges.Active {
			t.Errorf("%+v", b)
		}
		want(t, "events", w.events(0), "bridge/created, subscription/created, bridge/disabled, subscription/deleted, bridge/deleted, bridge/created")
	})
}

// TestRowsAreKeptForAsLongAsARetryNeedsThem.
func TestRowsAreKeptForAsLongAsARetryNeedsThem(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		seq := ends(m, "t1")
		ends(m, "t2")
		time.Sleep(8 * 24 * time.Hour)
		want(t, "after 8 days", w.deliveries("s"), "")
		if _, _, err := w.s.Delivery(background, bridges.DeliveryID("s", seq)); !errors.Is(err, bridges.ErrDeliveryNotFound) {
			t.Errorf("%v", err)
		}
		w.target.take()
		retry(m, "t1")
		want(t, "taken back after 8 days", w.target.take(), "turn.superseded 8")
		time.Sleep(40 * 24 * time.Hour)
		synctest.Wait()
		n := 0
		_ = w.s.cfg.Read(background, func(tx ledger.Reader) error {
			return tx.Scan(ledger.Range{Index: bridges.DeliveryByKey, Prefix: []any{"s"}, First: 2}, func(ledger.Values) error { n++; return nil })
		})
		if n != 2 { // of t1, whose second attempt is open
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestADeadDeliveryIsKeptForAMonth: what people have to look at is there longer than
// what has arrived.
func TestADeadDeliveryIsKeptForAMonth(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Refused, Error: "status 404"}
		})
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(29 * 24 * time.Hour)
		want(t, "after 29 days", w.deliveries("s"), "final 5 dead (status 404)")
		time.Sleep(2 * 24 * time.Hour)
		want(t, "after 31 days", w.deliveries("s"), "")
	})
}
