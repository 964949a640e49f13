package dispatch

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/seed82539d15/holon/bridges"
)

// signBoth is how long after a rotation the secret before it counts too.
const signBoth = 24 * time.Hour

// vault makes channels of the secrets of bridges.
type vault struct {
	secrets Secrets
	open    func(b *bridges.Bridge, current bridges.Secrets, previous *bridges.Secrets) (bridges.Channel, error)
	now     func() time.Time
}

// channel makes the channel of a bridge that a client has created. Errors:
// bridges.ErrNoSecret, those of open.
func (v *vault) channel(row *bridges.Bridge) (bridges.Channel, error) {
	current, err := v.read(row, row.Generation)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", bridges.ErrNoSecret, err)
	}
	var previous *bridges.Secrets
	if row.Previous != 0 && v.now().Before(row.RotatedAt.Add(signBoth)) {
		if p, err := v.read(row, row.Previous); err == nil {
			previous = &p
		}
	}
	return v.open(row, current, previous)
}

func (v *vault) read(row *bridges.Bridge, generation int64) (secret bridges.Secrets, err error) {
	if generation == 0 {
		return secret, nil
	}
	raw, err := v.secrets.Read(row.BridgeID, generation)
	if err != nil {
		return secret, err
	}
	return secret, json.Unmarshal(raw, &secret)
}

func (v *vault) write(bridgeID string, generation int64, secret bridges.Secrets) error {
	raw, err := json.Marshal(secret)
	if err != nil {
		return err
	}
	return v.secrets.Write(bridgeID, generation, raw)
}

// newSecret makes a secret for signatures.
func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}
