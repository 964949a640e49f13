package turns

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Remote is an Agent whose turns run in workers. A worker claims a turn and
// writes with the lease that it receives. Run is never called.
type Remote interface {
	Agent
	// Leases must not block and must always return the same.
	Leases() LeasePolicy
}

// LeasePolicy bounds how long a worker may be silent, and how long a turn waits
// for a worker. Zero means the default; with a negative ClaimTimeout a turn waits
// without a bound.
type LeasePolicy struct {
	Lease        time.Duration // 30 s; a worker renews every third of it
	ClaimTimeout time.Duration // 300 s
}

// Defaults and bounds of workers.
const (
	DefaultLease        = 30 * time.Second
	DefaultClaimTimeout = 300 * time.Second
	MaxClaimWait        = 60 * time.Second // of one turn/claim
	MaxClaimers         = 1024             // waiting turn/claim requests of one agent
	MaxBatchOps         = 256
	MaxBatchBytes       = 1 << 20
	MaxWorkerName       = 128
	// MaxWorkerInput bounds all input of a worker's turn: the response to
	// turn/claim has all of it and must fit into a frame (4 MiB).
	MaxWorkerInput = 3 << 20
)

// Lease lets its worker write to one attempt of a turn. It comes from Claim and
// is part of every command of a worker. The server sets ExpiresAt and ignores it
// in requests.
type Lease struct {
	TurnID    string      `json:"turn_id"`
	Attempt   int         `json:"attempt"`
	Prompt    int         `json:"prompt,omitzero"` // of the attempt, from 2; 0 = the first
	Token     string      `json:"token"`
	ExpiresAt notify.Time `json:"expires_at,omitzero"`
}

// Claim takes the next turn of an agent that is a Remote. It waits for a turn up
// to Wait. Worker is the worker's name, shown with the turn; it may be "".
type Claim struct {
	Agent  string
	Worker string
	Wait   time.Duration
	Key    *ledger.Key
}

// ClaimResult answers turn/claim. If no turn came in time, Turn is nil and all
// else zero. Input is all input of the turn so far.
type ClaimResult struct {
	Turn  *Turn         `json:"turn"`
	Cwd   string        `json:"cwd,omitzero"` // of the thread
	Input []WorkerInput `json:"input,omitzero"`
	Lease *Lease        `json:"lease,omitzero"`
	// Access is for the program that works on the turn, until the prompt ends: it can
	// do there what an agent can. It is stored nowhere.
	Access *Access `json:"access,omitzero"`
	Seq    int64   `json:"seq"`
}

// WorkerInput is a message for the worker's turn: an InputMessage with the id of
// its item.
type WorkerInput struct {
	ItemID  string       `json:"item_id"`
	Type    string       `json:"type"` // message
	Role    string       `json:"role"`
	Content []items.Part `json:"content"`
}

// Renew extends a lease by its period, counted from now.
type Renew struct {
	Lease Lease       `json:"lease"`
	Key   *ledger.Key `json:"-"`
}

// RenewResult answers turn/renew. Steers are the messages of the turn that no
// response has had before.
type RenewResult struct {
	ExpiresAt          notify.Time   `json:"expires_at"`
	InterruptRequested bool          `json:"interrupt_requested"`
	Steers             []WorkerInput `json:"steers"`
	Seq                int64         `json:"seq"`
}

// StartStep begins a try of a step: see items.StepStart. Reason is why the step
// is retried, for people.
type StartStep struct {
	Lease  Lease       `json:"lease"`
	Step   string      `json:"step"`
	Reason string      `json:"reason,omitzero"`
	Key    *ledger.Key `json:"-"`
}

// StartStepResult answers step/start.
type StartStepResult struct {
	Step  string `json:"step"`
	Epoch int    `json:"epoch"`
	Seq   int64  `json:"seq"`
}

// EndStep ends a try of a step: see items.StepEnd. Epoch 0 is the live one.
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

// ItemOp is one operation of a worker on an item. Each verb takes these members;
// others are refused. create: ItemID ("" = a new id), Step ("" = the turn), Epoch
// (0 = the live one), Status, Content. append: ItemID, Text. update: ItemID,
// Status, Content. delete: ItemID.
type ItemOp struct {
	Op      ItemVerb       `json:"op"`
	ItemID  string         `json:"item_id,omitzero"`
	Step    string         `json:"step,omitzero"`
	Epoch   int            `json:"epoch,omitzero"`
	Status  items.Status   `json:"status,omitzero"`
	Content jsontext.Value `json:"content,omitzero"`
	Text    string         `json:"text,omitzero"`
}

// WriteItems executes all ops, in their order and in one transaction, or none of
// them. item/create, item/append, item/update and item/delete have one op,
// item/batch has up to MaxBatchOps.
type WriteItems struct {
	Lease Lease       `json:"lease"`
	Ops   []ItemOp    `json:"ops"`
	Key   *ledger.Key `json:"-"`
}

// WriteItemsResult answers item/batch: the item of each op after it.
type WriteItemsResult struct {
	Items []WrittenItem `json:"items"`
	Seq   int64         `json:"seq"`
}

// WrittenItem is an item after an op.
type WrittenItem struct {
	ItemID string       `json:"item_id"`
	Status items.Status `json:"status"`
}

// CompleteTurn ends the lease's turn as completed. Format is that of Message.
type CompleteTurn struct {
	Lease   Lease        `json:"lease"`
	Message string       `json:"message,omitzero"`
	Format  items.Format `json:"format,omitzero"`
	Usage   *items.Usage `json:"usage,omitzero"`
	Key     *ledger.Key  `json:"-"`
}

// FailTurn ends the lease's attempt as failed. Transient asks for a retry, if the
// turn's policy allows one.
type FailTurn struct {
	Lease     Lease       `json:"lease"`
	Error     Failure     `json:"error"`
	Transient bool        `json:"transient,omitzero"`
	Key       *ledger.Key `json:"-"`
}

// EndTurnResult answers turn/complete and turn/fail. State is interrupted if an
// interrupt had been requested, active if the turn is retried at RetryAt.
type EndTurnResult struct {
	TurnID  string      `json:"turn_id"`
	State   State       `json:"state"`
	RetryAt notify.Time `json:"retry_at,omitzero"`
	// WaitsFor are the child turns that an active turn waits for: the lease has ended,
	// and the next prompt is claimed like a turn.
	WaitsFor []string `json:"waits_for,omitzero"`
	Seq      int64    `json:"seq"`
}

// WithDefaults returns the policy with the defaults in place of zeros.
func (p LeasePolicy) WithDefaults() LeasePolicy {
	if p.Lease <= 0 {
		p.Lease = DefaultLease
	}
	p.ClaimTimeout = cmp.Or(p.ClaimTimeout, DefaultClaimTimeout)
	return p
}
