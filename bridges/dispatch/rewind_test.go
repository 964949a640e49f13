package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// retry gives the live attempt up and begins the next.
func retry(m *persisttest.Maker, id string) int64 {
	m.At(time.Now())
	m.Rewind(id, "", turns.CauseRequest)
	seq := m.Commit().Last
	m.Attempt(id)
	m.Commit()
	return seq
}

// TestARetryTakesADeliveredEndBack: a receiver that keeps messages is told what no
// longer holds, once for each marker.
func TestARetryTakesADeliveredEndBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		m := w.thread("a")
		turn(m, "t1")
		first := end(m, "t1")
		want(t, "first end", w.target.take(), "turn.completed 5")
		retry(m, "t1")
		synctest.Wait()
		w.target.mu.Lock()
		back := w.target.got[0].envelope
		w.target.mu.Unlock()
		if len(back.Supersedes) != 1 || back.Supersedes[0] != bridges.DeliveryID("s", first) || back.Final || back.Data.NewAttempt != 2 {
			t.Errorf("taken back: %+v", back)
		}
		want(t, "taken back", w.target.take(), "turn.superseded 6")
		end(m, "t1")
		want(t, "second end", w.target.take(), "turn.completed 8")
		retry(m, "t1")
		want(t, "taken back again", w.target.take(), "turn.superseded 9")
		want(t, "rows", w.deliveries("s"), "final 5 delivered, superseded 6 delivered, final 8 delivered, superseded 9 delivered")
	})
}

// TestOneMessageShowsATurnWhereItCanBeChanged: where messages can be changed, each
// card shows one, and never an older event than before.
func TestOneMessageShowsATurnWhereItCanBeChanged(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnFinal, bridges.OnProgress)
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		want(t, "after the end", w.target.visible(), "turn.completed 5")
		retry(m, "t1")
		synctest.Wait()
		want(t, "after the retry", w.target.visible(), "turn.superseded 6, turn.started 7")
		end(m, "t1")
		synctest.Wait()
		want(t, "after the second end", w.target.visible(), "turn.completed 8")
		w.restart()
		retry(m, "t1")
		synctest.Wait()
		want(t, "after a restart and a third attempt", w.target.visible(), "turn.superseded 9, turn.started 10")
	})
}

// TestASupersededEndIsNotSentLate: what nobody has received is not sent once it no
// longer holds.
func TestASupersededEndIsNotSentLate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}
		}
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		retry(m, "t1")
		synctest.Wait()
		w.target.mu.Lock()
		w.target.answer = nil
		w.target.mu.Unlock()
		time.Sleep(time.Hour)
		want(t, "arrived", w.target.take(), "")
		want(t, "rows", w.deliveries("s"), "final 5 superseded")
		if v := w.view("s"); v.Cursor.LastSequence != 5 || v.Cursor.LastDeliveryID != "" {
			t.Errorf("the cursor: %+v", v.Cursor)
		}
	})
}

// TestWhatMayHaveArrivedIsSentAndThenTakenBack: an answer that was lost says nothing,
// so the receiver gets the delivery again under its id, and then what supersedes it.
func TestWhatMayHaveArrivedIsSentAndThenTakenBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.answer = func(o *bridges.Outgoing, n int) bridges.Result {
			if n == 1 {
				return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Unhealthy: true, Arrived: true}
			}
			return bridges.Result{Outcome: bridges.Delivered}
		}
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		retry(m, "t1")
		time.Sleep(time.Minute)
		want(t, "arrived", w.target.take(), "turn.completed 5, turn.completed 5, turn.superseded 6")
	})
}

// TestATakeBackOfAnUnknownMessageIsTheMessage: what may have arrived and has no receipt
// is taken back by a message of its own, which later news of the card change.
func TestATakeBackOfAnUnknownMessageIsTheMessage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.target.edits = true
		w.bridge("b")
		w.subscribe("s", "b", "", bridges.OnProgress)
		m := w.thread("a")
		w.target.set(func(_ *bridges.Outgoing, n int) bridges.Result {
			if n == 1 {
				return bridges.Result{Outcome: bridges.Failed, Error: "timeout", Arrived: true}
			}
			return bridges.Result{Outcome: bridges.Refused, Error: "status 404"}
		})
		turn(m, "t1")
		time.Sleep(time.Hour)
		want(t, "rows", w.deliveries("s"), "progress 4 dead (status 404)")
		w.target.set(nil)
		m.Rewind("t1", "", turns.CauseRequest)
		m.Commit()
		synctest.Wait()
		want(t, "after the marker", w.target.visible(), "turn.superseded 6")
		m.Attempt("t1")
		m.Commit()
		synctest.Wait()
		want(t, "after the next attempt", w.target.visible(), "turn.started 7")
	})
}

// TestASupersededEndIsNotSentInItsOrder: where all wait, an end that was superseded
// before it was taken waits too, and is not sent when its turn comes.
func TestASupersededEndIsNotSentInItsOrder(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.create(bridges.CreateSubscription{SubscriptionID: "s", BridgeID: "b", Order: bridges.OrderStrict})
		w.target.set(func(*bridges.Outgoing, int) bridges.Result {
			return bridges.Result{Outcome: bridges.Failed, Error: "connection_refused", Unhealthy: true}
		})
		m := w.thread("a")
		turn(m, "t1")
		end(m, "t1")
		synctest.Wait()
		change := bridges.ChangeSubscription{SubscriptionID: "s"}
		w.do(w.s.SubscriptionPause(background, change))
		turn(m, "t2")
		end(m, "t2")
		retry(m, "t2")
		w.do(w.s.SubscriptionResume(background, change))
		want(t, "rows", w.deliveries("s"), "final 5 pending, final 8 pending")
		w.target.set(nil)
		time.Sleep(time.Hour)
		want(t, "arrived", w.target.take(), "turn.completed 5")
		want(t, "rows", w.deliveries("s"), "final 5 delivered, final 8 superseded")
	})
}

// markerless is a transaction of a log without markers.
type markerless struct{ ledger.Tx }

func (markerless) LastRewind() int64 { return 0 }

// TestAFenceForgetsWhatWasRolledBack: a unit is checked again if its first transaction
// was rolled back, and what the fence said then is no longer true.
func TestAFenceForgetsWhatWasRolledBack(t *testing.T) {
	b := &bridge{}
	f := &stillTrue{bridge: b, d: &bridges.Delivery{Seq: 5, EventType: bridges.TypeProgress}}
	b.row.Store(&bridges.Bridge{Drops: []bridges.DropGap{{From: 1}}})
	if refused, err := f.Check(markerless{}, nil); refused == nil || err != nil || f.verdict.Decision != bridges.Suppress {
		t.Fatalf("at first: %v, %v, %+v", refused, err, f.verdict)
	}
	b.row.Store(&bridges.Bridge{})
	if refused, err := f.Check(markerless{}, nil); refused != nil || err != nil || f.verdict.Decision != "" {
		t.Errorf("again: %v, %v, %+v", refused, err, f.verdict)
	}
}
