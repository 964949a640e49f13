package mend

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestMistakesAreMended(t *testing.T) {
	for raw, want := range map[string]struct {
		text  string
		nulls bool
	}{
		`{"a":"x"}`:                       {`{"a":"x"}`, false},
		`"\ud83d\ude00 \uD83D\uDE00"`:     {`"\ud83d\ude00 \uD83D\uDE00"`, false},
		`"\ud83d"`:                        {`"�"`, false},
		`"\ud83d\ud83d\ude00"`:            {`"�\ud83d\ude00"`, false},
		`"\ude00\ud83d x"`:                {`"�� x"`, false},
		`"\ud83dx\ude00"`:                 {`"�x�"`, false},
		`"\\ud83d \\\ud83d"`:              {`"\\ud83d \\�"`, false},
		`{"\ude00":1}`:                    {`{"�":1}`, false},
		"\"a\xffb\xe2\x82\"":              {`"a�b��"`, false},
		"\ufeff" + `{"a":"` + "\ufeff\"}": {`{"a":"` + "\ufeff\"}", false},
		`[NaN,Infinity,-Infinity]`:        {`[null,null,null]`, true},
		`{"NaN":"-Infinity","x":NaN}`:     {`{"NaN":"-Infinity","x":null}`, true},
		`"say \"NaN\" -Infinity"`:         {`"say \"NaN\" -Infinity"`, false},
		`[-1,1e400,-0.5e-3]`:              {`[-1,1e400,-0.5e-3]`, false},
		``:                                {``, false},
		`{"a":`:                           {`{"a":`, false},
		`"cut \`:                          {`"cut \`, false},
		`"cut \ud83`:                      {`"cut \ud83`, false},
		`"cut \ud83d\`:                    {`"cut �\`, false},
	} {
		before := bytes.Clone([]byte(raw))
		if got, nulls := JSON([]byte(raw)); string(got) != want.text || nulls != want.nulls {
			t.Errorf("%q: %q, %v, want %q, %v", raw, got, nulls, want.text, want.nulls)
		}
		if !bytes.Equal(before, []byte(raw)) {
			t.Errorf("%q was changed", before)
		}
	}
	if whole := []byte(`{"a":"é"}`); &whole[0] != &first(JSON(whole))[0] {
		t.Error("what has no mistake was copied")
	}
}

func first(b []byte, _ bool) []byte { return b }

// Whatever is JSON but for broken characters is JSON afterwards and says the same.
func FuzzMendedTextIsJSON(f *testing.F) {
	for _, raw := range []string{`{"a":["\ud83d\ude00\ude00",1,-2,null]}`, "\ufeff\"\xed\xa0\x80\"", `["\\\\\ud83d\\"]`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		once, _ := JSON(raw)
		if twice, _ := JSON(once); !bytes.HasPrefix(once, []byte(ByteOrderMark)) && !bytes.Equal(once, twice) {
			t.Errorf("%q: %q, then %q", raw, once, twice)
		}
		var sent, got any
		lenient := json.JoinOptions(jsontext.AllowInvalidUTF8(true))
		if json.Unmarshal(raw, &sent, lenient) != nil {
			return
		}
		if err := json.Unmarshal(once, &got); err != nil {
			if strings.Contains(err.Error(), "duplicate") { // two names that differ in what cannot be read
				return
			}
			t.Errorf("%q: %v", once, err)
		} else if a, _ := json.Marshal(sent, json.Deterministic(true)); !bytes.Equal(a, first2(json.Marshal(got, json.Deterministic(true)))) {
			t.Errorf("%q became %q", raw, once)
		}
	})
}

func first2(b []byte, _ error) []byte { return b }

func TestHalvesAreJoined(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`"good \ud83d"`, `"\ude00 morning"`}, "good 😀 morning"},
		{[]string{`"\ud83d"`, `""`, `"\ude00"`}, "😀"},
		{[]string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ude01"`}, "😀😁"},
		{[]string{`"\ud83d"`, `"x"`}, "�x"},
		{[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, "�😀"},
		{[]string{`"x"`, `"\ude00"`}, "x�"},
		{[]string{`"\ud83d"`}, "�"},
		{[]string{`"\\ud83d"`, `"\ude00"`}, `\ud83d�`},
	} {
		var said strings.Builder
		half := rune(0)
		for _, raw := range c.pieces {
			var text, piece string
			if err := json.Unmarshal([]byte(raw), &text, jsontext.AllowInvalidUTF8(true)); err != nil {
				t.Fatal(err)
			}
			piece, half = Join(half, jsontext.Value(raw), text)
			said.WriteString(piece)
		}
		if half != 0 {
			said.WriteString(Replacement)
		}
		if said.String() != c.want {
			t.Errorf("%q: %q, want %q", c.pieces, said.String(), c.want)
		}
	}
}

func TestMembersOfABrokenObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1, "b" : "x" }`:                 `a=1 b="x" `,
		`{"a":{"id":1},"b":NaN,"c":"x`:        `a={"id":1} b=NaN c= `,
		`{"a":[1,"]"],"b"`:                    `a=[1,"]"] `,
		`{"a":{"b":[{}]},"c":1}`:              `a={"b":[{}]} c=1 `,
		`{"a":{"b":],"c":1}`:                  `a= `,
		`{"a":[{"b":1],"c":1}]`:               `a= `,
		`{"event":"result","message":"x \u00`: `event="result" message= `,
		`{}`:                                  ``,
		`{`:                                   ``,
		``:                                    ``,
		`[{"a":1}]`:                           ``,
	} {
		var got strings.Builder
		for name, value := range Members([]byte(text)) {
			got.WriteString(name + "=" + strings.TrimSpace(string(value)) + " ")
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", text, got.String(), want)
		}
	}
}
