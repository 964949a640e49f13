package agents_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/agents/echo"
	"github.com/seed82539d15/holon/agents/exec"
	"github.com/seed82539d15/holon/engine"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/internal/test/notifytest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/persist/sqlite"
	"github.com/seed82539d15/holon/turns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an engine on a real store with agents, and its log so far.
type server struct {
	t      *testing.T
	engine *engine.Engine
	cursor *notify.Cursor
	frames notifytest.Frames
	log    []event
}

// event has the members of a notification that the tests check.
type event struct {
	Method string
	Params struct {
		TurnID  string         `json:"turn_id"`
		ItemID  string         `json:"item_id"`
		Status  items.Status   `json:"status"`
		Content items.Raw      `json:"content"`
		Error   *turns.Failure `json:"error"`
		Delta   struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
}

func serve(t *testing.T, agents ...turns.Agent) *server {
	t.Helper()
	store, err := sqlite.Open(sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	engine, _ := agenttest.Serve(t, engine.Config{}, store, store.Reader(), agents...)
	return &server{t: t, engine: engine, cursor: notify.NewCursor(store.Tail(), store.Reader(), notify.Filter{}, 0)}
}

func command(t *testing.T, cfg exec.Config) *exec.Agent {
	t.Helper()
	a, err := exec.New("exec", cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func text(s string) []turns.InputMessage {
	return []turns.InputMessage{{Type: "message", Role: "user", Content: []items.Part{{Type: items.PartText, Text: s}}}}
}

// start starts a turn in a new thread of the agent.
func (s *server) start(agent, cwd, input string) string {
	s.t.Helper()
	thread, err := s.engine.StartThread(s.t.Context(), turns.StartThread{Agent: agent, Cwd: cwd})
	if err != nil {
		s.t.Fatal(err)
	}
	turn, err := s.engine.Start(s.t.Context(), turns.Start{ThreadID: thread.ThreadID, Input: text(input)})
	if err != nil {
		s.t.Fatal(err)
	}
	return turn.TurnID
}

// until reads the log until an event matches.
func (s *server) until(match func(event) bool) event {
	s.t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for seen := 0; ; {
		chunk, err := s.cursor.Next(s.t.Context(), 0)
		if err != nil {
			s.t.Fatal(err)
		}
		s.frames.Each(chunk, func(_ int64, frame []byte) {
			var e event
			if err := json.Unmarshal(frame, &e, json.MatchCaseInsensitiveNames(true)); err != nil {
				s.t.Fatalf("%s: %v", frame, err)
			}
			s.log = append(s.log, e)
		})
		for ; seen < len(s.log); seen++ {
			if match(s.log[seen]) {
				return s.log[seen]
			}
		}
		if len(chunk) > 0 {
			continue
		}
		select {
		case <-s.cursor.Wait():
		case <-limit.C:
			s.t.Fatalf("it did not come; the log is %+v", s.log)
		}
	}
}

// end waits for the end of the turn and returns its method and the final text
// of its agent's messages.
func (s *server) end(turn string) (method string, said []string, last event) {
	s.t.Helper()
	last = s.until(func(e event) bool {
		return e.Params.TurnID == turn && (e.Method == "turn/completed" || e.Method == "turn/failed" || e.Method == "turn/interrupted")
	})
	for _, it := range s.items(turn) {
		if m, ok := it.(items.AgentMessage); ok {
			said = append(said, m.Content[0].Text)
		}
	}
	return last.Method, said, last
}

// items returns the final contents of the turn's items, in the order of their
// creation, and checks that deltas add up to them.
func (s *server) items(turn string) (out []items.Content) {
	s.t.Helper()
	at, deltas := map[string]int{}, map[string]string{}
	for _, e := range s.log {
		if e.Params.TurnID != turn {
			continue
		}
		id := e.Params.ItemID
		switch e.Method {
		case "item/created", "item/updated":
			c, err := items.Decode(e.Params.Content)
			if err != nil {
				s.t.Fatal(err)
			}
			if e.Method == "item/created" {
				at[id] = len(out)
				out = append(out, c)
				continue
			}
			if got, _ := items.TextOf(c); deltas[id] != "" && got != deltas[id] {
				s.t.Errorf("the deltas of %s add up to %q, the item says %q", id, deltas[id], got)
			}
			out[at[id]] = c
		case "item/delta":
			deltas[id] += e.Params.Delta.Text
		}
	}
	return out
}

func TestEngineRunsEcho(t *testing.T) {
	s := serve(t, echo.New("echo"))
	turn := s.start("echo", "", "hello big world\n/items 700 10\n/say done")
	method, said, _ := s.end(turn)
	if method != "turn/completed" || len(said) != 702 || said[0] != "hello big world" || said[701] != "done" {
		t.Errorf("%s, %d messages", method, len(said))
	}
	method, said, last := s.end(s.start("echo", "", "/crash"))
	if method != "turn/failed" || last.Params.Error == nil || last.Params.Error.Kind != "agent_failed" || len(said) != 1 || said[0] != "I am about to" {
		t.Errorf("%s, %+v, %q", method, last.Params.Error, said)
	}
}

func TestEngineRunsACommandAgainForSteeredText(t *testing.T) {
	s := serve(t, command(t, exec.Config{Command: []string{"sh", "-c", `read -r line; echo "got $line"; [ "$line" != one ] || sleep 0.5`}}))
	turn := s.start("exec", "", "one")
	s.until(func(e event) bool { return e.Method == "item/delta" })
	if _, err := s.engine.Steer(t.Context(), turns.Steer{TurnID: turn, Input: text("two")}); err != nil {
		t.Fatal(err)
	}
	method, said, _ := s.end(turn)
	if method != "turn/completed" || strings.Join(said, "|") != "got one\n|got two\n" {
		t.Errorf("%s, %q", method, said)
	}
}

func TestEngineInterruptsACommand(t *testing.T) {
	s := serve(t, command(t, exec.Config{Command: []string{"sh", "-c", `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`}}))
	turn := s.start("exec", "", "go")
	s.until(func(e event) bool { return e.Method == "item/delta" })
	if _, _, err := s.engine.Interrupt(t.Context(), turns.Interrupt{TurnID: turn}); err != nil {
		t.Fatal(err)
	}
	method, said, _ := s.end(turn)
	if method != "turn/interrupted" || strings.Join(said, "|") != "ready\nbye\n" {
		t.Errorf("%s, %q", method, said)
	}
}

func TestEngineEndsQuestionsWhoseProcessIsGone(t *testing.T) {
	s := serve(t, command(t, exec.Config{Command: []string{"sh", "-c", `echo '{"event":"ask","id":"q","title":"t"}'; sleep 0.3`}, Output: exec.OutputEvents}))
	method, _, _ := s.end(s.start("exec", "", "go"))
	ended := s.log[len(s.log)-2]
	if method != "turn/completed" || ended.Method != "item/updated" || ended.Params.Status != items.StatusCancelled {
		t.Errorf("%s after %+v", method, ended)
	}
}

// example returns the absolute path of an example of the documentation.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../docs/examples/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShellExampleWorks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "two"), []byte("1\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, command(t, exec.Config{Command: []string{example(t, "agent.sh")}}))
	method, said, _ := s.end(s.start("exec", dir, "two\n\ntwo"))
	if method != "turn/completed" || strings.Join(said, "|") != "two has 2 lines.\ntwo has 2 lines.\n" {
		t.Errorf("%s, %q", method, said)
	}
	turn := s.start("exec", dir, "absent")
	method, _, last := s.end(turn)
	if method != "turn/failed" || !strings.HasSuffix(last.Params.Error.Message, "turn "+turn+": absent cannot be read") {
		t.Errorf("%s, %+v", method, last.Params.Error)
	}
}

func TestPythonExampleWorks(t *testing.T) {
	if _, err := osexec.LookPath("python3"); err != nil {
		hosttest.Need(t, "python3 is not installed, so the example of docs/write-an-agent.md is not run")
	}
	for kind, want := range map[string]string{items.AllowOnce: "It ended with 3.", items.RejectOnce: "Then I leave it."} {
		s := serve(t, command(t, exec.Config{Command: []string{example(t, "agent.py")}, Output: exec.OutputEvents}))
		turn := s.start("exec", t.TempDir(), "echo working; exit 3")
		asked := s.until(func(e event) bool { return e.Method == "item/created" && e.Params.Status == items.StatusPending })
		if _, err := s.engine.Respond(t.Context(), turns.Respond{ItemID: asked.Params.ItemID, OptionKind: kind}); err != nil {
			t.Fatal(err)
		}
		method, said, _ := s.end(turn)
		if method != "turn/completed" || strings.Join(said, "|") != want {
			t.Errorf("%s: %s, %q", kind, method, said)
		}
		for _, c := range s.items(turn) {
			switch c := c.(type) {
			case items.CommandExecution:
				if c.ExitCode == nil || *c.ExitCode != 3 || c.Output != "working\n" || kind == items.RejectOnce {
					t.Errorf("%s: %+v", kind, c)
				}
			case items.Notice:
				t.Errorf("%s: notice %s", kind, c.Message)
			}
		}
	}
}

func TestDocumentationShowsTheExamplesThatAreTested(t *testing.T) {
	doc, err := os.ReadFile("../docs/write-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"agent.py", "agent.sh"} {
		code, err := os.ReadFile(example(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(doc), string(code)) {
			t.Errorf("docs/write-an-agent.md does not show docs/examples/%s as it is", name)
		}
	}
}
