package acp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// steered runs a prompt and injects text after its first output.
func steered(t *testing.T, th *testThread, prompt, text string) (*agenttest.Sink, turns.Outcome, error) {
	t.Helper()
	sink := agenttest.NewSink(t)
	injected := make(chan error, 1)
	go func() {
		sink.Wait(t.Context(), func() bool {
			return hasItem(sink) && (sink.Steerable() || !th.r.Info().Capabilities.Steering)
		})
		injected <- sink.Inject(t.Context(), agenttest.Message(text))
	}()
	out := th.with(t.Context(), sink, turns.Prompt{}, prompt)
	return sink, out, <-injected
}

func TestSteeredTextReachesTheAgentAtWork(t *testing.T) {
	th := bad(t, "steering").thread("t")
	sink, out, err := steered(t, th, "say working\nawait-steer", "turn left")
	if err != nil || out.State != turns.Completed || !strings.Contains(said2(sink), "steered: turn left") {
		t.Errorf("%v, %+v, %q", err, out, said2(sink))
	}
	if !th.r.Info().Capabilities.Steering {
		t.Error("it is not shown")
	}
	th.clean()
}

// early is a sink that injects a text as soon as it may, and gives the agent time to
// do what it should not do yet.
type early struct {
	*agenttest.Sink
	text     string
	spoke    chan struct{} // told when the agent has said something; capacity 1
	tooLate  bool          // the agent spoke before it was said that it takes text
	injected chan error
	refused  func() // called if the agent does not take the text, for which it waits
}

func (e *early) Emit(ctx context.Context, ops []items.Op) error {
	if says(ops) {
		select {
		case e.spoke <- struct{}{}:
		default:
		}
	}
	return e.Sink.Emit(ctx, ops)
}

func (e *early) OnSteer(f turns.Injector) {
	if f != nil {
		go func() {
			err := f(context.Background(), agenttest.Message(e.text))
			if err != nil {
				e.refused()
			}
			e.injected <- err
		}()
		select {
		case <-e.spoke:
			e.tooLate = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	e.Sink.OnSteer(f)
}

// TestTextIsTakenFromThePromptsBeginning checks both sides of the moment: the agent
// does not speak before text can be steered to it, and gets no text before the prompt.
func TestTextIsTakenFromThePromptsBeginning(t *testing.T) {
	r := bad(t, "steering")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := &early{Sink: agenttest.NewSink(t), text: "turn left", spoke: make(chan struct{}, 1), injected: make(chan error, 1), refused: cancel}
	out := r.Run(ctx, &turns.Prompt{
		ThreadID: "t", TurnID: "turn_t_1", Attempt: 1, Sink: e, Input: []items.UserMessage{agenttest.Message("say working\nawait-steer")},
	})
	if err := <-e.injected; err != nil || e.tooLate || out.State != turns.Completed || said2(e.Sink) != "working|steered: turn left" {
		t.Errorf("%v, too late %v, %+v, %q", err, e.tooLate, out, said2(e.Sink))
	}
	r.thread("t").clean()
}

func TestTextThatIsNotTakenIsSaidNotToBe(t *testing.T) {
	for _, words := range []string{"", "steering=failed", "steering=error", "steering=end"} {
		th := bad(t, words).thread("t")
		_, out, err := steered(t, th, "say working\nsleep 300", "turn left")
		if !errors.Is(err, turns.ErrNotInjected) || out.State != turns.Completed {
			t.Errorf("%q: %v, %+v", words, err, out)
		}
	}
}

func TestImagesAreSentOrSaidToBeLeftOut(t *testing.T) {
	image := items.UserMessage{Type: items.KindUserMessage, Role: "user", Content: []items.Part{
		{Type: items.PartText, Text: "blocks"}, {Type: items.PartImage, MimeType: "image/png", Data: "aGk="},
		{Type: items.PartImage, MimeType: "image/png", URL: "https://example.org/a.png"}, {Type: items.PartResource, URI: "file:///x/y.go"},
	}}
	for words, want := range map[string]string{"": "text image resource_link resource_link", "no-image": "text text resource_link resource_link"} {
		th := bad(t, words).thread("t")
		sink := agenttest.NewSink(t)
		out := th.with(t.Context(), sink, turns.Prompt{Input: []items.UserMessage{image}}, "")
		got := strings.NewReplacer(",", " ", "  ", " ").Replace(said2(sink))
		if out.State != turns.Completed || !strings.Contains(got, want) {
			t.Errorf("%q: %+v, %q", words, out, got)
		}
		if left := len(notices(sink)); left != map[string]int{"": 0, "no-image": 1}[words] {
			t.Errorf("%q: %q", words, notices(sink))
		}
	}
}

func TestMCPServersAreGivenAsTheAgentTakesThem(t *testing.T) {
	servers := []MCPServer{
		{Name: "files", Command: "/bin/files", Args: []string{"-v"}, Env: map[string]string{"B": "2", "A": "1"}},
		{Name: "web", URL: "https://example.org/mcp", Headers: map[string]string{"Authorization": "x"}},
		{Name: "old", URL: "https://example.org/sse", Type: "sse"},
	}
	out, left := mcpServers(servers, agentSays{mcpHTTP: true})
	line, err := encode(out)
	want := `[{"name":"files","command":"/bin/files","args":["-v"],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}]},` +
		`{"type":"http","name":"web","url":"https://example.org/mcp","headers":[{"name":"Authorization","value":"x"}]}]` + "\n"
	if err != nil || string(line) != want || strings.Join(left, " ") != "old" {
		t.Errorf("%s, left %v, %v", line, left, err)
	}
	sink, _ := bad(t, "", func(c *Config) { c.MCPServers = servers }).thread("t").prompt(t.Context(), "mcp")
	if got := said2(sink); !strings.Contains(got, "files") {
		t.Errorf("%q", got)
	}
	for _, bad := range []MCPServer{{}, {Name: "x"}, {Name: "x", Command: "a", URL: "b"}, {Name: "x", URL: "b", Type: "pigeon"}, {Name: "x", Command: "a", Type: "sse"}} {
		if bad.check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
