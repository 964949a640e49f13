package api

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/client/wire"
	"github.com/seed82539d15/holon/turns"
)

// The types of the client are made from the document, so a member that the document
// does not describe as it is would be lost or misread: these tests compare them with the
// server's own types, and send values from one to the other and back.

func TestTheClientsTypesHaveTheMembersOfTheServers(t *testing.T) {
	for name, pair := range wirePairs(t) {
		for _, d := range differences(name, jsonShapeOf(pair.server, pair.header), jsonShapeOf(pair.client, nil)) {
			t.Error(d)
		}
	}
}

func TestValuesPassThroughTheClientsTypesUnchanged(t *testing.T) {
	for name, pair := range wirePairs(t) {
		for _, how := range []filling{full, present, empty} {
			if err := pair.roundTrip(how); err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			}
		}
	}
}

// AnyEvent and AnyContent have the members of all of them.
func TestEveryEventAndContentIsReadByOneType(t *testing.T) {
	for name, pair := range wirePairs(t) {
		switch {
		case strings.HasPrefix(name, "notification "):
			pair.client = reflect.TypeFor[wire.AnyEvent]()
		case strings.HasSuffix(name, "Content"):
			pair.client = reflect.TypeFor[wire.AnyContent]()
		default:
			continue
		}
		if err := pair.roundTrip(full); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The comparison sees each way in which a type of the client can differ.
func TestDifferencesOfTheClientsTypesAreSeen(t *testing.T) {
	type inner struct {
		ID string `json:"id"`
	}
	type server struct {
		Name  string      `json:"name"`
		Seq   int64       `json:"seq"`
		Until notify.Time `json:"until,omitzero"`
		On    *bool       `json:"on,omitzero"`
		Of    []inner     `json:"of,omitzero"`
	}
	type innerWithout struct{}
	for want, client := range map[string]any{
		"": struct {
			Name  string    `json:"name"`
			Seq   int64     `json:"seq"`
			Until wire.Time `json:"until,omitzero"`
			On    *bool     `json:"on,omitzero"`
			Of    []inner   `json:"of,omitzero"`
		}{},
		"x.on is missing\nx.seq is missing": struct {
			Name  string    `json:"name"`
			Until wire.Time `json:"until,omitzero"`
			Of    []inner   `json:"of,omitzero"`
		}{},
		"x.more is not the server's\nx.name is a number, not a string\nx.of is an object, not a list\nx.on is 0 when it is absent": struct {
			Name  float64   `json:"name"`
			Seq   int64     `json:"seq"`
			Until wire.Time `json:"until,omitzero"`
			On    bool      `json:"on,omitzero"`
			Of    *inner    `json:"of,omitzero"`
			More  string    `json:"more"`
		}{},
		"x.name is optional: true, not false\nx.of[].id is missing\nx.seq is an integer of 32 bits, not an integer\nx.until is a string, not a time": struct {
			Name  string         `json:"name,omitzero"`
			Seq   int32          `json:"seq"`
			Until string         `json:"until,omitzero"`
			On    *bool          `json:"on,omitzero"`
			Of    []innerWithout `json:"of,omitzero"`
		}{},
	} {
		got := differences("x", jsonShapeOf(reflect.TypeFor[server](), nil), jsonShapeOf(reflect.TypeOf(client), nil))
		slices.Sort(got)
		if strings.Join(got, "\n") != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// A caller of a method gets the type of its result from that of its params.
func TestTheParamsOfAMethodNameItsResult(t *testing.T) {
	var result wire.TurnStartResult = resultOf(wire.TurnStartParams{})
	if _, ok := any(result).(wire.TurnStartResult); !ok {
		t.Errorf("the result is %T", result)
	}
}

func resultOf[R any, P interface{ Result() R }](p P) R { return p.Result() }

// wirePair is a type of the server and the client's for the same.
type wirePair struct {
	server, client reflect.Type
	header         *Notification // whose members of all events come besides; nil = none
}

// wirePairs are all types of the protocol that clients have, by what they are for.
func wirePairs(t *testing.T) map[string]wirePair {
	t.Helper()
	pairs := map[string]wirePair{"error": {server: reflect.TypeFor[ErrorData](), client: reflect.TypeFor[wire.ErrorData]()}}
	for _, m := range (&Handlers{}).methods() {
		params, ok := wireParams[m.Name].(interface{ Method() string })
		if !ok || params.Method() != m.Name {
			t.Fatalf("no type for the params of %s", m.Name)
		}
		p := reflect.TypeOf(params)
		pairs["params of "+m.Name] = wirePair{server: m.Params, client: p}
		result, _ := p.MethodByName("Result")
		pairs["result of "+m.Name] = wirePair{server: m.Result, client: result.Type.Out(0)}
	}
	for _, n := range Notifications() {
		pair := wirePair{server: n.Body, client: reflect.TypeOf(wireEvents[n.Name])}
		if n.InLog() {
			pair.header = &n
		}
		pairs["notification "+n.Name] = pair
	}
	for _, c := range contents {
		name := typeNameOf(reflect.TypeOf(c))
		pairs[name] = wirePair{server: reflect.TypeOf(c), client: reflect.TypeOf(wireContents[name])}
	}
	for name, pair := range pairs {
		if pair.client == nil {
			t.Fatalf("no type for %s", name)
		}
	}
	if want := 1 + 2*len(wireParams) + len(wireEvents) + len(wireContents); len(pairs) != want {
		t.Fatalf("%d types are compared, of %d", len(pairs), want)
	}
	return pairs
}

// jsonShape is what a type is in JSON. Objects have members, lists and maps an element.
type jsonShape struct {
	kind    string
	bits    int // of an integer
	members map[string]jsonMember
	element *jsonShape
}

type jsonMember struct {
	jsonShape
	optional bool
	zero     bool // it can be zero without being absent
}

var anyJSON = []reflect.Type{reflect.TypeFor[jsontext.Value](), reflect.TypeFor[stdjson.RawMessage](), reflect.TypeFor[bridges.From]()}

// jsonShapeOf is the jsonShape of a type, with the members of all events that the notification
// has; nil = none.
func jsonShapeOf(t reflect.Type, header *Notification) (s jsonShape) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case slices.Contains(anyJSON, t):
		return jsonShape{kind: "anything"}
	case t == reflect.TypeFor[notify.Time](), t == reflect.TypeFor[wire.Time]():
		return jsonShape{kind: "a time"}
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = "a string"
	case reflect.Bool:
		s.kind = "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		s.kind, s.bits = "an integer", t.Bits()
	case reflect.Float64:
		s.kind = "a number"
	case reflect.Slice:
		element := jsonShapeOf(t.Elem(), nil)
		s.kind, s.element = "a list", &element
	case reflect.Map:
		element := jsonShapeOf(t.Elem(), nil)
		s.kind, s.element = "a map", &element
	case reflect.Struct:
		s.kind, s.members = "an object", membersOf(t)
		if header != nil {
			all := membersOf(reflect.TypeFor[notify.Header]())
			for _, name := range slices.Concat(header.Header.Has, header.Header.May) {
				m := all[name]
				announced := header.Name == notify.ThreadStarted && (name == "seq" || name == "thread_seq")
				m.zero = false // it is not there if it is 0
				m.optional = announced || slices.Contains(header.Header.May, name)
				s.members[name] = m
			}
		}
	default:
		panic(fmt.Sprintf("a member of type %s", t))
	}
	return s
}

// membersOf are the members that a struct has in JSON.
func membersOf(t reflect.Type) map[string]jsonMember {
	members := map[string]jsonMember{}
	for _, f := range reflect.VisibleFields(t) {
		if name, optional := member(f); name != "" {
			zero := f.Tag.Get("given") != "" || f.Type.Kind() == reflect.Pointer || slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Struct}, f.Type.Kind())
			members[name] = jsonMember{jsonShapeOf(f.Type, nil), optional, zero || !optional}
		}
	}
	return members
}

// member is the name of a field in JSON, "" if it is not there, and whether it may be absent.
func member(f reflect.StructField) (name string, optional bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if f.Anonymous || !f.IsExported() || name == "-" {
		return "", false
	}
	return name, strings.Contains(options, "omitzero") || strings.Contains(options, "omitempty")
}

// differences are the differences of the client's jsonShape from the server's.
func differences(path string, server, client jsonShape) (list []string) {
	differ := func(name, format string, args ...any) { list = append(list, path+name+fmt.Sprintf(format, args...)) }
	switch {
	case server.kind != client.kind:
		differ("", " is %s, not %s", client.kind, server.kind)
	case client.bits < server.bits:
		differ("", " is an integer of %d bits, not an integer", client.bits)
	case server.element != nil:
		list = append(list, differences(path+"[]", *server.element, *client.element)...)
	}
	if server.kind != client.kind {
		return list
	}
	for name, s := range server.members {
		c, ok := client.members[name]
		if !ok {
			differ("."+name, " is missing")
			continue
		}
		list = append(list, differences(path+"."+name, s.jsonShape, c.jsonShape)...)
		if s.optional != c.optional {
			differ("."+name, " is optional: %t, not %t", c.optional, s.optional)
		}
		if s.kind == c.kind && s.zero && !c.zero && s.optional == c.optional && mayBeZero(name) {
			differ("."+name, " is 0 when it is absent")
		}
	}
	for name := range client.members {
		if _, ok := server.members[name]; !ok {
			differ("."+name, " is not the server's")
		}
	}
	return list
}

// mayBeZero reports whether the document allows a member to be 0 or "".
func mayBeZero(name string) bool {
	var s jsonschema.Schema
	if bound, ok := bounds[name]; ok {
		bound(&s)
	}
	return (s.Minimum == nil || *s.Minimum <= 0) && s.MinLength == nil
}

// filling says how a value for a round trip is made.
type filling string

const (
	full    filling = "full"    // each member has a value that is not zero
	present filling = "present" // each pointer points at zero, and lists are empty, not absent
	empty   filling = "empty"   // nothing is set that may be absent or null
)

// roundTrip sends a value of the server's type through the client's, and back.
func (p wirePair) roundTrip(how filling) error {
	v := reflect.New(p.server)
	how.fill(v.Elem())
	sent, err := json.Marshal(v.Interface(), WireOptions)
	if err != nil {
		return err
	}
	if p.header != nil {
		if sent, err = p.withHeader(sent, how); err != nil {
			return err
		}
	}
	read := reflect.New(p.client)
	decoder := stdjson.NewDecoder(bytes.NewReader(sent))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(read.Interface()); err != nil {
		return fmt.Errorf("the client cannot read %s: %w", sent, err)
	}
	again, err := stdjson.Marshal(read.Interface())
	if err != nil {
		return err
	}
	if err := sameJSON(sent, again); err != nil || p.header != nil {
		return err
	}
	back := reflect.New(p.server)
	if err := json.Unmarshal(again, back.Interface(), json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("the server cannot read %s: %w", again, err)
	}
	last, err := json.Marshal(back.Interface(), WireOptions)
	if err != nil {
		return err
	}
	return sameJSON(sent, last)
}

// withHeader adds to the body of an event the members of all events that it has.
func (p wirePair) withHeader(body []byte, how filling) ([]byte, error) {
	var h notify.Header
	how.fill(reflect.ValueOf(&h).Elem())
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var head, all map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(b, &head), json.Unmarshal(body, &all)); err != nil {
		return nil, err
	}
	has := jsonShapeOf(p.server, p.header).members
	for name, value := range head {
		if m, ok := has[name]; ok && !(m.optional && string(value) == "0") { // of an event that is not in the log
			all[name] = value
		}
	}
	for name, m := range has {
		if _, ok := all[name]; !ok && !m.optional { // of a Header all are, of some events they are not
			all[name] = map[string]jsontext.Value{"a string": jsontext.Value(`""`), "an integer": jsontext.Value(`0`), "a list": jsontext.Value(`[]`)}[m.kind]
		}
	}
	return json.Marshal(all)
}

// fill sets a value.
func (how filling) fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[notify.Time]():
		if how == full {
			v.Set(reflect.ValueOf(notify.TimeOf(time.Date(2026, 11, 29, 5, 7, 9, 120e6, time.UTC))))
		}
		return
	case reflect.TypeFor[jsontext.Value]():
		if how == full {
			v.SetBytes([]byte(`{"a":[1.50,"b",null]}`))
		}
		return
	case reflect.TypeFor[bridges.From]():
		if how != empty {
			v.Set(reflect.ValueOf(bridges.From{Seq: new(int64(7))}))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		how.fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			how.fillField(v, i)
		}
	case reflect.Slice:
		switch how {
		case full:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			how.fill(v.Index(0))
			how.fill(v.Index(1))
		case present:
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
	case reflect.Map:
		if how != empty {
			v.Set(reflect.MakeMap(v.Type()))
		}
		if how == full {
			element := reflect.New(v.Type().Elem()).Elem()
			how.fill(element)
			v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), element)
		}
	case reflect.String:
		if how == full {
			v.SetString("text <&> ä")
		}
	case reflect.Bool:
		v.SetBool(how == full)
	case reflect.Int, reflect.Int64:
		if how == full {
			v.SetInt(1<<(v.Type().Bits()-12) + 7)
		}
	case reflect.Float64:
		if how == full {
			v.SetFloat(1.5)
		}
	}
}

// fillField sets a field that is in JSON.
func (how filling) fillField(v reflect.Value, i int) {
	f := v.Type().Field(i)
	name, optional := member(f)
	if f.Anonymous {
		if f.Type.Kind() != reflect.Pointer || how == full {
			how.fill(v.Field(i))
		}
		return
	}
	if name == "" || how == empty && (optional || nullable(v.Type(), name)) || how == present && optional && !mayBeZero(name) {
		return
	}
	how.fill(v.Field(i))
}

// nullable reports whether a member that is always there may be null.
func nullable(t reflect.Type, name string) bool {
	return slices.Contains([]string{"last_event_at", "paused_at", "resumed_at"}, name) || t == reflect.TypeFor[turns.ClaimResult]() && name == "turn"
}

// sameJSON compares values, not bytes: the order of members and escapes may differ.
func sameJSON(want, got []byte) error {
	a, errA := anyOf(want)
	b, errB := anyOf(got)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	if a, ok := a.(map[string]any); ok {
		if b, ok := b.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(a)) {
				if !reflect.DeepEqual(a[name], b[name]) {
					return fmt.Errorf("%s was %v, and is %v", name, a[name], b[name])
				}
			}
		}
	}
	return fmt.Errorf("it was %s, and is %s", want, got)
}

func anyOf(text []byte) (v any, err error) {
	decoder := stdjson.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one value: %s", text)
	}
	return v, nil
}
