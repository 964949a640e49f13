package acp

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/internal/test/acptest"
	"github.com/seed82539d15/holon/internal/test/agenttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// host is a turns.Host that records.
type host struct {
	mu         sync.Mutex
	ops        []items.Op
	transcript []*items.Item
	changed    chan struct{}
}

func newHost() *host { return &host{changed: make(chan struct{}, 1)} }

func (h *host) Emit(_ context.Context, _ string, ops []items.Op) error {
	h.mu.Lock()
	h.ops = append(h.ops, ops...)
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
	return nil
}

func (h *host) Transcript(context.Context, string, int) ([]*items.Item, error) {
	return h.transcript, nil
}

// said returns the texts of all items that were made outside of turns.
func (h *host) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, op := range h.ops {
		if c, ok := op.(items.Create); ok {
			if !slices.Contains([]items.Status{items.StatusCompleted, items.StatusInterrupted, items.StatusFailed}, c.Status) {
				out = append(out, "OPEN:")
			}
			text, ok := items.TextOf(c.Content)
			if n, isNotice := c.Content.(items.Notice); isNotice {
				text, ok = n.Message, true
			}
			if !ok {
				text = string(c.Content.Kind())
			}
			out = append(out, text)
		}
	}
	return strings.Join(out, "|")
}

// wait returns when ok is true for the texts outside of turns.
func (h *host) wait(t testing.TB, ok func(said string) bool) {
	t.Helper()
	limit := time.After(acptest.Patience)
	for !ok(h.said()) {
		select {
		case <-h.changed:
		case <-limit:
			t.Fatalf("it did not come; said outside: %q", h.said())
		}
	}
}

// rig is an agent that is served.
type rig struct {
	*Agent
	t    testing.TB
	host *host
	stop func() // ends Serve and waits
}

// bad is badagent, started with these arguments.
func bad(t testing.TB, words string, change ...func(*Config)) *rig {
	t.Helper()
	return serve(t, append([]string{acptest.Build(t, acptest.BadAgent)}, strings.Fields(words)...), change...)
}

func serve(t testing.TB, command []string, change ...func(*Config)) *rig {
	t.Helper()
	cfg := Config{Command: command, CancelAfter: 2 * time.Second, Cwd: t.TempDir(), StartTimeout: acptest.Patience}
	for _, f := range change {
		f(&cfg)
	}
	a, err := New("bad", cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Agent: a, t: t, host: newHost()}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, r.host) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if n := a.Info().Processes; n != 0 {
			t.Errorf("%d processes are left", n)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// thread is a thread of a test, with the state that the log would have.
type testThread struct {
	r         *rig
	id        string
	sessionID string
	cwd       string
	config    []byte
	turns     int
}

func (r *rig) thread(id string) *testThread { return &testThread{r: r, id: id} }

// prompt runs a prompt to its end. change may adjust the sink.
func (th *testThread) prompt(ctx context.Context, text string, change ...func(*agenttest.Sink)) (*agenttest.Sink, turns.Outcome) {
	th.r.t.Helper()
	sink := agenttest.NewSink(th.r.t)
	for _, f := range change {
		f(sink)
	}
	return sink, th.with(ctx, sink, turns.Prompt{}, text)
}

func (th *testThread) with(ctx context.Context, sink *agenttest.Sink, p turns.Prompt, text string) turns.Outcome {
	th.r.t.Helper()
	th.turns++
	p.ThreadID, p.TurnID, p.Attempt = th.id, fmt.Sprintf("turn_%s_%d", th.id, th.turns), 1
	p.SessionID, p.Config = th.sessionID, th.config
	p.Cwd = cmp.Or(p.Cwd, th.cwd)
	out := sink.Run(ctx, th.r.Agent, p, text)
	for _, set := range sink.Thread() {
		if set.AgentSessionID != "" {
			th.sessionID = set.AgentSessionID
		}
		if set.Config != nil {
			th.config = set.Config
		}
	}
	return out
}

// run runs a prompt that must complete; it returns the agent's text.
func (th *testThread) run(text string, change ...func(*agenttest.Sink)) string {
	th.r.t.Helper()
	sink, out := th.prompt(th.r.t.Context(), text, change...)
	if out.State != turns.Completed {
		th.r.t.Fatalf("%q: %+v (%+v)", text, out, out.Failure)
	}
	return said2(sink)
}

// said2 is the text of the agent's messages.
func said2(s *agenttest.Sink) string { return strings.Join(s.Texts(items.KindAgentMessage), "|") }

// notices are the messages of the notices.
func notices(s *agenttest.Sink) (out []string) {
	for _, it := range s.Items() {
		if n, ok := it.Content.(items.Notice); ok {
			out = append(out, n.Message)
		}
	}
	return out
}

// clean checks that the agent reports no violation of the protocol.
func (th *testThread) clean() {
	th.r.t.Helper()
	if got := th.run("violations"); got != "none" {
		th.r.t.Errorf("we have done against the protocol: %s", got)
	}
}

func answer(kind string) func(*agenttest.Sink) {
	return func(s *agenttest.Sink) {
		s.OnAsk = func(_ context.Context, q items.Content, _ turns.AskOptions) (turns.Answer, error) {
			if _, ok := q.(items.Question); ok {
				return turns.Answer{Status: items.StatusCompleted, Outcome: items.Outcome{Type: items.OutcomeAnswered}, Answer: items.Raw(`"blue"`)}, nil
			}
			o := optionOf(q.(items.PermissionRequest).Options, kind)
			status := items.StatusCompleted
			if strings.HasPrefix(kind, "reject") {
				status = items.StatusDeclined
			}
			return turns.Answer{Status: status, Outcome: items.Outcome{Type: items.OutcomeSelected, OptionID: o.OptionID, Kind: o.Kind}}, nil
		}
	}
}

// alive reports whether a process with this pid exists and is no zombie.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func records(t testing.TB) (*process.Records, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := process.OpenRecords(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func entries(t testing.TB, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
