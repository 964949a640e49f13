// Package strict decodes JSON of clients and agents strictly: names of members
// must match exactly, and none may be unknown or duplicate. It owns the reasons
// and texts of errors in such JSON. They do not mention Go types, which clients
// and agents do not know.
package strict

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/nearest"
)

// The reasons of an Error.
const (
	UnknownField   = "unknown_field"
	DuplicateField = "duplicate_field"
	WrongType      = "wrong_type"
	OutOfRange     = "out_of_range"
	Malformed      = "malformed"
)

// Error says which member is wrong and why.
type Error struct {
	Field  string // a path such as input[0].content; "" = the value itself
	Reason string
	Text   string // about the field: "it must be a string"
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Text
	}
	return e.Field + ": " + e.Text
}

// Unmarshal decodes raw into what v points to. Every error is an *Error.
func Unmarshal(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v, json.RejectUnknownMembers(true)); err != nil {
		return Explain(err)
	}
	return nil
}

// Explain makes an *Error of an error of json.Unmarshal or Unmarshal, wrapped or
// not.
func Explain(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		field := path(e.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return &Error{field, UnknownField, "there is no such member" + nearest.Hint(e.JSONPointer.LastToken(), members(e.GoType))}
		case e.GoType != nil && e.JSONKind == jsontext.KindNumber && isInteger(e.GoType.Kind()):
			return &Error{field, OutOfRange, "it must be an integer that fits 64 bits"}
		case e.Err != nil && e.GoType != nil && reflect.PointerTo(e.GoType).Implements(reflect.TypeFor[json.Unmarshaler]()):
			return malformed(field, e.Err) // the type itself says what is wrong
		case e.GoType == nil || e.JSONKind == 0 || e.JSONKind == jsontext.KindString && e.GoType.Kind() == reflect.String:
			return malformed(field, e.Err)
		}
		return &Error{field, WrongType, "it must be " + typeName(e.GoType)}
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		field := path(e.JSONPointer)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return &Error{field, DuplicateField, "the member is there twice"}
		}
		bad := malformed(field, e.Err)
		bad.Text = "it is not JSON in UTF-8: " + bad.Text
		return bad
	}
	return malformed("", err)
}

// members returns the names of the members of a struct, also of embedded ones.
func members(t reflect.Type) (names []string) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func malformed(field string, err error) *Error {
	text := "it cannot be read"
	if err != nil {
		text = strings.ToValidUTF8(err.Error(), "\ufffd")
	}
	return &Error{field, Malformed, text}
}

// path turns /input/0/content into input[0].content. A number is taken for an
// index: no member's name is a number.
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && b.Len() > 0 {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(token) > 128 {
			token = token[:128]
		}
		b.WriteString(strings.ToValidUTF8(token, "\ufffd"))
	}
	return b.String()
}

func isInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uint64 }

func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case isInteger(k):
		return "an integer"
	case k == reflect.Float64 || k == reflect.Float32:
		return "a number"
	case k == reflect.Slice || k == reflect.Array:
		return "an array"
	}
	return "an object"
}
