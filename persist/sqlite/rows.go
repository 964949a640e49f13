package sqlite

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// encode returns v as JSON, nil if v is absent.
func encode[T any](v T, absent bool) ([]byte, error) {
	if absent {
		return nil, nil
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// decode fills v from JSON that encode made; nil does not change v.
func decode(b []byte, v any) error {
	if b == nil {
		return nil
	}
	return json.Unmarshal(b, v)
}
