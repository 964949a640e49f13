package api

import (
	"context"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/ledger"
)

// maxKeyLength bounds an idempotency key, in characters.
const maxKeyLength = 128

// Keyed is part of the params of every change. The key is a pointer because
// an empty key is a mistake, an absent one is not.
type Keyed struct {
	IdempotencyKey *string `json:"idempotency_key,omitzero"`

	key *ledger.Key
}

// takeKey makes the key from the params as received.
func (k *Keyed) takeKey(method string, raw jsontext.Value) (err error) {
	k.key, err = KeyOf(method, k.IdempotencyKey, raw)
	return err
}

type keyed interface {
	takeKey(method string, raw jsontext.Value) error
	ofRequester(ctx context.Context) (*ledger.Key, error)
}

// canonicalOptions compare integers digit by digit, since two different ones
// may be the same float. They compare other numbers as floats, so 1.50 equals
// 1.5.
var canonicalOptions = jsontext.CanonicalizeRawInts(false)

// KeyOf makes the idempotency key of a request, nil if it has none. The hash
// covers the params as JSON values without _meta, which describes the message
// and not the request.
func KeyOf(method string, key *string, raw jsontext.Value) (*ledger.Key, error) {
	if key == nil {
		return nil, nil
	}
	if n := utf8.RuneCountInString(*key); n < 1 || n > maxKeyLength {
		return nil, Invalid("idempotency_key", "out_of_range", "a key has 1 to %d characters", maxKeyLength)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, decodeError(err)
	}
	delete(members, "_meta")
	canonical, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode params for the idempotency key: %w", err)
	}
	value := jsontext.Value(canonical)
	if err := value.Canonicalize(canonicalOptions); err != nil {
		return nil, fmt.Errorf("canonicalize params for the idempotency key: %w", err)
	}
	return &ledger.Key{Key: *key, Method: method, Hash: sha256.Sum256(value)}, nil
}
