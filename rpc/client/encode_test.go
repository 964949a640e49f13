package client

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

type someParams struct {
	ThreadID string         `json:"thread_id,omitempty"`
	Cwd      string         `json:"cwd,omitempty"`
	Text     string         `json:"text,omitempty"`
	Seconds  float64        `json:"seconds,omitzero"`
	List     []any          `json:"list,omitempty"`
	Raw      jsontext.Value `json:"raw,omitzero"`
}

func TestParamsAreMendedBeforeTheyAreSent(t *testing.T) {
	for name, c := range map[string]struct {
		params any
		want   string
	}{
		"none":                 {nil, ``},
		"as encoding/json":     {someParams{Cwd: "/a", Text: "<ä>\u2028", List: []any{1, nil, true}}, `{"cwd":"/a","text":"<ä>` + "\u2028" + `","list":[1,null,true]}`},
		"a map":                {map[string]any{"b": 1.5, "a": json.RawMessage(`{"x": 12345678901234567890}`)}, `{"a":{"x":12345678901234567890},"b":1.5}`},
		"text that is cut":     {someParams{Text: "x\xf0\x9f"}, `{"text":"x` + "��" + `"}`},
		"no number":            {map[string]any{"a": math.NaN(), "b": []float64{math.Inf(1), -1}}, `{"a":null,"b":[null,-1]}`},
		"half of a pair":       {json.RawMessage(`{"text":"\ud83d","b":NaN}`), `{"text":"�","b":null}`},
		"half, as a value":     {jsontext.Value(`{"text":"\ud83d"}`), `{"text":"�"}`},
		"half, further inside": {someParams{Raw: jsontext.Value(`"\ud83d"`)}, `{"raw":"�"}`},
		"a name below":         {json.RawMessage(`{"items":[{"title":"\ud83d"}]}`), `{"items":[{"title":"�"}]}`},
		"U+FFFD in a name":     {someParams{Cwd: "/�"}, `{"cwd":"/�"}`},
	} {
		if got, err := encodeParams(c.params); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	for name, params := range map[string]any{
		"cwd":       someParams{Cwd: "/src/\xff"},
		"title":     map[string]any{"title": "x\xff"},
		"name":      json.RawMessage(`{"name":"\ud83d"}`),
		"thread_id": json.RawMessage("{\"thread_id\":\"\xff\"}"),
		"not JSON":  json.RawMessage(`{"text":`),
	} {
		got, err := encodeParams(params)
		if err == nil || got != nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "Marshal") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
