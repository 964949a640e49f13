package dispatch

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/ledger"
)

func (m *memorySecrets) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.kept))
}

// TestARefusedCommitLeavesNoSecret: the secrets are those of the rows.
func TestARefusedCommitLeavesNoSecret(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		before := w.secrets.names()
		w.full(true)
		if _, err := w.s.BridgeRotate(background, bridges.RotateSecret{BridgeID: "b"}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Fatal(err)
		}
		if _, err := w.s.BridgeCreate(background, bridges.CreateBridge{BridgeID: "c", Kind: bridges.KindWebhook}); !errors.Is(err, ledger.ErrStorageFull) {
			t.Fatal(err)
		}
		if after := w.secrets.names(); !slices.Equal(after, before) {
			t.Errorf("secrets %v, before %v", after, before)
		}
		w.full(false)
		if _, err := w.s.BridgeRotate(background, bridges.RotateSecret{BridgeID: "b"}); err != nil {
			t.Fatal(err)
		}
		if after := w.secrets.names(); len(after) != 2 {
			t.Errorf("after a rotation: %v", after)
		}
	})
}

// TestAFailedDiskKeepsTheSecretOfARotation, because it may be in the log.
func TestAFailedDiskKeepsTheSecretOfARotation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		w.change = func(cfg *Config) { cfg.Store = failingStore{cfg.Store} }
		w.restart()
		if _, err := w.s.BridgeRotate(background, bridges.RotateSecret{BridgeID: "b"}); !errors.Is(err, ledger.ErrStorageFailed) {
			t.Fatal(err)
		}
		w.change = nil
		w.restart()
		if b, _, err := w.s.Bridge("b"); err != nil || b.State != bridges.Active {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

// TestABridgeWithoutItsSecretsIsNotUpdated, and the answer says why.
func TestABridgeWithoutItsSecretsIsNotUpdated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.bridge("b")
		b, _, _ := w.s.Bridge("b")
		if err := w.secrets.Remove("b", b.Generation); err != nil {
			t.Fatal(err)
		}
		url := "https://example.com/other"
		if _, err := w.s.BridgeUpdate(background, bridges.UpdateBridge{BridgeID: "b", URL: &url}); !errors.Is(err, bridges.ErrNoSecret) {
			t.Error(err)
		}
		if after, _, _ := w.s.Bridge("b"); after.URL != b.URL {
			t.Errorf("%+v", after)
		}
	})
}

// full says whether the disk is full.
func (w *world) full(full bool) {
	w.life.mu.Lock()
	defer w.life.mu.Unlock()
	w.life.full = full
}
