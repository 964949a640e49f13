package turns

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// InputMessage is one message of a turn's input.
type InputMessage struct {
	Type    string       `json:"type"`
	Role    string       `json:"role"`
	Content []items.Part `json:"content"`
}

// Command structs are the requests of clients. Those with JSON tags are embedded
// in the params of their method, which add what all params have. Key is made from
// the whole request, so it is not part of the JSON; it is nil without an
// idempotency key. Results have the JSON of the wire, because they are stored
// with an idempotency key.

// StartThread starts a thread, or finds the one with this id.
type StartThread struct {
	ThreadID string // "" = a new id
	Agent    string // "" = the default agent
	Title    string
	Cwd      string
	Metadata jsontext.Value
	Parent   *threads.Parent
	Job      string // of the thread of a job: its name
	By       By     // who asks; "" = ByClient
	Key      *ledger.Key
}

// StartThreadResult answers thread/start.
type StartThreadResult struct {
	ThreadID  string        `json:"thread_id"`
	SessionID string        `json:"session_id"`
	State     threads.State `json:"state"`
	Agent     string        `json:"agent"`
	StartedAt notify.Time   `json:"started_at"`
	Created   bool          `json:"created"`
	Seq       int64         `json:"seq"`
}

// ChangeThread pauses, resumes or closes a thread: VerbPause, VerbResume,
// VerbClose.
type ChangeThread struct {
	ThreadID string
	Verb     threads.Verb
	Reason   string
	By       By // who asks; "" = the server
	Key      *ledger.Key
}

// CloseThread closes a thread.
type CloseThread struct {
	ThreadID string      `json:"thread_id"`
	Reason   string      `json:"reason,omitzero"`
	By       By          `json:"-"` // who asks; "" = ByClient
	Key      *ledger.Key `json:"-"`
}

// ChangeThreadResult answers thread/pause, thread/resume and thread/close.
type ChangeThreadResult struct {
	ThreadID string        `json:"thread_id"`
	State    threads.State `json:"state"`
	Seq      int64         `json:"seq"`
}

// OnBusy says what turn/start does when a turn of the thread is active.
type OnBusy string

// The values of OnBusy; "" is BusyQueue.
const (
	BusyQueue     OnBusy = "queue"
	BusyReject    OnBusy = "reject"
	BusyInterrupt OnBusy = "interrupt"
	BusySteer     OnBusy = "steer"
)

// Start starts a turn. ThreadID may be "" only in a request to a server with a
// default thread, which package api then fills in.
type Start struct {
	ThreadID       string           `json:"thread_id,omitzero"`
	Job            string           `json:"job,omitzero"`   // "" = none; else it makes its thread, which has Agent and Cwd, "" = those of the parent's
	Agent          string           `json:"agent,omitzero"` // of a job
	Cwd            string           `json:"cwd,omitzero"`   // of a job
	Input          []InputMessage   `json:"input"`
	OnBusy         OnBusy           `json:"on_busy,omitzero"`
	Metadata       jsontext.Value   `json:"metadata,omitzero"`
	TimeoutSeconds float64          `json:"timeout_seconds,omitzero"` // 0 = the configured one
	Parent         *threads.Parent  `json:"parent,omitzero"`
	Background     bool             `json:"background,omitzero"`   // of a child turn: nothing waits for its end
	Title          string           `json:"title,omitzero"`        // of a child turn
	WaitSeconds    float64          `json:"wait_seconds,omitzero"` // 0 = answer as soon as it is durable
	Retry          *RetryPolicy     `json:"retry,omitzero"`        // nil = the agent's
	Review         ReviewPolicy     `json:"review,omitzero"`       // "" = the agent's
	By             By               `json:"-"`                     // who asks; "" = ByClient
	Requester      ledger.Requester `json:"-"`                     // of a slot among MaxAwaiting
	Key            *ledger.Key      `json:"-"`
}

// StartResult answers turn/start. Steered, ItemIDs and Delivery are set if
// the text went to the active turn.
type StartResult struct {
	TurnID    string      `json:"turn_id"`
	ThreadID  string      `json:"thread_id"`
	State     State       `json:"state"`
	StartedAt notify.Time `json:"started_at,omitzero"`
	QueuedAt  notify.Time `json:"queued_at,omitzero"`
	Position  int         `json:"position,omitzero"`
	Steered   bool        `json:"steered,omitzero"`
	ItemIDs   []string    `json:"item_ids,omitzero"`
	Delivery  Delivery    `json:"delivery,omitzero"`

	// Of a child turn. Wake is the policy of the owner's inbox: with "none" an end
	// only waits there. Results and Detached come with wait_seconds. Waited is false if
	// the request could not wait for the turn, else nil.
	Parent          *threads.Parent `json:"parent,omitzero"`
	AttentionPolicy AttentionPolicy `json:"attention_policy,omitzero"`
	Title           string          `json:"title,omitzero"`
	Job             string          `json:"job,omitzero"`
	Found           bool            `json:"found,omitzero"` // the job existed; Results has it
	Outside         bool            `json:"outside,omitzero"`
	Wake            string          `json:"wake,omitzero"`
	Results         []Result        `json:"results,omitzero"`
	Detached        *Detached       `json:"detached,omitzero"`
	Reason          CutShort        `json:"reason,omitzero"` // of the end of the wait
	Waited          *bool           `json:"waited,omitzero"`

	Seq int64 `json:"seq"`
}

// Detached says that a turn was detached instead of being waited for any longer.
type Detached struct {
	Reason Detach `json:"reason"`
}

// DetachTurn turns a blocking child turn into one that nothing waits for.
type DetachTurn struct {
	TurnID string      `json:"turn_id"`
	By     By          `json:"-"` // who asks; "" = ByClient
	Key    *ledger.Key `json:"-"`
}

// DetachResult answers turn/detach.
type DetachResult struct {
	TurnID          string          `json:"turn_id"`
	AttentionPolicy AttentionPolicy `json:"attention_policy"`
	State           State           `json:"state"`
	Seq             int64           `json:"seq"`
}

// WaitFor says when turn/await answers.
type WaitFor string

// The values of WaitFor; "" is WaitAny.
const (
	WaitAny WaitFor = "any" // at least one accepted end
	WaitAll WaitFor = "all"
)

// Await waits for the ends of turns. With an owner, an accepted end in the answer
// counts as told to the owner's agent once the answer has been written.
type Await struct {
	OwnerThreadID  string
	TurnIDs        []string // none = all children of the owner that are unended or untold
	TimeoutSeconds *float64 // nil = AwaitSeconds; 0 = only look
	WaitFor        WaitFor
	Requester      ledger.Requester // of a slot among MaxAwaiting
}

// AwaitResult answers turn/await: one result for each turn.
type AwaitResult struct {
	Results  []Result `json:"results"`
	TimedOut bool     `json:"timed_out"`
	Reason   CutShort `json:"reason,omitzero"`
	Seq      int64    `json:"seq"`
}

// CutShort is why a wait has ended before what it was for: people do not wait for machines.
// "" = it was not cut short.
type CutShort string

// The reasons for cutting a wait short.
const (
	CutQueued  CutShort = "queued"  // a turn of a client waits for the owner's active turn
	CutSteered CutShort = "steered" // text was steered to the owner's active turn
)

// Delivery is how steered text gets to the agent.
type Delivery string

// The deliveries.
const (
	Injected       Delivery = "injected"
	DeliveryQueued Delivery = "queued"
)

// Steer adds text to an active turn. Interrupt ends the agent's current prompt
// early.
type Steer struct {
	TurnID    string
	Input     []InputMessage
	Interrupt bool
	By        By // who asks; "" = ByClient
	Key       *ledger.Key
}

// SteerResult answers turn/steer.
type SteerResult struct {
	TurnID        string      `json:"turn_id"`
	State         State       `json:"state"`
	AcceptedItems int         `json:"accepted_items"`
	ItemIDs       []string    `json:"item_ids"`
	AcceptedAt    notify.Time `json:"accepted_at"`
	Delivery      Delivery    `json:"delivery"`
	Seq           int64       `json:"seq"`
}

// Interrupt ends a queued or active turn.
type Interrupt struct {
	TurnID string      `json:"turn_id"`
	Reason string      `json:"reason,omitzero"`
	By     By          `json:"-"` // who asks; "" = ByClient
	Key    *ledger.Key `json:"-"`
}

// InterruptResult answers turn/interrupt. State is "interrupted" or
// "interrupting".
type InterruptResult struct {
	TurnID        string      `json:"turn_id"`
	State         string      `json:"state"`
	InterruptedAt notify.Time `json:"interrupted_at"`
	Message       string      `json:"message"`
	Seq           int64       `json:"seq"`
}

// Respond answers a question: with an option, the first option of a kind, an
// answer, or the outcome "cancelled".
type Respond struct {
	ItemID     string
	OptionID   string
	OptionKind string
	Outcome    string // "" or "cancelled"
	Answer     jsontext.Value
	By         By   // who answers, shown as resolved_by; "" = ByClient
	Once       bool // an option that may allow more than this once is refused
	Key        *ledger.Key
}

// RespondResult answers item/respond.
type RespondResult struct {
	ItemID  string        `json:"item_id"`
	Status  items.Status  `json:"status"`
	Outcome items.Outcome `json:"outcome"`
	Seq     int64         `json:"seq"`
}

// Pause pauses the runtime. TimeoutSeconds 0 = until Resume.
type Pause struct {
	TimeoutSeconds float64     `json:"timeout_seconds,omitzero"`
	Reason         string      `json:"reason,omitzero"`
	By             By          `json:"-"` // who asks; "" = ByClient
	Key            *ledger.Key `json:"-"`
}

// Resume resumes the runtime.
type Resume struct {
	Reason string      `json:"reason,omitzero"`
	By     By          `json:"-"` // who asks; "" = ByClient
	Key    *ledger.Key `json:"-"`
}

// PauseResult answers holon/pause and holon/resume.
type PauseResult struct {
	Success bool        `json:"success"`
	Message string      `json:"message"`
	State   string      `json:"state"`
	Until   notify.Time `json:"until,omitzero"`
	Seq     int64       `json:"seq"`
}

// RenameThread gives a thread a title that no agent replaces. An empty one gives it
// back: the agent names the thread again.
type RenameThread struct {
	ThreadID string
	Title    string
	By       By // who asks; "" = ByClient
	Key      *ledger.Key
}

// RenameThreadResult answers thread/rename. Title is the thread's.
type RenameThreadResult struct {
	ThreadID string          `json:"thread_id"`
	Title    string          `json:"title,omitzero"`
	TitleBy  threads.TitleBy `json:"title_by,omitzero"`
	Seq      int64           `json:"seq"`
}

// Configure changes settings of a thread by name, and where its agent works. The agent
// defines the settings: mode, model and others. Config has those to change; Cwd "" leaves
// the directory as it is.
type Configure struct {
	ThreadID string                    `json:"thread_id"`
	Config   map[string]jsontext.Value `json:"config,omitzero"`
	Cwd      string                    `json:"cwd,omitzero"`
	By       By                        `json:"-"` // who asks; "" = ByClient
	Key      *ledger.Key               `json:"-"`
}

// ConfigureResult answers thread/configure. Config is all settings of the
// thread, as the log has them, and Cwd its directory.
type ConfigureResult struct {
	ThreadID string         `json:"thread_id"`
	Config   jsontext.Value `json:"config,omitzero"`
	Cwd      string         `json:"cwd,omitzero"`
	Seq      int64          `json:"seq"`
}

// Fork starts a thread that continues the conversation of another one.
type Fork struct {
	ThreadID    string
	AfterTurnID string // "" = the newest turn that has ended
	NewThreadID string // "" = a new id
	By          By     // who asks; "" = ByClient
	Key         *ledger.Key
}

// ForkResult answers thread/fork; the ids and the state are the new thread's.
type ForkResult struct {
	ThreadID   string             `json:"thread_id"`
	SessionID  string             `json:"session_id"`
	State      threads.State      `json:"state"`
	Agent      string             `json:"agent"`
	StartedAt  notify.Time        `json:"started_at"`
	ForkedFrom threads.ForkedFrom `json:"forked_from"`
	Seq        int64              `json:"seq"`
}

// PruneResult answers holon/prune: the oldest seq that is kept, how many events
// were removed, and the newest seq of the log.
type PruneResult struct {
	FirstSeq int64 `json:"first_seq"`
	Pruned   int64 `json:"pruned"`
	Seq      int64 `json:"seq"`
}
