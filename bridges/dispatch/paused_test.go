package dispatch

import (
	"errors"
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
