package api

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// TestEmbeddedCommandsTakeTheKeyAndNothingThatIsNotOfTheWire checks that every
// member of a command that params embed is a member of the wire, except for its
// key and for who asks, which the server sets.
func TestEmbeddedCommandsTakeTheKeyAndNothingThatIsNotOfTheWire(t *testing.T) {
	commands, found := reflect.TypeFor[turns.Start]().PkgPath(), 0
	for _, m := range (&Handlers{}).methods() {
		for _, f := range reflect.VisibleFields(m.Params) {
			if !f.Anonymous || f.Type.PkgPath() != commands {
				continue
			}
			found++
			s := shapeOf(m.Params)
			if s.key == nil || m.Params.FieldByIndex(s.key).Name != "Key" || !s.keyed {
				t.Errorf("%s: the key does not get into turns.%s", m.Name, f.Name)
			}
			for i := range f.Type.NumField() {
				member := f.Type.Field(i)
				name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
				ours := slices.Contains([]reflect.Type{
					reflect.TypeFor[*ledger.Key](), reflect.TypeFor[turns.By](), reflect.TypeFor[ledger.Requester](),
				}, member.Type)
				if (name == "-") != ours || name == "" {
					t.Errorf("%s: turns.%s.%s is called %q on the wire", m.Name, f.Name, member.Name, name)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no params embed a command")
	}
}

// TestAnEmptyIDDoesNotMeanAll: a program whose variable is empty sends the news of all threads
// nowhere.
func TestAnEmptyIDDoesNotMeanAll(t *testing.T) {
	s := shapeOf(reflect.TypeFor[SubscriptionCreateParams]())
	for raw, field := range map[string]string{
		`{"bridge_id":"b"}`: "",
		`{"bridge_id":"b","thread_id":null,"turn_id":null}`:   "",
		`{"bridge_id":"thread_id","_meta":{"turn_id":""}}`:    "",
		`{"bridge_id":"b","thread_id":"a","turn_id":"t"}`:     "",
		`{"bridge_id":"b","thread_id":""}`:                    "thread_id",
		`{"bridge_id":"b","turn_id":""}`:                      "turn_id",
		`{"bridge_id":"b","thread_id":"a","turn_i\u0064":""}`: "turn_id",
	} {
		_, err := decodeParams[SubscriptionCreateParams]("subscription/create", jsontext.Value(raw), s)
		var bad *Error
		if got := errors.As(err, &bad); got != (field != "") || got && (bad.Data.Field != field || bad.Data.Reason != "required") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestParamsOfAnEmbeddedCommand(t *testing.T) {
	decode := func(raw string) (TurnInterruptParams, error) {
		p, refused := prepare[TurnInterruptParams](t.Context(), &Method{Name: "turn/interrupt"}, shapeOf(reflect.TypeFor[TurnInterruptParams]()), jsontext.Value(raw))
		if refused != nil {
			return p, refused.Err
		}
		return p, nil
	}
	p, err := decode(`{"turn_id":"a","reason":"enough","idempotency_key":"k"}`)
	if err != nil || p.TurnID != "a" || p.Reason != "enough" {
		t.Fatalf("%+v, %v", p, err)
	}
	if k := p.Interrupt.Key; k == nil || k.Key != "k" || k.Method != "turn/interrupt" {
		t.Errorf("the key of the command is %+v", k)
	}
	if p, err := decode(`{"turn_id":"a"}`); err != nil || p.Interrupt.Key != nil {
		t.Errorf("without a key: %+v, %v", p.Interrupt.Key, err)
	}
	for raw, want := range map[string]string{
		``:                        "turn_id required",
		`{"reason":"enough"}`:     "turn_id required",
		`{"turn_id":5}`:           "turn_id wrong_type",
		`{"turn_id":"a","Key":5}`: "Key unknown_field",
		`{"turn_id":"a","-":5}`:   "- unknown_field",
		`{"Interrupt":{}}`:        "Interrupt unknown_field",
	} {
		_, err := decode(raw)
		var bad *Error
		if !errors.As(err, &bad) || bad.Data.Field+" "+bad.Data.Reason != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}
