package turns

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Remote is an Agent whose turns run wherever workers are: they claim them,
// and write with the lease that they get. Its Run is never called.
type Remote interface {
	Agent
	// Leases must not block and always returns the same.
	Leases() LeasePolicy
}

// LeasePolicy bounds how long a worker may be silent, and how long a turn
// waits for one. Zero means the default; a negative ClaimTimeout waits for
// ever.
type LeasePolicy struct {
	Lease        time.Duration // 30 s; a worker renews every third of it
	ClaimTimeout time.Duration // 300 s
}

// Defaults and bounds of workers.
const (
	DefaultLease        = 30 * time.Second
	DefaultClaimTimeout = 300 * time.Second
	MaxClaimWait        = 60 * time.Second // of one turn/claim
	MaxClaimers         = 1024             // that wait at one agent
	MaxBatchOps         = 256
	MaxBatchBytes       = 1 << 20
	MaxWorkerName       = 128
	// MaxWorkerInput is the size of all that is said to a worker's turn: an
	// answer to turn/claim has all of it, and must fit into a frame (4 MiB).
	MaxWorkerInput = 3 << 20
)

// Lease lets the worker that has it write to one attempt of a turn. It comes
// from Claim and goes with every command of a worker. ExpiresAt is what the
// server says; what a client says of it is not looked at.
type Lease struct {
	TurnID    string      `json:"turn_id"`
	Attempt   int         `json:"attempt"`
	Token     string      `json:"token"`
	ExpiresAt notify.Time `json:"expires_at,omitzero"`
}

// Claim takes the next turn of an agent that is a Remote, and waits for one
// up to Wait. Worker is what the worker calls itself, shown with the turn; it
// may be "".
type Claim struct {
	Agent  string
	Worker string
	Wait   time.Duration
	Key    *ledger.Key
}

// ClaimResult answers turn/claim. Turn is nil, and all else zero, when none
// came in time. Input is everything that was said to the turn so far.
type ClaimResult struct {
	Turn  *Turn         `json:"turn"`
	Cwd   string        `json:"cwd,omitzero"` // of the thread
	Input []WorkerInput `json:"input,omitzero"`
	Lease *Lease        `json:"lease,omitzero"`
	Seq   int64         `json:"seq"`
}

// WorkerInput is a message for the worker's turn: one of InputMessage, with
// the id of its item.
type WorkerInput struct {
	ItemID  string       `json:"item_id"`
	Type    string       `json:"type"` // message
	Role    string       `json:"role"`
	Content []items.Part `json:"content"`
}

// Renew keeps a lease for another of its periods.
type Renew struct {
	Lease Lease
	Key   *ledger.Key
}

// RenewResult answers turn/renew. Steers are what was said to the turn and
// not answered with before.
type RenewResult struct {
	ExpiresAt          notify.Time   `json:"expires_at"`
	InterruptRequested bool          `json:"interrupt_requested"`
	Steers             []WorkerInput `json:"steers"`
	Seq                int64         `json:"seq"`
}

// StartStep begins a try of a step: see items.StepStart.
type StartStep struct {
	Lease  Lease
	Step   string
	Reason string
	Key    *ledger.Key
}

// StartStepResult answers step/start.
type StartStepResult struct {
	Step  string `json:"step"`
	Epoch int    `json:"epoch"`
	Seq   int64  `json:"seq"`
}

// EndStep ends a try of a step: see items.StepEnd. Epoch 0 is the one that
// stands.
type EndStep struct {
	Lease  Lease
	Step   string
	Epoch  int
	Status StepStatus // "" = completed
	Key    *ledger.Key
}

// EndStepResult answers step/end.
type EndStepResult struct {
	Step   string     `json:"step"`
	Epoch  int        `json:"epoch"`
	Status StepStatus `json:"status"`
	Seq    int64      `json:"seq"`
}

// ItemVerb names what an ItemOp does.
type ItemVerb string

// The verbs of an ItemOp.
const (
	OpCreate ItemVerb = "create"
	OpAppend ItemVerb = "append"
	OpUpdate ItemVerb = "update"
	OpDelete ItemVerb = "delete"
)

// ItemOp is one thing a worker does to an item; members that its verb does not
// name are refused. create: ItemID ("" = a new id), Step and Epoch ("" = the
// turn, 0 = the one that stands), Status, Content. append: ItemID, Text.
// update: ItemID, Status, Content. delete: ItemID.
type ItemOp struct {
	Op      ItemVerb       `json:"op"`
	ItemID  string         `json:"item_id,omitzero"`
	Step    string         `json:"step,omitzero"`
	Epoch   int            `json:"epoch,omitzero"`
	Status  items.Status   `json:"status,omitzero"`
	Content jsontext.Value `json:"content,omitzero"`
	Text    string         `json:"text,omitzero"`
}

// WriteItems does all of the ops, in their order and in one transaction, or
// none of them: item/create, item/append, item/update and item/delete with one
// op, item/batch with up to MaxBatchOps.
type WriteItems struct {
	Lease Lease
	Ops   []ItemOp
	Key   *ledger.Key
}

// WriteItemsResult answers item/batch: what became of the item of each op.
type WriteItemsResult struct {
	Items []WrittenItem `json:"items"`
	Seq   int64         `json:"seq"`
}

// WrittenItem is an item after an op.
type WrittenItem struct {
	ItemID string       `json:"item_id"`
	Status items.Status `json:"status"`
}

// CompleteTurn ends the lease's turn well.
type CompleteTurn struct {
	Lease   Lease
	Message string
	Usage   *items.Usage
	Key     *ledger.Key
}

// FailTurn ends the attempt of the lease badly. Transient asks for another
// one, if the turn's policy allows.
type FailTurn struct {
	Lease     Lease
	Error     Failure
	Transient bool
	Key       *ledger.Key
}

// EndTurnResult answers turn/complete and turn/fail. State is interrupted if
// that had been asked for, active if the turn is tried again at RetryAt.
type EndTurnResult struct {
	TurnID  string      `json:"turn_id"`
	State   State       `json:"state"`
	RetryAt notify.Time `json:"retry_at,omitzero"`
	Seq     int64       `json:"seq"`
}

func (p LeasePolicy) WithDefaults() LeasePolicy {
	if p.Lease <= 0 {
		p.Lease = DefaultLease
	}
	if p.ClaimTimeout == 0 {
		p.ClaimTimeout = DefaultClaimTimeout
	}
	return p
}
