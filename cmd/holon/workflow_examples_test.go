package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// workflows are the examples of workflows, each in a directory of its own with what it needs.
func workflows(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{
		"../../docs/examples/workflow.sh": "workflow.sh", "../../docs/examples/workflow.py": "workflow.py",
		"../../docs/examples/workflow.mjs": "workflow.mjs", "../../clients/python/holon.py": "holon.py",
	} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list := map[string][]string{
		"shell": {filepath.Join(dir, "workflow.sh")}, "go": {build(t, dir, "./docs/examples/workflow")},
		"python": {"python3", filepath.Join(dir, "workflow.py")}, "javascript": {"node", filepath.Join(dir, "workflow.mjs")},
	}
	for name, needs := range map[string]string{"python": "python3", "javascript": "node"} {
		if _, err := exec.LookPath(needs); err != nil {
			if os.Getenv("REQUIRE_FAULTS") == "1" {
				hosttest.Need(t, needs+" is missing")
			}
			t.Logf("NOT TESTED: the workflow in %s needs %s", name, needs)
			delete(list, name)
		}
	}
	return list
}

// The same workflow in four languages says the same, and does each job once.
func TestWorkflowsOfTheExamples(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	for name, command := range workflows(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveConfig(t, binary, leads(command, ""), withHolon(t, binary))
			r := s.holon("run", "--agent=lead", "--thread=main", "-q", "1.4")
			if want := "published: linux 1.4, mac 1.4\n"; r.code != exitOK || r.out != want {
				t.Errorf("exit %d: it said %q, want %q\n%s", r.code, r.out, want, r.err)
			}
			if list := s.children("main"); len(list) != 3 {
				t.Errorf("%d jobs: %v", len(list), list)
			}
		})
	}
}

// Programs under test are killed from outside, before the n-th line of their n-th attempt, with all
// processes of their group.
const (
	killsShell = `n=$(cat "$KILLS" 2>/dev/null || echo 0); n=$((n + 1)); echo "$n" >"$KILLS"
trap 'n=$((n - 1)); if [ "$n" -eq 0 ]; then kill -9 0; fi' DEBUG
`
	killsPython = `import os, runpy, signal, sys, threading
path, kills = sys.argv[1], os.environ["KILLS"]
left = int(open(kills).read()) + 1 if os.path.exists(kills) else 1
with open(kills, "w") as file:
    file.write(str(left))

def trace(frame, event, _):
    global left
    if frame.f_code.co_filename != path:
        return None
    if event == "line":
        left -= 1
        if left == 0:
            os.kill(0, signal.SIGKILL)
    return trace

sys.path.insert(0, os.path.dirname(path))
threading.settrace(trace)
sys.settrace(trace)
runpy.run_path(path, run_name="__main__")
`
)

// counting serves a workflow whose jobs are done by an agent that notes each of its runs. ran are
// the prompts of these runs.
func counting(t *testing.T, command []string, pause time.Duration, environ ...string) (s *builds, ran func() []string) {
	t.Helper()
	dir := t.TempDir()
	note, runs := filepath.Join(dir, "note.sh"), filepath.Join(dir, "runs")
	script := fmt.Sprintf("#!/bin/sh\nread -r prompt\necho \"$prompt\" >>%s\nsleep %.2f\necho \"${prompt#/say }\"\n", runs, pause.Seconds())
	if err := os.WriteFile(note, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	const retried = "on_crash = \"retry\"\nmax_attempts = 100\nbackoff_seconds = 0.05\nbackoff_max_seconds = 0.05\n"
	config := fmt.Sprintf("[agents.echo]\nkind = \"exec\"\ncommand = [%q]\n%s[agents.lead]\nkind = \"exec\"\ncommand = [%s]\nchild_agents = [\"echo\"]\nenv = {%s}\n%[2]s",
		note, retried, quotedList(command), strings.Join(environ, ", "))
	binary := build(t, t.TempDir(), "./cmd/holon")
	s = serveConfig(t, binary, config, withHolon(t, binary))
	return s, func() []string {
		data, err := os.ReadFile(runs)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Split(strings.TrimSpace(string(data)), "\n")
		slices.Sort(list)
		return list
	}
}

var workflowJobs = []string{
	"/say linux 1.4", "/say mac 1.4", "/say published: linux 1.4, mac 1.4",
}

// A program that is killed at every one of its lines has each of its jobs done once.
func TestAWorkflowIsKilledAtEveryLine(t *testing.T) {
	for name, command := range workflows(t) {
		least := 6 // attempts: each kill is one
		switch name {
		case "shell":
			if _, err := exec.LookPath("bash"); err != nil {
				hosttest.Need(t, "bash is missing")
			}
			trap := filepath.Join(t.TempDir(), "trap.sh")
			if err := os.WriteFile(trap, []byte(killsShell), 0o600); err != nil {
				t.Fatal(err)
			}
			command = []string{"env", "BASH_ENV=" + trap, "bash", command[0]}
		case "python":
			least = 8
			command = []string{"python3", "-c", killsPython, command[1]}
		default:
			continue // nothing stops these at a line
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kills := filepath.Join(t.TempDir(), "kills")
			s, ran := counting(t, command, 20*time.Millisecond, fmt.Sprintf("KILLS = %q", kills))
			r := s.holon("run", "--agent=lead", "--thread=main", "-q", "1.4")
			if r.code != exitOK || !strings.HasPrefix(r.out, "published: linux 1.4, mac 1.4\n") {
				t.Errorf("exit %d: it said %q\n%s", r.code, r.out, r.err)
			}
			if got := ran(); !slices.Equal(got, workflowJobs) {
				t.Errorf("the jobs' agent ran for %q", got)
			}
			data, err := os.ReadFile(kills)
			if err != nil {
				t.Fatal(err)
			}
			var attempts int
			if _, err := fmt.Sscan(string(data), &attempts); err != nil || attempts < least {
				t.Errorf("%d attempts, want at least %d: %v", attempts, least, err)
			}
		})
	}
}

// When the server is killed again and again, no job is run that has ended.
func TestAJobThatHasEndedIsNotRunAgain(t *testing.T) {
	for name, command := range workflows(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ran := counting(t, command, 150*time.Millisecond)
			s.want("call", "thread/start", `{"thread_id":"main","agent":"lead"}`)
			done := make(chan result, 1)
			go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", "1.4") }()
			// A turn that has done nothing at all in three restarts is given up.
			eventually(t, "the program has asked for a job", func() bool { return len(s.children("main")) > 0 })
			var r result
			for kills := 0; ; kills++ {
				wait := time.After(time.Duration(120+90*(kills%4)) * time.Millisecond)
				if kills >= 6 {
					wait = nil
				}
				select {
				case r = <-done:
				case <-wait:
					s.process.kill()
					s.up()
					continue
				}
				break
			}
			if r.code != exitOK || !strings.HasPrefix(r.out, "published: linux 1.4, mac 1.4\n") {
				t.Errorf("exit %d: it said %q\n%s", r.code, r.out, r.err)
			}
			if got := slices.Compact(ran()); !slices.Equal(got, workflowJobs) {
				t.Errorf("the jobs' agent ran for %q", got)
			}
			ended := map[string]bool{} // jobs, by turn
			for line := range strings.Lines(s.log()) {
				method, rest, _ := strings.Cut(line, " ")
				var e struct {
					TurnID string `json:"turn_id"`
				}
				if json.Unmarshal([]byte(rest), &e) != nil || e.TurnID == "" {
					continue
				}
				if method == "turn/started" && ended[e.TurnID] {
					t.Errorf("a job that had ended is run again: %s", line)
				}
				ended[e.TurnID] = ended[e.TurnID] || method == "turn/completed"
			}
			if len(ended) < 4 {
				t.Errorf("%d turns in the log", len(ended))
			}
		})
	}
}
