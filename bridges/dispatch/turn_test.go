package dispatch

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/follow"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

func (w *world) ofTurn(id, turnID string, on ...bridges.On) bridges.SubscriptionResult {
	w.t.Helper()
	return w.create(bridges.CreateSubscription{SubscriptionID: id, BridgeID: "b", TurnID: turnID, On: on})
}

// subscribedTurn begins the turn t1 of the thread a, and sends its end to the subscription s.
func (w *world) subscribedTurn(on ...bridges.On) *persisttest.Maker {
	w.t.Helper()
	w.bridge("b")
	m := w.thread("a")
	turn(m, "t1")
	w.ofTurn("s", "t1", on...)
	return m
}

// is checks the state of the subscription s.
func (w *world) is(want bridges.State, when string) {
	w.t.Helper()
	if v := w.view("s"); v.State != want {
		w.t.Errorf("%s: it is not %s: %+v", when, want, v)
	}
}

// followed reports whether the log is followed for a subscription.
func (w *world) followed(id string) bool {
	for _, f := range w.followers.Followers() {
		if strings.HasPrefix(f.Name, bridges.FollowerPrefix+id+"/") && (follow.Status{}) != f {
			return true
		}
	}
	return false
}

// TestASubscriptionOfOneTurn sends the end of this turn and of no other, and then it has ended: it
// holds no follower, also after a restart. A turn that is over already has its end sent all the same.
func TestASubscriptionOfOneTurn(t *testing.T) {
	for _, when := range []string{"before", "while it runs", "after"} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(when, " ", restarts), func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					w.bridge("b")
					m := w.thread("a")
					turn(m, "t0")
					end(m, "t0")
					turn(m, "t1")
					var r bridges.SubscriptionResult
					if when != "after" {
						r = w.ofTurn("s", "t1")
					}
					if restarts {
						w.restart()
					}
					if when == "while it runs" {
						time.Sleep(time.Minute)
						if v := w.view("s"); v.State != bridges.Active || !w.followed("s") {
							t.Fatalf("%+v", v)
						}
					}
					last := end(m, "t1")
					turn(m, "t2")
					end(m, "t2")
					if when == "after" {
						r = w.ofTurn("s", "t1")
					}
					if r.Subscription.TurnID != "t1" || r.Subscription.ThreadID != "a" {
						t.Errorf("%+v", r.Subscription)
					}
					time.Sleep(10 * time.Second)
					want(t, "sent", w.target.take(), fmt.Sprint("turn.completed ", last))
					for i := range 2 {
						if v := w.view("s"); v.State != bridges.Ended || v.Pending != 0 || v.Cursor.LastSequence != last || w.followed("s") {
							t.Errorf("%d: %+v", i, v)
						}
						w.restart()
						time.Sleep(time.Minute)
					}
					want(t, "sent after the end", w.target.take(), "")
					for include, n := range map[bool]int{false: 0, true: 1} {
						if list, _, _, err := w.s.Subscriptions(background, bridges.SubscriptionQuery{IncludeEnded: include}); err != nil || len(list) != n {
							t.Errorf("with ended ones %v: %+v %v", include, list, err)
						}
					}
					if again := w.ofTurn("s", "t1"); again.Created == nil || *again.Created || again.Subscription.State != bridges.Ended {
						t.Errorf("%+v", again)
					}
				})
			})
		}
	}
}

// TestARetryMakesItsSubscriptionActiveAgain: what was sent is taken back, and the next end is sent;
// wherever the program dies.
func TestARetryMakesItsSubscriptionActiveAgain(t *testing.T) {
	for crashAt := range 14 { // 0: it does not
		t.Run(fmt.Sprint(crashAt), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := w.subscribedTurn(bridges.OnFinal, bridges.OnProgress)
				w.life.mu.Lock()
				w.life.crashAt = w.life.commits + crashAt
				w.life.mu.Unlock()
				steps := func() {
					time.Sleep(10 * time.Second)
					synctest.Wait()
					w.life.mu.Lock()
					dead := w.life.dead
					w.life.mu.Unlock()
					if dead {
						w.crash()
						time.Sleep(10 * time.Second)
						synctest.Wait()
					}
				}
				end(m, "t1")
				steps()
				w.is(bridges.Ended, "after its end")
				turn(m, "t2") // another turn of the thread
				end(m, "t2")
				steps()
				m.At(time.Now())
				m.Rewind("t1", "", turns.CauseRequest)
				marker := m.Commit().Last
				steps()
				if v := w.view("s"); v.State != bridges.Active || !w.followed("s") {
					t.Errorf("after the retry: %+v", v)
				}
				turn(m, "t1")
				last := end(m, "t1")
				steps()
				seen := map[string]bool{} // what arrives twice after a crash has one id
				var got []string
				for _, a := range w.target.got {
					if e := a.envelope; !seen[e.DeliveryID] {
						seen[e.DeliveryID] = true
						got = append(got, e.Type)
					}
				}
				want(t, "sent", strings.Join(got, ", "), "turn.started, turn.completed, turn.superseded, turn.started, turn.completed")
				if v := w.view("s"); v.State != bridges.Ended || v.Cursor.LastSequence != last || w.followed("s") {
					t.Errorf("in the end: %+v", v)
				}
				w.target.take()
				w.crash()
				if err := w.s.ofTurns.retried(background, follow.Event{Seq: marker, Params: []byte(`{"turn_id":"t1","step":""}`)}); err != nil { // as after a crash before its position was saved
					t.Error(err)
				}
				time.Sleep(time.Minute)
				want(t, "sent after the end", w.target.take(), "")
				w.is(bridges.Ended, "after the end")
			})
		})
	}
}

// TestASubscriptionFollowsTheTurnThatContinuesIts, after a review has rejected the end; a retry of
// that turn is one of its own.
func TestASubscriptionFollowsTheTurnThatContinuesIts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.subscribedTurn()
		m.EndInReview("t1")
		m.Commit()
		time.Sleep(time.Minute)
		w.is(bridges.Active, "while the end waits for a review")
		m.Review("t1", turns.Rejected, "t2")
		m.Add(notify.TurnQueued, "t2", "", &turns.QueuedEvent{Type: "queued", State: turns.Queued, Rank: 9, QueuedAt: notify.TimeOf(time.Now()), Continues: "t1", Continuations: 1})
		m.Commit()
		time.Sleep(time.Minute)
		w.is(bridges.Active, "while another turn continues it")
		turn(m, "t2")
		last := end(m, "t2")
		time.Sleep(time.Minute)
		want(t, "sent", w.target.take(), fmt.Sprint("turn.completed ", last))
		w.is(bridges.Ended, "after its end")
		retry(m, "t2")
		last = end(m, "t2")
		time.Sleep(time.Minute)
		if got := w.target.take(); !strings.HasSuffix(got, fmt.Sprint("turn.completed ", last)) || !strings.Contains(got, "turn.superseded") {
			t.Errorf("after the retry %s was sent", got)
		}
	})
}

// interposed is a store that does something before a unit with an event of this name.
type interposed struct {
	ledger.Log
	method string
	before atomic.Pointer[func()]
}

// Append implements ledger.Log.
func (s *interposed) Append(u *ledger.Unit) (ledger.Receipt, error) {
	if slices.ContainsFunc(u.Drafts, func(d notify.Draft) bool { return d.Method == s.method }) {
		if before := s.before.Swap(nil); before != nil {
			(*before)()
		}
	}
	return s.Log.Append(u)
}

// TestARetryAsItsSubscriptionEnds is not missed, in the moment before the end is committed; nor if
// the next attempt has ended by then.
func TestARetryAsItsSubscriptionEnds(t *testing.T) {
	for _, ends := range []bool{false, true} {
		t.Run(fmt.Sprint(ends), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hook := &interposed{method: notify.SubscriptionEnded}
				w.change = func(cfg *Config) { hook.Log, cfg.Store = cfg.Store, hook }
				w.restart()
				m := w.subscribedTurn()
				about, goOn := make(chan struct{}), make(chan struct{})
				hook.before.Store(new(func() {
					close(about)
					<-goOn
				}))
				last := end(m, "t1")
				<-about
				retry(m, "t1")
				if ends {
					last = end(m, "t1")
				}
				close(goOn)
				time.Sleep(time.Minute)
				if v := w.view("s"); v.State == bridges.Ended != ends {
					t.Errorf("%+v", v)
				}
				if !ends {
					last = end(m, "t1")
					time.Sleep(time.Minute)
				}
				if got := w.target.take(); !strings.Contains(got, "turn.superseded") || !strings.HasSuffix(got, fmt.Sprint("turn.completed ", last)) {
					t.Errorf("%s was sent, want %d at last", got, last)
				}
				w.is(bridges.Ended, "after its end")
			})
		})
	}
}

// TestACommandBeforeARetryIsFound makes the subscription active again, and the retry is not missed.
func TestACommandBeforeARetryIsFound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.subscribedTurn()
		last := end(m, "t1")
		time.Sleep(time.Minute)
		want(t, "sent", w.target.take(), fmt.Sprint("turn.completed ", last))
		w.s.changing.Lock()
		done := make(chan error)
		go func() {
			_, err := w.s.Redeliver(background, bridges.DeliveryID("s", last), nil)
			done <- err
		}()
		for range 1000 { // it waits for the lock first, in most runs
			runtime.Gosched()
		}
		m.At(time.Now())
		m.Rewind("t1", "", turns.CauseRequest)
		m.Commit()
		w.s.changing.Unlock()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := w.target.take(); !strings.Contains(got, "turn.superseded") {
			t.Errorf("%s was sent", got)
		}
		w.is(bridges.Active, "after the retry")
	})
}

// TestCommandsToASubscriptionThatHasEnded do what they say; then it has ended again.
func TestCommandsToASubscriptionThatHasEnded(t *testing.T) {
	id := "s"
	for name, c := range map[string]struct {
		do   func(w *world, last int64) error
		sent bool // the end, again
		want bridges.State
	}{
		"redeliver": {func(w *world, last int64) error {
			_, err := w.s.Redeliver(background, bridges.DeliveryID(id, last), nil)
			return err
		}, true, bridges.Ended},
		"reset": {func(w *world, last int64) error {
			to := last - 1
			_, err := w.s.SubscriptionReset(background, bridges.ResetSubscription{SubscriptionID: id, ToSeq: &to, Reason: "again"})
			return err
		}, true, bridges.Ended},
		"pause": {func(w *world, _ int64) error {
			_, err := w.s.SubscriptionPause(background, bridges.ChangeSubscription{SubscriptionID: id})
			return err
		}, false, bridges.Paused},
		"resume": {func(w *world, _ int64) error {
			_, err := w.s.SubscriptionResume(background, bridges.ChangeSubscription{SubscriptionID: id})
			return err
		}, false, bridges.Ended},
		"update": {func(w *world, _ int64) error {
			_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: id, On: &[]bridges.On{bridges.OnFinal, bridges.OnProgress}})
			return err
		}, false, bridges.Ended},
		"another target": {func(w *world, _ int64) error {
			_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: id, Target: &bridges.Target{Channel: "C2"}})
			return err
		}, false, bridges.Ended},
		"delete": {func(w *world, _ int64) error {
			_, err := w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: id})
			return err
		}, false, bridges.Deleted},
		"delete the bridge": {func(w *world, _ int64) error {
			_, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "b"})
			return err
		}, false, bridges.Deleted},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				m := w.subscribedTurn()
				last := end(m, "t1")
				time.Sleep(time.Minute)
				want(t, "sent", w.target.take(), fmt.Sprint("turn.completed ", last))
				w.is(bridges.Ended, "after its end")
				if err := c.do(w, last); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				got := w.target.take()
				if again := got == fmt.Sprint("turn.completed ", last); again != c.sent || !c.sent && got != "" {
					t.Errorf("%q was sent", got)
				}
				w.is(c.want, "after the command")
				if c.want == bridges.Paused {
					return
				}
				retry(m, "t1")
				time.Sleep(time.Minute)
				if got, active := w.target.take(), w.view("s").State == bridges.Active; active != (c.want == bridges.Ended) || active != strings.Contains(got, "turn.superseded") {
					t.Errorf("after a retry it is active: %v, and sends %s", active, got)
				}
			})
		})
	}
}

// TestASubscriptionOfOneTurnIsRefused where nothing could come of it.
func TestASubscriptionOfOneTurnIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		w.thread("c")
		turn(m, "t1")
		for name, c := range map[string]bridges.CreateSubscription{
			"no such turn":   {BridgeID: "b", TurnID: "none"},
			"another thread": {BridgeID: "b", TurnID: "t1", ThreadID: "c"},
		} {
			var invalid *turns.InvalidError
			if _, err := w.s.SubscriptionCreate(background, c); !errors.Is(err, turns.ErrNotFound) && !errors.As(err, &invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := (&bridges.CreateSubscription{BridgeID: "b", TurnID: "t1", On: []bridges.On{bridges.OnFinal, bridges.OnInbox}}).Check(); err == nil {
			t.Error("entries of an inbox are of no turn")
		}
		w.ofTurn("s", "t1")
		turn(m, "t2")
		if _, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", TurnID: "t2"}); !errors.Is(err, bridges.ErrMoved) {
			t.Error("of another turn:", err)
		}
	})
}

// TestASubscriptionThatHasEndedIsForgottenInTheEnd, and with the last one the follower of all.
func TestASubscriptionThatHasEndedIsForgottenInTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		m := w.subscribedTurn()
		end(m, "t1")
		time.Sleep(bridges.KeepEnded + 25*time.Hour)
		synctest.Wait()
		if _, _, err := w.s.Subscription(background, "s"); !errors.Is(err, bridges.ErrSubscriptionNotFound) {
			t.Error(err)
		}
		w.restart()
		for _, f := range w.followers.Followers() {
			if f.Name == endedFollower {
				t.Errorf("%+v is left", f)
			}
		}
	})
}
