package dispatch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// unreadable is a row of a delivery whose details are no JSON.
type unreadable struct{ *bridges.Delivery }

// Values implements ledger.Row.
func (u unreadable) Values(first int64) (ledger.Values, error) {
	v, err := u.Delivery.Values(first)
	if err == nil {
		v[bridges.DeliveryTable.Column("details")] = []byte("{")
	}
	return v, err
}

// damageRow damages a stored delivery: its body, or its details.
func (w *world) damageRow(id string, seq int64, what string) {
	w.t.Helper()
	err := w.s.cfg.Read(background, func(tx ledger.Reader) error {
		d, err := bridges.DeliveryOf(tx, id, seq)
		if err != nil {
			return err
		}
		rows := []ledger.Row{unreadable{d}}
		if what == "body" {
			d.Body = []byte("{")
			rows = d.WithBody()
		}
		_, err = w.store.Append(&ledger.Unit{Rows: rows})
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestADeliveryThatCannotBeReadIsDead: it ends with a reason, and the others are sent.
func TestADeliveryThatCannotBeReadIsDead(t *testing.T) {
	for _, column := range []string{"body", "details"} {
		t.Run(column, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.bridge("b")
				w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Order: bridges.OrderStrict})
				w.target.set(failing)
				m := w.thread("a")
				turn(m, "t1")
				first := end(m, "t1")
				turn(m, "t2")
				head := end(m, "t2")
				synctest.Wait()
				w.stop()
				w.damageRow("s", first, column)
				w.target.set(nil)
				w.target.take()
				w.open()
				time.Sleep(time.Minute)
				want(t, "arrived", w.target.take(), "turn.completed 7")
				want(t, "rows", w.deliveries("s"), "final 5 dead (render), final 7 delivered")
				want(t, "events", w.events(head), "delivery/dead")
				if v := w.view("s"); v.Cursor.LastSequence != head || v.Dead != 1 || v.Pending != 0 {
					t.Errorf("%+v", v)
				}
			})
		})
	}
}

// TestAStorageThatFailsKillsNoDelivery: only what is about one row does.
func TestAStorageThatFailsKillsNoDelivery(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		turn(m, "t1")
		head := end(m, "t1")
		synctest.Wait()
		w.target.set(nil)
		w.target.take()
		var fails atomic.Bool
		w.change = func(cfg *Config) {
			read := cfg.Read
			cfg.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
				if fails.Load() {
					return errors.New("disk I/O error")
				}
				return read(ctx, f)
			}
		}
		w.restart() // the body is no longer in memory
		fails.Store(true)
		time.Sleep(time.Hour)
		want(t, "meanwhile", w.target.take(), "")
		fails.Store(false)
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "turn.completed 5")
		want(t, "events", w.events(head), "")
	})
}

// damagedTry is a reader whose rows of tries cannot be read.
type damagedTry struct {
	ledger.Reader
	index *ledger.Index
}

func (r damagedTry) Get(i *ledger.Index, key ...any) (ledger.Values, error) {
	v, err := r.Reader.Get(i, key...)
	if v != nil && i == r.index {
		v[5] = []byte("{") // its lineage
	}
	return v, err
}

// TestAnEventWhoseTryCannotBeReadIsAMismatch, as one whose turn cannot be read: it
// waits, and keeps no event of another turn from being taken.
func TestAnEventWhoseTryCannotBeReadIsAMismatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var damaged atomic.Bool
		w.change = func(cfg *Config) {
			read := cfg.Read
			cfg.Read = func(ctx context.Context, f func(ledger.Reader) error) error {
				return read(ctx, func(tx ledger.Reader) error {
					if damaged.Load() {
						tx = damagedTry{tx, turns.StepsByEpoch}
					}
					return f(tx)
				})
			}
		}
		w.restart()
		w.bridge("b")
		w.subscribe("s", "b", "")
		damaged.Store(true)
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		damaged.Store(false)
		turn(m, "t2")
		end(m, "t2")
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "turn.completed 8")
		want(t, "rows", w.deliveries("s"), "final 5 mismatch (the row of the attempt cannot be read), final 8 delivered")
	})
}
