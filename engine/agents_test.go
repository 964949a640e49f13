package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// puppet is an agent whose prompts the test controls.
type puppet struct {
	name  string
	kind  string
	deaf  bool
	calls chan *call
	once  sync.Once
	freed chan struct{} // closed: every prompt returns

	mu   sync.Mutex
	lent map[string]bool // the threads whose slots are lent
	odd  []string        // what was lent or reclaimed twice
}

// call is one prompt under way.
type call struct {
	*turns.Prompt
	ctx context.Context
	out chan turns.Outcome
}

func newPuppet(name string, deaf bool) *puppet {
	return &puppet{name: name, kind: "puppet", deaf: deaf, calls: make(chan *call, 4096), freed: make(chan struct{}), lent: map[string]bool{}}
}

func (a *puppet) Info() turns.AgentInfo { return turns.AgentInfo{Name: a.name, Kind: a.kind} }

func (a *puppet) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	c := &call{Prompt: p, ctx: ctx, out: make(chan turns.Outcome)}
	a.calls <- c
	done := ctx.Done()
	if a.deaf {
		done = nil
	}
	select {
	case out := <-c.out:
		return out
	case <-done:
		return turns.Outcome{State: turns.Interrupted, StopReason: context.Cause(ctx).Error()}
	case <-a.freed:
		return turns.Outcome{State: turns.Interrupted, StopReason: "freed"}
	}
}

// Lend implements turns.Lender.
func (a *puppet) Lend(threadID string) { a.lend(threadID, true) }

// Reclaim implements turns.Lender.
func (a *puppet) Reclaim(threadID string) { a.lend(threadID, false) }

func (a *puppet) lend(threadID string, lent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lent[threadID] == lent {
		a.odd = append(a.odd, fmt.Sprintf("%s: %v twice", threadID, lent))
	}
	a.lent[threadID] = lent
}

// lends are the threads whose slots are lent. It fails the test if one was lent or
// reclaimed twice.
func (a *puppet) lends(t testing.TB) (threads []string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.odd) > 0 {
		t.Errorf("the slots of the agent %s: %q", a.name, a.odd)
	}
	for id, lent := range a.lent {
		if lent {
			threads = append(threads, id)
		}
	}
	slices.Sort(threads)
	return threads
}

// Configure sets settings. The agent has all settings except "none".
func (a *puppet) Configure(_ context.Context, t turns.AgentThread, set map[string]jsontext.Value) (turns.AgentThread, error) {
	config := map[string]jsontext.Value{}
	if t.Config != nil {
		if err := json.Unmarshal(t.Config, &config); err != nil {
			return t, err
		}
	}
	for name, v := range set {
		if name == "none" {
			return t, &turns.InvalidError{Field: "config.none", Reason: "unknown", Text: "there is no such setting"}
		}
		config[name] = v
	}
	var err error
	t.Config, err = json.Marshal(config, json.Deterministic(true))
	t.SessionID = "session of " + t.ThreadID
	return t, err
}

func (a *puppet) Fork(_ context.Context, t turns.AgentThread, newThreadID string) (turns.AgentThread, error) {
	t.ThreadID, t.SessionID = newThreadID, "fork of "+t.SessionID
	return t, nil
}

func (a *puppet) free() { a.once.Do(func() { close(a.freed) }) }

// next waits for the next prompt of the agent.
func (h *harness) next(a *puppet) *call {
	h.t.Helper()
	select {
	case c := <-a.calls:
		return c
	case <-time.After(patience):
		h.t.Fatalf("the agent %s got no prompt; the log is\n%s", a.name, list(h.seen))
		return nil
	}
}

// window is longer than what is new waits for more before it wakes an agent: see
// inbox.Policy.WakeWindowMs.
const window = 1100 * time.Millisecond

// idle checks, when everything is at rest, that the agent has received no prompt. An agent that its
// inbox wakes gets the time for that.
func (h *harness) idle(a *puppet) {
	h.t.Helper()
	if synctest.Wait(); a.kind == turns.KindACP {
		time.Sleep(window)
		synctest.Wait()
	}
	select {
	case c := <-a.calls:
		h.t.Fatalf("the agent %s got prompt %d of %s", a.name, c.Index, c.TurnID)
	default:
	}
}

// end lets the prompt return.
func (c *call) end(state turns.State) { c.out <- turns.Outcome{State: state} }

// said is the text of the prompt's input.
func (c *call) said() string {
	var all []string
	for _, m := range c.Input {
		all = append(all, m.Text())
	}
	return strings.Join(all, "|")
}

// emit puts ops in. It fails the test if they are refused.
func (h *harness) emit(c *call, ops ...items.Op) {
	h.t.Helper()
	if err := c.Emit(bg, ops...); err != nil {
		h.t.Fatalf("emit: %v", err)
	}
}

// message opens an agent_message, waits until it is written, and returns its id.
func (h *harness) message(c *call, text string) string {
	h.t.Helper()
	id := items.NewID()
	h.emit(c, items.Create{ItemID: id, Content: items.NewAgentMessage("")}, items.Append{ItemID: id, Text: text})
	synctest.Wait()
	return id
}

// asked is a question under way.
type asked struct {
	id     string
	answer chan turns.Answer
	err    chan error
}

func permission() items.PermissionRequest {
	return items.PermissionRequest{
		Type: items.KindPermissionRequest, Title: "may I?", Subject: items.Subject{Type: "other"},
		Options: []items.Option{
			{OptionID: "yes", Name: "Yes", Kind: items.AllowOnce},
			{OptionID: "no", Name: "No", Kind: items.RejectOnce},
		},
	}
}

// ask asks and waits until the question is in the log.
func (h *harness) ask(c *call, question items.Content, o turns.AskOptions) *asked {
	h.t.Helper()
	q := &asked{id: items.NewID(), answer: make(chan turns.Answer, 1), err: make(chan error, 1)}
	go func() {
		a, err := c.Sink.Ask(bg, q.id, question, o)
		q.answer <- a
		q.err <- err
	}()
	h.event(notify.ItemCreated, ofItem(q.id))
	return q
}

// got waits for the answer.
func (h *harness) got(q *asked) turns.Answer {
	h.t.Helper()
	select {
	case a := <-q.answer:
		if err := <-q.err; err != nil {
			h.t.Fatalf("ask: %v", err)
		}
		return a
	case <-time.After(patience):
		h.t.Fatal("the question was never answered")
		return turns.Answer{}
	}
}

// quick answers with its input, in one message, and ends.
type quick struct{}

func (*quick) Info() turns.AgentInfo { return turns.AgentInfo{Name: "quick", Kind: "quick"} }

func (*quick) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	id := items.NewID()
	err := p.Emit(ctx,
		items.Create{ItemID: id, Content: items.NewAgentMessage("")},
		items.Append{ItemID: id, Text: p.Input[0].Text()},
		items.Update{ItemID: id, Status: items.StatusCompleted})
	if err != nil {
		return turns.Outcome{State: turns.Interrupted, StopReason: err.Error()}
	}
	return turns.Outcome{State: turns.Completed, StopReason: "end_turn"}
}

// agentFunc is an agent that is one function.
type agentFunc struct {
	name string
	run  func(context.Context, *turns.Prompt) turns.Outcome
}

func (a agentFunc) Info() turns.AgentInfo { return turns.AgentInfo{Name: a.name, Kind: "func"} }

func (a agentFunc) Run(ctx context.Context, p *turns.Prompt) turns.Outcome { return a.run(ctx, p) }
