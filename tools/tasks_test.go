package tools

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed82539d15/holon/api"
)

// A server that starts the first of the tasks, and says refusal to the others.
func (f *fake) startsTasks(starts int, refusal *api.Error) {
	f.say("initialize", `{"protocol_version":"1","limits":{"max_item_bytes":1000},"agent":{"thread_id":"own","child_agents":["a"]}}`)
	f.say("thread/read", `{"thread":{"thread_id":"own","agent":"a"},"children":{"blocking":0,"notify":0,"untold":0,"room":60},"latest_seq":9}`)
	f.say("thread/close", `{"thread_id":"child","state":"closed","seq":7}`)
	threads, started := 0, 0
	f.do("thread/start", func(context.Context, string) (string, *api.Error) {
		threads++
		return fmt.Sprintf(`{"thread_id":"child_%d","state":"running","seq":1}`, threads), nil
	})
	f.do("turn/start", func(context.Context, string) (string, *api.Error) {
		if started == starts {
			return "", refusal
		}
		started++
		return fmt.Sprintf(`{"turn_id":"turn_%d","thread_id":"child_%[1]d","state":"active","attention_policy":"blocking_until_terminal","wake":"idle","seq":6}`, started), nil
	})
	f.say("turn/list", `{"turns":[],"latest_seq":1}`)
}

func threeTasks(more map[string]any) map[string]any {
	args := map[string]any{"tasks": []map[string]any{{"prompt": "x", "title": "one"}, {"prompt": "y", "title": "two"}, {"prompt": "z"}}}
	maps.Copy(args, more)
	return args
}

func TestTasksThatAreRefusedAreInTheAnswer(t *testing.T) {
	full := api.Errorf(api.KindOverloaded, "64 child turns have not ended")
	full.Data.Retryable = true
	for name, c := range map[string]struct {
		refusal       *api.Error
		args          map[string]any
		tried, closed int
		text          []string
	}{
		"for now": {full, nil, 2, 1, []string{
			"Started 1 of 3:\n1. \"one\": turn_1 in thread child_1\n2. \"two\": not started (overloaded): 64 child turns have not ended\n3. not started (overloaded): 64",
			"To start what is missing, call work_start with these tasks alone.\nGo on with other work, then call work_await with turn_ids [\"turn_1\"].",
		}},
		"for now, with a key": {full, map[string]any{"key": "k"}, 3, 0, []string{"In this turn, the same call with the same key starts what is missing, and finds the rest.\n"}},
		"for good":            {api.Errorf(api.KindIdempotencyConflict, "other work"), nil, 3, 2, []string{"3. not started (idempotency_conflict): other work\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			o := overStdio(t, f, nil)
			f.startsTasks(1, c.refusal)
			text, data, failed := use(t, o, "work_start", threeTasks(c.args), nil)
			if failed {
				t.Fatal(text)
			}
			for _, want := range c.text {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if !strings.Contains(data, `"turn_ids":["turn_1"]`) || !strings.Contains(data, `{"error":{"kind":"`+string(c.refusal.Data.Kind)+`","message":`) {
				t.Errorf("the data is %s", data)
			}
			asked := strings.Join(f.calls(), "\n")
			if tried, closed := strings.Count(asked, "turn/start"), strings.Count(asked, "thread/close"); tried != c.tried || closed != c.closed {
				t.Errorf("%d started and %d closed, want %d and %d:\n%s", tried, closed, c.tried, c.closed, asked)
			}
		})
	}
	f := newFake(t)
	o := overStdio(t, f, nil)
	f.startsTasks(0, full)
	if text, data, failed := use(t, o, "work_start", threeTasks(nil), nil); !failed || !strings.Contains(text, "64 child turns") || !strings.Contains(data, `"kind":"overloaded"`) {
		t.Errorf("nothing starts: %s %s", text, data)
	}
	if asked := strings.Join(f.calls(), "\n"); strings.Count(asked, "thread/start") != 1 {
		t.Errorf("called\n%s", asked)
	}
}

// Each task has a key of its own, the same one when the call is repeated.
func TestEachTaskHasItsKey(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	keys := func(args map[string]any, meta mcp.Meta) (keys []string) {
		f.startsTasks(3, nil)
		if text, _, failed := use(t, o, "work_start", threeTasks(args), meta); failed {
			t.Fatal(text)
		}
		for _, call := range f.calls() {
			if m := keyIn.FindStringSubmatch(call); m != nil {
				keys = append(keys, m[1])
			}
		}
		return keys
	}
	for name, c := range map[string]struct {
		args map[string]any
		meta mcp.Meta
		n    int
	}{
		"of the call": {nil, mcp.Meta{"claudecode/toolUseId": "1"}, 6}, "of the model": {map[string]any{"key": "k", "background": true}, nil, 6}, "none": {nil, nil, 0},
	} {
		first := keys(c.args, c.meta)
		if again := keys(c.args, c.meta); !slices.Equal(first, again) || len(first) != c.n {
			t.Errorf("%s: keys %q, then %q", name, first, again)
		}
		if slices.Sort(first); len(slices.Compact(first)) != c.n {
			t.Errorf("%s: two have one key: %q", name, first)
		}
	}
}

// Without a place to wait in, the tasks are ones that the turn waits for.
func TestTasksThatCannotBeWaitedFor(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	f.startsTasks(3, nil)
	f.do("turn/await", func(context.Context, string) (string, *api.Error) {
		return "", api.Errorf(api.KindOverloaded, "too many requests wait")
	})
	text, _, failed := use(t, o, "work_start", threeTasks(map[string]any{"wait_seconds": 5}), nil)
	if failed || !strings.Contains(text, "Started 3 of 3:") || !strings.Contains(text, `call work_await with turn_ids ["turn_1", "turn_2", "turn_3"]`) {
		t.Errorf("%s", text)
	}
	if asked := strings.Join(f.calls(), "\n"); strings.Contains(asked, "turn/detach") {
		t.Errorf("called\n%s", asked)
	}
}

func TestSteeredWaitForTasksDetachesNothing(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	f.startsTasks(3, nil)
	f.say("turn/await", `{"results":[{"turn_id":"turn_1","state":"active"},{"turn_id":"turn_2","state":"completed"},{"turn_id":"turn_3","state":"active"}],"timed_out":false,"reason":"steered","seq":9}`)
	text, data, failed := use(t, o, "work_start", threeTasks(map[string]any{"wait_seconds": 5}), nil)
	if failed || !strings.Contains(text, "Started 3 of 3.\nSomebody has sent a message to your turn") || !strings.Contains(data, `"reason":"steered"`) {
		t.Errorf("%s %s", text, data)
	}
	if asked := strings.Join(f.calls(), "\n"); strings.Contains(asked, "turn/detach") {
		t.Errorf("called\n%s", asked)
	}
}
