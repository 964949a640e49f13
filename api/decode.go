package api

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/strict"
)

// WireOptions are the options with which results are encoded. Requests hold no
// invalid UTF-8. In the output of agents it is replaced, not refused.
var WireOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// Extra are the members that all params may have beside their own. They are
// read and ignored.
type Extra struct {
	Meta            jsontext.Value `json:"_meta,omitzero"`
	ExtendedContext jsontext.Value `json:"extended_context,omitzero"`
}

// shape describes a params type.
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

// shapeOf reads a params struct. A member without omitzero is required; the
// schemas follow the same rule. A required number is a pointer, because 0 is
// not missing.
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
		if err := strict.Unmarshal(raw, &p); err != nil {
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
	bad := strict.Explain(err)
	return Invalid(cmp.Or(bad.Field, "params"), bad.Reason, "%s", bad.Text)
}
