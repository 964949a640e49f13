package main

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/threads"
)

// flow serves an agent whose turns are this script, and echo for its jobs. Both are tried again
// after a crash.
func flow(t *testing.T, script string) *builds { return flowWith(t, "", script) }

// flowWith is flow with more keys of the agent.
func flowWith(t *testing.T, keys, script string) *builds {
	t.Helper()
	binary := build(t, t.TempDir(), "./cmd/holon")
	path := filepath.Join(t.TempDir(), "flow.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := serveConfig(t, binary, leads([]string{path}, keys), withHolon(t, binary))
	s.want("call", "thread/start", `{"thread_id":"main","agent":"lead"}`)
	return s
}

func TestJobPrintsItsResult(t *testing.T) {
	s := flow(t, `
exec 2>&1
out=$(holon job good --agent echo "/say fine"); echo "good: $? $out"
holon job good --agent echo "/say fine" -o json | grep -c '"job": "good"'
printf '/say from stdin' | holon job build/piped --agent echo
holon job bad --agent echo "/fail it broke" >/dev/null; echo "bad: $?"
holon job good --agent echo "/say other"; echo "other: $?"
holon job "a b" --agent echo x; echo "name: $?"
holon job x --agent nobody x; echo "agent: $?"
env -u HOLON_TURN_ID holon job x --agent echo x; echo "no turn: $?"
HOLON_ATTEMPT=first holon job x --agent echo x; echo "no attempt: $?"
cd /tmp && holon job elsewhere --agent echo --cwd /tmp x; echo "cwd: $?"
`)
	r := s.holon("run", "--agent=lead", "--thread=main", "-q", "go")
	if r.code != exitOK {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	contains(t, r.out, "good: 0 fine\n1\nfrom stdin\n", "job bad: failed after", "it broke", "\nbad: 1\n",
		"the job good of this turn was asked for with other input, or of another agent", "\nother: 1\n", "NAME: must be 1 to 8 words", "\nname: 2\n",
		"\nagent: 1\n", "this is no turn of an agent: HOLON_THREAD_ID and HOLON_TURN_ID are not set", "\nno turn: 2\n", "\nno attempt: 2\n",
		"a child thread works in the directory of its owner or below", "cwd: 1\n")
	if list := s.children("main"); len(list) != 3 {
		t.Errorf("%d child turns, want 3", len(list))
	}
	if r := s.holon("job", "x", "hello"); r.code != exitUsage || !strings.Contains(r.err, "this is no turn of an agent") {
		t.Errorf("outside of a turn exit %d: %s", r.code, r.err)
	}
}

// A bound that waiting does not end is an answer.
func TestAJobBelowTheDeepestThreadIsRefused(t *testing.T) {
	s := flow(t, "exec 2>&1\nholon job x --agent echo /say; echo \"exit $?\"\n")
	parent := "main"
	for i := range threads.MaxLevel {
		id := fmt.Sprint("level", i+1)
		s.want("call", "thread/start", fmt.Sprintf(`{"thread_id":%q,"parent":{"thread_id":%q}}`, id, parent))
		parent = id
	}
	r := s.holon("run", "--thread="+parent, "--timeout=20s", "-q", "go")
	contains(t, r.out, "is 8 levels below its root, and no thread may be deeper", "\nexit 1\n")
}

// A long result is printed whole, and lists fold the threads of jobs that need nobody.
func TestJobsAreFolded(t *testing.T) {
	s := flow(t, `
awk 'BEGIN { printf "/say "; for (i = 0; i < 9000; i++) printf "word%d ", i }' | holon job long --agent echo | tr ' ' '\n' | grep -c word
holon job second --agent echo "/say x"
holon job asks --agent echo "/ask Go on?"
`)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", "go") }()
	eventually(t, "it asks", func() bool { return strings.Contains(s.want("items", "--status=pending", "-o", "jsonl"), "Go on?") })
	list := s.want("threads")
	contains(t, list, "main", "asks")
	if strings.Contains(list, "second") || strings.Contains(list, "long") {
		t.Errorf("the threads are\n%s", list)
	}
	contains(t, s.want("threads", "--jobs"), "second", "long", "asks")
	contains(t, s.want("tree", "main"), "2 jobs", "asks")
	s.allow("Go on?")
	if r := <-done; r.code != exitOK || !strings.HasPrefix(r.out, "9000\nx\n") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	contains(t, s.want("tree", "main"), "3 jobs", "completed")
}

// When the server is killed, the program is run again, and no job that has ended is.
func TestJobsOutliveAKill(t *testing.T) {
	s := flow(t, `
holon job first --agent echo "/say one"
holon job second --agent echo "/ask Go on?"
`)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", "go") }()
	for attempt := range 2 {
		eventually(t, "the program runs, and its second job asks", func() bool {
			list, _ := oneObject(t, s.want("call", "turn/list", `{"thread_id":"main"}`))["turns"].([]any)
			if len(list) != 1 || !strings.Contains(s.want("items", "--status=pending", "-o", "jsonl"), "Go on?") {
				return false
			}
			turn := list[0].(map[string]any)
			return turn["attempt"] == float64(attempt+1) && turn["retry_at"] == nil
		})
		s.process.kill()
		s.up()
	}
	s.allow("Go on?")
	if r := <-done; r.code != exitOK || !strings.HasPrefix(r.out, "one\n") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	if !strings.Contains(s.log(), `"attempt":3`) {
		t.Error("the turn was not tried again")
	}
	list := s.children("main")
	for _, turn := range list {
		t := turn.(map[string]any)
		if t["job"] == "first" && t["attempt"] != 1.0 {
			s.t.Errorf("the first job: %v", t)
		}
	}
	if len(list) != 2 {
		t.Errorf("%d child turns", len(list))
	}
}

func TestSkillsArePrinted(t *testing.T) {
	s := &server{t: t, data: t.TempDir()} // none runs, and none is needed
	contains(t, s.want("skills"), "background", "workflow")
	contains(t, s.want("skills", "show", "monitor"), "# monitor: ", "| case | what you call | what follows |")
	if r := s.holon("skills", "show", "monitr"); r.code != exitUsage || !strings.Contains(r.err, "monitor") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// The line of docs/background.md takes the prompt alone, in each attempt.
func TestAPromptOfSeveralLinesIsReadWithoutTheListOfJobs(t *testing.T) {
	if _, err := osexec.LookPath("jq"); err != nil {
		hosttest.Need(t, "jq is not installed, so the line of docs/background.md is not run")
	}
	line := ""
	for _, block := range blocksOf(t, "../../docs/background.md", "Workflows") {
		if strings.HasPrefix(block, "prompt=") {
			line = block
		}
	}
	s := flowWith(t, "input = \"json\"\n", line+`
out=$(holon job first --agent echo "/say ($prompt)")
[ "$HOLON_ATTEMPT" = 2 ] || kill -9 $$
echo "$out"; echo "$prompt"
`)
	if r := s.holon("run", "--agent=lead", "--thread=main", "-q", "fix\n/say the parser"); r.code != exitOK || !strings.HasSuffix(r.out, "the parser)\nfix\n/say the parser\n") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

// The key of background work is of the turn: when the server is killed, the next attempt of its
// agent finds the work and its result, and starts only what is missing.
func TestBackgroundWorkOfAKeyIsStartedOnce(t *testing.T) {
	if _, err := osexec.LookPath("curl"); err != nil {
		hosttest.Need(t, "curl is not installed, so no tools are called")
	}
	s := flow(t, `
call() {
	curl -s -H "Authorization: Bearer $HOLON_TOKEN" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work_start","arguments":'"$1"'}}' "$HOLON_MCP_URL"
}
call '{"prompt":"/say tests '$HOLON_ATTEMPT'","agent":"echo","background":true,"key":"tests"}'
call '{"tasks":[{"prompt":"/say x","agent":"echo"},{"prompt":"/say y","agent":"echo"}],"background":true,"key":"two"}'
[ "$HOLON_ATTEMPT" = 3 ] || sleep 60
`)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", "go") }()
	for attempt := range 2 {
		eventually(t, "the work has ended", func() bool {
			list, _ := oneObject(t, s.want("call", "turn/list", `{"thread_id":"main"}`))["turns"].([]any)
			if len(list) == 0 {
				return false
			}
			turn, ended := list[0].(map[string]any), 0
			for _, c := range s.children("main") {
				if c.(map[string]any)["state"] == "completed" {
					ended++
				}
			}
			return turn["attempt"] == float64(attempt+1) && turn["retry_at"] == nil && ended == 3
		})
		s.process.kill()
		s.up()
	}
	r := <-done
	contains(t, r.out, "This key was used before in your turn", `It was started with another prompt, which counts: \"/say tests 1\"`, "tests 1", "Found 2 of 2", "All have ended")
	if list := s.children("main"); len(list) != 3 {
		t.Errorf("%d child turns, want 3", len(list))
	}
}

// TestAKeyUnderWhichNothingWasStarted: its thread was made, and there was no room for the turn. Later
// the key is free, whatever is asked for.
func TestAKeyUnderWhichNothingWasStarted(t *testing.T) {
	if _, err := osexec.LookPath("curl"); err != nil {
		hosttest.Need(t, "curl is not installed, so no tool is called from a shell")
	}
	s := flow(t, `
start() {
	curl -s -H "Authorization: Bearer $HOLON_TOKEN" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work_start","arguments":{"background":true,'"$1"'}}}' "$HOLON_MCP_URL" | cut -c1-600
}
some='{"prompt":"/sleep 60000","agent":"echo"}'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do some="$some,{\"prompt\":\"/sleep 60000\",\"agent\":\"echo\"}"; done
for i in 1 2 3 4; do start "\"tasks\":[$some]" >/dev/null; done
echo; echo FIRST; start '"agent":"echo","prompt":"/say tests","title":"Tests","key":"k"'
holon call turn/list '{"parent_thread_id":"main"}' | grep -o '"turn_id": *"[^"]*"' | head -n 1 | cut -d '"' -f 4 | xargs holon interrupt
until holon call turn/list '{"parent_thread_id":"main"}' | grep -q interrupted; do sleep 0.1; done
echo; echo SECOND; start '"agent":"echo","prompt":"/say tests","title":"Run the tests","key":"k"'
`)
	r := s.holon("run", "--agent=lead", "--thread=main", "-q", "go")
	first, second, _ := strings.Cut(r.out, "SECOND")
	if !strings.Contains(first, "overloaded") || strings.Contains(second, "conflict") || !strings.Contains(second, "turn_") {
		t.Error(r.out, r.err)
	}
}
