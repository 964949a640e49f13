package transcript

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// absorb appends the text of the next delta of the same item, and reports
// whether it could. The number of deltas of a text depends on how the server's
// commits merge them.
func (l *line) absorb(next *line) bool {
	if l.method != "item/delta" || next.method != "item/delta" || l.params["item_id"] != next.params["item_id"] {
		return false
	}
	a, b := delta(l), delta(next)
	if a == nil || b == nil {
		return false
	}
	was, _ := a["text"].(string)
	more, _ := b["text"].(string)
	a["text"] = was + more
	raw, err := replaceText(l.raw, was+more)
	if err != nil {
		return false
	}
	l.raw = raw
	return true
}

func delta(l *line) map[string]any {
	d, _ := l.params["delta"].(map[string]any)
	return d
}

// replaceText sets params.delta.text in the raw message and keeps the order of
// the keys.
func replaceText(raw []byte, text string) ([]byte, error) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return replaceAt(raw, []string{"params", "delta", "text"}, quoted)
}

// replaceAt sets the value at a path of keys.
func replaceAt(raw jsontext.Value, path []string, value []byte) ([]byte, error) {
	if len(path) == 0 {
		return value, nil
	}
	type member struct {
		Key   string
		Value jsontext.Value
	}
	var members []member
	if err := eachMember(raw, func(key string, v jsontext.Value) {
		members = append(members, member{key, v})
	}); err != nil {
		return nil, err
	}
	out := []byte("{")
	for i, m := range members {
		if m.Key == path[0] {
			inner, err := replaceAt(m.Value, path[1:], value)
			if err != nil {
				return nil, err
			}
			m.Value = inner
		}
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.Key)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), m.Value...)
	}
	return append(out, '}'), nil
}

// eachMember visits the members of an object in their order, duplicates
// included. Anything but a whole object is an error.
func eachMember(raw jsontext.Value, visit func(key string, value jsontext.Value)) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return errors.New("not an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		visit(name, value.Clone())
	}
	_, err := dec.ReadToken()
	return err
}
