package main

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// badAgent is the definition of an agent that follows the commands of its
// prompt.
func badAgent(t *testing.T, name string, words ...string) string {
	t.Helper()
	return name + "=acp:" + strings.Join(append([]string{acptest.Build(t, acptest.BadAgent)}, words...), " ")
}

// threadOf is the thread of a run.
func threadOf(t *testing.T, out string) string {
	t.Helper()
	id, _ := oneObject(t, out)["thread_id"].(string)
	if id == "" {
		t.Fatalf("no thread_id in %s", out)
	}
	return id
}

func TestAgentsShowWhatEachIsAndCan(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good", "steering"), "gone=acp:/nonexistent/agent")
	for _, line := range []string{"echo (default)", "echo", "ready"} {
		if out := s.want("agents"); !strings.Contains(out, line) {
			t.Errorf("no %q in:\n%s", line, out)
		}
	}
	s.want("run", "--agent=good", "say hello")
	if r := s.holon("run", "--agent=gone", "say hello"); r.code != exitFailed || !strings.Contains(r.out, "agent_unavailable") || !strings.Contains(r.err, "holon doctor") {
		t.Errorf("a turn of an agent that is not there: %+v", r)
	}
	if out := s.want("agents"); !strings.Contains(out, "acp/1") {
		t.Errorf("no protocol in:\n%s", out)
	}
	good := s.want("agents", "good")
	for _, line := range []string{"state     ready", "version   1.0.0", "protocol  acp/1", "runs      1 process, 1 session", "memory    ", "steer, load, resume, fork"} {
		if !strings.Contains(good, line) {
			t.Errorf("no %q in:\n%s", line, good)
		}
	}
	if gone := s.want("agents", "gone"); !strings.Contains(gone, "state     failed") || !strings.Contains(gone, "/nonexistent/agent") {
		t.Errorf("of the agent that is not there:\n%s", gone)
	}
	if r := s.holon("doctor", "--all"); r.code != exitFailed || !strings.Contains(r.out, "agent gone     of the running server: ") || !strings.Contains(r.out, "agent good     of the running server, ready") || !strings.Contains(r.out, "the agents of the running server use ") {
		t.Errorf("the doctor says %+v", r)
	}
	if r := s.holon("agents", "nobody"); r.code != exitFailed || !strings.Contains(r.err, "there is no agent") {
		t.Errorf("%+v", r)
	}
}

func TestTheModeInWhichAgentsWorkIsShown(t *testing.T) {
	agents := agentsOf(t, badAgent(t, "alone", "opens=auto"), badAgent(t, "asks", "opens=auto"), badAgent(t, "lost", "opens=auto"))
	for name, mode := range map[string]string{"asks": "ask", "lost": "nonsense"} {
		a := agents[name]
		a.ACP.Mode = mode
		agents[name] = a
	}
	s := &server{t: t, data: t.TempDir(), agents: agents}
	s.start()
	s.want("run", "--agent=alone", "say hello")
	if out := s.want("run", "--agent=asks", "settings"); !strings.Contains(out, `"mode":"ask"`) {
		t.Errorf("it ran with %s", out)
	}
	r := s.holon("run", "--agent=lost", "session")
	for _, want := range []string{"agent_unavailable", `mode "nonsense"`, "ask, code, auto"} {
		if r.code != exitFailed || !strings.Contains(r.out, want) || strings.Contains(r.out, "bad-session") {
			t.Errorf("no %s: %+v", want, r)
		}
	}

	list := s.want("agents")
	for _, line := range []string{"MODE", "Warning: agent alone: sessions open in the mode auto (Auto), in which the agent may decide by itself"} {
		if !strings.Contains(list, line) {
			t.Errorf("no %q in:\n%s", line, list)
		}
	}
	if strings.Contains(list, "Warning: agent asks") {
		t.Errorf("warns of an agent that asks:\n%s", list)
	}
	for name, want := range map[string][]string{
		"alone": {"opens in  auto", "warning   sessions open in the mode auto"},
		"asks":  {"opens in  ask"},
	} {
		for _, line := range want {
			if out := s.want("agents", name); !strings.Contains(out, line) {
				t.Errorf("no %q in:\n%s", line, out)
			}
		}
	}
	doctor := s.holon("doctor", "--all")
	for _, want := range []string{"agent alone  ", "mode auto (Auto)", "sessions open in the mode ask"} {
		if !strings.Contains(doctor.out, want) {
			t.Errorf("no %q in:\n%s", want, doctor.out)
		}
	}
}

func TestAThreadIsConfiguredAndForked(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good"))
	thread := threadOf(t, s.want("run", "--agent=good", "-o", "json", "say first"))
	before := oneObject(t, s.want("configure", thread, "-o", "json"))["config"].(map[string]any)
	modes := before["modes"].([]any)
	other := modes[len(modes)-1].(map[string]any)["id"].(string)
	if other == before["mode"] {
		other = modes[0].(map[string]any)["id"].(string)
	}
	if r := s.holon("configure", "latest", "mode="+other); r != (result{out: fmt.Sprintf("%s: mode is %s\n", short(thread), other)}) {
		t.Errorf("after the change: %+v", r)
	}
	if got := oneObject(t, s.want("run", "--thread", thread, "-o", "json", "settings"))["text"].(string); !strings.Contains(got, `"`+other+`"`) {
		t.Errorf("the agent has settings %s, want mode %s", got, other)
	}
	echo := threadOf(t, s.want("run", "--agent=echo", "-o", "json", "hello"))
	for _, c := range []struct{ thread, set, want string }{
		{thread, "mode=" + other + "x", "config.mode: \"" + other + "x\" is not one of"}, {thread, "mode=" + other + "x", "did you mean " + other + "?"},
		{thread, "mdoe=x", "config.mdoe: the agent has no setting of this name; did you mean mode?"},
		{thread, "cdw=/", "config.cdw: the agent has no setting of this name; did you mean cwd?"},
		{echo, "cdw=/", `the agent echo has no settings, and so no "cdw"; did you mean cwd?`},
	} {
		if r := s.holon("configure", c.thread, c.set); r.code != exitFailed || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: no %q in %+v", c.set, c.want, r)
		}
	}
	if r := s.holon("configure", thread, "mode"); r.code != exitUsage {
		t.Errorf("no value: %+v", r)
	}

	fork := threadOf(t, s.want("fork", thread, "--as", "second", "-o", "json"))
	if fork != "second" {
		t.Errorf("the fork is called %s", fork)
	}
	history := func(thread string) string {
		return oneObject(t, s.want("run", "--thread", thread, "-o", "json", "history"))["text"].(string)
	}
	s.want("run", "--thread", fork, "say in the fork")
	if got := history(fork); !strings.Contains(got, "first") || !strings.Contains(got, "in the fork") {
		t.Errorf("the fork knows %q", got)
	}
	if got := history(thread); strings.Contains(got, "in the fork") {
		t.Errorf("the thread knows what was said in its fork: %q", got)
	}

	for _, args := range [][]string{{"configure", echo, "mode=x"}, {"fork", echo}} {
		if r := s.holon(args...); r.code != exitFailed || !strings.Contains(r.err, "agent_unsupported") || !strings.Contains(r.err, "holon agents shows") {
			t.Errorf("%v of echo: %+v", args, r)
		}
	}
	if out := s.want("configure", echo); strings.Count(out, "\n") != 2 || !strings.Contains(out, "\ncwd ") {
		t.Errorf("echo has settings besides its directory:\n%s", out)
	}
}

func TestDoctorSaysWhatIsWrongWithAnAgentAndWhatToDo(t *testing.T) {
	acptest.Build(t, acptest.BadAgent) // while go is in PATH
	t.Setenv("PATH", t.TempDir()+":/usr/bin:/bin")
	s := &server{t: t, data: t.TempDir()}
	cases := []struct{ definition, level, text string }{
		{badAgent(t, "good"), "ok", "version 1.0.0, acp/1, can load"},
		{badAgent(t, "asks", "opens=ask"), "ok", "in the mode ask"},
		{badAgent(t, "alone", "opens=auto"), "warning", "sessions open in the mode auto (Auto), in which the agent may decide by itself"},
		{badAgent(t, "login", "auth=never"), "error", "not logged in"},
		{badAgent(t, "silent", "no-init"), "error", "badagent"},
		{badAgent(t, "old", "protocol=7"), "error", "version 1 is needed"},
		{badAgent(t, "dies", "exit=3:no\\ such\\ model"), "error", "no such model"},
		{"gone=acp:gone-agent", "error", "gone-agent"},
		{"opencode", "error", "Install it with: npm install -g opencode-ai@"},
		{"claude2=acp:claude-agent-acp", "error", "Install it with: npm install -g @agentclientprotocol/claude-agent-acp@"},
		{"sh=exec:sh -c true", "ok", "runs /"},
		{"noexec=exec:no-such-program", "error", "is not in PATH. Install it"},
	}
	args := []string{"doctor", "--all", "--agent-timeout=5s"}
	for _, c := range cases {
		args = append(args, "--agent="+c.definition)
	}
	r := s.holon(args...)
	if r.code != exitFailed {
		t.Errorf("exit %d", r.code)
	}
	for _, c := range cases {
		name, _, _ := strings.Cut(c.definition, "=")
		found := false
		for line := range strings.Lines(r.out) {
			if strings.Contains(line, " agent "+name+" ") {
				found = strings.HasPrefix(line, c.level) && strings.Contains(line, c.text)
			}
		}
		if !found {
			t.Errorf("%s: want %s and %q in:\n%s", name, c.level, c.text, r.out)
		}
	}
	report := oneObject(t, s.holon("doctor", "-o", "json", "--agent="+cases[0].definition).out)
	if report["ok"] != true {
		t.Errorf("with a good agent: %v", report)
	}
	if r := s.holon("doctor", "--skip-agents", "--agent=gone=acp:gone-agent"); r.code != exitOK || strings.Contains(r.out, "gone-agent") {
		t.Errorf("with --skip-agents: %+v", r)
	}
}

// The examples of docs/write-an-agent.md, as they are in docs/examples.
func TestExamplesOfACPAgentsRun(t *testing.T) {
	page, err := os.ReadFile("../../docs/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	example := func(name string) string {
		path, err := filepath.Abs("../../docs/examples/" + name)
		if err != nil {
			t.Fatal(err)
		}
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), string(code)) {
			t.Errorf("docs/write-an-agent.md does not show docs/examples/%s as it is", name)
		}
		return path
	}
	t.Run("go", func(t *testing.T) {
		example("acpagent/main.go")
		s := startServerWith(t, "count=acp:"+acptest.Build(t, "github.com/seed82539d15/holon/docs/examples/acpagent"))
		if out := s.want("run", "--agent=count", "-q", "one two three"); out != "3 words. \n" {
			t.Errorf("it said %q", out)
		}
	})
	t.Run("python", func(t *testing.T) {
		path := example("acp_agent.py")
		python, err := osexec.LookPath("python3")
		if err != nil {
			hosttest.Need(t, "python3 is not installed, so the example of docs/write-an-agent.md is not run")
		}
		s := startServerWith(t, "shout=acp:"+python+" "+path)
		shout := func(answer string) string {
			done := make(chan string)
			go func() { done <- s.holon("run", "--agent=shout", "-q", "hello you").out }()
			var item string
			eventually(t, "it asks", func() bool {
				waiting, _ := oneObject(t, s.want("respond", "-o", "json"))["items"].([]any)
				if len(waiting) == 1 {
					item, _ = waiting[0].(map[string]any)["item_id"].(string)
				}
				return item != ""
			})
			s.want("respond", item, answer)
			return <-done
		}
		if out := shout("--allow"); out != "HELLO YOU \n" {
			t.Errorf("it said %q", out)
		}
		if out := shout("--reject"); out != "hello you \n" {
			t.Errorf("it said %q", out)
		}
	})
}

func TestRunAsksNobodyWhatTheConfigurationAnswers(t *testing.T) {
	agents := agentsOf(t, "bad=acp:"+acptest.Build(t, acptest.BadAgent))
	for permissions, asks := range map[string]bool{"ask": true, "allow": false} {
		bad := agents["bad"]
		bad.ACP.Permissions = permissions
		s := &server{t: t, data: t.TempDir(), agents: map[string]config.Agent{"bad": bad}}
		s.start()
		var out, errs buffer
		g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
		done := make(chan int, 1)
		go func() { done <- execute(t.Context(), g, []string{"run", "--agent=bad", "ask may I"}) }()
		if asks {
			var item string
			eventually(t, "it says how to answer", func() bool {
				_, how, ok := strings.Cut(errs.String(), "the agent waits for an answer: holon respond ")
				item, _, _ = strings.Cut(how, " ")
				return ok
			})
			s.want("respond", item, "--allow")
		}
		if code := <-done; code != exitOK || !strings.Contains(out.String(), "selected once") || strings.Contains(errs.String(), "waits for an answer") != asks {
			t.Errorf("permissions %s: exit %d\n%s%s", permissions, code, out.String(), errs.String())
		}
		s.stop()
	}
}
