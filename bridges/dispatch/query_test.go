package dispatch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

// TestTheQueryOfAURLIsInNoAnswer, because it may have a token; the bridge keeps it.
func TestTheQueryOfAURLIsInNoAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var opened string
		w.change = func(cfg *Config) {
			cfg.Open = func(b *bridges.Bridge, _ bridges.Secrets, _ *bridges.Secrets) (bridges.Channel, error) {
				opened = b.URL
				return w.target, nil
			}
		}
		w.restart()
		first, second := "https://example.com/a?token=hunter2", "https://example.com/b?token=hunter3&x=1"
		shows := func(what string, answer any, err error, want string) {
			t.Helper()
			raw, failed := json.Marshal(answer)
			if err != nil || failed != nil {
				t.Fatal(what, err, failed)
			}
			if text := string(raw); strings.Contains(text, "hunter") || !strings.Contains(text, want) {
				t.Errorf("%s answers %s, want %s", what, text, want)
			}
		}
		key := &ledger.Key{Key: "k", Method: "bridge/create"}
		create := bridges.CreateBridge{BridgeID: "b", Kind: bridges.KindWebhook, Settings: bridges.Settings{URL: first}, Key: key}
		for i := range 2 {
			r, err := w.s.BridgeCreate(background, create)
			shows(fmt.Sprint("create ", i), r, err, `"https://example.com/a?…"`)
		}
		change := bridges.ChangeBridge{BridgeID: "b"}
		for range 2 {
			r, err := w.s.BridgePause(background, change)
			shows("pause", r, err, `"https://example.com/a?…"`)
		}
		b, _, err := w.s.Bridge("b")
		shows("read", b, err, `"https://example.com/a?…"`)
		list, _, _ := w.s.Bridges(bridges.BridgeQuery{})
		shows("list", list, nil, `"https://example.com/a?…"`)
		r, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", URL: &second})
		shows("update", r, err, `"https://example.com/b?…"`)
		w.restart()
		if opened != second {
			t.Errorf("the bridge has %s", opened)
		}
		r, err = w.s.BridgeDelete(background, bridges.DeleteBridge{BridgeID: "b"})
		shows("delete", r, err, `"https://example.com/b?…"`)
	})
}
