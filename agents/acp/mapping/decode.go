package mapping

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chunk has the common members of the most frequent updates. In them Content is
// a block; elsewhere it may be anything.
type chunk struct {
	Kind      string         `json:"sessionUpdate"`
	MessageID jsontext.Value `json:"messageId"`
	Content   jsontext.Value `json:"content"`
}

// unmarshal decodes JSON of an agent. Half a surrogate pair, which agents
// written in JavaScript send when they cut a text, is replaced and is no error.
func unmarshal(raw jsontext.Value, v any) error {
	return json.Unmarshal(raw, v, jsontext.AllowInvalidUTF8(true))
}

// fields are the members of an object, each read on its own: an invalid member
// must not hide the others.
type fields map[string]jsontext.Value

func fieldsOf(raw jsontext.Value) (fields, error) {
	var f fields
	if err := unmarshal(raw, &f); err != nil {
		return nil, err
	}
	return f, nil
}

// has reports whether the member is there and not null.
func (f fields) has(name string) bool { return present(f[name]) }

// object reads a member as an object; nil if it is none.
func (f fields) object(name string) fields {
	if !f.has(name) {
		return nil
	}
	o, _ := fieldsOf(f[name])
	return o
}

// list reads a member as an array; ok is false if it is no array.
func (f fields) list(name string) (l []jsontext.Value, ok bool) {
	if !f.has(name) {
		return nil, false
	}
	return l, unmarshal(f[name], &l) == nil
}

// text reads the first of the members that is a string and not empty.
func (f fields) text(names ...string) string {
	for _, name := range names {
		if s, ok := textOf(f[name]); ok && s != "" {
			return s
		}
	}
	return ""
}

// number reads the first of the members that is a whole number.
func (f fields) number(names ...string) (int64, bool) {
	for _, name := range names {
		var n float64
		if f.has(name) && unmarshal(f[name], &n) == nil && n == float64(int64(n)) {
			return int64(n), true
		}
	}
	return 0, false
}

func textOf(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	var s string
	err := unmarshal(v, &s)
	return s, err == nil
}

func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// clean returns a copy of JSON that is valid in an event: unchanged if it is
// valid, with invalid characters replaced if that is enough, else as a JSON
// string of its text.
func clean(raw jsontext.Value) jsontext.Value {
	v := raw.Clone()
	if v.IsValid() {
		return v
	}
	v = jsontext.Value(bytes.ToValidUTF8(v, []byte("\uFFFD")))
	if v.Format(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil && v.IsValid() {
		return v
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(string(raw), "\uFFFD")) // valid UTF-8 cannot fail
	return quoted
}
