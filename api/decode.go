package api

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/strict"
	"github.com/seed82539d15/holon/ledger"
)

// WireOptions are the options with which results are encoded. Requests hold no
// invalid UTF-8. In the output of agents it is replaced, not refused.
var WireOptions = json.JoinOptions(jsontext.AllowInvalidUTF8(true))

// Extra are the members that all params may have besides their own. They are
// read and ignored.
type Extra struct {
	Meta            jsontext.Value `json:"_meta,omitzero"`
	ExtendedContext jsontext.Value `json:"extended_context,omitzero"`
}

// shape describes a params type.
type shape struct {
	required []memberAt
	given    []memberAt     // ids that mean more if they are left out: see shapeOf
	keyed    bool           // takes an idempotency key
	key      []int          // where the Key of an embedded command is; nil = none
	by       []int          // where the By of an embedded command is; nil = none
	ids      [idCount][]int // by idThread and so on, where they are; nil = nowhere
	threads  []memberAt     // lists of threads
}

// The indexes of shape.ids.
const (
	idThread = iota
	idTurn
	idItem
	idNewThread
	idParent // parent.thread_id
	idOwner
	idParentThread
	idCount
)

// memberAt is where a member is.
type memberAt struct {
	index []int
	name  string
}

// shapeOf reads a params struct. A member without omitzero is required; the
// schemas follow the same rule. A required number is a pointer, because 0 is
// not missing. An id with the tag given:"id" means all if it is left out, so
// "" is refused: a program whose variable is empty means none of them, not all.
func shapeOf(t reflect.Type) *shape {
	s := &shape{}
	_, s.keyed = reflect.New(t).Interface().(keyed)
	for _, f := range reflect.VisibleFields(t) { // those of an embedded command too
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" && f.Type == reflect.TypeFor[*ledger.Key]():
			s.key = f.Index
			continue
		case name == "-" && f.Name == "By" && f.Type.Kind() == reflect.String:
			s.by = f.Index
			continue
		case name == "" || name == "-":
			continue
		}
		if options == "" {
			s.required = append(s.required, memberAt{f.Index, name})
		}
		if f.Tag.Get("given") == "id" {
			s.given = append(s.given, memberAt{f.Index, name})
		}
		switch name {
		case "thread_id":
			s.ids[idThread] = f.Index
		case "thread_ids", "within_thread_ids", "whole_thread_ids":
			s.threads = append(s.threads, memberAt{f.Index, name})
		case "turn_id":
			s.ids[idTurn] = f.Index
		case "lease":
			s.ids[idTurn] = memberIn(f, "TurnID")
		case "item_id":
			s.ids[idItem] = f.Index
		case "new_thread_id":
			s.ids[idNewThread] = f.Index
		case "parent":
			s.ids[idParent] = memberIn(f, "ThreadID")
		case "owner_thread_id":
			s.ids[idOwner] = f.Index
		case "parent_thread_id":
			s.ids[idParentThread] = f.Index
		}
	}
	return s
}

// memberIn returns where a member of a struct, or of one that is pointed to, is.
func memberIn(f reflect.StructField, member string) []int {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	id, ok := t.FieldByName(member)
	if !ok {
		panic(fmt.Sprintf("%s has no %s", t, member))
	}
	return slices.Concat(f.Index, id.Index)
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
	v := reflect.ValueOf(&p).Elem()
	for _, f := range s.required {
		if v.FieldByIndex(f.index).IsZero() {
			return p, Invalid(f.name, "required", "the member is required")
		}
	}
	for _, f := range s.given {
		if v.FieldByIndex(f.index).IsZero() && names(raw, f.name) {
			return p, Invalid(f.name, "required", "is empty: give an id, or leave the member out for all")
		}
	}
	if s.keyed {
		if err := any(&p).(keyed).takeKey(method, raw); err != nil {
			return p, err
		}
	}
	return p, nil
}

// names reports whether params, which were decoded, have a member that is not null.
func names(raw jsontext.Value, name string) bool {
	var all map[string]jsontext.Value
	return json.Unmarshal(raw, &all) == nil && all[name] != nil && all[name].Kind() != 'n'
}

// decodeError reports which member is wrong and why.
func decodeError(err error) *Error {
	bad := strict.Explain(err)
	return Invalid(cmp.Or(bad.Field, "params"), bad.Reason, "%s", bad.Text)
}
