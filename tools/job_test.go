package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

var jobIn = regexp.MustCompile(`"job":"([^"]+)"`)

// startsJobs answers turn/start as a server does that has these jobs already, by name, with the
// prompt and the result of each.
func (f *fake) startsJobs(has map[string][2]string) {
	f.say("thread/read", `{"thread":{"thread_id":"child","agent":"a"},"children":{"blocking":0,"notify":0,"untold":0,"room":60},"latest_seq":9}`)
	f.say("initialize", `{"protocol_version":"1","limits":{"max_item_bytes":1000},"agent":{"thread_id":"own","child_agents":["a","b"]}}`)
	f.do("item/list", func(_ context.Context, params string) (string, *api.Error) {
		for name, j := range has {
			if strings.Contains(params, `"turn_`+name+`"`) {
				return fmt.Sprintf(`{"items":[{"item_id":"i","thread_id":"child","turn_id":"turn_%s","type":"user_message","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":%q}]}}],"latest_seq":1}`, name, j[0]), nil
			}
		}
		return `{"items":[],"latest_seq":1}`, nil
	})
	f.do("turn/start", func(_ context.Context, params string) (string, *api.Error) {
		m := jobIn.FindStringSubmatch(params)
		if m == nil {
			return startedTurn, nil
		}
		name := strings.ReplaceAll(m[1], "/", "_")
		j, found := has[name]
		switch {
		case found && (!strings.Contains(params, fmt.Sprintf(`"text":%q`, j[0])) || strings.Contains(params, `"agent":"b"`)):
			refused := api.Errorf(api.KindConflict, "other input")
			refused.Data.Reason, refused.Data.TurnID = turns.ReasonJob, "turn_"+name
			return "", refused
		case found:
			return fmt.Sprintf(`{"turn_id":"turn_%[1]s","thread_id":"child","state":"completed","job":%[2]q,"found":true,"attention_policy":"blocking_until_terminal","results":[{"turn_id":"turn_%[1]s","thread_id":"child","job":%[2]q,"state":"completed","text":%[3]q,"elapsed_ms":1}],"seq":6}`, name, m[1], j[1]), nil
		}
		return fmt.Sprintf(`{"turn_id":"turn_%s","thread_id":"child","state":"active","job":%q,"attention_policy":"blocking_until_terminal","seq":6}`, name, m[1]), nil
	})
}

// The key of work_start names a job, which finds what an attempt before has started.
func TestAKeyFindsTheWorkOfAnEarlierAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		text []string
		not  []string
	}{
		"new": {map[string]any{"key": "lint"}, []string{"Started turn turn_lint in thread child. You gave a key, so its end is not told to you by itself", `work_await with turn_ids ["turn_lint"]`}, []string{"background"}},
		"found": {map[string]any{"key": "tests", "prompt": "run the tests"}, []string{
			"This key was used before in your turn: turn turn_tests in thread child has the work. It has ended.", "all green",
		}, []string{"another prompt"}},
		"found with another prompt": {map[string]any{"key": "tests", "prompt": "please run tests"}, []string{
			`It was started with another prompt, which counts: "run the tests". It has ended.`, "all green",
		}, nil},
		"found with another agent": {map[string]any{"key": "tests", "prompt": "run the tests", "agent": "b"}, []string{
			`It was started with another agent, which counts: "a". It has ended.`, "all green",
		}, []string{"another prompt"}},
		"found with both": {map[string]any{"key": "tests", "prompt": "please run tests", "agent": "b"}, []string{
			`It was started with another prompt and another agent, which count: "a" was asked "run the tests". It has ended.`,
		}, nil},
		"a name of the call does not matter": {map[string]any{"key": "tests"}, []string{"all green"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			o := overStdio(t, f, nil)
			f.startsJobs(map[string][2]string{"tests": {"run the tests", "all green"}})
			args := map[string]any{"prompt": "x"}
			for k, v := range c.args {
				args[k] = v
			}
			text, _, failed := use(t, o, "work_start", args, mcp.Meta{"callId": "call_1"})
			if failed {
				t.Fatal(text)
			}
			for _, want := range c.text {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for _, word := range c.not {
				if strings.Contains(text, word) {
					t.Errorf("%q is in\n%s", word, text)
				}
			}
			if calls := strings.Join(f.calls(), "\n"); strings.Contains(calls, "idempotency_key") || strings.Contains(calls, "thread/start") {
				t.Errorf("it asked\n%s", calls)
			}
		})
	}
}

// Each task of a call with a key is a job.
func TestTasksOfAKeyAreJobs(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	f.startsJobs(map[string][2]string{"k_1": {"x", "one is done"}})
	text, _, failed := use(t, o, "work_start", threeTasks(map[string]any{"key": "k"}), nil)
	if failed || !strings.Contains(text, `Started 2 and found 1 of 3:`) || !strings.Contains(text, "one is done") || !strings.Contains(text, `work_await with turn_ids ["turn_k_2", "turn_k_3"]`) {
		t.Errorf("it says\n%s", text)
	}
	f.startsJobs(map[string][2]string{"k_1": {"x", "one is done"}, "k_2": {"y", "two is done"}, "k_3": {"z", "three is done"}})
	if text, _, failed = use(t, o, "work_start", threeTasks(map[string]any{"key": "k"}), nil); failed || !strings.Contains(text, "Found 3 of 3.\nAll have ended.") {
		t.Errorf("it says\n%s", text)
	}
	for _, want := range []string{"one is done", "two is done", "three is done"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// What is wrong with one task keeps nothing of the others back.
func TestATaskThatIsRefusedHidesNoOther(t *testing.T) {
	closed, full := api.Errorf(api.KindThreadClosed, "the thread is closed"), api.Errorf(api.KindOverloaded, "64 child turns have not ended")
	for name, c := range map[string]struct {
		refusal *api.Error
		advice  string
	}{
		"for good": {closed, "A thread that was closed does no more work: to have it done all the same, give it another key.\n"},
		"for now":  {full, "In this turn, the same call with the same key starts what is missing, and finds the rest.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			o := overStdio(t, f, nil)
			f.startsJobs(map[string][2]string{"k_2": {"y", "two is done"}, "k_3": {"z", "three is done"}})
			starts := f.answers["turn/start"]
			f.do("turn/start", func(ctx context.Context, params string) (string, *api.Error) {
				if strings.Contains(params, `"job":"k/1"`) {
					return "", c.refusal
				}
				return starts(ctx, params)
			})
			text, _, failed := use(t, o, "work_start", threeTasks(map[string]any{"key": "k"}), nil)
			if failed {
				t.Fatal(text)
			}
			for _, want := range []string{"two is done", "three is done", "1. \"one\": not started (" + string(c.refusal.Data.Kind) + "): " + c.refusal.Message + "\n", c.advice} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
		})
	}
}

// Different keys are different jobs, also those that are no names of jobs.
func TestKeysAreNamesOfJobs(t *testing.T) {
	seen := map[string]string{}
	for _, key := range []string{"tests", "a/b", "a b", "a-b", "a?b", "", "ключ", "👍", strings.Repeat("x", 200), strings.Repeat("x", 199), "1/2/3/4/5/6/7/8", "1/2/3/4/5/6/7", "/", "a//b"} {
		job := jobOf(key)
		if err := turns.CheckJob("key", taskJob(job, 15)); err != nil || seen[job] != "" {
			t.Errorf("%q is the job %q, as is %q: %v", key, job, seen[job], err)
		}
		seen[job] = key
	}
	if jobOf("build/linux_x86.64") != "build/linux_x86.64" {
		t.Error("a name is not itself")
	}
}

// The guide is a page of its own; another name is answered with those that there are.
func TestTheGuide(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	if text, _, failed := use(t, o, "guide", map[string]any{"name": "workflow"}, nil); failed || !strings.HasPrefix(text, "# workflow: ") || strings.Contains(text, "holon-") {
		t.Errorf("it says %s", text)
	}
	if text, _, failed := use(t, o, "guide", map[string]any{"name": "workfow"}, nil); !failed || !strings.Contains(text, "workflow") {
		t.Errorf("it says %s", text)
	}
	if n := strings.Count(instructions, "\n"); n >= 10 {
		t.Errorf("the instructions have %d lines", n+1)
	}
}

// What an agent cannot say is in no tool.
func TestNoToolHasAnAttentionPolicy(t *testing.T) {
	l, err := overStdio(t, newFake(t), nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range l.Tools {
		if s := fmt.Sprint(tool.InputSchema, tool.Description); strings.Contains(s, "attention") {
			t.Errorf("%s: %s", tool.Name, s)
		}
	}
}
