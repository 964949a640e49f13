package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

var errUnreadable = errors.New("the disk cannot be read")

// TestNothingAfterTheCommitOfASubscriptionCanFail: while the store cannot be read from the commit on,
// the command is done, the subscription goes on, and can be deleted with its bridge.
func TestNothingAfterTheCommitOfASubscriptionCanFail(t *testing.T) {
	for _, change := range []string{"create", "move", "update", "reset", "create again", "retry"} {
		t.Run(change, func(t *testing.T) {
			inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
				var armed, unreadable atomic.Bool
				w.change = func(cfg *Config) {
					read := cfg.Read
					cfg.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
						if unreadable.Load() {
							return errUnreadable
						}
						return read(ctx, f)
					}
					cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
						if b.BridgeID == "b2" {
							return other, nil
						}
						return w.target, nil
					}
				}
				w.restart()
				w.life.onCommit = func(u *ledger.Unit) {
					if armed.Load() && slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return strings.HasPrefix(d.Method, "subscription/") }) {
						unreadable.Store(true)
					}
				}
				m := w.thread("a")
				turn(m, "t1")
				at := w.target
				var err error
				switch change {
				case "create":
					armed.Store(true)
					w.subscribe("s", "b", "a", bridges.OnFinal)
				case "retry":
					w.ofTurn("s", "t1")
					end(m, "t1")
					time.Sleep(time.Minute)
					w.target.take()
					armed.Store(true)
					retry(m, "t1")
				default:
					w.subscribe("s", "b", "a", bridges.OnFinal)
					time.Sleep(time.Second)
					if change == "create again" {
						_, err = w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"})
					}
					armed.Store(true)
					switch change {
					case "create again":
						at = other
						w.subscribe("s", "b2", "a", bridges.OnFinal)
					case "move":
						at = other
						w.move("s", "b2")
					case "update":
						_, err = w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{bridges.OnFinal, bridges.OnQuestions}})
					case "reset":
						_, err = w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: new(int64), Reason: "again"})
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if !unreadable.Load() {
					t.Fatal("nothing was committed")
				}
				armed.Store(false)
				unreadable.Store(false)
				last := end(m, "t1")
				time.Sleep(time.Minute)
				if got := at.take(); !strings.HasSuffix(got, fmt.Sprint("turn.completed ", last)) {
					t.Errorf("%q was sent, want the end %d", got, last)
				}
				bridge := w.view("s").BridgeID
				if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: bridge, Cascade: true}); err != nil {
					t.Error(err)
				}
				if v := w.view("s"); v.State != bridges.Deleted {
					t.Errorf("%+v", v)
				}
				w.restart()
			})
		})
	}
}

// TestASendThatIsStuckHoldsNoOtherTarget: what waits behind it is sent to where the subscription sends
// by now. At its own target nothing of it is sent before it returns.
func TestASendThatIsStuckHoldsNoOtherTarget(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		goOn := make(chan struct{})
		w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
			<-goOn
			return bridges.Result{Outcome: bridges.Delivered, Status: 200}
		}
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Order: bridges.OrderStrict})
		m := w.thread("a")
		turn(m, "t1")
		first := end(m, "t1")
		turn(m, "t2")
		second := end(m, "t2")
		time.Sleep(stuckAfter + time.Hour)
		wantCount(t, "stuck", w.stuckIn("b"), 1)
		wantCount(t, "sent to the old target", w.target.sends, 1)
		w.move("s", "b2")
		time.Sleep(time.Minute)
		want(t, "the other target", other.take(), fmt.Sprintf("turn.completed %d, turn.completed %d", first, second))
		close(goOn)
		time.Sleep(time.Minute)
		want(t, "the other target, after it has returned", other.take(), "")
		if v := w.view("s"); v.Pending != 0 || v.Cursor.LastSequence != second {
			t.Errorf("%+v", v)
		}
		wantCount(t, "stuck in the end", w.stuckIn("b"), 0)
	})
}

// TestADamagedDeliveryIsNotSentElsewhere: it ends with its reason, also after a restart.
func TestADamagedDeliveryIsNotSentElsewhere(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint(restarts), func(t *testing.T) {
			inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
				w.target.answer, other.answer = down, down
				w.subscribe("s", "b", "")
				m := w.thread("a")
				turn(m, "t1")
				damaged := end(m, "t1")
				turn(m, "t2")
				last := end(m, "t2")
				synctest.Wait()
				w.stop()
				w.damageRow("s", damaged, "details")
				w.open()
				w.s.places.set(&w.s.known.bridge("b").outlet, func(o *outlet) { o.heldUntil = time.Now().Add(time.Hour) })
				w.move("s", "b2")
				if restarts {
					w.restart()
				}
				other.answer = nil
				time.Sleep(time.Hour)
				want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", last))
				want(t, "rows", w.deliveries("s"), fmt.Sprintf("final %d dead (render), final %d delivered", damaged, last))
			})
		})
	}
}

// TestWhatCameWithTheEndIsSentBeforeASubscriptionEnds, also what changes no row of the turn.
func TestWhatCameWithTheEndIsSentBeforeASubscriptionEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		for i := range 20 {
			id := fmt.Sprint("t", i)
			turn(m, id)
			w.create(bridges.CreateSubscription{SubscriptionID: id, BridgeID: "b", TurnID: id, Methods: []string{notify.TurnCompleted, notify.ItemUpdated}})
			time.Sleep(time.Minute)
			m.At(time.Now())
			m.EndTurn(id)
			for range 3 { // each is a batch of its own
				m.Add(notify.ItemUpdated, id, "", map[string]string{"text": strings.Repeat("x", 70<<10)})
			}
			last := m.Commit().Last
			time.Sleep(time.Minute)
			if v := w.view(id); v.State != bridges.Ended || v.Cursor.LastSequence != last {
				t.Errorf("%d is the last, and the subscription has ended with %d (%s)", last, v.Cursor.LastSequence, v.State)
			}
		}
	})
}

// TestARepetitionMakesNoSubscriptionActive that has ended: it gets the answer of before.
func TestARepetitionMakesNoSubscriptionActive(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, _ *target) {
		m := w.thread("a")
		turn(m, "t1")
		w.ofTurn("s", "t1")
		key := func(name string) *ledger.Key { return &ledger.Key{Key: name, Method: name} }
		commands := map[string]func() (bridges.SubscriptionResult, error){
			"update": func() (bridges.SubscriptionResult, error) {
				return w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{bridges.OnFinal, bridges.OnProgress}, Key: key("u")})
			},
			"move": func() (bridges.SubscriptionResult, error) {
				return w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: new("b2"), Key: key("m")})
			},
		}
		before := map[string]bridges.SubscriptionResult{}
		for _, name := range []string{"update", "move"} {
			r, err := commands[name]()
			if err != nil {
				t.Fatal(err)
			}
			before[name] = r
		}
		end(m, "t1")
		time.Sleep(time.Minute)
		head := w.s.cfg.Head()
		for name, do := range commands {
			r, err := do()
			if err != nil || r.Subscription.UpdatedSeq != before[name].Subscription.UpdatedSeq {
				t.Errorf("%s: %+v %v", name, r, err)
			}
		}
		time.Sleep(time.Minute)
		if v := w.view("s"); v.State != bridges.Ended || w.s.cfg.Head() != head {
			t.Errorf("%+v, and the log has gone on from %d to %d", v, head, w.s.cfg.Head())
		}
	})
}

// TestASubscriptionOfATurnThatIsGoneIsFound when it is created again with its id.
func TestASubscriptionOfATurnThatIsGoneIsFound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		began := w.ofTurn("s", "t1").Subscription.FromSeq + 1
		end(m, "t1")
		time.Sleep(time.Minute)
		if _, err := w.store.Append(&ledger.Unit{Rows: []ledger.Row{&ledger.Removal{Of: turns.Table, Key: []any{began}}}}); err != nil {
			t.Fatal(err)
		}
		if r := w.ofTurn("s", "t1"); r.Created == nil || *r.Created || r.Subscription.State != bridges.Ended {
			t.Errorf("%+v", r)
		}
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "other", BridgeID: "b", TurnID: "t1"}); !errors.Is(err, turns.ErrNotFound) {
			t.Error(err)
		}
	})
}

// TestARetryWhoseMarkerIsNoLongerKept makes its subscription active all the same, when the server
// comes back so late.
func TestARetryWhoseMarkerIsNoLongerKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		for _, id := range []string{"t1", "t2"} {
			turn(m, id)
			w.ofTurn("of "+id, id)
			end(m, id)
		}
		time.Sleep(time.Minute)
		w.stop()
		retry(m, "t1")
		m.Messages("", 40, 400) // more than the tail holds
		last := m.Commit().Last
		w.store.KeepFrom(func() int64 { return last })
		if p, err := w.store.Prune(background, last); err != nil || p.First != last {
			t.Fatalf("%+v, %v", p, err)
		}
		w.open()
		time.Sleep(time.Minute)
		if v := w.view("of t1"); v.State != bridges.Active {
			t.Errorf("%+v", v)
		}
		if v := w.view("of t2"); v.State != bridges.Ended {
			t.Errorf("%+v", v)
		}
		w.target.take()
		last = end(m, "t1")
		time.Sleep(time.Minute)
		want(t, "sent", w.target.take(), fmt.Sprint("turn.completed ", last))
	})
}

// newRow is the row of a subscription that is not stored yet.
type newRow struct{ *bridges.Subscription }

// New implements ledger.Row.
func (newRow) New() bool { return true }

// TestSoManySubscriptionsThatHaveEndedAreKept, and of more the newest.
func TestSoManySubscriptionsThatHaveEndedAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		w.ofTurn("first", "t1")
		end(m, "t1")
		time.Sleep(time.Minute)
		first := w.view("first").Subscription
		for n := 0; n < bridges.MaxEnded; {
			u := &ledger.Unit{}
			for range 1000 {
				n++
				next := first.Clone()
				next.SubscriptionID, next.CreatedSeq = fmt.Sprint("s", n), first.CreatedSeq+int64(n)
				u.Rows = append(u.Rows, newRow{next})
			}
			if _, err := w.store.Append(u); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if _, _, err := w.s.Subscription(background, "first"); !errors.Is(err, bridges.ErrSubscriptionNotFound) {
			t.Error("the oldest one:", err)
		}
		if v := w.view("s1"); v.State != bridges.Ended {
			t.Errorf("%+v", v)
		}
	})
}
