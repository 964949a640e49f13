package exec

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

func TestMain(m *testing.M) {
	if os.Getenv("EXEC_TEST_SERVER") != "" {
		beServer()
		return
	}
	goleak.VerifyTestMain(m)
}

const killAfter = 400 * time.Millisecond

// shell is an agent that runs a script with the Bourne shell.
func shell(t testing.TB, script string, change ...func(*Config)) *Agent {
	t.Helper()
	cfg := Config{Command: []string{"sh", "-c", script, "agent"}, KillAfter: killAfter}
	for _, f := range change {
		f(&cfg)
	}
	a, err := New("test", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func events(c *Config) { c.Output = OutputEvents }

func prompt(t testing.TB, a *Agent, p turns.Prompt, input ...string) (*agenttest.Sink, turns.Outcome) {
	t.Helper()
	sink := agenttest.NewSink(t)
	return sink, sink.Run(t.Context(), a, p, input...)
}

func said(s *agenttest.Sink) string { return strings.Join(s.Texts(items.KindAgentMessage), "|") }

func TestExecPassesTheSuite(t *testing.T) {
	t.Run("Text", func(t *testing.T) {
		agenttest.Exercise(t, agenttest.Subject{
			Agent: shell(t, `read -r line; if [ "$line" = hold ]; then echo busy; exec sleep 3600; fi; printf 'you said %s\n' "$line"; cat`),
			Kind:  "exec", Speak: "speak", Hold: "hold", Stop: killAfter + 2*time.Second,
		})
	})
	t.Run("Events", func(t *testing.T) {
		agenttest.Exercise(t, agenttest.Subject{
			Agent: shell(t, `read -r line; echo '{"event":"message","text":"hello"}'; echo '{"event":"delta","id":"m","text":"more"}'
				case $line in *hold*) exec sleep 3600;; esac`, events),
			Kind: "exec", Speak: "speak", Hold: "hold", Stop: killAfter + 2*time.Second,
		})
	})
}

// What a command prints is no Markdown unless its configuration, or its event, says so.
func TestMessagesOfCommandsAreOfTheirFormat(t *testing.T) {
	const (
		text   = `printf __init__.py`
		spoken = `echo '{"event":"message","text":"a"}'; echo '{"event":"delta","id":"m","text":"b"}'
			echo '{"event":"item","id":"m","content":{"type":"agent_message","content":[{"text":"c"}]}}'
			echo '{"event":"item","content":{"type":"agent_message","format":"markdown","content":[{"text":"d"}]}}'
			echo '{"event":"result","state":"completed","message":"e"}'`
	)
	for _, c := range []struct {
		script, output string
		format         items.Format
		want           []items.Format
		result         items.Format
	}{
		{text, OutputText, "", []items.Format{"plain"}, ""},
		{text, OutputText, items.FormatMarkdown, []items.Format{""}, ""},
		{spoken, OutputEvents, "", []items.Format{"plain", "plain", "markdown"}, "plain"},
		{spoken, OutputEvents, items.FormatMarkdown, []items.Format{"", "", "markdown"}, ""},
	} {
		sink, out := prompt(t, shell(t, c.script, func(cfg *Config) { cfg.Output, cfg.Format = c.output, c.format }), turns.Prompt{}, "")
		var got []items.Format
		for _, it := range sink.Items() {
			m, _ := it.Content.(items.AgentMessage)
			got = append(got, m.Format)
		}
		if !slices.Equal(got, c.want) || out.Format != c.result {
			t.Errorf("output %s, format %q: %q and %q, want %q and %q", c.output, c.format, got, out.Format, c.want, c.result)
		}
	}
}

func TestTextOutputBecomesOneMessageInDeltas(t *testing.T) {
	sink, out := prompt(t, shell(t, `echo one; sleep 0.2; echo two; sleep 0.2; printf three`), turns.Prompt{}, "")
	made := sink.Items()
	if len(made) != 1 || made[0].Text != "one\ntwo\nthree" || made[0].Status != items.StatusCompleted {
		t.Fatalf("made %+v", made)
	}
	if got := fmt.Sprintf("%q", made[0].Deltas); got != `["one\n" "two\n" "three"]` {
		t.Errorf("deltas %s: what is printed is not handed over when it is printed", got)
	}
	if out.State != turns.Completed || out.StopReason != "end_turn" {
		t.Errorf("outcome %+v", out)
	}
}

func TestSilentCommandCompletesWithoutItems(t *testing.T) {
	sink, out := prompt(t, shell(t, `:`), turns.Prompt{}, "")
	if out.State != turns.Completed || len(sink.Items()) != 0 {
		t.Errorf("outcome %+v, items %+v", out, sink.Items())
	}
}

func TestAnyBytesBecomeValidText(t *testing.T) {
	sink, _ := prompt(t, shell(t, `printf 'a\000b\303'; sleep 0.2; printf '\251\377\376c\342\202'`), turns.Prompt{}, "")
	if got := said(sink); got != "a\x00bé\ufffd\ufffdc\ufffd\ufffd" {
		t.Errorf("said %q", got)
	}
}

func TestLargeOutputArrivesWhole(t *testing.T) {
	sink, out := prompt(t, shell(t, `i=0; while [ $i -lt 20 ]; do head -c 100000 /dev/zero | tr '\0' x; i=$((i+1)); done`), turns.Prompt{}, "")
	if got := said(sink); len(got) != 2_000_000 || strings.Trim(got, "x") != "" || out.State != turns.Completed {
		t.Errorf("%d bytes, %+v", len(got), out)
	}
}

func TestInputTextIsGivenOnStdin(t *testing.T) {
	sink, _ := prompt(t, shell(t, `cat; echo end`), turns.Prompt{}, "first\nsecond", "third")
	if got := said(sink); got != "first\nsecond\nthird\nend\n" {
		t.Errorf("stdin was %q", got)
	}
}

func TestInputNeedNotBeRead(t *testing.T) {
	_, out := prompt(t, shell(t, `exec <&-; sleep 0.1`), turns.Prompt{}, strings.Repeat("x", 1<<20))
	if out.State != turns.Completed {
		t.Errorf("outcome %+v", out)
	}
}

func TestInputJSONIsOneLineWithEverything(t *testing.T) {
	dir := t.TempDir()
	a := shell(t, `cat`, func(c *Config) { c.Input = InputJSON })
	p := turns.Prompt{ThreadID: "thread_1", TurnID: "turn_2", Attempt: 3, Index: 4, Cwd: dir, Metadata: []byte(`{"k":1}`)}
	sink, _ := prompt(t, a, p, "a\nb", "c")
	line := said(sink)
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Fatalf("stdin was %q, want one line", line)
	}
	var got promptEvent
	if err := json.Unmarshal([]byte(line), &got, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if got.Event != "prompt" || got.ThreadID != "thread_1" || got.TurnID != "turn_2" || got.Attempt != 3 || got.PromptIndex != 4 ||
		got.Cwd != dir || string(got.Metadata) != `{"k":1}` || len(got.Input) != 2 || got.Input[0].Text() != "a\nb" || got.Input[1].Text() != "c" {
		t.Errorf("stdin was %s", line)
	}
}

func TestEnvironmentTellsTheTurn(t *testing.T) {
	t.Setenv("HOLON_TURN_ID", "turn_of_the_server")
	t.Setenv("HOLON_ORIGIN", "outer")
	t.Setenv("HOLON_URL", "http://outer")
	t.Setenv("PASSED_ON", "yes")
	a := shell(t, `echo "$HOLON_THREAD_ID $HOLON_TURN_ID $HOLON_ATTEMPT $HOLON_ORIGIN ${HOLON_URL-none} $PASSED_ON $ADDED"`, func(c *Config) {
		c.Env = map[string]string{"ADDED": "too"}
	})
	p := turns.Prompt{ThreadID: "thread_1", TurnID: "turn_2", Attempt: 3, Input: []items.UserMessage{{Origin: items.OriginSteer}, {Origin: items.OriginWake}}}
	if sink, _ := prompt(t, a, p, ""); said(sink) != "thread_1 turn_2 3 steer none yes too\n" {
		t.Errorf("said %q", said(sink))
	}
	a.cfg.URL = func() string { return "unix:/run/holon.sock" }
	if sink, _ := prompt(t, a, p, ""); said(sink) != "thread_1 turn_2 3 steer unix:/run/holon.sock yes too\n" {
		t.Errorf("said %q", said(sink))
	}
}

func TestWorkingDirectoryIsTheThreadsElseTheAgents(t *testing.T) {
	mine, threads := realDir(t), realDir(t)
	a := shell(t, `pwd; echo "$PWD"`, func(c *Config) { c.Cwd = mine })
	if sink, _ := prompt(t, a, turns.Prompt{}, ""); said(sink) != mine+"\n"+mine+"\n" {
		t.Errorf("ran in %q, want %s", said(sink), mine)
	}
	if sink, _ := prompt(t, a, turns.Prompt{ThreadID: "t", Cwd: threads}, ""); said(sink) != threads+"\n"+threads+"\n" {
		t.Errorf("ran in %q, want %s", said(sink), threads)
	}
	a = shell(t, "pwd", func(c *Config) { c.Cwd = "" })
	for _, cwd := range []string{"", threads} { // what summaries say of the directory
		sink, _ := prompt(t, a, turns.Prompt{ThreadID: "t", Cwd: cwd}, "")
		if dir, err := a.Directory(cwd); err != nil || said(sink) != dir+"\n" {
			t.Errorf("with the cwd %q it ran in %q, and says %q, %v", cwd, said(sink), dir, err)
		}
	}
}

func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFailureShowsStatusAndTheEndOfStderr(t *testing.T) {
	for script, want := range map[string]string{
		`exit 3`:                            "exit status 3",
		`echo oops >&2; echo >&2; exit 3`:   "exit status 3: oops",
		`printf 'bad \377\n' >&2; exit 1`:   "exit status 1: bad \ufffd",
		`kill -9 $$`:                        "signal: killed",
		`echo dying >&2; kill -s SEGV $$`:   "signal: segmentation fault: dying",
		`echo half; echo broken >&2; false`: "exit status 1: broken",
	} {
		sink, out := prompt(t, shell(t, "ulimit -c 0; "+script), turns.Prompt{}, "")
		if out.State != turns.Failed || *out.Failure != (turns.Failure{Kind: "agent_failed", Message: want}) {
			t.Errorf("%s: %+v, want %q", script, out.Failure, want)
		}
		for _, it := range sink.Items() {
			if it.Status != items.StatusFailed || it.Text != "half\n" {
				t.Errorf("%s: left %+v", script, it)
			}
		}
	}
}

func TestStderrIsKeptAsABoundedTail(t *testing.T) {
	_, out := prompt(t, shell(t, `i=0; while [ $i -lt 20000 ]; do echo "line $i é" >&2; i=$((i+1)); done; exit 1`), turns.Prompt{}, "")
	m := out.Failure.Message
	if len(m) > process.DefaultTail+64 || len(m) < process.DefaultTail-64 || !strings.HasPrefix(m, "exit status 1: …") || !strings.HasSuffix(m, "line 19999 é") {
		t.Errorf("%d bytes: %.60q … %q", len(m), m, m[max(0, len(m)-20):])
	}
}

func TestWhatCannotRunIsUnavailableAndSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o644)
	for want, cfg := range map[string]Config{
		`the command "no-such-command-here" was not found in the server's PATH`: {Command: []string{"no-such-command-here"}},
		`does not exist, or the interpreter`:                                    {Command: []string{dir + "/absent"}},
		`interpreter that its first line names does not`:                        {Command: []string{file("lost", "#!/no/such/interpreter\n", 0o755)}},
		`may not be executed: permission denied`:                                {Command: []string{plain}},
		`a script needs a first line such as #!/bin/sh`:                         {Command: []string{file("nohead", "echo hi\n", 0o755)}},
		`the working directory "` + dir + `/gone" does not exist`:               {Command: []string{"true"}, Cwd: dir + "/gone"},
		`the working directory "` + plain + `" is no directory`:                 {Command: []string{"true"}, Cwd: plain},
	} {
		a, err := New("test", cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, out := prompt(t, a, turns.Prompt{}, "")
		if out.State != turns.Failed || out.Failure.Kind != "agent_unavailable" || !strings.Contains(out.Failure.Message, want) || !out.Unread {
			t.Errorf("%v: %+v, unread %v, want %q", cfg.Command, out.Failure, out.Unread, want)
		}
		// A directory that is missing is no fault of the agent.
		if info := a.Info(); cfg.Cwd == "" && (info.State != turns.AgentFailed || info.LastError != out.Failure.Message) || cfg.Cwd != "" && info.State != "" {
			t.Errorf("%v: the agent is %+v after %q", cfg.Command, info, out.Failure.Message)
		}
	}
	late, err := New("late", Config{Command: []string{filepath.Join(dir, "late")}})
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, late, turns.Prompt{}, "")
	file("late", "#!/bin/sh\n", 0o755)
	if _, out := prompt(t, late, turns.Prompt{}, ""); out.State != turns.Completed || late.Info().State != "" || late.Info().LastError != "" {
		t.Errorf("once it is installed: %+v, the agent is %+v", out, late.Info())
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for want, cfg := range map[string]Config{
		"command is empty":      {},
		"command holds a NUL":   {Command: []string{"a", "b\x00"}},
		"cwd holds a NUL":       {Command: []string{"a"}, Cwd: "\x00"},
		`"A=B" is no name`:      {Command: []string{"a"}, Env: map[string]string{"A=B": ""}},
		"the value of A holds":  {Command: []string{"a"}, Env: map[string]string{"A": "\x00"}},
		"HOLON_URL is set by":   {Command: []string{"a"}, Env: map[string]string{"HOLON_URL": "x"}},
		"HOLON_TOKEN is set by": {Command: []string{"a"}, Env: map[string]string{"HOLON_TOKEN": "x"}},
		`output "xml"`:          {Command: []string{"a"}, Output: "xml"},
		`input "xml"`:           {Command: []string{"a"}, Input: "xml"},
		`format "html"`:         {Command: []string{"a"}, Format: "html"},
		"cannot be negative":    {Command: []string{"a"}, KillAfter: -1},
		`agent "test": command`: {Command: []string{""}},
	} {
		if _, err := New("test", cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%+v): %v, want %q", cfg, err, want)
		}
	}
}

func TestRunsLeaveNoDescriptorsAndNoZombies(t *testing.T) {
	a := shell(t, `echo hi; exit 1`)
	prompt(t, a, turns.Prompt{}, "")
	before := agenttest.Descriptors(t)
	for range 20 {
		prompt(t, a, turns.Prompt{}, "")
	}
	if after := agenttest.Descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("wait4 says %d, %v: a child was not reaped", pid, err)
	}
}

func TestFullSinkHoldsTheProcessBackAndLosesNothing(t *testing.T) {
	done := filepath.Join(t.TempDir(), "done")
	a := shell(t, `head -c 1000000 /dev/zero | tr '\0' x; : >"$DONE"`, func(c *Config) { c.Env = map[string]string{"DONE": done} })
	sink := agenttest.NewSink(t)
	sink.Hold = make(chan struct{})
	timer := time.AfterFunc(500*time.Millisecond, func() {
		if _, err := os.Stat(done); err == nil {
			t.Error("the process wrote everything although nobody took it")
		}
		close(sink.Hold)
	})
	defer timer.Stop()
	out := sink.Run(t.Context(), a, turns.Prompt{})
	if out.State != turns.Completed || len(said(sink)) != 1_000_000 {
		t.Errorf("outcome %+v, %d bytes", out, len(said(sink)))
	}
}

func TestOutputOfADeadProcessWaitsForAFullSink(t *testing.T) {
	sink := agenttest.NewSink(t)
	sink.Hold = make(chan struct{})
	timer := time.AfterFunc(4*killAfter+time.Second, func() { close(sink.Hold) })
	defer timer.Stop()
	out := sink.Run(t.Context(), shell(t, `head -c 60000 /dev/zero | tr '\0' x`), turns.Prompt{})
	if out.State != turns.Completed || len(said(sink)) != 60_000 {
		t.Errorf("outcome %+v, %d bytes", out, len(said(sink)))
	}
}

// until runs the agent and cancels it after its first output.
func until(t *testing.T, a *Agent, first string) (*agenttest.Sink, turns.Outcome, time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sink := agenttest.NewSink(t)
	var began time.Time
	go func() {
		sink.Wait(t.Context(), func() bool { return strings.Contains(said(sink), first) })
		began = time.Now()
		cancel()
	}()
	out := sink.Run(ctx, a, turns.Prompt{})
	<-ctx.Done()
	return sink, out, time.Since(began)
}
