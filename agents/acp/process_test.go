package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestCrashFailsTheTurnWithStatusAndTail(t *testing.T) {
	for prompt, want := range map[string]string{
		"say partial\ndie 3 out of memory":   "exit status 3: out of memory",
		"say partial\nkill 9 boom":           "signal: killed: boom",
		"say partial\nhalf":                  "exit status 1",
		"say partial\nopen-tool x\ndie 4 no": "exit status 4: no",
	} {
		r := bad(t, "")
		th := r.thread("t")
		sink, out := th.prompt(t.Context(), prompt)
		if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentFailed || !strings.Contains(out.Why(), want) {
			t.Errorf("%q: %+v", prompt, out)
		}
		if got := said2(sink); got != "partial" {
			t.Errorf("%q: said %q", prompt, got)
		}
		if info := r.Info(); info.Processes != 0 || info.State != turns.AgentFailed || !strings.Contains(info.LastError, want) {
			t.Errorf("%q: %+v", prompt, info)
		}
		if got := th.run("say back"); got != "back" {
			t.Errorf("%q: then %q", prompt, got)
		}
		if info := r.Info(); info.State != turns.AgentReady || info.LastError != "" {
			t.Errorf("%q: then %+v", prompt, info)
		}
	}
}

func TestCrashCancelsItsQuestions(t *testing.T) {
	th := bad(t, "").thread("t")
	ctx := make(chan context.Context, 1)
	sink, out := th.prompt(t.Context(), "ask-two\nsay never", func(s *agenttest.Sink) {
		s.OnAsk = func(c context.Context, q items.Content, _ turns.AskOptions) (turns.Answer, error) {
			select {
			case ctx <- c:
				th.r.pool.mu.Lock()
				pr := th.r.pool.procs[0]
				th.r.pool.mu.Unlock()
				pr.group.Kill()
			default:
			}
			<-c.Done()
			return turns.Answer{}, c.Err()
		}
	})
	if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentFailed {
		t.Errorf("%+v", out)
	}
	for _, it := range sink.Items() {
		if it.Kind.IsQuestion() && it.Status.Open() {
			t.Errorf("open: %+v", it)
		}
	}
}

func TestProcessThatSaysNothingMoreIsEnded(t *testing.T) {
	th := bad(t, "").thread("t")
	_, out := th.prompt(t.Context(), "close-stdout\nwait")
	if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentFailed {
		t.Errorf("%+v", out)
	}
}

func TestWhatCannotStartIsSaidInWords(t *testing.T) {
	script := func(text string) []string {
		path := filepath.Join(t.TempDir(), "agent")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return []string{path}
	}
	agent := acptest.Build(t, acptest.BadAgent)
	latin1 := filepath.Join(t.TempDir(), "caf\xe9") // beside it the directory that it must not become
	if err := errors.Join(os.Mkdir(latin1, 0o700), os.Mkdir(strings.ToValidUTF8(latin1, "\ufffd"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command []string
		change  func(*Config)
		kind    string
		want    []string
	}{
		"NotInstalled":  {command: []string{"no-such-agent-anywhere"}, kind: ProblemInstall, want: []string{"not found in the server's PATH", "Install"}},
		"NotExecutable": {command: []string{os.Args[0] + ".no"}, kind: ProblemInstall, want: []string{"does not exist"}},
		"NoLogin":       {command: []string{agent, "auth"}, kind: ProblemLogin, want: []string{"not logged in", "Log in with the agent's own command"}},
		"WrongNode":     {command: script(`echo 'Error: this program requires Node.js version 22 or newer' >&2; exit 1`), kind: ProblemNode, want: []string{"another version of Node.js", "version 22"}},
		"AsRoot":        {command: script(`echo '--dangerously-skip-permissions cannot be used with root/sudo privileges' >&2; exit 1`), kind: ProblemFailed, want: []string{"as root", "disableBypassPermissionsMode"}},
		"WrongProtocol": {command: []string{agent, "protocol=2"}, kind: ProblemProtocol, want: []string{"speaks version 2"}},
		"NoCwd":         {command: []string{agent}, change: func(c *Config) { c.Cwd = "/no/such/dir" }, kind: ProblemCwd, want: []string{"/no/such/dir"}},
		"CwdNotUTF8":    {command: []string{agent}, change: func(c *Config) { c.Cwd = latin1 }, kind: ProblemCwd, want: []string{`caf\xe9" is not UTF-8`}},
		"NeverAnswers":  {command: []string{agent, "no-init"}, change: func(c *Config) { c.StartTimeout = 300 * time.Millisecond }, kind: ProblemTimeout, want: []string{"did not answer in time"}},
		"DiesAtOnce":    {command: []string{agent, "exit=7:broken configuration"}, kind: ProblemFailed, want: []string{"exit status 7: broken configuration"}},
		"BadAnswer":     {command: []string{agent, `init={"id":$ID,"error":{"code":"EACCES","message":"no"}}`}, kind: ProblemFailed, want: []string{"not as the Agent Client Protocol says", `"code":"EACCES"`}},
		"BadSession":    {command: []string{agent, `new={"id":$ID,"result":{"sessionId":NaN}}`}, kind: ProblemFailed, want: []string{"not as the Agent Client Protocol says", `"sessionId":NaN`}},
		"MayNotRun":     {command: []string{"/etc/passwd"}, kind: ProblemInstall, want: []string{"may not be executed", "chmod +x"}},
		"AnotherServer": {command: []string{"cat"}, kind: ProblemProtocol, want: []string{"does not speak the Agent Client Protocol", "--acp"}},
		"EndsSilently":  {command: []string{"true"}, kind: ProblemFailed, want: []string{"exit status 0", "Run its command by hand"}},
		"NoAgentAtAll":  {command: script("echo usage: agent FILE; exit 2"), kind: ProblemFailed, want: []string{"exit status 2", "usage: agent FILE"}},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(cfg *Config) {
				if c.change != nil {
					c.change(cfg)
				}
			}
			r := serve(t, c.command, change)
			_, out := r.thread("t").prompt(t.Context(), "say x")
			if out.State != turns.Failed || out.Failure.Kind != turns.KindAgentUnavailable || !out.Unread {
				t.Errorf("%+v", out)
			}
			_, err := r.Probe(t.Context())
			p, ok := err.(*Problem)
			if !ok || p.Kind != c.kind {
				t.Fatalf("probe: %#v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.Why(), want) || !strings.Contains(p.Error(), want) {
					t.Errorf("%q is missing in %q and %q", want, out.Why(), p)
				}
			}
		})
	}
}

func TestAnAgentThatCannotRunIsSaidInTheLog(t *testing.T) {
	agent := acptest.Build(t, acptest.BadAgent)
	for name, command := range map[string][]string{"NotInstalled": {"/no/such/agent"}, "DiesAtOnce": {agent, "exit=7:broken configuration"}} {
		core, logged := observer.New(zap.WarnLevel)
		r := serve(t, command, func(c *Config) { c.Eager, c.Log = true, zap.New(core) })
		for r.Info().State != turns.AgentFailed { // it starts by itself
			time.Sleep(time.Millisecond)
		}
		r.stop()
		why, _, _ := strings.Cut(r.Info().LastError, ":")
		if n := len(logged.Filter(func(e observer.LoggedEntry) bool { return strings.Contains(fmt.Sprint(e.ContextMap()["error"]), why) }).All()); n != 1 {
			t.Errorf("%s: %q is logged %d times: %v", name, why, n, logged.All())
		}
	}
}

// Each line that a failed agent has written is an entry of its own, and none is long.
func TestTheLogHasALineOfAnAgentForEachThatItWrote(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	r := bad(t, "", func(c *Config) { c.Log = zap.New(core) })
	lines := []string{"the first of the last", strings.Repeat("x", 3<<10), "the last"}
	text := "stderr-flood 30000\n"
	for _, line := range lines {
		text += "stderr " + line + "\n"
	}
	if _, out := r.thread("a").prompt(t.Context(), text+"die 3"); out.State != turns.Failed || !strings.Contains(out.Why(), "the last") {
		t.Fatalf("%+v", out)
	}
	r.stop()
	var wrote []string
	for _, e := range logged.All() {
		for name, value := range e.ContextMap() {
			if n := len(fmt.Sprint(value)); n > maxLoggedLine+len("…") {
				t.Errorf("%s: %s has %d bytes", e.Message, name, n)
			}
		}
		if line, ok := e.ContextMap()["line"].(string); ok {
			wrote = append(wrote, line)
		}
	}
	if n := len(wrote); n != maxLoggedLines || wrote[n-3] != lines[0] || wrote[n-2] != lines[1][:maxLoggedLine]+"…" || wrote[n-1] != lines[2] {
		t.Errorf("the log has %d lines: %.200q", n, wrote)
	}
}

func TestProbeOfAnAgentThatWorks(t *testing.T) {
	rec, dir := records(t)
	r := bad(t, "version=4.2", func(c *Config) { c.Records, c.Cwd = rec, "" })
	info, err := r.Probe(t.Context())
	if err != nil || info.Version != "4.2" || info.Protocol != "acp/1" || !info.Capabilities.Load || len(info.Capabilities.Modes) == 0 {
		t.Errorf("%+v, %v", info, err)
	}
	if n := entries(t, dir); n != 0 {
		t.Errorf("%d processes are recorded", n)
	}
}

func TestProbeAsksTheAgentWhoIsLoggedIn(t *testing.T) {
	for kind, missing := range map[string]bool{"api_key": false, "none": true} {
		_, err := bad(t, "login="+kind).Probe(t.Context())
		p, _ := errors.AsType[*Problem](err)
		if missing != (p != nil && p.Kind == ProblemLogin) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestRelativeCwdIsRefused(t *testing.T) {
	if _, err := New("x", Config{Command: []string{"y"}, Cwd: "a/b"}); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Error(err)
	}
}

// What summaries say of the directory is what the agent's session gets.
func TestSessionsOpenWhereTheAgentSaysThatItWorks(t *testing.T) {
	agents, threads := t.TempDir(), t.TempDir()
	servers, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ agents, threads, want string }{
		{"", "", servers}, {agents, "", agents}, {agents, threads, threads}, {"", threads + "/../" + filepath.Base(threads), threads},
	} {
		r := bad(t, "", func(cfg *Config) { cfg.Cwd = c.agents })
		sink := agenttest.NewSink(t)
		out := r.thread(fmt.Sprint("t", i)).with(t.Context(), sink, turns.Prompt{Cwd: c.threads}, "cwd")
		says, err := r.Directory(c.threads)
		if out.State != turns.Completed || err != nil || said2(sink) != c.want || says != c.want {
			t.Errorf("%+v: a session in %q (%+v), it says %q, %v", c, said2(sink), out.Failure, says, err)
		}
	}
}

func TestFailedStartsAreSpacedOut(t *testing.T) {
	r := bad(t, "exit=1:no")
	for i := range 3 {
		if _, out := r.thread(fmt.Sprint("t", i)).prompt(t.Context(), "say x"); out.State != turns.Failed {
			t.Fatalf("%+v", out)
		}
	}
	r.pool.mu.Lock()
	fails, wait := r.pool.fails, time.Until(r.pool.notUntil)
	r.pool.mu.Unlock()
	if fails != 3 || wait > 5*restarts.First {
		t.Errorf("%d failed, the next start in %v", fails, wait)
	}
	var p pool
	p.enterRoom(r.Agent, NewRoom(0))
	for range 40 {
		p.gone(&proc{}, errGone)
	}
	if wait := time.Until(p.notUntil); wait > restarts.Max*6/5 || wait < restarts.Max/2 {
		t.Errorf("after many failures %v", wait)
	}
	if _, out := r.thread("t").interruptAfter("say x", progressed); out.State != turns.Interrupted {
		t.Errorf("while it waits to start again: %+v", out)
	}
}

func TestIdleProcessIsEndedAndStartedAgain(t *testing.T) {
	r := bad(t, "state="+t.TempDir()+"/s", func(c *Config) { c.IdleAfter = 50 * time.Millisecond })
	th := r.thread("t")
	pid, _ := strconv.Atoi(th.run("pid"))
	gone(t, pid)
	if got := th.run("session"); !strings.Contains(got, "resumed") {
		t.Errorf("%q", got)
	}
}

func TestProcessesAreStartedWhenAllAreBusy(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.MaxProcesses = 2 })
	if r.Info().Processes != 0 || r.Info().State != turns.AgentIdle {
		t.Error("it was started before it was needed")
	}
	stop := make([]context.CancelFunc, 3)
	pids := map[string]bool{}
	done := make(chan struct{}, 3)
	for i := range stop {
		var ctx context.Context
		ctx, stop[i] = context.WithCancel(t.Context())
		sink := agenttest.NewSink(t)
		go func() {
			r.thread(fmt.Sprint("t", i)).with(ctx, sink, turns.Prompt{}, "pid\nwait")
			done <- struct{}{}
		}()
		sink.Wait(t.Context(), func() bool { return hasItem(sink) })
		pids[said2(sink)] = true
	}
	if len(pids) != 2 || r.Info().Processes != 2 {
		t.Errorf("processes %v", pids)
	}
	for _, f := range stop {
		f()
		<-done
	}
}

func TestEagerAgentIsUpBeforeItsFirstTurn(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.Eager = true })
	for limit := time.Now().Add(acptest.Patience); r.Info().State != turns.AgentReady; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%+v", r.Info())
		}
	}
}

// TestStopEndsWhatIgnoresEverything has processes with one child each, all of
// which ignore EOF and TERM: they end at the same time, by KILL.
func TestStopEndsWhatIgnoresEverything(t *testing.T) {
	rec, dir := records(t)
	r := bad(t, "", func(c *Config) { c.MaxProcesses, c.Records = 2, rec })
	stop := make([]context.CancelFunc, 2)
	var pids []int
	done := make(chan struct{}, 2)
	for i := range stop {
		var ctx context.Context
		ctx, stop[i] = context.WithCancel(t.Context())
		sink := agenttest.NewSink(t)
		go func() {
			r.thread(fmt.Sprint("t", i)).with(ctx, sink, turns.Prompt{}, fmt.Sprintf("pid\ngrandchild stop%d\nstubborn\nsay ready\nwait", i))
			done <- struct{}{}
		}()
		sink.Wait(t.Context(), func() bool { return strings.HasSuffix(said2(sink), "ready") })
		for _, s := range strings.Split(said2(sink), "|")[:2] {
			pid, err := strconv.Atoi(strings.TrimSpace(s))
			if err != nil {
				t.Fatal(said2(sink))
			}
			pids = append(pids, pid)
		}
	}
	for _, f := range stop {
		f()
		<-done
	}
	if entries(t, dir) != 2 {
		t.Error("the processes are not recorded")
	}
	began := time.Now()
	r.stop()
	t.Logf("stopped in %v", time.Since(began))
	for _, pid := range pids {
		gone(t, pid)
	}
	if entries(t, dir) != 0 {
		t.Error("the processes are still recorded")
	}
	if _, out := r.thread("late").prompt(t.Context(), "say x"); out.State != turns.Failed || out.Failure.Kind != turns.KindAgentUnavailable {
		t.Errorf("after the stop: %+v", out)
	}
}

// failing is a Recorder that fails.
type failing struct{}

func (failing) Add(*process.Group, []string) (func(), error) {
	return nil, fmt.Errorf("no space left on device")
}

func TestNothingRunsThatIsNotRecorded(t *testing.T) {
	r := bad(t, "", func(c *Config) { c.Records = failing{} })
	if _, out := r.thread("t").prompt(t.Context(), "say x"); out.State != turns.Failed || !strings.Contains(out.Why(), "no space left") {
		t.Errorf("%+v", out)
	}
}

func TestEnvironmentIsPassedOnWithoutWhatIsTheServersOwn(t *testing.T) {
	own := []string{"HOLON_TURN_ID", "HOLON_ORIGIN", "HOLON_URL", "HOLON_MCP_URL", "HOLON_TOKEN"}
	for _, name := range own {
		t.Setenv(name, "not yours")
	}
	th := bad(t, "", func(c *Config) { c.Env = map[string]string{"COLOUR": "blue"} }).thread("t")
	if got := th.run("env COLOUR\nenv " + strings.Join(own, "\nenv ")); !strings.Contains(got, "blue") || strings.Contains(got, "not yours") {
		t.Errorf("%q", got)
	}
}

func TestReasonOfAnEndIsWaitedFor(t *testing.T) {
	pr := newProc(&Agent{})
	left, leave := context.WithCancel(t.Context())
	leave()
	if err := pr.howEnded(left, errGone); err != errGone {
		t.Errorf("nobody waits any more: %v", err)
	}
	other := errors.New("other")
	if err := pr.howEnded(t.Context(), other); err != other {
		t.Errorf("%v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() {
		pr.exit = &exitError{state: "exit status 3", tail: "out of tea"}
		close(pr.dead)
	})
	for _, err := range []error{errGone, fmt.Errorf("%w: %w", errGone, syscall.EPIPE)} {
		if got := pr.howEnded(t.Context(), err); !strings.Contains(got.Error(), "exit status 3: out of tea") || !errors.Is(got, errGone) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestWriteToAProcessThatHasEndedSaysSo(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newWriter(w)
	_ = r.Close()
	_ = out.send([]byte("a\n"))
	out.wait()
	if err := out.send([]byte("b\n")); !errors.Is(err, errGone) || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
	_ = w.Close()
}
