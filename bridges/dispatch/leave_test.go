package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// hang makes attempts wait until the returned function says how they end.
func (g *target) hang() (end func(bridges.Result)) {
	answers := make(chan bridges.Result)
	g.set(func(*bridges.Outgoing, int) bridges.Result { return <-answers })
	return func(r bridges.Result) {
		g.set(nil)
		select {
		case answers <- r:
		case <-time.After(time.Hour): // there is no attempt
		}
	}
}

// TestATargetThatIsGoneDoesNotReviveADeletedSubscription: the answer to an attempt
// that was under way comes after the deletion, also of the bridge.
func TestATargetThatIsGoneDoesNotReviveADeletedSubscription(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindNtfy}); err != nil {
			t.Fatal(err)
		}
		w.subscribe("s", "b", "")
		answer := w.target.hang()
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		if _, err := w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "b", Cascade: true}); err != nil {
			t.Fatal(err)
		}
		answer(bridges.Result{Outcome: bridges.Gone, Status: 410, Error: "status 410"})
		if v := w.view("s"); v.State != bridges.Deleted {
			t.Fatalf("the subscription is %s", v.State)
		}
		w.restart()
	})
}
