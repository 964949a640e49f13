package sqlite

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The columns of the rows, in the order in which the domains read them.
var (
	threadColumns = strings.Join(threads.Table.Columns, ", ")
	turnColumns   = strings.Join(turns.Table.Columns, ", ")
	itemColumns   = strings.Join(items.Table.Columns, ", ")
	stepColumns   = strings.Join(turns.StepTable.Columns, ", ")
)

// encode is v as JSON, nil if v is absent.
func encode[T any](v T, absent bool) ([]byte, error) {
	if absent {
		return nil, nil
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// decode fills v from JSON that encode made; nil leaves it alone.
func decode(b []byte, v any) error {
	if b == nil {
		return nil
	}
	return json.Unmarshal(b, v)
}
