package items

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Fit encodes content in at most max bytes. Content that is too large loses its
// Raw, which repeats the other fields, and then, if needed, the middle of its
// texts. truncated is true then, and total is the size of the whole encoding.
func Fit(c Content, max int) (raw Raw, truncated bool, total int64, err error) {
	raw, err = Encode(c)
	if err != nil || len(raw) <= max {
		return raw, false, 0, err
	}
	total = int64(len(raw))
	if RawOf(c) != nil {
		if raw, err = Encode(WithoutRaw(c)); err != nil || len(raw) <= max {
			return raw, true, total, err
		}
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, false, 0, fmt.Errorf("shorten %s: %w", c.Kind(), err)
	}
	// Half the bound for the longest text, then less and less: one long text,
	// the usual case, is cut once.
	for limit := max / 2; limit >= 64; limit /= 2 {
		cut, err := json.Marshal(shorten(tree, limit), jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
		if err != nil {
			return nil, false, 0, fmt.Errorf("shorten %s: %w", c.Kind(), err)
		}
		short, err := Decode(cut)
		if err != nil {
			break
		}
		if raw, err = Encode(short); err == nil && len(raw) <= max {
			return raw, true, total, nil
		}
	}
	raw, err = Encode(Extension{Type: KindExtension, NativeKind: string(c.Kind())})
	return raw, true, total, err
}

// shorten returns a copy of the tree in which no text is longer than about
// limit encoded bytes.
func shorten(v any, limit int) any {
	switch v := v.(type) {
	case string:
		if encodedLen(v) <= limit {
			return v
		}
		t := NewText(v, limit)
		return t.String()
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = shorten(e, limit)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = shorten(e, limit)
		}
		return out
	}
	return v
}
