package turns

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// State is where a turn is in its life.
type State string

// The states of a turn. Absent is the state before it exists.
const (
	Absent      State = ""
	Queued      State = "queued"
	Active      State = "active"
	Completed   State = "completed"
	Interrupted State = "interrupted"
	Failed      State = "failed"
)

// States lists the states a turn can be seen in.
var States = []State{Queued, Active, Completed, Interrupted, Failed}

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Completed || s == Interrupted || s == Failed }

// Progress is what an active turn is doing.
type Progress string

// The progress states. A turn that waits for a person is Waiting; its timeout
// stands still.
const (
	Starting     Progress = "starting"
	Running      Progress = "running"
	Waiting      Progress = "waiting"
	Interrupting Progress = "interrupting"
)

// Origin says why a turn started.
type Origin string

// The origins of a turn's start.
const (
	OriginClient Origin = "client"
	OriginQueue  Origin = "queue"
	OriginAgent  Origin = "agent"
	OriginRetry  Origin = "retry"
	OriginWake   Origin = "wake"
)

// Failure is why a turn failed. Kind is one of the error kinds of
// docs/protocol.md, section 5.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Turn is the row of a turn and what reads return: the fold of its events.
// Rank orders the queue of a thread: the smallest is next.
type Turn struct {
	TurnID             string          `json:"turn_id"`
	ThreadID           string          `json:"thread_id"`
	State              State           `json:"state"`
	Attempt            int             `json:"attempt"`
	Rank               int64           `json:"rank,omitzero"`
	Progress           Progress        `json:"progress,omitzero"`
	ProgressMessage    string          `json:"progress_message,omitzero"`
	Origin             Origin          `json:"origin,omitzero"`
	Message            string          `json:"message,omitzero"`
	Reason             string          `json:"reason,omitzero"`
	StopReason         string          `json:"stop_reason,omitzero"`
	Error              *Failure        `json:"error,omitzero"`
	Usage              *items.Usage    `json:"usage,omitzero"`
	UndeliveredItemIDs []string        `json:"undelivered_item_ids,omitzero"`
	Metadata           jsontext.Value  `json:"metadata,omitzero"`
	Parent             *threads.Parent `json:"parent,omitzero"`
	TimeoutSeconds     float64         `json:"timeout_seconds,omitzero"`
	QueuedAt           notify.Time     `json:"queued_at,omitzero"`
	StartedAt          notify.Time     `json:"started_at,omitzero"`
	CompletedAt        notify.Time     `json:"completed_at,omitzero"`
	CreatedSeq         int64           `json:"created_seq"`
	UpdatedSeq         int64           `json:"updated_seq"`
}

// Settle turns the row's provisional seqs into real ones.
func (t *Turn) Settle(first int64) {
	t.CreatedSeq = notify.Settle(t.CreatedSeq, first)
	t.UpdatedSeq = notify.Settle(t.UpdatedSeq, first)
}

// QueuedEvent is the body of turn/queued. Position counts from 1.
type QueuedEvent struct {
	Type           string          `json:"type"`
	State          State           `json:"state"`
	Position       int             `json:"position"`
	Rank           int64           `json:"rank"`
	QueuedAt       notify.Time     `json:"queued_at"`
	Reason         string          `json:"reason"`
	Metadata       jsontext.Value  `json:"metadata,omitzero"`
	Parent         *threads.Parent `json:"parent,omitzero"`
	TimeoutSeconds float64         `json:"timeout_seconds,omitzero"`
}

// The reasons of a QueuedEvent.
const (
	QueuedBusy     = "busy"
	QueuedPaused   = "paused"
	QueuedCapacity = "capacity"
)

// StartedEvent is the body of turn/started. Metadata, Parent and
// TimeoutSeconds are there if no turn/queued came before.
type StartedEvent struct {
	Type           string          `json:"type"`
	State          State           `json:"state"`
	StartedAt      notify.Time     `json:"started_at"`
	Origin         Origin          `json:"origin"`
	Metadata       jsontext.Value  `json:"metadata,omitzero"`
	Parent         *threads.Parent `json:"parent,omitzero"`
	TimeoutSeconds float64         `json:"timeout_seconds,omitzero"`
}

// ProgressEvent is the body of turn/progress. ElapsedMs counts from the
// turn's start.
type ProgressEvent struct {
	Type      string   `json:"type"`
	State     Progress `json:"state"`
	Message   string   `json:"message,omitzero"`
	ElapsedMs int64    `json:"elapsed_ms"`
}

// EndedEvent is the body of turn/completed, turn/interrupted and turn/failed.
type EndedEvent struct {
	Type               string       `json:"type"`
	State              State        `json:"state"`
	StartedAt          notify.Time  `json:"started_at,omitzero"`
	CompletedAt        notify.Time  `json:"completed_at"`
	Message            string       `json:"message,omitzero"`
	Reason             string       `json:"reason,omitzero"`
	StopReason         string       `json:"stop_reason,omitzero"`
	Error              *Failure     `json:"error,omitzero"`
	Usage              *items.Usage `json:"usage,omitzero"`
	UndeliveredItemIDs []string     `json:"undelivered_item_ids,omitzero"`
}

// Apply returns the row that the event leaves, or nil if it changes none.
// prev is nil before the turn's first event, and is not changed.
func Apply(prev *Turn, h notify.Header, body any) *Turn {
	next := Turn{TurnID: h.TurnID, ThreadID: h.ThreadID, Attempt: h.Attempt, CreatedSeq: h.Seq}
	if prev != nil {
		next = *prev
	}
	switch b := body.(type) {
	case *QueuedEvent:
		next.State, next.Rank, next.QueuedAt, next.Reason = Queued, b.Rank, b.QueuedAt, b.Reason
		if prev == nil {
			next.Metadata, next.Parent, next.TimeoutSeconds = b.Metadata, b.Parent, b.TimeoutSeconds
		}
	case *StartedEvent:
		next.State, next.StartedAt, next.Origin, next.Attempt = Active, b.StartedAt, b.Origin, h.Attempt
		next.Progress, next.Reason, next.Rank = Running, "", 0
		if prev == nil {
			next.Metadata, next.Parent, next.TimeoutSeconds = b.Metadata, b.Parent, b.TimeoutSeconds
		}
	case *ProgressEvent:
		next.Progress, next.ProgressMessage = b.State, b.Message
	case *EndedEvent:
		next.State, next.CompletedAt = b.State, b.CompletedAt
		next.Message, next.Reason, next.StopReason = b.Message, b.Reason, b.StopReason
		next.Error, next.Usage, next.UndeliveredItemIDs = b.Error, b.Usage, b.UndeliveredItemIDs
		next.Progress, next.ProgressMessage, next.Rank = "", "", 0
	default:
		return nil
	}
	next.UpdatedSeq = h.Seq
	return &next
}

// NewID is a new turn id.
func NewID() string { return "turn_" + uuid.Must(uuid.NewV7()).String() }

// Query chooses turns for turn/list. Turns come in the order of their making;
// Cursor is the created_seq to go on after, as text. Newest turns the order
// around: Cursor is then the created_seq to go on before.
type Query struct {
	ThreadID string
	State    State
	Cursor   string
	Limit    int
	Newest   bool
}
