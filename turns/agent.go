package turns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/internal/nearest"
	"github.com/seed82539d15/holon/items"
)

// Agent executes turns. Implementations live below package agents. All
// methods may be called from many goroutines at once.
type Agent interface {
	// Info describes the agent. It must not block.
	Info() AgentInfo

	// Run executes one prompt and returns how it ended. A turn is a series of
	// prompts: its input first, then what was steered to it meanwhile.
	//
	// When ctx is cancelled the agent must stop soon and return; what it emits
	// until then is kept. If it does not return within the interrupt deadline
	// (its own, see Stopper, else the engine's), its turn ends without it and
	// Emit returns ErrPromptOver. A panic in Run fails only the turn.
	Run(ctx context.Context, p *Prompt) Outcome
}

// AgentInfo is what agent/list, holon/status and initialize show of an agent.
type AgentInfo struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// State is ready (a process runs, or none is needed), idle (none runs, the
	// next turn starts one), starting, or failed (LastError says why; the next
	// turn retries).
	State        string            `json:"state"`
	Version      string            `json:"version,omitzero"`  // the agent's own
	Protocol     string            `json:"protocol,omitzero"` // such as "acp/1"
	Capabilities AgentCapabilities `json:"capabilities"`
	// Mode is the mode in which new sessions open, "" if it is not known: the agent
	// has no modes, or has opened none since the server started.
	Mode string `json:"mode,omitzero"`
	// Warning says what the agent does in that mode without asking, or may do if that is
	// a guess, although a person is to be asked, and what to do about it.
	Warning   string `json:"warning,omitzero"`
	Processes int    `json:"processes"`
	Sessions  int    `json:"sessions"` // open in a process
	// MemoryBytes is the memory of the processes and of what they have started, as far as
	// agent/list has asked for it (Measured); 0 = not known. Info leaves it out.
	MemoryBytes int64  `json:"memory_bytes,omitzero"`
	LastError   string `json:"last_error,omitzero"`
	// Directory is where a thread without a cwd works; "" where the server knows none.
	// DirectoryGiven says that the agent's configuration says so, else it is where the
	// server was started.
	Directory      string `json:"directory,omitzero"`
	DirectoryGiven bool   `json:"directory_given,omitzero"`
}

// Kinds of agents that the engine treats in ways of their own.
const (
	KindACP     = "acp"     // its prompts are text for a model
	KindMailbox = "mailbox" // it runs no turns: its threads are inboxes of people
)

// The states of an agent.
const (
	AgentReady    = "ready"
	AgentIdle     = "idle"
	AgentStarting = "starting"
	AgentFailed   = "failed"
)

// AgentCapabilities is what an agent can do beyond running turns, as far as is
// known. Nothing is known of an agent that has not been started yet.
type AgentCapabilities struct {
	Steering bool     `json:"steering"` // takes text while it works
	Load     bool     `json:"load"`
	Resume   bool     `json:"resume"`
	Fork     bool     `json:"fork"`
	Images   bool     `json:"images"`
	Modes    []string `json:"modes,omitzero"`
	Models   []string `json:"models,omitzero"`
}

// Stopper is an Agent with its own deadline for a cancelled prompt to return,
// for example because it stops its process in stages. The engine continues
// without the agent only after that deadline. 0 = the engine's interrupt
// deadline. A server that stops always gives less time.
type Stopper interface {
	Agent
	StopWithin() time.Duration
}

// Local is an Agent that works in a directory of this machine. One that is not writes
// nowhere, or the server does not know where.
type Local interface {
	Agent
	// Directory is where it works for a thread with this cwd, which may be "". It is
	// where the next turn would start: what has a session stays where that was opened.
	// It must not block. The error says why there is none.
	Directory(cwd string) (string, error)
}

// DirectoryKeeper is a Local that may be bound to directories.
type DirectoryKeeper interface {
	Local
	// KeepsDirectory reports whether a thread that has a session cannot get another
	// directory.
	KeepsDirectory() bool
}

// Measured is an Agent whose processes use memory that can be measured.
type Measured interface {
	Agent
	// Memory is how much its processes use, and all that they have started, in bytes: their
	// own memory, and their shares of what they share with others; 0 if there are none, or if
	// one cannot be read. It may take some 100 ms.
	Memory() int64
}

// Lender is an Agent whose threads need a slot of which there are few, such as a process of
// its own for each. The slot of a turn that waits in a call for other turns is lent: these
// may need it, and would never get it.
type Lender interface {
	Agent
	// Lend says that the agent of the thread's running prompt waits in a call for other
	// turns, Reclaim that it no longer does; then it has its slot again, also if there
	// is none left. Neither blocks. The engine calls them alternately for a prompt; one
	// that ends without Reclaim has its slot back.
	Lend(threadID string)
	Reclaim(threadID string)
}

// Service is an Agent that also works between turns, such as one with processes
// that outlive a turn. The engine's Run calls Serve once, in a separate
// goroutine, before it starts any queued turn. A prompt may come before Serve
// has done anything. The engine cancels ctx when all turns have ended or been
// given up. Serve then ends everything that the agent has started, and returns,
// within 7 s. An error (or a panic) before that is logged and shown as the
// agent's state; the server and the agent's Run continue.
type Service interface {
	Agent
	Serve(ctx context.Context, host Host) error
}

// Host is what an agent may do outside of its turns. Its methods may be
// called from many goroutines.
type Host interface {
	// Emit stores what an agent says to a thread while it runs no turn there. It
	// takes items that are created with a final status, in one event and without
	// a turn, and SetThread. Other ops are refused. It blocks while the intake of
	// the thread is full. Ops for a closed thread are logged and counted.
	Emit(ctx context.Context, threadID string, ops []items.Op) error
	// Transcript reads the newest messages of a thread, as many as fit maxBytes,
	// and returns the oldest of them first: the agent_message items, and the
	// user_message items that were delivered. Messages of the running turn are
	// included; see their TurnID.
	Transcript(ctx context.Context, threadID string, maxBytes int) ([]*items.Item, error)
}

// AgentThread is a thread as its agent knows it.
type AgentThread struct {
	ThreadID  string
	Cwd       string
	SessionID string         // the agent's own id; "" = none yet
	Config    jsontext.Value // as last set; nil = never set
}

// Configurer is an Agent whose threads have settings that a client may
// change: mode, model, and others of the agent's own.
type Configurer interface {
	Agent
	// Configure changes settings and returns the changed thread, for the log. It
	// may be called while a turn runs. Errors: *InvalidError for a setting or
	// value that does not exist, *AgentError. Changes made before an error
	// remain; the agent itself reports them to the thread (Host.Emit).
	Configure(ctx context.Context, t AgentThread, set map[string]jsontext.Value) (AgentThread, error)
}

// Forker is an Agent that can fork a conversation.
type Forker interface {
	Agent
	// Fork returns a new session, for the thread newThreadID, with the
	// conversation of t so far. Errors: *UnsupportedError, *AgentError.
	Fork(ctx context.Context, t AgentThread, newThreadID string) (AgentThread, error)
}

// AgentError is a failure of an agent outside of a turn. Kind is agent_failed,
// agent_unavailable or timeout.
type AgentError struct {
	Kind    string
	Message string
}

// Error implements error.
func (e *AgentError) Error() string { return e.Message }

// Outcome is how a prompt ended. State is Completed, Failed or Interrupted;
// "" is Completed. Format is that of Message. Failure is set if State is Failed. A turn that was
// interrupted ends as interrupted, whatever State is; StopReason is kept. With a
// Cause the turn is retried if its policy allows.
type Outcome struct {
	State      State
	Message    string
	Format     items.Format
	StopReason string
	Failure    *Failure
	Cause      Cause

	// Unread says that the agent has not got the input of the prompt: that was cancelled
	// before, or the agent could not be started. If the turn goes on, the next prompt has
	// that input, too.
	Unread bool
}

// The kinds of Failure and of AgentError that agents report (docs/protocol.md,
// section 5).
const (
	KindAgentFailed      = "agent_failed"
	KindAgentUnavailable = "agent_unavailable"
)

// FailedWith returns the outcome of a prompt that failed for a reason that people
// are shown.
func FailedWith(kind, message string) Outcome {
	return Outcome{State: Failed, StopReason: "error", Failure: &Failure{Kind: kind, Message: message}}
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

	// SessionID and Config are those of the thread in the log, as SetThread or
	// Configure set them; "" and nil before.
	SessionID string
	Config    jsontext.Value

	// Over is closed when the turn has ended without the agent, because the
	// agent did not stop in time or because the server ends. What still runs
	// must then be killed at once. nil = never.
	Over <-chan struct{}
}

// Sink takes what an agent says. The engine's Sink is the intake of the turn's
// thread; tests of agents have their own.
type Sink interface {
	Emit(ctx context.Context, ops []items.Op) error
	Ask(ctx context.Context, itemID string, question items.Content, o AskOptions) (Answer, error)
	Sync(ctx context.Context) error
	OnSteer(f Injector)
}

// Injector delivers steered text to the working agent. It returns nil once the
// agent has the text. ErrNotInjected, or any other error, says that the agent has
// not taken it and will not: the text is then the turn's next prompt.
type Injector func(ctx context.Context, msg items.UserMessage) error

// Emit applies ops in their order. It blocks while the intake of the thread is
// full; the agent's pipe must not be read then. It returns ctx's error, or
// ErrPromptOver once the turn has ended without the agent. An op that the item
// does not allow is dropped, with a notice item.
func (p *Prompt) Emit(ctx context.Context, ops ...items.Op) error { return p.Sink.Emit(ctx, ops) }

// Ask makes a question (a PermissionRequest or a Question, without outcome) and
// waits for its end: an answer, its expiry, or the end of the turn, which cancels
// it. A cancelled question is no error; the errors are those of Emit.
func (p *Prompt) Ask(ctx context.Context, question items.Content, o AskOptions) (Answer, error) {
	return p.Sink.Ask(ctx, items.NewID(), question, o)
}

// Sync returns once everything that was emitted before is durable. Its errors
// are those of Emit.
func (p *Prompt) Sync(ctx context.Context) error { return p.Sink.Sync(ctx) }

// OnSteer registers that from now on the agent takes steered text while it works; a
// nil f says that it no longer does. An agent says it before the prompt's first
// output, so that whoever reads that can steer. f is called for one message at a time,
// first for those that came before it was set, and never after Run has returned; its
// ctx ends with the prompt.
func (p *Prompt) OnSteer(f Injector) { p.Sink.OnSteer(f) }

// AskOptions bounds a question. ExpiresAfter 0 = it never expires. OnExpiry is
// the kind of option that is chosen when it expires; "" = none, the question
// ends cancelled. OptionID is an option that the configuration has chosen: the
// question is stored with this answer and no person is asked; "" = a person is
// asked. OptionID must be one of the options of a PermissionRequest, else Ask
// returns an error that wraps items.ErrRefused. By is who has chosen it, shown as
// resolved_by; "" = configuration.
//
// Resumes says that the agent can go on with the turn in a further prompt of another
// process. Then the question stays open when the server restarts, and once it is answered
// that prompt has the answer, as a message of the origin resume, before the input of the
// turn. An agent that cannot go on after all ends that prompt with CauseServer.
type AskOptions struct {
	ExpiresAfter time.Duration
	OnExpiry     string
	OptionID     string
	By           string
	Resumes      bool
}

// ErrServerStops is the cause of the end of a prompt's context when the server stops while
// the turn waits for a person. The turn waits on; nothing that the agent says or does from
// then on counts. It must be told nothing, neither an answer nor a cancellation, and what
// runs for the prompt alone must be killed at once.
var ErrServerStops = errors.New("the server stops; the turn waits for the next one")

// Answer is how a question ended. Answer is set for a Question that was
// answered.
type Answer = items.Answer

// NoAgentError is ErrAgentNotFound with the name that was asked for, and those of the
// agents that there are.
type NoAgentError struct {
	Agent string
	Known []string // sorted
}

// Error implements error.
func (e *NoAgentError) Error() string { return fmt.Sprintf("there is no agent %q", e.Agent) }

// Unwrap returns ErrAgentNotFound.
func (e *NoAgentError) Unwrap() error { return ErrAgentNotFound }

// NoSettings returns the error of an agent without settings that was to change some, at least one.
func NoSettings(agent string, config map[string]jsontext.Value) *UnsupportedError {
	name := slices.Min(slices.Collect(maps.Keys(config)))
	return &UnsupportedError{Agent: agent, What: fmt.Sprintf("has no settings, and so no %.64q", name) + nearest.Hint(name, []string{"cwd"})}
}

// UnsupportedError says that an agent cannot do what was requested.
type UnsupportedError struct {
	Agent string
	What  string // such as "has no settings"
}

// Error implements error.
func (e *UnsupportedError) Error() string { return fmt.Sprintf("the agent %s %s", e.Agent, e.What) }
