package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/persisttest"
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
		page, err := w.store.View().Page(context.Background(), notify.Query{After: seq, MaxEvents: 100, MaxBytes: 1 << 20})
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
