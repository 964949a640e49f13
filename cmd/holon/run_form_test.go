package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/form"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

func TestAFormIsAnsweredFieldByField(t *testing.T) {
	cases := []struct {
		name, schema string
		lines        []string
		want         string
	}{
		{"an object in its order", `{"type":"object","properties":{"z":{"type":"string","title":"Name"},"a":{"type":"integer"},"m":{"type":"boolean","default":true}},"required":["z","a"]}`,
			[]string{" Ada ", "x", "3.5", "36", ""}, `{"z":"Ada","a":36,"m":true}`},
		{"what is left out", `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}}}`, []string{"", ""}, `{}`},
		{"numbers", `{"type":"number"}`, []string{"NaN", "0x1", "-1.5e3"}, `-1.5e3`},
		{"a required number", `{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}`, []string{"", "1"}, `{"a":1}`},
		{"choices by number", `{"type":"string","enum":["red","green"],"enumNames":["Red","Green"]}`, []string{"3", "2"}, `"green"`},
		{"choices by title", `{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}`, []string{"blue", "green"}, `"g"`},
		{"choices that are no texts", `{"enum":[1,2,null]}`, []string{"2"}, `2`},
		{"yes and no", `{"type":"boolean"}`, []string{"", "perhaps", "No"}, `false`},
		{"text that looks like JSON", `{"type":"string"}`, []string{`{"a":1}`}, `"{\"a\":1}"`},
		{"an empty text", `{"type":"string"}`, []string{""}, `""`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			q := question{content: timeline.Content{Type: "question"}, form: form.New(json.RawMessage(tc.schema))}
			if q.form == nil {
				t.Fatal("no form")
			}
			for i, line := range tc.lines {
				if !strings.HasSuffix(promptText(q), "): ") {
					t.Errorf("prompt %q", promptText(q))
				}
				params, why := readAnswer(q, line)
				if last := i == len(tc.lines)-1; last != (params != nil) {
					t.Fatalf("line %q gave %v, %q", line, params, why)
				} else if last {
					if got, _ := json.Marshal(params["answer"]); string(got) != tc.want {
						t.Errorf("got %s, want %s", got, tc.want)
					}
				}
			}
		})
	}
}

func TestWhatNoFormCanAskIsAnsweredAsAWhole(t *testing.T) {
	for _, schema := range []string{
		``, `{`, `{}`, `true`, `{"type":"array","items":{"type":"string"}}`, `{"type":"object"}`, `{"type":"object","properties":[]}`,
		`{"type":"object","properties":{"a":{"type":"object"}}}`, `{"type":"string","oneOf":[{"pattern":"x"}]}`, `{"type":["string","null"]}`,
	} {
		if f := form.New(json.RawMessage(schema)); f != nil {
			t.Errorf("%s: %+v", schema, f)
		}
	}
}

func TestYesMeansOnceWhateverTheOrderOfTheOptions(t *testing.T) {
	q := question{content: timeline.Content{Type: "permission_request", Options: []timeline.Option{
		{ID: "aa", Name: "Always", Kind: "allow_always"}, {ID: "ao", Name: "Yes", Kind: "allow_once"},
		{ID: "ra", Name: "Never", Kind: "reject_always"}, {ID: "ro", Name: "No", Kind: "reject_once"},
	}}}
	for line, want := range map[string]string{"y": "ao", "YES": "ao", "n": "ro", "1": "aa", "3": "ra", "never": "ra", "aa": "aa"} {
		if params, why := readAnswer(q, line); params["option_id"] != want {
			t.Errorf("%q chose %v (%s), want %s", line, params, why, want)
		}
	}
	for _, line := range []string{"", "0", "5", "maybe"} {
		if params, why := readAnswer(q, line); params != nil || why == "" {
			t.Errorf("%q chose %v", line, params)
		}
	}
	if got := promptText(q); got != "  1) Always, and from now on the agent does this without asking; the agent decides what counts as the same, and for how long\n"+
		"  2) Yes  [y]\n"+
		"  3) Never, and from now on the agent does not ask for this again; the agent decides what counts as the same, and for how long\n"+
		"  4) No  [n]\n  answer 1-4, y or n: " {
		t.Errorf("%q", got)
	}
	q.content.Options = []timeline.Option{{ID: "k", Name: "Keep", Kind: "allow_persistent"}, {ID: "o", Name: "Other", Kind: "other"}}
	for _, text := range []string{"1) Keep  [y], and only the agent knows", "2) Other, and only the agent knows"} {
		if got := promptText(q); !strings.Contains(got, text) {
			t.Errorf("no %q in %q", text, got)
		}
	}
	if got, want := optionNames(q.content), "k (allow_persistent, perhaps for longer), o (other, perhaps for longer)"; got != want {
		t.Errorf("listed as %q", got)
	}
	q.content.Options = []timeline.Option{{ID: "aa", Name: "Always", Kind: "allow_always"}}
	if got := optionNames(q.content); got != "aa (allow_always, from now on)" {
		t.Errorf("listed as %q", got)
	}
	if params, _ := readAnswer(q, "y"); params["option_id"] != "aa" {
		t.Error("y chose nothing where there is only one option that allows")
	}
}

func FuzzForm(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"integer","default":1}},"required":["a"]}`, "x", "")
	f.Add(`{"type":"boolean"}`, "y", "n")
	f.Add(`{"oneOf":[{"const":{"a":1},"title":"\u001b[31m"}]}`, "1", "2")
	f.Fuzz(func(t *testing.T, schema, first, second string) {
		q := question{form: form.New(json.RawMessage(schema))}
		if q.form == nil {
			return
		}
		_, fields := q.form.Progress()
		for i := range 2 * fields {
			if strings.ContainsAny(promptText(q), "\x1b\x07\r") {
				t.Fatalf("the prompt %q is not harmless", promptText(q))
			}
			params, why := readAnswer(q, []string{first, second}[i%2])
			if why == "" && params != nil {
				if answer, ok := params["answer"].(json.RawMessage); !ok || !json.Valid(answer) {
					t.Fatalf("%q was answered %s", schema, answer)
				}
				return
			}
		}
	})
}
