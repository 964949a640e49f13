package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// startedTasks is what work_start says of several tasks.
type startedTasks struct {
	Note    string   `json:"note"`
	TurnIDs []string `json:"turn_ids"`
	Tasks   []struct {
		Title string
		Error *struct{ Kind, Message string }
	} `json:"tasks"`
	Results  []struct{ State, Text string } `json:"results"`
	Reason   string                         `json:"reason"`
	Detached []string                       `json:"detached"`
	Error    *struct {
		Kind, Message string
		TurnIDs       []string `json:"turn_ids"`
	} `json:"error"`
}

// startTasks calls work_start. args has the members of the call, beside tasks.
func startTasks(t *testing.T, c claimed, tasks []map[string]any, args map[string]any) (s startedTasks, text string) {
	t.Helper()
	in := map[string]any{"tasks": tasks}
	for k, v := range args {
		in[k] = v
	}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := c.tool(t, c.Access.Token, useTool("work_start", string(raw)))
	var m struct {
		Result struct {
			Content []struct{ Text string }
			Data    startedTasks `json:"structuredContent"`
		} `json:"result"`
	}
	_, data, ok := strings.Cut(answer, "data: ")
	if err := json.Unmarshal([]byte(data), &m); status != 200 || !ok || err != nil || len(m.Result.Content) != 1 {
		t.Fatalf("work_start: %d %v %s", status, err, answer)
	}
	return m.Result.Data, m.Result.Content[0].Text
}

// prompts are tasks of echo.
func prompts(list ...string) (tasks []map[string]any) {
	for i, p := range list {
		tasks = append(tasks, map[string]any{"prompt": p, "title": fmt.Sprint("part ", i+1), "agent": "echo"})
	}
	return tasks
}

// delegates serves a worker that may start children of echo, and claims a turn of it.
func delegates(t *testing.T) (*server, claimed) {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, "echo=echo", "builds=worker")}
	s.listen = []string{"unix:" + s.socket()}
	builds := s.agents["builds"]
	builds.Worker.Lease, builds.Worker.ClaimTimeout, builds.ChildAgents = time.Hour, 0, []string{"echo"}
	s.agents["builds"] = builds
	s.start()
	return s, s.claim("own")
}

func TestSixteenTasksStartAndAreWaitedFor(t *testing.T) {
	s, own := delegates(t)
	var list []string
	for i := range 16 {
		list = append(list, fmt.Sprintf("/say result %d", i+1))
	}
	got, text := startTasks(t, own, prompts(list...), map[string]any{"wait_seconds": 100})
	if len(got.TurnIDs) != 16 || len(got.Results) != 16 || len(s.children("own")) != 16 || len(got.Detached) != 0 {
		t.Fatalf("started %+v", got)
	}
	for i, r := range got.Results {
		if r.State != "completed" || r.Text != fmt.Sprintf("result %d", i+1) || got.Tasks[i].Title != fmt.Sprint("part ", i+1) {
			t.Errorf("result %d is %+v of %+v", i+1, r, got.Tasks[i])
		}
	}
	contains(t, text, "Started 16 of 16.\nAll have ended.", `"part 16" in thread`)
}

// Nothing starts if one of the tasks cannot.
func TestTasksAreCheckedBeforeTheFirstStarts(t *testing.T) {
	s, own := delegates(t)
	latest := func() any { return oneObject(t, s.want("call", "holon/status"))["latest_seq"] }
	good := map[string]any{"prompt": "/say x", "agent": "echo"}
	for name, c := range map[string]struct {
		tasks []map[string]any
		args  map[string]any
		want  string
	}{
		"one task":         {prompts("a"), nil, "tasks"},
		"seventeen":        {prompts(strings.Split(strings.Repeat("a ", 17), " ")[:17]...), nil, "tasks"},
		"no prompt":        {[]map[string]any{good, {"agent": "echo", "prompt": " "}}, nil, "tasks[1].prompt"},
		"a long prompt":    {[]map[string]any{good, {"agent": "echo", "prompt": strings.Repeat("x", 1<<20)}}, nil, "tasks[1].prompt"},
		"no such agent":    {[]map[string]any{good, {"agent": "ecko", "prompt": "x"}}, nil, "tasks[1].agent: must be one of: echo"},
		"not its agent":    {[]map[string]any{good, {"prompt": "x"}}, nil, "tasks[1].agent: must be one of: echo"},
		"a member too":     {[]map[string]any{good, {"prompt": "x", "thread_id": "kid"}}, nil, "thread_id"},
		"with a prompt":    {prompts("a", "b"), map[string]any{"prompt": "x"}, "prompt: does not go with tasks"},
		"with a title":     {prompts("a", "b"), map[string]any{"title": "x"}, "title: does not go with tasks"},
		"with an agent":    {prompts("a", "b"), map[string]any{"agent": "echo"}, "agent: does not go with tasks"},
		"with a thread":    {prompts("a", "b"), map[string]any{"thread_id": "kid"}, "thread_id: does not go with tasks"},
		"elsewhere":        {prompts("a", "b"), map[string]any{"cwd": "/nowhere"}, "cwd"},
		"a mended cwd":     {prompts("a", "b"), map[string]any{"cwd": "/src/\ufffd"}, "cwd"},
		"too long a wait":  {prompts("a", "b"), map[string]any{"wait_seconds": 121}, "wait_seconds"},
		"too long a key":   {prompts("a", "b"), map[string]any{"key": strings.Repeat("k", 201)}, "key"},
		"a key of a model": {[]map[string]any{good, {"prompt": ""}}, map[string]any{"key": "k"}, "tasks[1].prompt"},
	} {
		before := latest()
		got, text := startTasks(t, own, c.tasks, c.args)
		if !strings.Contains(text, c.want) || len(got.TurnIDs) != 0 {
			t.Errorf("%s: it says %s, want %q", name, text, c.want)
		}
		if after := latest(); after != before {
			t.Errorf("%s: something was stored: %v, then %v", name, before, after)
		}
	}
}

// The same call with the same key finds what it has started, and starts the rest, also when
// there is no room for all.
func TestTasksWithAKeyStartOnce(t *testing.T) {
	s, own := delegates(t)
	key := map[string]any{"key": "k"}
	first, _ := startTasks(t, own, prompts("/sleep 600000", "/sleep 600000"), key)
	if again, _ := startTasks(t, own, prompts("/sleep 600000", "/sleep 600000"), key); !slices.Equal(again.TurnIDs, first.TurnIDs) || len(first.TurnIDs) != 2 {
		t.Errorf("first %v, then %v", first.TurnIDs, again.TurnIDs)
	}
	// Another second task finds the first one; a third one is new.
	more, text := startTasks(t, own, prompts("/sleep 600000", "/sleep 1", "/sleep 600000"), key)
	if len(more.TurnIDs) != 3 || !slices.Equal(more.TurnIDs[:2], first.TurnIDs) {
		t.Errorf("then %+v", more)
	}
	contains(t, text, "Started 1 and found 2 of 3:", `2. It was started with another prompt, which counts: "/sleep 600000".`)
	if n := len(s.children("own")); n != 3 {
		t.Errorf("%d child turns, want 3", n)
	}
	for s.room("own") >= 16 {
		startTasks(t, own, prompts(slices.Repeat([]string{"/sleep 600000"}, 16)...), nil)
	}
	room := s.room("own")
	more, _ = startTasks(t, own, prompts(slices.Repeat([]string{"/sleep 600000"}, room)...), map[string]any{"key": "all of it"})
	if len(more.TurnIDs) != room || s.room("own") != 0 {
		t.Fatalf("started %d of %d, room for %d", len(more.TurnIDs), room, s.room("own"))
	}
	again, _ := startTasks(t, own, prompts(slices.Repeat([]string{"/sleep 600000"}, room)...), map[string]any{"key": "all of it"})
	if !slices.Equal(again.TurnIDs, more.TurnIDs) {
		t.Errorf("the same call is answered %+v", again.Error)
	}
	before := len(s.want("call", "turn/list", `{"parent_thread_id":"own","limit":200}`))
	refused, text := startTasks(t, own, prompts("/say a", "/say b"), nil)
	if refused.Error == nil || refused.Error.Kind != "overloaded" || len(refused.Error.TurnIDs) == 0 || len(s.want("call", "turn/list", `{"parent_thread_id":"own","limit":200}`)) != before {
		t.Errorf("with no room %+v", refused)
	}
	contains(t, text, "2 tasks are to start, and there is room for 0 more child turns", "work_await")
	s.want("call", "turn/interrupt", fmt.Sprintf(`{"turn_id":%q}`, first.TurnIDs[0]))
	if refused, _ := startTasks(t, own, prompts("/say a", "/say b"), nil); refused.Error == nil || s.room("own") != 1 {
		t.Errorf("with room for one %+v", refused)
	}
	s.want("call", "turn/interrupt", fmt.Sprintf(`{"turn_id":%q}`, first.TurnIDs[1]))
	if ok, _ := startTasks(t, own, prompts("/say a", "/say b"), nil); len(ok.TurnIDs) != 2 {
		t.Errorf("with room for both %+v", ok)
	}
}

// room is children.room of a thread.
func (s *server) room(thread string) int {
	s.t.Helper()
	children, _ := oneObject(s.t, s.want("call", "thread/read", fmt.Sprintf(`{"thread_id":%q}`, thread)))["children"].(map[string]any)
	n, ok := children["room"].(float64)
	if !ok {
		s.t.Fatalf("children of %s: %v", thread, children)
	}
	return int(n)
}

func TestTasksThatDoNotEndInTimeGoOnInTheBackground(t *testing.T) {
	s, own := delegates(t)
	tasks := prompts("/say done", "/sleep 600000")
	first, text := startTasks(t, own, tasks, nil)
	contains(t, text, "Started 2 of 2:\n1. \"part 1\": "+first.TurnIDs[0]+" in thread ", fmt.Sprintf("call work_await with turn_ids [%q, %q]. Your turn does not end before they have ended.", first.TurnIDs[0], first.TurnIDs[1]))
	member := func(turnID, name string) any {
		return oneObject(t, s.want("call", "turn/read", fmt.Sprintf(`{"turn_id":%q}`, turnID)))["turn"].(map[string]any)[name]
	}
	eventually(t, "the first is done", func() bool { return member(first.TurnIDs[0], "state") == "completed" })
	got, text := startTasks(t, own, tasks, map[string]any{"wait_seconds": 1})
	if len(got.Results) != 2 || got.Results[0].Text != "done" || got.Results[1].State != "active" || !slices.Equal(got.Detached, got.TurnIDs[1:]) {
		t.Errorf("%+v", got)
	}
	contains(t, text, "Not ended in 1s: "+got.TurnIDs[1], "goes on in the background")
	if p := member(got.TurnIDs[1], "attention_policy"); p != string(turns.Notify) {
		t.Errorf("what has not ended is %v", p)
	}
}

// Jobs are never detached: the next call with the key has what has ended meanwhile.
func TestTasksWithAKeyAreAskedForAgain(t *testing.T) {
	s, own := delegates(t)
	tasks := prompts("/say done", "/sleep 3000")
	first, text := startTasks(t, own, tasks, map[string]any{"key": "k", "wait_seconds": 1})
	if len(first.Results) != 2 || first.Results[0].Text != "done" || first.Results[1].State != "active" || len(first.Detached) != 0 {
		t.Errorf("first %+v", first)
	}
	contains(t, text, "Not ended in 1s: "+first.TurnIDs[1]+". You gave a key, so its end is not told to you by itself", "with the same key")
	again, text := startTasks(t, own, tasks, map[string]any{"key": "k", "wait_seconds": 100})
	if !slices.Equal(again.TurnIDs, first.TurnIDs) || len(again.Results) != 2 || again.Results[1].State != "completed" {
		t.Errorf("then %+v", again)
	}
	contains(t, text, "All have ended.")
	if n := len(s.children("own")); n != 2 {
		t.Errorf("%d child turns", n)
	}
}

// A person comes first: the wait ends.
func TestTasksAreNotWaitedForWhileAPersonWaits(t *testing.T) {
	s, own := delegates(t)
	s.want("run", "-d", "--thread", "own", "and then this")
	got, text := startTasks(t, own, prompts("/sleep 600000", "/sleep 600000"), map[string]any{"wait_seconds": 100})
	if got.Reason != "queued" || !slices.Equal(got.Detached, got.TurnIDs) {
		t.Errorf("%+v", got)
	}
	contains(t, text, "A person waits", "End your turn now.")
}
