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
	"github.com/seed82539d15/holon/threads"
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
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			<-goOn
			return bridges.Result{Outcome: bridges.Delivered, Status: 200}
		})
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
				w.target.set(down)
				other.set(down)
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
				w.s.slots.set(&w.s.known.bridge("b").bridgeLoad, func(o *bridgeLoad) { o.heldUntil = time.Now().Add(time.Hour) })
				w.move("s", "b2")
				if restarts {
					w.restart()
				}
				other.set(nil)
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
		for n := -1; n < bridges.MaxEnded; {
			u := &ledger.Unit{}
			for range 1000 {
				n++
				next := first.Clone()
				next.SubscriptionID, next.CreatedSeq, next.UpdatedSeq = fmt.Sprint("s", n), first.CreatedSeq+int64(n), first.UpdatedSeq+int64(n)
				if n == 0 { // it was made before the others, and has ended after them
					next.CreatedSeq, next.UpdatedSeq = 1, 1<<40
				}
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
		if _, _, err := w.s.Subscription(background, "s1"); !errors.Is(err, bridges.ErrSubscriptionNotFound) {
			t.Error("the second one:", err)
		}
		for _, id := range []string{"s0", fmt.Sprint("s", bridges.MaxEnded)} {
			if v := w.view(id); v.State != bridges.Ended {
				t.Errorf("%+v", v)
			}
		}
	})
}

// silent is the answer of a target that says nothing: an attempt ends when it is cut off.
func silent(release chan struct{}) func(*bridges.Outgoing, int) bridges.Result {
	return func(*bridges.Outgoing, int) bridges.Result {
		<-release
		return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Arrived: true}
	}
}

// TestAMoveIsCheckedBeforeItWaits for an attempt that is under way; what moves nothing waits for
// nothing.
func TestAMoveIsCheckedBeforeItWaits(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, _ *target) {
		release := make(chan struct{})
		defer close(release)
		w.target.set(silent(release))
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		began := time.Now()
		if _, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: new("none")}); !errors.Is(err, bridges.ErrBridgeNotFound) {
			t.Error(err)
		}
		var invalid *turns.InvalidError
		if _, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: new("b2"), On: &[]bridges.On{}}); !errors.As(err, &invalid) {
			t.Error(err)
		}
		if _, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "none", BridgeID: new("b2")}); !errors.Is(err, bridges.ErrSubscriptionNotFound) {
			t.Error(err)
		}
		if r := w.move("s", "b"); r.Subscription.Generation != 1 {
			t.Errorf("%+v", r.Subscription)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestAMoveWaitsForAnAttemptForSoLong, and then for one that does not end. What it may have
// delivered is sent to the new target.
func TestAMoveWaitsForAnAttemptForSoLong(t *testing.T) {
	for _, how := range []string{"move", "delete and create"} {
		for _, ends := range []time.Duration{time.Second, time.Hour} {
			t.Run(fmt.Sprint(how, " ", ends), func(t *testing.T) {
				inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
					release := make(chan struct{})
					w.target.set(silent(release))
					w.subscribe("s", "b", "")
					m := w.thread("a")
					turn(m, "t1")
					last := end(m, "t1")
					synctest.Wait()
					time.AfterFunc(ends, func() { close(release) })
					began := time.Now()
					if how == "move" {
						w.move("s", "b2")
					} else {
						w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
						w.subscribe("s", "b2", "")
					}
					if took := time.Since(began); took != min(ends, patience+lateness) {
						t.Errorf("it took %v", took)
					}
					time.Sleep(time.Minute)
					want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", last))
					wantCount(t, "attempts at the old target", w.target.sends, 1)
					time.Sleep(2 * time.Hour)
					if v := w.view("s"); v.Pending != 0 || v.Cursor.LastSequence != last || v.Cursor.LastError != "" {
						t.Errorf("%+v", v)
					}
				})
			})
		}
	}
}

// TestAMoveOnAFullDisk says at once what is the matter: what came of the last attempt cannot be
// stored. When there is room it is stored, and not sent again.
func TestAMoveOnAFullDisk(t *testing.T) {
	for _, how := range []string{"move", "delete and create"} {
		t.Run(how, func(t *testing.T) {
			inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
				full := func(is bool) {
					w.life.mu.Lock()
					defer w.life.mu.Unlock()
					w.life.full = is
				}
				w.target.set(func(*bridges.Outgoing, int) bridges.Result {
					full(true)
					return bridges.Result{Outcome: bridges.Delivered, Status: 200}
				})
				w.subscribe("s", "b", "")
				m := w.thread("a")
				turn(m, "t1")
				last := end(m, "t1")
				synctest.Wait()
				began := time.Now()
				move := func() (err error) {
					if how == "move" {
						_, err = w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: new("b2")})
						return err
					}
					_, err = w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b2"})
					return err
				}
				if how != "move" {
					full(false)
					w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
					full(true)
				}
				if err := move(); !errors.Is(err, ledger.ErrStorageFull) || time.Since(began) != 0 {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				full(false)
				time.Sleep(time.Minute)
				if err := move(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				want(t, "the other target", other.take(), "")
				want(t, "the old target", w.target.take(), fmt.Sprint("turn.completed ", last))
				if v := w.view("s"); v.Pending != 0 || v.Cursor.LastSequence != last || v.BridgeID != "b2" {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

// TestARefusedCommandChangesNothing: a subscription that has ended stays so, and nothing follows the
// log for one that was not made.
func TestARefusedCommandChangesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		for _, c := range []bridges.CreateSubscription{{BridgeID: "none", TurnID: "t1"}, {BridgeID: "b", TurnID: "none"}} {
			if r, err := w.s.SubscriptionCreate(background, c); err == nil {
				t.Errorf("%+v", r)
			}
		}
		if list := w.followers.Followers(); len(list) > 0 {
			t.Errorf("%+v follow the log", list)
		}
		w.ofTurn("s", "t1")
		last := end(m, "t1")
		time.Sleep(time.Minute)
		head := w.s.cfg.Head()
		for name, refused := range map[string]func() error{
			"update": func() error {
				_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{}})
				return err
			},
			"inbox": func() error {
				_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", On: &[]bridges.On{bridges.OnInbox}})
				return err
			},
			"move": func() error {
				_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: "s", BridgeID: new("none")})
				return err
			},
			"skip": func() error {
				_, err := w.s.SubscriptionSkip(background, bridges.SkipSubscription{SubscriptionID: "s", Reason: "no"})
				return err
			},
			"skip one": func() error {
				_, err := w.s.SubscriptionSkip(background, bridges.SkipSubscription{SubscriptionID: "s", Seq: last, Reason: "no"})
				return err
			},
			"redeliver": func() error {
				_, err := w.s.Redeliver(background, bridges.DeliveryID("s", 1), nil)
				return err
			},
		} {
			if err := refused(); err == nil {
				t.Errorf("%s is not refused", name)
			}
			synctest.Wait()
			if now := w.s.cfg.Head(); now != head {
				t.Errorf("%s has made %d events", name, now-head)
				head = now
			}
		}
		if v := w.view("s"); v.State != bridges.Ended {
			t.Errorf("%+v", v)
		}
	})
}

// TestTheTargetOfAnotherBridgeIsItsOwn, if the command names none: that of before may be of another
// kind.
func TestTheTargetOfAnotherBridgeIsItsOwn(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, _ *target) {
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Target: bridges.Target{Channel: "C1"}})
		if v := w.move("s", "b2").Subscription; v.Target != (bridges.Target{}) {
			t.Errorf("%+v", v)
		}
	})
}

// TestAMoveAfterTheDiskHadRoomAgain is not refused for the error of before: the receipts are stored, in
// one commit with the beginning of the next attempt.
func TestAMoveAfterTheDiskHadRoomAgain(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		full := func(is bool) {
			w.life.mu.Lock()
			defer w.life.mu.Unlock()
			w.life.full = is
		}
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			time.Sleep(time.Duration(min(2*n-1, 3)) * time.Second)
			full(n == 1)
			return bridges.Result{Outcome: bridges.Delivered, Status: 200}
		})
		w.subscribe("s", "b", "")
		m := w.thread("a")
		last := ends(m, "t1", "t2", "t3")
		time.Sleep(1500 * time.Millisecond)
		full(false)
		time.Sleep(1500 * time.Millisecond)
		w.move("s", "b2")
		time.Sleep(time.Minute)
		want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", last))
	})
}

// lateAnswer is a target that has a message at once, and answers the first one after a time.
type lateAnswer struct {
	*target
	after time.Duration
	sends *atomic.Int64
}

// Send implements bridges.Channel.
func (c lateAnswer) Send(ctx context.Context, o *bridges.Outgoing) bridges.Result {
	r := c.target.Send(ctx, o)
	if c.sends.Add(1) > 1 {
		return r
	}
	select {
	case <-time.After(c.after):
		return r
	case <-ctx.Done():
		return bridges.Result{Outcome: bridges.Failed, Error: "canceled", Arrived: true, Unhealthy: true}
	}
}

// TestASlowTargetIsNotSentTwice what it may have: a subscription that is made again for it waits for its
// answer. One that is moved does not, and that is no failure of the old target.
func TestASlowTargetIsNotSentTwice(t *testing.T) {
	for _, bridge := range []string{"b", "b2"} {
		t.Run(bridge, func(t *testing.T) {
			inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
				var sends atomic.Int64
				w.change = func(cfg *Config) {
					cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
						if b.BridgeID == "b2" {
							return other, nil
						}
						return lateAnswer{w.target, 15 * time.Second, &sends}, nil
					}
				}
				w.restart()
				w.subscribe("s", "b", "")
				m := w.thread("a")
				turn(m, "t1")
				last := end(m, "t1")
				synctest.Wait()
				began := time.Now()
				w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
				w.subscribe("s", bridge, "")
				took, sent, there := 15*time.Second, fmt.Sprint("turn.completed ", last), ""
				if bridge == "b2" {
					took, there = patience, sent
				}
				if got := time.Since(began); got != took {
					t.Errorf("it took %v, want %v", got, took)
				}
				time.Sleep(time.Hour)
				want(t, "the old target", w.target.take(), sent)
				want(t, "the other target", other.take(), there)
				if b, _, err := w.s.Bridge("b"); err != nil || len(b.FailedDays) > 0 {
					t.Errorf("%+v %v", b, err)
				}
			})
		})
	}
}

// TestAMoveDuringTheLastAttempt: an attempt that is cut off is not the last one.
func TestAMoveDuringTheLastAttempt(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		last := 1
		for again := true; again; last++ {
			_, again = bridges.RetryAfter(last+1, 0.5)
		}
		begun, release := make(chan struct{}), make(chan struct{})
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			if n == last {
				close(begun)
				<-release
			}
			return bridges.Result{Outcome: bridges.Failed, Error: "timeout"}
		})
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		seq := end(m, "t1")
		<-begun
		time.AfterFunc(time.Hour, func() { close(release) })
		w.move("s", "b2")
		time.Sleep(2 * time.Hour)
		want(t, "the other target", other.take(), fmt.Sprint("turn.completed ", seq))
		want(t, "rows", w.deliveries("s"), fmt.Sprintf("final %d delivered", seq))
	})
}

// TestAStuckSendHoldsItsTarget also when the subscription comes back to it.
func TestAStuckSendHoldsItsTarget(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, other *target) {
		release := make(chan struct{})
		w.target.set(silent(release))
		other.set(down)
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		last := end(m, "t1")
		time.Sleep(stuckAfter)
		w.move("s", "b2")
		time.Sleep(time.Second)
		w.move("s", "b")
		time.Sleep(time.Hour)
		wantCount(t, "stuck", w.stuckIn("b"), 1)
		wantCount(t, "sent", w.target.sends, 1)
		w.target.set(nil)
		w.target.take()
		close(release)
		time.Sleep(time.Hour)
		want(t, "when it has returned", w.target.take(), fmt.Sprintf("turn.completed %d, turn.completed %d", last, last)) // the first one returned too late
	})
}

// unreadableThread is a row of a thread that cannot be decoded.
type unreadableThread struct{ ledger.Row }

// Values implements ledger.Row.
func (r unreadableThread) Values(first int64) (ledger.Values, error) {
	v, err := r.Row.Values(first)
	if err == nil {
		v[threads.Table.Column("spent")] = []byte("{")
	}
	return v, err
}

// TestAQuestionInAThreadThatCannotBeRead is sent, and what follows it.
func TestAQuestionInAThreadThatCannotBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnQuestions, bridges.OnFinal)
		m := w.thread("a")
		turn(m, "t1")
		synctest.Wait()
		w.do(w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		ask(m, "t1", "i1")
		if err := w.s.cfg.Read(background, func(tx ledger.Reader) error {
			v, err := tx.Get(threads.ByID, "a")
			if err != nil {
				return err
			}
			th, err := threads.Read(v)
			if err == nil {
				_, err = w.store.Append(&ledger.Unit{Base: th.LatestThreadSeq, Rows: []ledger.Row{unreadableThread{th}}})
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		o := w.thread("other")
		last := ends(o, "t9")
		w.do(w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: "s"}))
		time.Sleep(time.Hour)
		if got := w.target.take(); !strings.HasPrefix(got, "item.created ") || !strings.HasSuffix(got, fmt.Sprint("turn.completed ", last)) {
			t.Errorf("%q was sent", got)
		}
	})
}
