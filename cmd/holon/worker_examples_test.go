package main

import (
	"bytes"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/rpc/client"
)

// process is a program that a test has started.
type process struct {
	cmd    *osexec.Cmd
	output buffer
	exited chan struct{}
}

// startProcess starts a program. When the test ends, it is killed with all its
// children.
func startProcess(t *testing.T, environ []string, name string, args ...string) *process {
	t.Helper()
	return startProcessTo(t, nil, environ, name, args...)
}

// startProcessTo is startProcess with stdout in a file, which has all that was
// written when the program is killed; nil: in output.
func startProcessTo(t *testing.T, out *os.File, environ []string, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: osexec.Command(name, args...), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if out != nil {
		p.cmd.Stdout = out
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended does not matter: it is killed
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(name), p.output.String())
		}
	})
	return p
}

func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.exited
}

// builds is the real server in a process of its own, which can be killed.
type builds struct {
	*server
	binary, url string
	environ     []string // of the server, besides that of the test
	process     *process
}

// serveBuilds serves an agent named builds for workers, with a lease of so many seconds.
func serveBuilds(t *testing.T, binary string, lease int) *builds {
	t.Helper()
	return serveConfig(t, binary, fmt.Sprintf("[agents.builds]\nkind = \"worker\"\nlease_seconds = %d\n", lease)+"on_crash = \"retry\"\nbackoff_seconds = 0.1\n")
}

// serveConfig serves with a configuration file and further variables.
func serveConfig(t *testing.T, binary, config string, environ ...string) *builds {
	t.Helper()
	dir := t.TempDir()
	s := &builds{server: &server{t: t, data: filepath.Join(dir, "data")}, binary: binary, environ: environ}
	if err := os.WriteFile(filepath.Join(dir, "holon.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + freeAddress(t) // a server that starts again listens where it did
	s.up()
	return s
}

func (s *builds) up() {
	s.t.Helper()
	s.process = startProcess(s.t, s.environ, s.binary, "serve", "--data", s.data,
		"--config", filepath.Join(filepath.Dir(s.data), "holon.toml"), "--listen", strings.TrimPrefix(s.url, "http://"))
	c := client.New(client.Discover(s.data))
	defer c.Close()
	eventually(s.t, "the server is ready", func() bool { return c.Ready(s.t.Context()) == nil })
}

// worker starts a worker of the agent.
func (s *builds) worker(name string, args ...string) *process {
	return startProcess(s.t, []string{"HOLON_URL=" + s.url, "HOLON_DATA=" + s.data, "NO_PROXY=*"}, name, args...)
}

// run runs a turn and waits for its end, meanwhile is called once it has
// started.
func (s *builds) run(input string, meanwhile func()) (text, state string) {
	s.t.Helper()
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=builds", "-o", "json", input) }()
	if meanwhile != nil {
		meanwhile()
	}
	r := <-done
	out := oneObject(s.t, r.out)
	text, _ = out["text"].(string)
	state, _ = out["state"].(string)
	return text, state
}

// log is the whole log as text.
func (s *builds) log() string {
	s.t.Helper()
	var b bytes.Buffer
	for _, e := range s.events() {
		fmt.Fprintf(&b, "%s %s\n", e.Method, e.Params)
	}
	return b.String()
}

// build builds a package of this module.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT TESTED: the race detector does not see into programs that run apart; without -short they are tested")
	}
	path, err := hosttest.Build(dir, pkg)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// The examples of docs/examples run against the real server: both serve as
// workers while the server and they themselves are killed.
func TestExampleWorkers(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	t.Run("python", func(t *testing.T) { exampleInPython(t, binary) })
	t.Run("go", func(t *testing.T) { exampleInGo(t, binary) })
	t.Run("delegating", func(t *testing.T) { exampleThatDelegates(t, binary) })
}

// The parts of a turn run while its worker and the server are killed.
func exampleThatDelegates(t *testing.T, binary string) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		hosttest.Need(t, "python3 is not installed, so docs/examples/delegate.py is not run")
	}
	code, err := os.ReadFile("../../docs/examples/delegate.py")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), "\n"); n >= 100 {
		t.Errorf("the example has %d lines", n)
	}
	s := serveBuilds(t, binary, 2)
	start := func() *process { return s.worker(python, "../../docs/examples/delegate.py", "builds", "echo") }
	first := start()
	message := func() string {
		turn := oneObject(t, s.want("call", "turn/list", `{"order":"desc","limit":10}`))["turns"].([]any)
		for _, each := range turn {
			if row := each.(map[string]any); row["parent"] == nil {
				text, _ := row["message"].(string)
				return text
			}
		}
		return ""
	}
	if _, state := s.run("/say one\n/fail two\nthree", nil); state != "completed" {
		t.Errorf("three parts: %s", state)
	}
	if got := message(); got != "/say one: completed: one\n/fail two: failed: two\nthree: completed: three" {
		t.Errorf("%q", got)
	}
	if log := s.log(); strings.Count(log, `"blocking_until_terminal"`) != 3 || !strings.Contains(log, `"waits_for":["turn_`) {
		t.Errorf("the log is\n%s", log)
	}
	if _, state := s.run("/ask Go on?\nand well", func() {
		eventually(t, "the turn waits for its parts", func() bool {
			return strings.Contains(s.want("call", "turn/list", `{"state":"active"}`), "waits_for")
		})
		first.kill()
		s.process.kill()
		s.up()
		start()
		s.allow("Go on?") // the part that asked waits over the restart
	}); state != "completed" {
		t.Errorf("over a restart: %s", state)
	}
	if got := message(); !strings.Contains(got, "/ask Go on?: completed: \"Go on?\" was answered after a restart: Allow") || !strings.HasSuffix(got, "and well: completed: and well") {
		t.Errorf("%q", got)
	}
}

func exampleInPython(t *testing.T, binary string) {
	python, err := osexec.LookPath("python3")
	if err != nil {
		hosttest.Need(t, "python3 is not installed, so docs/examples/worker.py is not run")
	}
	code, err := os.ReadFile("../../docs/examples/worker.py")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), "\n"); n >= 100 {
		t.Errorf("the example has %d lines", n)
	}
	s := serveBuilds(t, binary, 30) // however busy the machine is, no lease ends
	dir := t.TempDir()
	start := func() *process { return s.worker(python, "../../docs/examples/worker.py", "builds") }
	start()

	if _, state := s.run("echo one\necho two", nil); state != "completed" {
		t.Errorf("two commands: %s", state)
	}
	if log := s.log(); !strings.Contains(log, `"output":"two\n"`) || !strings.Contains(log, `"step":"line-2"`) || strings.Contains(log, "stream/rewind") {
		t.Errorf("the log is\n%s", log)
	}

	// The first try of the second line fails: it is superseded.
	flaky := fmt.Sprintf("echo fine\ntest -e %[1]s/once || { touch %[1]s/once; echo broken; exit 3; }", dir)
	if _, state := s.run(flaky, nil); state != "completed" {
		t.Errorf("the second try: %s", state)
	}
	if log := s.log(); !strings.Contains(log, `"step":"line-2","new_epoch":2`) || !strings.Contains(log, `"exit_code":3`) {
		t.Errorf("the log is\n%s", log)
	}
	if _, state := s.run("exit 4", nil); state != "failed" {
		t.Errorf("a command that fails: %s", state)
	}

	// The server is killed in the middle of a turn and restarted: the worker
	// has continued.
	wait := fmt.Sprintf("echo begun > %[1]s/begun; while ! test -e %[1]s/go; do sleep 0.05; done; echo gone on", dir)
	began := func(file string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(dir, file)); return err == nil }
	}
	if _, state := s.run(wait, func() {
		eventually(t, "the command runs", began("begun"))
		s.process.kill()
		s.up()
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}); state != "completed" {
		t.Errorf("over a restart: %s", state)
	}
	if log := s.log(); !strings.Contains(log, `"output":"gone on\n"`) || strings.Contains(log, `"reason":"lease_expired"`) {
		t.Errorf("the log is\n%s", log)
	}

	// An interrupt ends the command.
	if _, state := s.run(fmt.Sprintf("touch %[1]s/third; while test -d %[1]s; do sleep 0.05; done", dir), func() {
		eventually(t, "the command runs", began("third"))
		turns, _ := oneObject(t, s.want("call", "turn/list", `{"state":"active"}`))["turns"].([]any)
		if len(turns) != 1 {
			t.Fatalf("active: %v", turns)
		}
		s.want("call", "turn/interrupt", fmt.Sprintf(`{"turn_id":%q}`, turns[0].(map[string]any)["turn_id"]))
	}); state != "interrupted" {
		t.Errorf("interrupted: %s", state)
	}

	// The worker is killed: another one gets the next attempt.
	s = serveBuilds(t, binary, 2)
	first := start()
	again := fmt.Sprintf("test -e %[1]s/second || { touch %[1]s/second; while test -d %[1]s; do sleep 0.05; done; }", dir)
	if _, state := s.run(again, func() {
		eventually(t, "the command runs", began("second"))
		first.kill()
		start()
	}); state != "completed" {
		t.Errorf("over the end of a worker: %s", state)
	}
	if log := s.log(); !strings.Contains(log, `"reason":"lease_expired"`) {
		t.Errorf("the log is\n%s", log)
	}
}

func exampleInGo(t *testing.T, binary string) {
	s := serveBuilds(t, binary, 2)
	worker := build(t, t.TempDir(), "./docs/examples/worker")
	first := s.worker(worker, "builds")
	if text, state := s.run("one two", nil); state != "completed" || text != "1 one\n2 two\n" {
		t.Errorf("%s: %q", state, text)
	}
	// Killed in the middle of a turn: only the second worker's output is live.
	text, state := s.run(strings.Repeat("word ", 30), func() {
		eventually(t, "it counts", func() bool { return strings.Contains(s.log(), "3 word") })
		first.kill()
		s.worker(worker, "builds")
	})
	if state != "completed" || !strings.HasPrefix(text, "1 word\n2 word\n") || !strings.HasSuffix(text, "\n30 word\n") || strings.Count(text, "word") != 30 {
		t.Errorf("%s: %q", state, text)
	}
	// On a busy machine the lease of a worker that lives can end, too.
	if log := s.log(); !strings.Contains(log, "stream/rewind") {
		t.Errorf("the log is\n%s", log)
	}
}
