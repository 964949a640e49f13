package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type shape struct {
	Text    string         `json:"text"`
	Count   int            `json:"count"`
	Share   float64        `json:"share"`
	Sure    bool           `json:"sure"`
	Parts   []shape        `json:"parts"`
	Pointer *int64         `json:"pointer"`
	Any     jsontext.Value `json:"any"`
	Own     own            `json:"own"`
}

// own decodes itself.
type own struct{}

func (*own) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"now"` {
		return nil
	}
	return errors.New("it must be now")
}

func TestErrorSaysWhichMemberIsWrongAndWhy(t *testing.T) {
	for raw, want := range map[string]string{
		`5`:                              ` wrong_type it must be an object`,
		`[]`:                             ` wrong_type it must be an object`,
		`{"txt":"a"}`:                    `txt unknown_field there is no such member; did you mean text?`,
		`{"Text":"a"}`:                   `Text unknown_field there is no such member; did you mean text?`,
		`{"parts":[{},{"a":1}]}`:         `parts[1].a unknown_field there is no such member`,
		`{"text":"a","text":"b"}`:        `text duplicate_field the member is there twice`,
		`{"any":{"a":1,"a":1}}`:          `any.a duplicate_field the member is there twice`,
		`{"text":5}`:                     `text wrong_type it must be a string`,
		`{"sure":"yes"}`:                 `sure wrong_type it must be true or false`,
		`{"parts":{}}`:                   `parts wrong_type it must be an array`,
		`{"parts":["a"]}`:                `parts[0] wrong_type it must be an object`,
		`{"count":"1"}`:                  `count wrong_type it must be an integer`,
		`{"count":1.5}`:                  `count out_of_range it must be an integer that fits 64 bits`,
		`{"count":9223372036854775808}`:  `count out_of_range it must be an integer that fits 64 bits`,
		`{"share":"1"}`:                  `share wrong_type it must be a number`,
		`{"pointer":"1"}`:                `pointer wrong_type it must be an integer`,
		`{"own":"then"}`:                 `own malformed it must be now`,
		`{"own":5}`:                      `own malformed it must be now`,
		`{"text":"a"`:                    ` malformed it is not JSON in UTF-8: unexpected EOF`,
		`{"text":"` + "\xff" + `"}`:      `text malformed it is not JSON in UTF-8: invalid UTF-8`,
		`{"` + "a\xff" + `":1,"text":5}`: ` malformed it is not JSON in UTF-8: invalid UTF-8`,
	} {
		var v shape
		bad, ok := errors.AsType[*Error](Unmarshal([]byte(raw), &v))
		if !ok || fmt.Sprintf("%s %s %s", bad.Field, bad.Reason, bad.Text) != want {
			t.Errorf("%s: %+v, want %s", raw, bad, want)
		}
	}
	var v shape
	if err := Unmarshal([]byte(`{"text":"a","any":{"b":1},"pointer":null}`), &v); err != nil || v.Text != "a" {
		t.Errorf("%+v, %v", v, err)
	}
}

// FuzzExplain checks that every error has a reason and a text that can be sent
// and that names neither a package nor a type of this module.
func FuzzExplain(f *testing.F) {
	f.Add(`{"text":5}`)
	f.Add(`{"` + strings.Repeat("n", 200) + `":{"a":[1,2]}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		var v shape
		err := Unmarshal([]byte(raw), &v)
		if (err == nil) != (json.Unmarshal([]byte(raw), new(shape), json.RejectUnknownMembers(true)) == nil) {
			t.Fatalf("%v", err)
		}
		bad, ok := errors.AsType[*Error](err)
		if err != nil && (!ok || bad.Reason == "" || bad.Text == "" || !utf8.ValidString(bad.Error()) || strings.HasPrefix(bad.Text, "json")) {
			t.Fatalf("%+v", bad)
		}
	})
}
