package tools

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
)

var (
	threadIn = regexp.MustCompile(`"thread_id":"(thread_[^"]+)"`)
	promptIn = regexp.MustCompile(`"text":"([^"]*)"`)
)

// keepsWork answers as a server does that starts background work, and has it afterwards: each
// turn has completed, and said done, but those with the prompt "long". It returns how many it has.
func (f *fake) keepsWork() func() int {
	prompts, ids := map[string]string{}, []string{}
	f.say("initialize", `{"protocol_version":"1","limits":{"max_item_bytes":1000},"agent":{"thread_id":"own","child_agents":["a","b"]}}`)
	f.say("thread/read", `{"thread":{"thread_id":"x","agent":"a"},"children":{"blocking":0,"notify":0,"untold":0,"room":60},"latest_seq":9}`)
	f.do("thread/start", func(_ context.Context, params string) (string, *api.Error) {
		return fmt.Sprintf(`{"thread_id":%q,"state":"running","seq":1}`, threadIn.FindStringSubmatch(params)[1]), nil
	})
	f.do("turn/start", func(_ context.Context, params string) (string, *api.Error) {
		id := threadIn.FindStringSubmatch(params)[1]
		if prompts[id] != "" {
			f.t.Errorf("started again: %s", params)
		}
		prompts[id], ids = promptIn.FindStringSubmatch(params)[1], append(ids, id)
		return fmt.Sprintf(`{"turn_id":"turn_%s","thread_id":%[1]q,"state":"active","attention_policy":"notify_on_terminal","wake":"idle","seq":6}`, id), nil
	})
	f.do("turn/list", func(_ context.Context, params string) (string, *api.Error) {
		m := threadIn.FindStringSubmatch(params)
		if m == nil {
			return `{"turns":[{"turn_id":"turn_own","thread_id":"own","state":"active","attempt":2,"created_seq":1,"updated_seq":1}],"latest_seq":1}`, nil
		}
		if prompts[m[1]] == "" {
			return "", api.Errorf(api.KindThreadNotFound, "")
		}
		return fmt.Sprintf(`{"turns":[{"turn_id":"turn_%s","thread_id":%[1]q,"state":"active","attention_policy":"notify_on_terminal","attempt":1,"created_seq":2,"updated_seq":2}],"latest_seq":3}`, m[1]), nil
	})
	f.do("item/list", func(_ context.Context, params string) (string, *api.Error) {
		for id, prompt := range prompts {
			if strings.Contains(params, id) {
				return fmt.Sprintf(`{"items":[{"item_id":"i","thread_id":%q,"turn_id":"t","type":"user_message","status":"completed","content":{"type":"user_message","role":"user","content":[{"type":"input_text","text":%q}]}}],"latest_seq":1}`, id, prompt), nil
			}
		}
		return `{"items":[],"latest_seq":1}`, nil
	})
	f.do("turn/await", func(_ context.Context, params string) (string, *api.Error) {
		var results []string
		for _, id := range ids {
			switch {
			case !strings.Contains(params, id):
			case prompts[id] == "long":
				results = append(results, fmt.Sprintf(`{"turn_id":"turn_%s","thread_id":%[1]q,"state":"active","elapsed_ms":1}`, id))
			default:
				results = append(results, fmt.Sprintf(`{"turn_id":"turn_%s","thread_id":%[1]q,"state":"completed","text":"done: %s","elapsed_ms":1}`, id, prompts[id]))
			}
		}
		return fmt.Sprintf(`{"results":[%s],"timed_out":false,"seq":9}`, strings.Join(results, ",")), nil
	})
	return func() int { return len(ids) }
}

// The key of background work is of the turn, as that of a job is: an attempt that comes after a
// crash finds what the one before has started.
func TestAKeyFindsBackgroundWorkOfAnEarlierAttempt(t *testing.T) {
	f := newFake(t)
	n := f.keepsWork()
	inAttempt := func(attempt int, args map[string]any) string {
		t.Helper()
		answer := f.answers["turn/list"]
		f.do("turn/list", func(ctx context.Context, params string) (string, *api.Error) {
			r, refused := answer(ctx, params)
			return strings.Replace(r, `"attempt":2`, fmt.Sprintf(`"attempt":%d`, attempt), 1), refused
		})
		defer f.do("turn/list", answer)
		text, _, failed := use(t, overStdio(t, f, nil), "work_start", args, nil)
		if failed {
			t.Fatal(text)
		}
		return text
	}
	one := func(prompt, key string) map[string]any {
		return map[string]any{"prompt": prompt, "key": key, "background": true}
	}
	if text := inAttempt(1, one("tests", "k")); !strings.HasPrefix(text, "Started turn ") || n() != 1 {
		t.Errorf("it says %s", text)
	}
	inAttempt(1, one("long", "other"))
	for _, c := range []struct {
		args map[string]any
		want []string
		not  string
	}{
		{one("tests", "k"), []string{"done: tests", "This key was used before in your turn: turn turn_thread_", "has the work. It has ended."}, "another"},
		{one("please run tests", "k"), []string{"done: tests", `It was started with another prompt, which counts: "tests". It has ended.`}, "agent"},
		{map[string]any{"prompt": "tests", "key": "k", "background": true, "agent": "b"}, []string{`It was started with another agent, which counts: "a". It has ended.`}, "prompt"},
		{one("long", "other"), []string{"This key was used before in your turn", "It has not ended: its end arrives in your inbox. To have its result in this turn, call work_await with turn_ids"}, "You gave a key"},
	} {
		text := inAttempt(2, c.args)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%v: %q is not in\n%s", c.args, want, text)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%v: %q is in\n%s", c.args, c.not, text)
		}
	}
	if n() != 2 {
		t.Errorf("%d pieces of work were started", n())
	}
}

// Work in a thread that exists is found by the same call.
func TestAKeyFindsWorkInAnotherThread(t *testing.T) {
	f := newFake(t)
	o := overStdio(t, f, nil)
	f.say("turn/start", `{"turn_id":"turn_7","thread_id":"release","state":"queued","parent":{"thread_id":"own","turn_id":"turn_own","attempt":1},"attention_policy":"notify_on_terminal","outside":true,"wake":"idle","seq":6}`)
	for result, want := range map[string]string{
		`"completed","text":"tomorrow"`: "turn turn_7 in thread release has the work. It has ended.",
		`"active"`:                      "turn turn_7 in thread release has the work. It has not ended: its end arrives in your inbox.\n",
	} {
		f.say("turn/await", `{"results":[{"turn_id":"turn_7","thread_id":"release","state":`+result+`,"elapsed_ms":1}],"timed_out":false,"seq":9}`)
		text, _, failed := use(t, o, "work_start", map[string]any{"prompt": "when?", "thread_id": "release", "background": true, "key": "k"}, nil)
		if failed || !strings.Contains(text, want) {
			t.Errorf("it says %s", text)
		}
	}
	f.say("turn/start", `{"turn_id":"turn_7","thread_id":"release","state":"queued","parent":{"thread_id":"own","turn_id":"turn_own","attempt":2},"attention_policy":"notify_on_terminal","outside":true,"wake":"idle","seq":6}`)
	if text, _, _ := use(t, o, "work_start", map[string]any{"prompt": "when?", "thread_id": "release", "background": true, "key": "k"}, nil); !strings.HasPrefix(text, "Started turn turn_7") {
		t.Errorf("it says %s", text)
	}
}

// Tasks that are found come with the results of those that have ended, whatever the others do.
func TestTasksAreFoundWithTheResultsThatThereAre(t *testing.T) {
	f := newFake(t)
	n := f.keepsWork()
	o := overStdio(t, f, nil)
	tasks := func(prompts ...string) map[string]any {
		args := map[string]any{"key": "k", "background": true}
		for i, p := range prompts {
			l, _ := args["tasks"].([]map[string]any)
			args["tasks"] = append(l, map[string]any{"prompt": p, "title": fmt.Sprint("task ", i+1)})
		}
		return args
	}
	first, _, _ := use(t, o, "work_start", tasks("x", "long"), nil)
	if !strings.HasPrefix(first, "Started 2 of 2:\n") {
		t.Errorf("it says\n%s", first)
	}
	text, data, failed := use(t, o, "work_start", tasks("x", "longer", "z"), nil)
	if failed || n() != 3 {
		t.Fatalf("%d were started: %s", n(), text)
	}
	for _, want := range []string{"done: x", "Started 1 and found 2 of 3:\n2. \"task 2\": turn_thread_", "3. \"task 3\": turn_thread_", `2. It was started with another prompt, which counts: "long".`, "To have their results in this turn, call work_await with turn_ids ["} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "1. \"task 1\"") || strings.Contains(text, "All have ended") || strings.Count(data, `"found":true`) != 2 {
		t.Errorf("it says\n%s\n%s", text, data)
	}
	if _, after, _ := strings.Cut(text, "work_await"); strings.Count(after, "turn_thread_") != 2 {
		t.Errorf("waits for %s", after)
	}
}

// TestAnEndIsToldByTheAnswerThatHasIt: of two pieces of work that have ended, what one was asked for
// cannot be read. Its end is not told then.
func TestAnEndIsToldByTheAnswerThatHasIt(t *testing.T) {
	s := serve(t)
	s.fake.keepsWork()
	c := s.connect(t, nil)
	tasks := map[string]any{"key": "k", "background": true, "tasks": []map[string]any{{"prompt": "x"}, {"prompt": "y"}}}
	use(t, c, "work_start", tasks, nil)
	var told []string
	await := s.fake.answers["turn/await"]
	s.do("turn/await", func(ctx context.Context, params string) (string, *api.Error) {
		AfterSent(ctx, func(ok bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if ok {
				told = append(told, params)
			}
		})
		return await(ctx, params)
	})
	list, calls := s.fake.answers["item/list"], 0
	s.do("item/list", func(ctx context.Context, params string) (string, *api.Error) {
		if calls++; calls == 2 {
			return "", api.Errorf(api.KindOverloaded, "")
		}
		return list(ctx, params)
	})
	text, _, _ := use(t, c, "work_start", tasks, nil)
	for range 1000 { // the answer is read a moment before what follows it
		s.mu.Lock()
		n := len(told)
		s.mu.Unlock()
		if n > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(text, "done: x") || strings.Contains(text, "done: y") || len(told) != 1 {
		t.Errorf("%d ends are told by\n%s", len(told), text)
	}
}
