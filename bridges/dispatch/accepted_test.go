package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/ledger"
)

// TestTheNewestTurnIsSentHoweverOldItIs: whoever subscribes to a thread without from
// asks for its newest turn. With from, and of a subscription that is created again, old
// events are held.
func TestTheNewestTurnIsSentHoweverOldItIs(t *testing.T) {
	hosttest.Long(t)
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(8 * 24 * time.Hour)
		three := int64(3)
		for _, c := range []struct {
			id   string
			from *bridges.From
			want string
		}{
			{"default", nil, "turn.completed 4"},
			{"beginning", &bridges.From{Beginning: true}, ""},
			{"seq", &bridges.From{Seq: &three}, ""},
		} {
			w.create(bridges.CreateSubscription{SubscriptionID: c.id, BridgeID: "b", ThreadID: "a", From: c.from})
			time.Sleep(time.Second)
			want(t, c.id, w.target.take(), c.want)
			if v := w.view(c.id); v.State == bridges.Held != (c.want == "") {
				t.Errorf("%s is %s", c.id, v.State)
			}
		}

		change := bridges.ChangeSubscription{SubscriptionID: "default"}
		w.do(w.s.SubscriptionPause(background, change))
		ends(m, "t2")
		time.Sleep(8 * 24 * time.Hour)
		w.do(w.s.SubscriptionDelete(background, change))
		w.create(bridges.CreateSubscription{SubscriptionID: "default", BridgeID: "b", ThreadID: "a"})
		time.Sleep(time.Second)
		want(t, "created again", w.target.take(), "")
		if v := w.view("default"); v.State != bridges.Held {
			t.Errorf("created again it is %s", v.State)
		}
	})
}

// afterwards calls then after each commit, before anybody learns of it.
type afterwards struct {
	ledger.Log
	then func()
}

func (a afterwards) Append(u *ledger.Unit) (ledger.Receipt, error) {
	r, err := a.Log.Append(u)
	a.then()
	return r, err
}

// TestANewEventDoesNotHoldTheAcceptedOnes that are taken with it.
func TestANewEventDoesNotHoldTheAcceptedOnes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		then := func() {}
		w.change = func(cfg *Config) { cfg.Store = afterwards{cfg.Store, func() { then() }} }
		w.restart()
		w.bridge("b")
		m := w.thread("a")
		ends(m, "t1")
		time.Sleep(8*24*time.Hour + time.Second) // retention does not run now: it waits for the creation
		then = func() {
			then = func() {}
			ends(m, "t2") // between the commit of the subscription and its first batch
			synctest.Wait()
		}
		w.subscribe("s", "b", "a")
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), "turn.completed 4, turn.completed 7")
	})
}
