package dispatch

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// TestAPausedBridgeStaysPausedWithoutItsConfiguration: with it again, it does not send
// by itself, and no pause lasts for ever.
func TestAPausedBridgeStaysPausedWithoutItsConfiguration(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.configured = []Configured{{Bridge: bridges.Bridge{BridgeID: "c", Kind: bridges.KindCommand, OnPause: bridges.PauseDrops}, Channel: w.target}}
		w.restart()
		w.subscribe("s", "c", "")
		w.bridgePause("c", "holidays")
		keep := w.configured
		w.configured = nil
		w.restart()
		if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "c"}); !errors.Is(err, bridges.ErrConfigured) {
			t.Errorf("resumed without its configuration: %v", err)
		}
		w.configured = keep
		w.restart()
		if b, _, _ := w.s.Bridge("c"); b.State != bridges.Paused || b.Reason != "holidays" {
			t.Errorf("%+v", b)
		}
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		w.bridgeResume("c")
		ends(m, "t2")
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), "turn.completed 9")
	})
}

// TestARestoredBridgeStaysPausedWhenItsSecretsAreGivenAgain: a backup has none, and
// who gives them anew does not say with it that what waits is to be sent.
func TestARestoredBridgeStaysPausedWhenItsSecretsAreGivenAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.subscribe("s", "b", "")
		w.target.set(failing)
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		w.stop()
		clear(w.secrets.kept)
		w.target.set(nil)
		w.target.take()
		w.openAs("log_00000000-0000-7000-8000-000000000001")
		if _, err := w.s.BridgeResume(background, bridges.ChangeBridge{BridgeID: "b"}); !errors.Is(err, bridges.ErrNoSecret) {
			t.Errorf("resumed without secrets: %v", err)
		}
		if _, err := w.s.BridgeRotate(background, bridges.RotateSecret{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		want(t, "before it is resumed", w.target.take(), "")
		if b, _, _ := w.s.Bridge("b"); b.State != bridges.Paused || b.Reason != bridges.ReasonRestored {
			t.Errorf("%+v", b)
		}
		w.bridgeResume("b")
		time.Sleep(time.Second)
		want(t, "after it", w.target.take(), "turn.completed 5")
	})
}

// TestOnPauseCountsFromItsChange, also during a pause: before it the other value counts.
func TestOnPauseCountsFromItsChange(t *testing.T) {
	for _, first := range []bridges.OnPause{bridges.PauseWaits, bridges.PauseDrops} {
		inWorld(t, func(t *testing.T, w *world) {
			if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, OnPause: first}); err != nil {
				t.Fatal(err)
			}
			w.subscribe("s", "b", "")
			m := w.thread("a")
			w.bridgePause("b", "night") // 4
			ends(m, "t1")               // 6
			synctest.Wait()
			then := bridges.PauseDrops
			if first == bridges.PauseDrops {
				then = bridges.PauseWaits
			}
			for range 2 { // the second changes nothing
				if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", OnPause: &then}); err != nil {
					t.Fatal(err)
				}
			}
			w.restart()
			ends(m, "t2") // 10
			synctest.Wait()
			w.bridgeResume("b") // 11
			ends(m, "t3")       // 13
			time.Sleep(time.Second)
			if first == bridges.PauseWaits {
				want(t, "arrived", w.target.take(), "turn.completed 6, turn.completed 13")
			} else {
				want(t, "arrived", w.target.take(), "turn.completed 10, turn.completed 13")
			}
		})
	}
}

// TestOnPauseOfTheConfigurationCountsFromItsChange: see TestOnPauseCountsFromItsChange.
func TestOnPauseOfTheConfigurationCountsFromItsChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		configured := func(p bridges.OnPause) {
			w.configured = []Configured{{Bridge: bridges.Bridge{BridgeID: "c", Kind: bridges.KindCommand, OnPause: p}, Channel: w.target}}
			w.restart()
		}
		configured(bridges.PauseWaits)
		w.subscribe("s", "c", "")
		m := w.thread("a")
		w.bridgePause("c", "night")
		first := ends(m, "t1")
		configured(bridges.PauseDrops)
		ends(m, "t2")
		configured(bridges.PauseWaits)
		third := ends(m, "t3")
		w.bridgeResume("c")
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), fmt.Sprintf("turn.completed %d, turn.completed %d", first, third))
	})
}

// TestAPauseInAPauseEndsWithIt: the log was restored while a bridge was paused that
// drops what comes.
func TestAPauseInAPauseEndsWithIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, OnPause: bridges.PauseDrops}); err != nil {
			t.Fatal(err)
		}
		w.subscribe("s", "b", "")
		w.bridgePause("b", "night")
		w.stop()
		w.openAs("log_restored")
		m := w.thread("a")
		ends(m, "t1")
		synctest.Wait()
		w.bridgeResume("b")
		last := ends(m, "t2")
		time.Sleep(time.Second)
		want(t, "arrived", w.target.take(), fmt.Sprintf("turn.completed %d", last))
	})
}
