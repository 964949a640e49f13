package api

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// strictOptions are how params are read: names exactly, none unknown, none
// twice.
var strictOptions = json.JoinOptions(json.RejectUnknownMembers(true))

// wireOptions are how results are written. Invalid UTF-8 cannot come in; what
// an agent printed is replaced rather than refused.
var WireOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// Extra are the members that every params may have beside its own. They are
// read and set aside.
type Extra struct {
	Meta            jsontext.Value `json:"_meta,omitzero"`
	ExtendedContext jsontext.Value `json:"extended_context,omitzero"`
}

// shape is what the table knows of a params type.
type shape struct {
	required []requiredField
	keyed    bool     // takes an idempotency key
	ids      [3][]int // where ThreadID, TurnID and ItemID are; nil = none
	threads  []int    // where ThreadIDs is; nil = nowhere
}

type requiredField struct {
	index int
	name  string
}

// shapeOf reads a params struct. A member without omitzero is required: the
// same rule that the schemas follow.
func shapeOf(t reflect.Type) *shape {
	s := &shape{}
	_, s.keyed = reflect.New(t).Interface().(keyed)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || f.Anonymous {
			continue
		}
		if options == "" {
			s.required = append(s.required, requiredField{i, name})
		}
		switch name {
		case "thread_id":
			s.ids[0] = f.Index
		case "thread_ids":
			s.threads = f.Index
		case "turn_id":
			s.ids[1] = f.Index
		case "lease":
			id, _ := f.Type.FieldByName("TurnID")
			s.ids[1] = append(f.Index, id.Index...)
		case "item_id":
			s.ids[2] = f.Index
		}
	}
	return s
}

// withIDs adds the ids that the request named to an error about them.
func (s *shape) withIDs(e *Error, p reflect.Value) *Error {
	if e.Code > -32002 || e.Code < -32009 {
		return e
	}
	for n, target := range []*string{&e.Data.ThreadID, &e.Data.TurnID, &e.Data.ItemID} {
		if id := s.id(p, n); *target == "" && len(id) <= 128 {
			*target = id
		}
	}
	return e
}

// decodeParams reads params strictly. Absent and null params are {}.
func decodeParams[P any](method string, raw jsontext.Value, s *shape) (p P, bad error) {
	if len(raw) > 2 || len(s.required) > 0 && len(raw) > 0 {
		if err := json.Unmarshal(raw, &p, strictOptions); err != nil {
			return p, decodeError(err)
		}
	}
	if len(s.required) > 0 {
		v := reflect.ValueOf(&p).Elem()
		for _, f := range s.required {
			if v.Field(f.index).IsZero() {
				return p, Invalid(f.name, "required", "the member is required")
			}
		}
	}
	if s.keyed {
		if err := any(&p).(keyed).takeKey(method, raw); err != nil {
			return p, err
		}
	}
	return p, nil
}

// decodeError says which member is wrong and why.
func decodeError(err error) *Error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		field := fieldPath(semantic.JSONPointer)
		if errors.Is(err, json.ErrUnknownName) {
			return Invalid(field, "unknown_field", "there is no such member")
		}
		if semantic.JSONKind == '0' && semantic.GoType != nil && isInteger(semantic.GoType.Kind()) {
			return Invalid(field, "out_of_range", "it must be an integer that fits 64 bits")
		}
		if semantic.GoType == nil || semantic.JSONKind == 0 || semantic.JSONKind == '"' && semantic.GoType.Kind() == reflect.String {
			return Invalid(field, "malformed", "%v", semantic.Err)
		}
		return Invalid(field, "wrong_type", "it must be %s", typeName(semantic.GoType))
	case errors.As(err, &syntactic):
		field := fieldPath(syntactic.JSONPointer)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return Invalid(field, "duplicate_field", "the member is there twice")
		}
		return Invalid(field, "malformed", "%v", syntactic.Err)
	}
	return Invalid("params", "malformed", "%v", err)
}

// fieldPath turns /input/0/content into input[0].content. An index is what
// looks like one: no member of ours does.
func fieldPath(p jsontext.Pointer) string {
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
	if b.Len() == 0 {
		return "params"
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
