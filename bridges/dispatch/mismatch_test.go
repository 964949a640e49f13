package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/cursors"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// endWrongly ends a turn and leaves a row of it that does not agree.
func endWrongly(m *persisttest.Maker, id string) int64 {
	m.EndTurn(id)
	turnRow(m, id, func(t *turns.Turn) { t.CompletedAt = notify.TimeOf(t.CompletedAt.Add(time.Second)) })
	return m.Commit().Last
}

// repair makes the row of a turn that endWrongly has ended right, with an event of the
// turn.
func repair(m *persisttest.Maker, id string) {
	m.Create(id, "repair_"+id, items.StatusCompleted, items.NewNotice("info", "repaired"))
	turnRow(m, id, func(t *turns.Turn) { t.CompletedAt = notify.TimeOf(t.CompletedAt.Add(-time.Second)) })
	m.Commit()
}

// turnRow changes the row of a turn in the maker's unit.
func turnRow(m *persisttest.Maker, id string, change func(*turns.Turn)) {
	row := *m.Row(turns.Table, id).(*turns.Turn)
	change(&row)
	m.Put(&row)
}

const mismatched = "mismatch (the event and the turn end at different times)"

// TestAMismatchIsSaidAfterADeletion: a subscription that is created again is blocked as before, also
// where its cursor alone is read.
func TestAMismatchIsSaidAfterADeletion(t *testing.T) {
	inTwoTargets(t, false, func(t *testing.T, w *world, _ *target) {
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		wrong := endWrongly(m, "t1")
		synctest.Wait()
		for _, bridge := range []string{"b", "b2"} {
			if _, err := w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
				t.Fatal(err)
			}
			r := w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: bridge})
			if b := r.Subscription.Blocked; b == nil || b.Seq != wrong {
				t.Errorf("blocked: %+v", b)
			}
			var c cursors.Cursor
			if err := w.s.cfg.Read(background, func(tx ledger.Reader) (err error) {
				c, err = cursors.Get(tx, cursorName(&r.Subscription.Subscription))
				return err
			}); err != nil || c.LastError != r.Subscription.Blocked.Error() {
				t.Errorf("the cursor says %q (%v)", c.LastError, err)
			}
		}
	})
}

// TestOrderBehindAMismatch: events of its turn wait for it and come after it, those of
// other turns pass, and the cursor passes with them; with the order strict all wait.
func TestOrderBehindAMismatch(t *testing.T) {
	for _, order := range []bridges.Order{bridges.OrderTurn, bridges.OrderStrict} {
		t.Run(string(order), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				w.create(bridges.CreateSubscription{
					SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnFinal}, Methods: []string{notify.ItemCreated}, Order: order,
				})
				m, other := w.thread("a"), w.thread("b")
				turn(m, "t1")
				wrong := endWrongly(m, "t1") // 6, then delivery/mismatch
				synctest.Wait()
				m.Create("t1", "i1", items.StatusCompleted, items.NewNotice("info", "one"))
				late := m.Commit().Last // 8
				turn(other, "t2")
				passes := end(other, "t2") // 10
				time.Sleep(time.Hour)
				if order == bridges.OrderTurn {
					want(t, "meanwhile", w.target.take(), "turn.completed 10")
					want(t, "rows", w.deliveries("s"), "final 6 "+mismatched+", event 8 pending, final 10 delivered")
				} else {
					want(t, "meanwhile", w.target.take(), "")
					want(t, "rows", w.deliveries("s"), "final 6 "+mismatched+", event 8 pending, final 10 pending")
				}
				if c := w.view("s").Cursor; order == bridges.OrderTurn && c.LastSequence != passes || order == bridges.OrderStrict && c.LastSequence != 0 || late != wrong+2 {
					t.Errorf("the cursor: %+v", c)
				}
				repair(m, "t1") // 11, which the subscription chooses
				time.Sleep(time.Second)
				if order == bridges.OrderTurn {
					want(t, "after the repair", w.target.take(), "turn.completed 6, item.created 8, item.created 11")
				} else {
					want(t, "after the repair", w.target.take(), "turn.completed 6, item.created 8, turn.completed 10, item.created 11")
				}
				if v := w.view("s"); v.Cursor.LastSequence != 11 || v.Cursor.LastError != "" || v.Pending != 0 {
					t.Errorf("after the repair: %+v", v)
				}
			})
		})
	}
}

// TestAMismatchStaysWhatItWas, whatever the subscription chooses by now.
func TestAMismatchStaysWhatItWas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		seq := endWrongly(m, "t1")
		synctest.Wait()
		on, methods := []bridges.On{bridges.OnQuestions}, []string{notify.TurnCompleted}
		if _, err := w.s.SubscriptionUpdate(context.Background(), bridges.UpdateSubscription{SubscriptionID: "s", On: &on, Methods: &methods}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.restart()
			time.Sleep(time.Minute)
		}
		want(t, "rows", w.deliveries("s"), "final 5 "+mismatched)
		page, err := w.store.Reader().Page(context.Background(), notify.Query{After: seq, MaxEvents: 100, MaxBytes: 1 << 20})
		if err != nil || len(page.Events) != 2 {
			t.Errorf("events: %+v, %v; want delivery/mismatch and subscription/updated", page.Events, err)
		}
		repair(m, "t1")
		w.restart()
		time.Sleep(time.Second)
		synctest.Wait()
		w.target.mu.Lock()
		defer w.target.mu.Unlock()
		if len(w.target.got) != 1 || !w.target.got[0].envelope.Final {
			t.Errorf("arrived: %+v", w.target.got)
		}
	})
}

// TestAMismatchStaysVisible in reads, in the list and in the stored cursor: no success of another
// turn clears it, but a repair, a skip, a reset, or the end of the subscription.
func TestAMismatchStaysVisible(t *testing.T) {
	for _, order := range []bridges.Order{bridges.OrderTurn, bridges.OrderStrict} {
		for _, way := range []string{"repair", "skip", "reset", "delete"} {
			t.Run(string(order)+" "+way, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					ctx := context.Background()
					w.bridge("b")
					w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", On: []bridges.On{bridges.OnFinal}, Methods: []string{notify.ItemCreated}, Order: order})
					m, other := w.thread("a"), w.thread("b")
					shown := func(when string, seq int64, count int, since time.Time) {
						t.Helper()
						list, _, _, err := w.s.Subscriptions(ctx, bridges.SubscriptionQuery{IncludeDeleted: true, Limit: 10})
						if err != nil || len(list) != 1 {
							t.Fatalf("%s: %v, %v", when, list, err)
						}
						stored := w.cursor("s")
						for _, v := range []bridges.SubscriptionView{w.view("s"), list[0]} {
							if count == 0 {
								if v.Blocked != nil || v.Cursor.LastError != "" || stored.LastError != "" {
									t.Errorf("%s: %+v %+v, stored %q", when, v.Blocked, v.Cursor, stored.LastError)
								}
								continue
							}
							holds := map[bridges.Order]bridges.Holds{bridges.OrderTurn: bridges.HoldsTurn, bridges.OrderStrict: bridges.HoldsAll}[order]
							want := bridges.Blocked{Seq: seq, DeliveryID: bridges.DeliveryID("s", seq), Count: count, Holds: holds, Since: notify.TimeOf(since)}
							if v.Blocked == nil || *v.Blocked != want || v.Cursor.LastError != want.Error() || stored.LastError != want.Error() {
								t.Errorf("%s: %+v, want %+v; last_error %q, stored %q", when, v.Blocked, want, v.Cursor.LastError, stored.LastError)
							}
						}
					}
					turn(m, "t1")
					since := time.Now()
					first := endWrongly(m, "t1")
					synctest.Wait()
					shown("found", first, 1, since)
					turn(other, "t2")
					end(other, "t2")
					time.Sleep(time.Minute)
					shown("after a success of another turn", first, 1, since)
					turn(other, "t3")
					second := endWrongly(other, "t3")
					w.restart()
					time.Sleep(time.Minute)
					shown("a second one, after a restart", first, 2, since)
					if n := blocked(w); n != 1 {
						t.Errorf("%d subscriptions of the bridge are blocked", n)
					}

					skip := func(seq int64) {
						t.Helper()
						if _, err := w.s.SubscriptionSkip(ctx, bridges.SkipSubscription{SubscriptionID: "s", Seq: seq, Reason: "known"}); err != nil {
							t.Fatal(err)
						}
					}
					switch way {
					case "repair":
						repair(m, "t1")
						time.Sleep(time.Minute)
						shown("the first repaired", second, 1, w.mismatchedAt("s", second))
						repair(other, "t3")
					case "skip":
						skip(first)
						shown("the first skipped", second, 1, w.mismatchedAt("s", second))
						skip(second)
					case "reset":
						if _, err := w.s.SubscriptionReset(ctx, bridges.ResetSubscription{SubscriptionID: "s", ToSeq: &second, Reason: "known"}); err != nil {
							t.Fatal(err)
						}
					case "delete":
						if _, err := w.s.SubscriptionDelete(ctx, bridges.ChangeSubscription{SubscriptionID: "s"}); err != nil {
							t.Fatal(err)
						}
					}
					time.Sleep(time.Minute)
					shown("after the "+way, 0, 0, time.Time{})
					if n := blocked(w); n != 0 {
						t.Errorf("after the %s, %d subscriptions are blocked", way, n)
					}
				})
			})
		}
	}
}

// blocked is the metric of the only bridge.
func blocked(w *world) int { return w.s.Stats().Bridges[0].Blocked }

// cursor is the cursor of a subscription as it is stored.
func (w *world) cursor(id string) (c cursors.Cursor) {
	w.t.Helper()
	if err := w.s.cfg.Read(context.Background(), func(tx ledger.Reader) (err error) {
		c, err = cursors.Get(tx, cursors.Name{ConsumerID: bridges.ConsumerPrefix + id, StreamName: bridges.StreamEvents})
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) mismatchedAt(id string, seq int64) time.Time {
	w.t.Helper()
	var d *bridges.Delivery
	if err := w.s.cfg.Read(context.Background(), func(tx ledger.Reader) (err error) {
		d, err = bridges.DeliveryOf(tx, id, seq)
		return err
	}); err != nil || d == nil {
		w.t.Fatal(d, err)
	}
	return d.MismatchedAt.Time
}
