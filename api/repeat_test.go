package api

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestReadsAndKeyedChangesAreRepeatable(t *testing.T) {
	for _, c := range []struct {
		method, params string
		want           bool
	}{
		{"holon/status", ``, true},
		{"thread/read", `{"thread_id":"t"}`, true},
		{"holon/logStream", `{"follow":true}`, true},
		{"token/list", `null`, true},
		{"stream/subscribe", `{"after_seq":1}`, true},
		{"turn/start", `{"thread_id":"t"}`, false},
		{"turn/start", `{"thread_id":"t","idempotency_key":null}`, false},
		{"turn/start", `{"thread_id":"t","idempotency_key":"k"}`, true},
		{"turn/claim", `{"agent":"a"}`, false},
		{"bridge/test", `{"bridge_id":"b"}`, false},
		{"signin/code", ``, false},
		{"turn/await", `{"turn_ids":["a"]}`, true},
		{"turn/await", `{"owner_thread_id":"t"}`, false},
		{"later/read", `{}`, false},
		{"later/change", `{"idempotency_key":"k"}`, true},
		{"thread/read", `{"thread_id":"t","thread_id":"u"}`, false},
		{"thread/read", `[]`, false},
	} {
		if got := Repeatable(c.method, jsontext.Value(c.params)); got != c.want {
			t.Errorf("%s %s: %v", c.method, c.params, got)
		}
	}
}
