package dispatch

import (
	"context"
	"errors"
	"testing"

	"github.com/seed82539d15/holon/bridges"
)

// TestALimitedTokenSendsToTheTargetsOfTheBridge: its own, and those of its list. What
// exists keeps its target.
func TestALimitedTokenSendsToTheTargetsOfTheBridge(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		listed, other := bridges.Target{Channel: "C1"}, bridges.Target{Channel: "C2"}
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{
			BridgeID: "b", Kind: bridges.KindSlack, Settings: bridges.Settings{Targets: []bridges.Target{listed}},
		}); err != nil {
			t.Fatal(err)
		}
		w.thread("a")
		create := func(id string, to bridges.Target, limited bool) (bool, error) {
			r, err := w.s.SubscriptionCreate(background, bridges.CreateSubscription{SubscriptionID: id, BridgeID: "b", ThreadID: "a", Target: to, Limited: limited})
			return err == nil && *r.Created, err
		}
		for _, c := range []struct {
			id      string
			to      bridges.Target
			limited bool
			allowed bool
		}{
			{"own", bridges.Target{}, true, true},
			{"listed", listed, true, true},
			{"other", other, true, false},
			{"thread", bridges.Target{Channel: "C1", ThreadTS: "1.2"}, true, false},
			{"owners", other, false, true},
		} {
			before := w.store.Tail().Head()
			created, err := create(c.id, c.to, c.limited)
			if created != c.allowed || errors.Is(err, bridges.ErrTarget) == c.allowed {
				t.Errorf("%s: created %v, %v", c.id, created, err)
			}
			if !c.allowed && w.store.Tail().Head() != before {
				t.Errorf("%s was refused, and has changed something", c.id)
			}
		}
		if created, err := create("owners", other, true); created || err != nil { // it is found, not made
			t.Errorf("an existing one: created %v, %v", created, err)
		}
		text := true
		update := func(id string, limited bool) error {
			_, err := w.s.SubscriptionUpdate(background, bridges.UpdateSubscription{SubscriptionID: id, IncludeText: &text, Limited: limited})
			return err
		}
		if err := update("owners", true); !errors.Is(err, bridges.ErrTarget) {
			t.Errorf("update by a limited token: %v", err)
		}
		if err := errors.Join(update("owners", false), update("listed", true), update("own", true)); err != nil {
			t.Error(err)
		}

		// The list is changed: what exists stays, what begins again does not.
		none := []bridges.Target{}
		if r, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", Targets: &none}); err != nil || len(r.Bridge.Targets) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		w.restart()
		if v := w.view("listed"); v.State != bridges.Active || v.Target != listed {
			t.Errorf("%+v", v)
		}
		w.do(w.s.SubscriptionDelete(background, bridges.ChangeSubscription{SubscriptionID: "listed"}))
		if created, err := create("listed", listed, true); created || !errors.Is(err, bridges.ErrTarget) {
			t.Errorf("created again: %v, %v", created, err)
		}
		two := []bridges.Target{other, listed}
		if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", Targets: &two}); err != nil {
			t.Fatal(err)
		}
		w.restart()
		if b, _, err := w.s.Bridge("b"); err != nil || len(b.Targets) != 2 || b.Targets[1] != listed {
			t.Errorf("%+v, %v", b, err)
		}
		if created, err := create("listed", listed, true); !created || err != nil {
			t.Errorf("created again: %v, %v", created, err)
		}
	})
}

// TestTheTargetsOfTheConfiguration take effect at the next start.
func TestTheTargetsOfTheConfiguration(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.thread("a")
		to := bridges.Target{Channel: "C1"}
		for i, targets := range [][]bridges.Target{nil, {to}, {to}, nil} {
			head := w.store.Tail().Head()
			w.configured = []Configured{{Bridge: bridges.Bridge{BridgeID: "c", Kind: bridges.KindSlack, OnPause: bridges.PauseWaits, Settings: bridges.Settings{Targets: targets}}, Channel: w.target}}
			w.restart()
			want(t, "events of the start", w.events(head), []string{"bridge/created", "bridge/updated", "", "bridge/updated"}[i])
			_, err := w.s.SubscriptionCreate(context.Background(), bridges.CreateSubscription{BridgeID: "c", ThreadID: "a", Target: to, Limited: true})
			if errors.Is(err, bridges.ErrTarget) == (len(targets) > 0) {
				t.Errorf("with %v: %v", targets, err)
			}
		}
	})
}
