package turns

import (
	"strings"

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

// States lists the states that clients can see.
var States = []State{Queued, Active, Completed, Interrupted, Failed}

// Ended reports whether the state is final.
func (s State) Ended() bool { return s == Completed || s == Interrupted || s == Failed }

// Progress is what an active turn is doing.
type Progress string

// The progress states. A turn that waits for a person is Waiting; its timeout is
// suspended.
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

// SuspendedByRestart is the Suspended of a ProgressEvent: a restart of the server has ended
// the agent's process while the turn waited for a person.
const SuspendedByRestart = "restart"

// MaxSilentRestarts is how many restarts of the server in a row may end attempts of a
// turn in which its agent has said nothing. With the last of them the turn fails: it may
// be the turn that ends the server.
const MaxSilentRestarts = 3

// Failure is why a turn failed. Kind is one of the error kinds of
// docs/protocol.md, section 5.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Turn is the row of a turn and what reads return: the fold of its events.
// Rank orders the queue of a thread: the smallest is next.
//
// In a retried turn all fields are those of the live attempt, with these
// exceptions: what was requested (Metadata to Retry), FirstStartedAt, which is
// zero in the first attempt, and UsedMs, the part of the timeout that earlier
// attempts have used. RetryAt is when the next attempt begins, zero if none
// waits. ClaimedSeq is the seq of the event by which a worker claimed the
// attempt, 0 if it is not claimed. Uncounted is how many of its attempts do not count
// against max_attempts.
//
// RunningSince is since when the clock of timeout_seconds runs, zero while it stands:
// while the turn waits, and when it has ended. SilentRestarts is how many restarts in a
// row have ended attempts without output.
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
	MessageTruncated   bool            `json:"message_truncated,omitzero"`
	Format             items.Format    `json:"format,omitzero"` // of Message
	Reason             string          `json:"reason,omitzero"`
	StopReason         string          `json:"stop_reason,omitzero"`
	Error              *Failure        `json:"error,omitzero"`
	Usage              *items.Usage    `json:"usage,omitzero"`
	UndeliveredItemIDs []string        `json:"undelivered_item_ids,omitzero"`
	Metadata           jsontext.Value  `json:"metadata,omitzero"`
	Parent             *threads.Parent `json:"parent,omitzero"`
	AttentionPolicy    AttentionPolicy `json:"attention_policy,omitzero"` // of a child turn
	Title              string          `json:"title,omitzero"`
	Outside            bool            `json:"outside,omitzero"`        // it is outside work: a child turn in a thread that is no child thread of its owner
	RootThreadID       string          `json:"root_thread_id,omitzero"` // of a child turn: where the tree of its owner begins
	Job                string          `json:"job,omitzero"`            // of a child turn that is a job: its name in the parent turn
	JobDigest          string          `json:"-"`                       // of a job: see Child
	WaitsFor           []string        `json:"waits_for,omitzero"`      // the child turns whose ends it waits for, and no prompt runs
	Prompts            int             `json:"prompts,omitzero"`        // of the live attempt, when it last went on after waiting for child turns
	PromptSeq          int64           `json:"prompt_seq,omitzero"`     // the seq after which the input of that prompt comes
	AcceptedSeq        int64           `json:"accepted_seq,omitzero"`   // of a child turn, and of one with a review policy: the seq of its accepted end; 0 = there is none
	Review             *Review         `json:"review,omitzero"`         // nil: no end of it is reviewed
	Continues          string          `json:"continues,omitzero"`      // the rejected turn that it continues
	Continuations      int             `json:"continuations,omitzero"`  // how many turns were rejected before it, one after the other
	ContinuedBy        string          `json:"continued_by,omitzero"`   // the turn that continues it, whose accepted end counts for it
	RequestedBy        string          `json:"requested_by,omitzero"`   // the named token that asked for it; "" = another client
	RestartSeq         int64           `json:"restart_seq,omitzero"`    // the seq of its live end, if a stop or a start of the server ended it
	TimeoutSeconds     float64         `json:"timeout_seconds,omitzero"`
	Retry              *RetryPolicy    `json:"retry,omitzero"`
	RetryAt            notify.Time     `json:"retry_at,omitzero"`
	UsedMs             int64           `json:"used_ms,omitzero"`
	RunningSince       notify.Time     `json:"-"`
	Uncounted          int             `json:"uncounted,omitzero"`
	SilentRestarts     int             `json:"-"`
	Resumable          bool            `json:"resumable,omitzero"`      // it waits for a person, and keeps waiting when the server restarts
	SuspendedSeq       int64           `json:"suspended_seq,omitzero"`  // the seq since which it waits for a person without a process
	Wake               bool            `json:"wake,omitzero"`           // new entries of the inbox have started it
	InterruptedBy      By              `json:"interrupted_by,omitzero"` // also while it is being interrupted
	Chain              int             `json:"chain,omitzero"`          // how many wakes caused each other before it
	Worker             string          `json:"worker,omitzero"`
	ClaimedSeq         int64           `json:"claimed_seq,omitzero"`
	QueuedAt           notify.Time     `json:"queued_at,omitzero"`
	FirstStartedAt     notify.Time     `json:"first_started_at,omitzero"`
	StartedAt          notify.Time     `json:"started_at,omitzero"`
	CompletedAt        notify.Time     `json:"completed_at,omitzero"`
	CreatedSeq         int64           `json:"created_seq"`
	UpdatedSeq         int64           `json:"updated_seq"`
}

// QueuedEvent is the body of turn/queued. Position counts from 1. If the turn is
// queued for a further attempt, Metadata, TimeoutSeconds, Retry, Chain and those from
// Review on are not set.
type QueuedEvent struct {
	Type     string          `json:"type"`
	State    State           `json:"state"`
	Position int             `json:"position"`
	Rank     int64           `json:"rank"`
	QueuedAt notify.Time     `json:"queued_at"`
	Reason   string          `json:"reason"`
	Metadata jsontext.Value  `json:"metadata,omitzero"`
	Parent   *threads.Parent `json:"parent,omitzero"`
	Child
	TimeoutSeconds float64      `json:"timeout_seconds,omitzero"`
	Retry          *RetryPolicy `json:"retry,omitzero"`
	Chain          int          `json:"chain,omitzero"`
	Review         *ReviewAsked `json:"review,omitzero"`
	// Of a turn that continues a rejected one.
	Continues     string `json:"continues,omitzero"`
	Continuations int    `json:"continuations,omitzero"`
	// RequestedBy is the named token that asked for the turn; "" = another client.
	RequestedBy string `json:"requested_by,omitzero"`
}

// Child is what turn/queued and turn/started of a child turn say of it, besides its
// parent. Other turns have none of it. Outside says that it is outside work: its thread is no
// child thread of its owner, so no turn waits for it, and nothing that happens to the turn
// that it works for touches it.
type Child struct {
	AttentionPolicy AttentionPolicy `json:"attention_policy,omitzero"`
	Title           string          `json:"title,omitzero"`
	Outside         bool            `json:"outside,omitzero"`
	RootThreadID    string          `json:"root_thread_id,omitzero"`
	// Of a job: its name in the parent turn, and what it was asked for (see JobDigest).
	Job       string `json:"job,omitzero"`
	JobDigest string `json:"job_digest,omitzero"`
}

// The reasons of a QueuedEvent.
const (
	QueuedBusy     = "busy"
	QueuedPaused   = "paused"
	QueuedCapacity = "capacity"
	// QueuedContinues: it continues a rejected turn, and is the next to start.
	QueuedContinues = "continues"
)

// StartedEvent is the body of turn/started. Metadata, TimeoutSeconds and Retry are
// set if no turn/queued came before. A retry repeats them, since collapse may have
// left out the first event, and also sets FirstStartedAt.
type StartedEvent struct {
	Type      string          `json:"type"`
	State     State           `json:"state"`
	StartedAt notify.Time     `json:"started_at"`
	Origin    Origin          `json:"origin"`
	Metadata  jsontext.Value  `json:"metadata,omitzero"`
	Parent    *threads.Parent `json:"parent,omitzero"`
	Child
	TimeoutSeconds float64      `json:"timeout_seconds,omitzero"`
	Retry          *RetryPolicy `json:"retry,omitzero"`
	FirstStartedAt notify.Time  `json:"first_started_at,omitzero"`
	Chain          int          `json:"chain,omitzero"`
	Review         *ReviewAsked `json:"review,omitzero"`
	RequestedBy    string       `json:"requested_by,omitzero"` // as in QueuedEvent
}

// ProgressEvent is the body of turn/progress. ElapsedMs counts from the turn's
// start. RetryAt is set while the turn waits for its next attempt. Claimed says
// that a worker has claimed the attempt; Worker is the worker's name. WaitsFor is
// set while the turn waits for the ends of child turns: no prompt runs then.
// Prompts is set when a further prompt begins after that, or after Suspended: its number in
// the attempt, from 2. Its input are the user messages that come after this event.
// Result is set when the wait begins: the turn ends with it, if no further prompt
// begins.
//
// Resumable says that a turn that begins to wait for a person keeps waiting when the
// server restarts. Suspended says why no prompt runs while it waits for a person
// (SuspendedByRestart); "" = its agent waits for the answer.
type ProgressEvent struct {
	Type      string      `json:"type"`
	State     Progress    `json:"state"`
	Message   string      `json:"message,omitzero"`
	ElapsedMs int64       `json:"elapsed_ms"`
	RetryAt   notify.Time `json:"retry_at,omitzero"`
	Claimed   bool        `json:"claimed,omitzero"`
	Worker    string      `json:"worker,omitzero"`
	By        By          `json:"by,omitzero"` // of interrupting
	WaitsFor  []string    `json:"waits_for,omitzero"`
	UsedMs    int64       `json:"used_ms,omitzero"` // when a wait begins: the part of the timeout that has been used
	Prompts   int         `json:"prompts,omitzero"`
	Resumable bool        `json:"resumable,omitzero"`
	Suspended string      `json:"suspended,omitzero"`

	Result *PromptResult `json:"result,omitzero"`
}

// PromptResult is what the agent has said at the end of a prompt. Message is empty if
// its last message says it all. Format is that of Message.
type PromptResult struct {
	Message    string       `json:"message,omitzero"`
	Format     items.Format `json:"format,omitzero"`
	StopReason string       `json:"stop_reason,omitzero"`
	Usage      *items.Usage `json:"usage,omitzero"`
}

// EndedEvent is the body of turn/completed, turn/interrupted and turn/failed.
// Message is the reason of an interruption; otherwise it is the agent's result,
// or else the agent's last live message. MessageTruncated says that such a
// message was cut to MaxEndMessageBytes. Format is that of what the agent said: an
// interruption has none. By is set on turn/interrupted. Review is set
// if the end waits for a review: it is not the accepted end then.
type EndedEvent struct {
	Type               string       `json:"type"`
	State              State        `json:"state"`
	StartedAt          notify.Time  `json:"started_at,omitzero"`
	CompletedAt        notify.Time  `json:"completed_at"`
	Message            string       `json:"message,omitzero"`
	MessageTruncated   bool         `json:"message_truncated,omitzero"`
	Format             items.Format `json:"format,omitzero"`
	Reason             string       `json:"reason,omitzero"`
	StopReason         string       `json:"stop_reason,omitzero"`
	Error              *Failure     `json:"error,omitzero"`
	Usage              *items.Usage `json:"usage,omitzero"`
	UndeliveredItemIDs []string     `json:"undelivered_item_ids,omitzero"`
	By                 By           `json:"by,omitzero"`
	Review             *ReviewAsked `json:"review,omitzero"`

	// Of a child turn, for those who see only ends.
	Parent *threads.Parent `json:"parent,omitzero"`
	Title  string          `json:"title,omitzero"`
}

// By says who interrupted a turn: one of these values, or a named token ("token:"
// and its name).
type By string

// The values of By.
const (
	ByClient By = "client" // turn/interrupt, or a turn that takes its place
	ByOwner  By = "owner"  // the agent or the end of the turn that a child turn works for
	ByServer By = "server" // a stop, a closed thread, the agent itself
)

// Client reports whether a client did it, with a named token or without.
func (b By) Client() bool { return b == ByClient || strings.HasPrefix(string(b), ByTokenPrefix) }

// ByTokenPrefix begins what events say of a client that has a named token.
const ByTokenPrefix = "token:"

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
			next.Metadata, next.Parent, next.TimeoutSeconds, next.Retry = b.Metadata, b.Parent, b.TimeoutSeconds, b.Retry
			next.Chain, next.RequestedBy = b.Chain, b.RequestedBy
			next.Review, next.Continues, next.Continuations = b.Review.asked(), b.Continues, b.Continuations
			next.asChild(b.Child)
		}
	case *StartedEvent:
		next.State, next.StartedAt, next.Origin, next.Attempt = Active, b.StartedAt, b.Origin, h.Attempt
		next.Progress, next.Reason, next.Rank = Running, "", 0
		next.FirstStartedAt, next.RetryAt, next.RunningSince = b.FirstStartedAt, notify.Time{}, b.StartedAt
		next.Chain, next.Wake = max(next.Chain, b.Chain), next.Wake || b.Origin == OriginWake
		if prev == nil {
			next.Metadata, next.Parent, next.TimeoutSeconds, next.Retry = b.Metadata, b.Parent, b.TimeoutSeconds, b.Retry
			next.Review, next.RequestedBy = b.Review.asked(), b.RequestedBy
			next.asChild(b.Child)
		} else if b.Origin == OriginRetry {
			next.ProgressMessage = "" // it described the wait
		}
	case *ProgressEvent:
		next.waits(h, b)
		next.Progress, next.ProgressMessage, next.RetryAt = b.State, b.Message, b.RetryAt
		if next.WaitsFor = b.WaitsFor; len(b.WaitsFor) > 0 { // no prompt runs, and no worker has the turn
			next.UsedMs, next.Worker, next.ClaimedSeq = b.UsedMs, "", 0
		}
		if r := b.Result; r != nil {
			next.Message, next.Format, next.StopReason, next.Usage = r.Message, r.Format, r.StopReason, r.Usage
		}
		if b.Prompts > 0 {
			next.Prompts, next.PromptSeq = b.Prompts, h.Seq
			next.Message, next.Format, next.StopReason = "", "", ""
		}
		if b.By != "" {
			next.InterruptedBy = b.By
		}
		if b.Claimed {
			next.Worker, next.ClaimedSeq = b.Worker, h.Seq
		}
	case *RewindEvent:
		if b.Step != "" || prev == nil {
			return nil
		}
		next.rewind(h, b)
	case *EndedEvent:
		next.State, next.CompletedAt = b.State, b.CompletedAt
		next.Message, next.MessageTruncated, next.Format = b.Message, b.MessageTruncated, b.Format
		next.Reason, next.StopReason = b.Reason, b.StopReason
		next.Error, next.Usage, next.UndeliveredItemIDs = b.Error, b.Usage, b.UndeliveredItemIDs
		next.Progress, next.ProgressMessage, next.Rank, next.RetryAt = "", "", 0, notify.Time{}
		next.InterruptedBy, next.WaitsFor, next.RestartSeq = b.By, nil, 0
		if b.byRestart() {
			next.RestartSeq = h.Seq
		}
		next.RunningSince, next.Resumable, next.SuspendedSeq = notify.Time{}, false, 0
		next.ended(h, b.Review)
	case *ReviewedEvent:
		if prev == nil {
			return nil
		}
		next.reviewed(h, b)
	case *DetachedEvent:
		if prev == nil {
			return nil
		}
		next.AttentionPolicy = b.AttentionPolicy
	default:
		return nil
	}
	next.UpdatedSeq = h.Seq
	return &next
}

// waits follows a progress of the turn: whether its clock runs, and whether it keeps
// waiting for a person when the server restarts. t is as before the event.
func (t *Turn) waits(h notify.Header, b *ProgressEvent) {
	forPerson := b.State == Waiting && b.RetryAt.IsZero() && len(b.WaitsFor) == 0
	switch {
	case b.State == Waiting:
		t.RunningSince = notify.Time{}
	case t.Progress == Waiting && b.State != Interrupting:
		t.RunningSince = h.Timestamp
	}
	if forPerson && b.UsedMs > 0 {
		t.UsedMs = b.UsedMs
	}
	t.Resumable = forPerson && (b.Resumable || t.Resumable) // its agent may report progress while it waits
	if t.SuspendedSeq = 0; b.Suspended != "" {
		t.SuspendedSeq = h.Seq
	}
}

// Used returns what an attempt has used that ends with the event; nil for all other
// events. Each attempt is counted once: by its end, or by the marker that supersedes it
// before it has ended. prev is the turn before the event.
func Used(prev *Turn, body any) *items.Usage {
	switch b := body.(type) {
	case *EndedEvent:
		return b.Usage
	case *RewindEvent:
		if b.Step == "" && prev != nil && !prev.State.Ended() {
			return b.Usage
		}
	}
	return nil
}

// Child returns what makes the turn a child turn, besides its parent; the zero Child
// if it is none.
func (t *Turn) Child() Child {
	return Child{
		AttentionPolicy: t.AttentionPolicy, Title: t.Title, Outside: t.Outside, RootThreadID: t.RootThreadID, Job: t.Job, JobDigest: t.JobDigest,
	}
}

func (t *Turn) asChild(c Child) {
	t.AttentionPolicy, t.Title, t.Outside, t.RootThreadID = c.AttentionPolicy, c.Title, c.Outside, c.RootThreadID
	t.Job, t.JobDigest = c.Job, c.JobDigest
}

// rewind clears what the superseded attempt has set. A turn that had ended is
// queued again.
func (t *Turn) rewind(h notify.Header, b *RewindEvent) {
	if t.FirstStartedAt.IsZero() {
		t.FirstStartedAt = t.StartedAt
	}
	t.Attempt, t.UsedMs = b.NewEpoch, b.UsedMs
	t.Message, t.MessageTruncated, t.Format, t.Reason, t.StopReason = "", false, "", "", ""
	t.Error, t.Usage, t.UndeliveredItemIDs = nil, nil, nil
	t.Progress, t.ProgressMessage, t.RetryAt = "", "", notify.Time{}
	t.Worker, t.ClaimedSeq, t.InterruptedBy, t.RestartSeq = "", 0, "", 0
	t.WaitsFor, t.Prompts, t.PromptSeq, t.AcceptedSeq = nil, 0, 0, 0
	t.RunningSince, t.Resumable, t.SuspendedSeq = notify.Time{}, false, 0
	if t.SilentRestarts = b.SilentRestarts; b.Uncounted {
		t.Uncounted++
	}
	t.Review, t.ContinuedBy = t.Review.unreviewed(), ""
	if t.State.Ended() {
		t.State, t.Rank, t.QueuedAt = Queued, b.Rank, h.Timestamp
		t.StartedAt, t.CompletedAt, t.Origin = notify.Time{}, notify.Time{}, ""
	}
}

// WaitsForPerson reports whether the turn has an unanswered question.
func (t *Turn) WaitsForPerson() bool {
	return t.State == Active && t.Progress == Waiting && t.RetryAt.IsZero() && len(t.WaitsFor) == 0
}

// WaitsForChildren reports whether the turn waits for the ends of child turns
// between two prompts.
func (t *Turn) WaitsForChildren() bool { return t.State == Active && len(t.WaitsFor) > 0 }

// HadItsPrompts reports whether the turn has had as many prompts as it may: no further
// one tells it what its child turns have done. Prompts that only had what a client
// steered count once it has waited for child turns.
func (t *Turn) HadItsPrompts() bool { return t.Prompts >= MaxPrompts }

// NewID returns a new turn id.
func NewID() string { return "turn_" + uuid.Must(uuid.NewV7()).String() }

// Query selects turns for turn/list. Turns come in the order of their creation,
// and Cursor is the created_seq after which the page begins, as text. Newest
// reverses the order: the page then begins before Cursor. Within leaves only turns
// of its threads; nil leaves all. With EndedBy turns come in the order of their ends,
// those with an end after AfterSeq, and Cursor is the seq of an end.
type Query struct {
	Within         notify.Members
	ThreadID       string
	ParentThreadID string // only child turns of this owner; not with ThreadID
	State          State
	Review         ReviewState // ReviewPending, or "" = any
	EndedBy        EndedBy     // EndedByRestart, or "" = any
	AfterSeq       int64       // with EndedBy only
	Cursor         string
	Limit          int
	Newest         bool
}
