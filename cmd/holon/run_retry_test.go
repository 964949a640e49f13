package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// retriedLog is a log in which a step, and then the whole turn, is retried.
func retriedLog(t *testing.T) []client.Event {
	t.Helper()
	data, err := os.ReadFile("timeline/testdata/retry.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var all []client.Event
	for line := range bytes.Lines(data) {
		event, err := client.ParseEvent(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, event)
	}
	return all
}

func TestTheResultOfARunIsTheLiveText(t *testing.T) {
	var out buffer
	con := &console{in: bytes.NewReader(nil), out: &out, err: &out}
	r := &turnRun{con: con, ctx: t.Context(), turnID: "turn_1", view: &silentViewer{con: con}, questions: &questions{}}
	for i, event := range retriedLog(t) {
		if err := r.take(event); err != nil {
			t.Fatal(err)
		}
		if want, ok := map[int]int{12: 1, 15: 1, 16: 2, 17: 0}[i+1]; ok && len(r.said) != want {
			t.Errorf("after event %d: %v", i+1, r.said)
		}
	}
	if !r.ended || r.result.Text != "All is there already." || r.result.Attempt != 2 || r.result.State != "completed" {
		t.Errorf("%+v", r.result)
	}
}

func TestRunAsksForARetryOnlyIfTold(t *testing.T) {
	for _, tc := range []struct {
		options runOptions
		want    map[string]any
	}{
		{runOptions{}, nil},
		{runOptions{attempts: 3}, map[string]any{"on_crash": "retry", "max_attempts": 3}},
		{runOptions{attempts: 1}, map[string]any{"on_crash": "interrupt", "max_attempts": 1}},
		{runOptions{backoff: 90 * time.Second}, map[string]any{"on_crash": "retry", "backoff_seconds": 90.0}},
	} {
		got := tc.options.retry()
		if len(got) != len(tc.want) {
			t.Errorf("%+v asks for %v", tc.options, got)
		}
		for name, value := range tc.want {
			if got[name] != value {
				t.Errorf("%+v asks for %s %v, want %v", tc.options, name, got[name], value)
			}
		}
	}
}
