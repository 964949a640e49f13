package turns

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
)

// Agent executes turns. Implementations live below package agents. All
// methods may be called from many goroutines at once.
type Agent interface {
	// Info describes the agent. It must not block.
	Info() AgentInfo

	// Run executes one prompt and returns how it ended. A turn is a series of
	// prompts: its input first, then whatever was steered to it meanwhile.
	//
	// When ctx is cancelled the agent is to stop soon and return; what it
	// emits until then is kept. If it does not return within the engine's
	// interrupt deadline its turn ends without it and Emit returns
	// ErrPromptOver. A panic in Run fails the turn, nothing else.
	Run(ctx context.Context, p *Prompt) Outcome
}

// AgentInfo is what holon/status and initialize show of an agent.
type AgentInfo struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Outcome is how a prompt ended. State is Completed, Failed or Interrupted;
// Completed if "". Failure is set if State is Failed. An interrupted turn
// ends interrupted whatever the agent says; its StopReason is kept.
type Outcome struct {
	State      State
	Message    string
	StopReason string
	Failure    *Failure
}

// Prompt is the agent's side of one prompt of a turn. Its fields are not
// changed after Run is called; its methods may be called from many goroutines
// until Run returns.
type Prompt struct {
	ThreadID string
	TurnID   string
	Attempt  int // from 1
	Index    int // of the prompt in its turn, from 0
	Cwd      string
	Input    []items.UserMessage
	Metadata jsontext.Value // of the turn
	Sink     Sink

	// Over is closed when the turn has ended without the agent, because it
	// did not stop in time or because the server ends: whatever is still
	// running is to be killed at once. nil = never.
	Over <-chan struct{}
}

// Sink takes what an agent says. The engine's is the inbox of the turn's
// thread; tests of agents bring their own.
type Sink interface {
	Emit(ctx context.Context, ops []items.Op) error
	Ask(ctx context.Context, itemID string, question items.Content, o AskOptions) (Answer, error)
}

// Emit hands ops over, in their order. It blocks while the thread's inbox is
// full: the agent's pipe is then not to be read. It returns ctx's error, or
// ErrPromptOver once the turn has ended without the agent. An op that the
// item does not allow makes a notice item and is otherwise dropped.
func (p *Prompt) Emit(ctx context.Context, ops ...items.Op) error { return p.Sink.Emit(ctx, ops) }

// Ask makes a question (a PermissionRequest or a Question, without outcome)
// and waits for its end: an answer, its expiry, or the end of the turn, which
// cancels it. The error is as Emit's; a cancelled question is no error.
func (p *Prompt) Ask(ctx context.Context, question items.Content, o AskOptions) (Answer, error) {
	return p.Sink.Ask(ctx, items.NewID(), question, o)
}

// AskOptions bounds a question. ExpiresAfter 0 = it waits for ever.
// OnExpiry is the kind of option that is chosen when it expires, "" = none:
// the question ends cancelled.
type AskOptions struct {
	ExpiresAfter time.Duration
	OnExpiry     string
}

// Answer is how a question ended. Answer is set for a Question that was
// answered.
type Answer = items.Answer
