package turns

import (
	"context"
	"fmt"
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
	// emits until then is kept. If it does not return within the interrupt
	// deadline (its own, see Stopper, else the engine's) its turn ends without
	// it and Emit returns ErrPromptOver. A panic in Run fails the turn, nothing else.
	Run(ctx context.Context, p *Prompt) Outcome
}

// AgentInfo is what agent/list, holon/status and initialize show of an agent.
type AgentInfo struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// State is ready (a process is up, or none is needed), idle (none is up,
	// the next turn starts one), starting or failed (LastError says why; the
	// next turn tries again).
	State        string            `json:"state"`
	Version      string            `json:"version,omitzero"`  // the agent's own
	Protocol     string            `json:"protocol,omitzero"` // such as "acp/1"
	Capabilities AgentCapabilities `json:"capabilities"`
	Processes    int               `json:"processes"`
	Sessions     int               `json:"sessions"` // that are open in a process
	LastError    string            `json:"last_error,omitzero"`
}

// The states of an agent.
const (
	AgentReady    = "ready"
	AgentIdle     = "idle"
	AgentStarting = "starting"
	AgentFailed   = "failed"
)

// AgentCapabilities is what an agent can do beyond running turns, as far as
// is known: an agent that has not been started yet has told nothing.
type AgentCapabilities struct {
	Steering bool     `json:"steering"` // takes text while it works
	Load     bool     `json:"load"`
	Resume   bool     `json:"resume"`
	Fork     bool     `json:"fork"`
	Images   bool     `json:"images"`
	Modes    []string `json:"modes,omitzero"`
	Models   []string `json:"models,omitzero"`
}

// Stopper is an Agent that says itself how long a prompt may take to return
// once it is cancelled, such as one that has a ladder of its own to climb: the
// engine goes on without it only after that. 0 = the engine's interrupt
// deadline. A server that stops gives less in any case.
type Stopper interface {
	Agent
	StopWithin() time.Duration
}

// Service is an Agent with a life of its own, such as processes that outlive
// a turn. The engine's Run calls Serve once, in a goroutine of its own that it
// starts before any queued turn; a prompt may come before Serve has done
// anything. It cancels ctx when all turns have ended or been given up; Serve
// then ends everything that the agent has started, and returns, within 7 s.
// An error (or a panic) before that is logged and shown as the agent's state;
// the server and the agent's Run go on.
type Service interface {
	Agent
	Serve(ctx context.Context, host Host) error
}

// Host is what an agent may do outside of its turns. Its methods may be
// called from many goroutines.
type Host interface {
	// Emit stores what an agent says to a thread while it runs no turn there:
	// items that are created ended, in one event and without a turn, and
	// SetThread. Other ops are refused. It blocks while the thread's inbox is
	// full. What comes for a thread that has closed is logged and counted.
	Emit(ctx context.Context, threadID string, ops []items.Op) error
	// Transcript reads the newest messages of a thread, the oldest of them
	// first, as many as fit maxBytes: the agent_message items, and the
	// user_message items that an agent was given. Those of the turn that runs
	// are among them: TurnID tells.
	Transcript(ctx context.Context, threadID string, maxBytes int) ([]*items.Item, error)
}

// AgentThread is a thread as its agent knows it.
type AgentThread struct {
	ThreadID  string
	Cwd       string
	SessionID string         // the agent's own, "" = none yet
	Config    jsontext.Value // as it was set last, nil = never
}

// Configurer is an Agent whose threads have settings that a client may
// change: mode, model, and others of the agent's own.
type Configurer interface {
	Agent
	// Configure changes settings and returns the thread as it is then, for
	// the log. It may be called while a turn runs. Errors: *InvalidError for a
	// setting or value that does not exist, *AgentError. What was changed before
	// an error holds; the agent tells the thread of it itself (Host.Emit).
	Configure(ctx context.Context, t AgentThread, set map[string]jsontext.Value) (AgentThread, error)
}

// Forker is an Agent that can go on twice from the same conversation.
type Forker interface {
	Agent
	// Fork returns a session of its own, for the thread newThreadID, with what
	// was said in t so far. Errors: *UnsupportedError, *AgentError.
	Fork(ctx context.Context, t AgentThread, newThreadID string) (AgentThread, error)
}

// AgentError is what an agent could not do outside of a turn. Kind is
// agent_failed, agent_unavailable or timeout.
type AgentError struct {
	Kind    string
	Message string
}

// Error implements error.
func (e *AgentError) Error() string { return e.Message }

// Outcome is how a prompt ended. State is Completed, Failed or Interrupted;
// Completed if "". Failure is set if State is Failed. An interrupted turn
// ends interrupted whatever the agent says; its StopReason is kept. With a
// Cause the turn is tried again, if its policy allows.
type Outcome struct {
	State      State
	Message    string
	StopReason string
	Failure    *Failure
	Cause      Cause
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

	// SessionID and Config are what the log has of the thread's agent, as
	// SetThread or Configure set them; "" and nil before.
	SessionID string
	Config    jsontext.Value

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
	Sync(ctx context.Context) error
	OnSteer(f Injector)
}

// Injector hands steered text to the agent at work. It returns nil once the
// agent has it, ErrNotInjected (or any other error) if the agent has not and
// will not take it: the text is then the turn's next prompt.
type Injector func(ctx context.Context, msg items.UserMessage) error

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

// Sync returns once everything that was emitted before is durable. The error
// is as Emit's.
func (p *Prompt) Sync(ctx context.Context) error { return p.Sink.Sync(ctx) }

// OnSteer says that from now on the agent takes steered text while it works;
// nil, that it no longer does. f is called for one message at a time, never
// after Run has returned, and ctx ends with the prompt.
func (p *Prompt) OnSteer(f Injector) { p.Sink.OnSteer(f) }

// AskOptions bounds a question. ExpiresAfter 0 = it waits for ever.
// OnExpiry is the kind of option that is chosen when it expires, "" = none:
// the question ends cancelled. OptionID is the option that the configuration
// has chosen beforehand: the question is stored with this answer, and nobody
// is waited for; "" = a person is asked. It must be one of the options of a
// PermissionRequest, else Ask returns an error that wraps items.ErrRefused.
type AskOptions struct {
	ExpiresAfter time.Duration
	OnExpiry     string
	OptionID     string
}

// Answer is how a question ended. Answer is set for a Question that was
// answered.
type Answer = items.Answer

// UnsupportedError says that an agent cannot do what was asked of it.
type UnsupportedError struct {
	Agent string
	What  string // such as "has no settings"
}

// Error implements error.
func (e *UnsupportedError) Error() string { return fmt.Sprintf("the agent %s %s", e.Agent, e.What) }
