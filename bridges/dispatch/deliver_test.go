package dispatch

import (
	"testing"

	"github.com/seed82539d15/holon/bridges"
)

func TestAnAcceptedEndIsDeliveredOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		turn(m, "t1")
		w.subscribe("s", "b", "a")
		v := w.view("s")
		if v.Cursor.Exists || v.Cursor.LastSequence != 0 || v.State != bridges.Active {
			t.Errorf("before the first delivery: %+v", v)
		}
		seq := end(m, "t1")
		want(t, "arrived", w.target.take(), "turn.completed 5")
		v = w.view("s")
		if v.Cursor.LastSequence != seq || v.Cursor.LastDeliveryID != bridges.DeliveryID("s", seq) || v.Cursor.LastDeliveredAt.IsZero() || v.Pending != 0 {
			t.Errorf("after it: %+v", v)
		}
		w.restart()
		w.crash()
		want(t, "after restarts", w.target.take(), "")
		want(t, "rows", w.deliveries("s"), "final 5 delivered")
	})
}
