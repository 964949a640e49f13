package turns

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// PausedToStop is the reason of a pause that lets turns end before the server stops.
// The next start ends such a pause; a pause with another reason survives restarts.
const PausedToStop = "stop"

// Runtime is the pause of the whole server: the fold of holon/paused and
// holon/resumed. Until is zero for a pause without an end.
type Runtime struct {
	Paused    bool        `json:"paused"`
	Reason    string      `json:"reason,omitzero"`
	Until     notify.Time `json:"until,omitzero"`
	PausedAt  notify.Time `json:"paused_at,omitzero"`
	ResumedAt notify.Time `json:"resumed_at,omitzero"`
}

// RuntimeEvent is the body of holon/paused and holon/resumed.
type RuntimeEvent struct {
	Type   string      `json:"type"`
	Reason string      `json:"reason,omitzero"`
	Until  notify.Time `json:"until,omitzero"`

	RequestedBy string `json:"requested_by,omitzero"` // the named token ("token:" and its name) that asked; "" = none
}

// ToStop reports whether the runtime is paused only until the next start.
func (r Runtime) ToStop() bool { return r.Paused && r.Reason == PausedToStop }

// GivesWayTo reports whether a pause that a client wants replaces this one, which ends by
// itself: at the next start, or in time where the other has no end. That of a stop replaces
// none.
func (r Runtime) GivesWayTo(wanted *RuntimeEvent) bool {
	return wanted.Reason != PausedToStop && (r.ToStop() || r.Paused && !r.Until.IsZero() && wanted.Until.IsZero())
}

// ApplyRuntime returns the runtime that the event leaves, or nil if body is not
// a *RuntimeEvent.
func ApplyRuntime(prev Runtime, h notify.Header, body any) *Runtime {
	b, ok := body.(*RuntimeEvent)
	if !ok {
		return nil
	}
	next := prev
	next.Reason, next.Until = b.Reason, b.Until
	if next.Paused = b.Type == "paused"; next.Paused {
		next.PausedAt = h.Timestamp
	} else {
		next.ResumedAt, next.Until = h.Timestamp, notify.Time{}
	}
	return &next
}

// Loaded is a thread with all that its actor must know.
type Loaded struct {
	Thread *threads.Thread // nil: it does not exist
	Turns  []*Turn         // queued (by rank) or active
	// Items are the open items of the active turn, with the text so far, and
	// the user messages of every queued turn.
	Items []*items.Item
	// Steps are all tries of the active turn and of queued turns that have been
	// tried before, in the order of their seq. Superseded tries are included for
	// their epochs and bounds.
	Steps []*Step
}

// Store is where the engine commits.
type Store interface {
	// Append's errors are, or wrap, ErrRuntimePaused, ErrSuperseded,
	// items.ErrConflict, ledger.ErrStorageFull and ledger.ErrStorageFailed.
	ledger.Log
}

// Rows are what the engine reads to decide. All methods may be called from many
// goroutines.
type Rows interface {
	// Load reads what an actor needs.
	Load(ctx context.Context, threadID string) (Loaded, error)
	// TurnThread and ItemThread return the thread of a turn or item; "" if there
	// is no such turn or item.
	TurnThread(ctx context.Context, turnID string) (string, error)
	ItemThread(ctx context.Context, itemID string) (string, error)
	// Turn and Item read one row (an open item with its text so far); nil if it
	// does not exist.
	Turn(ctx context.Context, turnID string) (*Turn, error)
	Item(ctx context.Context, itemID string) (*items.Item, error)
	// Input reads all user messages of a turn in their order, delivered or not.
	Input(ctx context.Context, turnID string) ([]*items.Item, error)
	// Steps reads all tries of a turn, also superseded ones, in the order of
	// their seq.
	Steps(ctx context.Context, turnID string) ([]*Step, error)
	// LeaseSecret reads the secret with which the log's leases are signed. It
	// never changes; a log that is restored from a backup has another one.
	LeaseSecret(ctx context.Context) ([]byte, error)
	// LastTurn reads the turn of the thread that ran and ended last; nil if there
	// is none.
	LastTurn(ctx context.Context, threadID string) (*Turn, error)
	// Transcript reads the newest messages of a thread, newest first: delivered
	// user messages, and messages of the agent with the text so far. It ends
	// after limit messages, or before the message whose content would exceed
	// maxBytes.
	Transcript(ctx context.Context, threadID string, limit, maxBytes int) ([]*items.Item, error)
	// LastMessage reads the newest message of the agent in a turn, with the text
	// so far; nil if there is none. It skips messages that have no text, are
	// deleted or are superseded.
	LastMessage(ctx context.Context, turnID string) (*items.Item, error)
	// Unfinished lists the threads that have an active turn or are closing,
	// and those that have queued turns, each in the order of the log.
	Unfinished(ctx context.Context) (active, queued []string, err error)
	// Runtime reads the pause.
	Runtime(ctx context.Context) (Runtime, error)
}

// Errors of the engine. api maps them to the wire.
//
// ErrInternal is for a command at which the engine panicked, and for a thread
// in which it panicked repeatedly. The server's log has the cause.
//
// ErrSuperseded also comes from Append, which has then written nothing (the
// fence): a draft belongs to a superseded try, or begins a try below a superseded
// one, or begins a try whose epoch has been used.
var (
	ErrNotFound       = errors.New("no such turn")
	ErrNotActive      = errors.New("the turn is not active")
	ErrBetween        = errors.New("the turn is between two attempts, or its job is: ask again in a moment")
	ErrBusy           = errors.New("the thread is busy")
	ErrQueueFull      = errors.New("the queue of the thread is full")
	ErrDraining       = errors.New("the server is stopping")
	ErrInternal       = errors.New("the server failed at the thread")
	ErrAgentNotFound  = errors.New("no such agent")
	ErrRuntimePaused  = errors.New("the runtime is paused")
	ErrOverloaded     = errors.New("too many commands wait for the thread")
	ErrChain          = errors.New("turns that caused each other are bounded, and this would be one too many: a turn of a client begins anew")
	ErrAwaitsFull     = errors.New("too many requests wait for turns")
	ErrAwaitShareFull = fmt.Errorf("%d requests of this token wait for turns, and no more may", MaxAwaitingEach)
	ErrPromptOver     = errors.New("the prompt has ended")
	ErrNotInjected    = errors.New("the agent does not take text now")
	ErrAlreadyDecided = errors.New("the turn is being interrupted")
	ErrSuperseded     = errors.New("this try has been superseded")
	ErrLease          = errors.New("the lease is not valid")
	ErrNotEnded       = errors.New("the turn has not ended")
	ErrCompleted      = errors.New("the turn has completed")
	ErrNoAttempts     = errors.New("the turn is from before turns could be retried")
	ErrReviewed       = errors.New("this attempt of the turn has been reviewed")
	ErrNotInReview    = errors.New("the turn does not wait for a review")
	ErrContinued      = errors.New("the turn was rejected, and another one continues it")
	ErrOnlyOnce       = errors.New("the token may allow this once only: choose an option of kind allow_once, or one that rejects")
	// ErrOwnerMoved says that the thread or the turn for which a child turn works
	// has ended or was tried again since the decision. It comes from Append.
	ErrOwnerMoved = errors.New("the owner of the child turn has moved on")
	// ErrChildrenMoved says that child turns have started, or their ends are not in
	// the inbox yet, since the decision. It comes from Append.
	ErrChildrenMoved = errors.New("child turns have changed")
)

// SupersededError says that a superseded try wanted to write. Attempt is the live
// attempt, Epoch the live epoch of the step that was named. Seq is the seq of the
// turn/late that keeps what the try wanted to write, 0 if nothing was kept. It
// wraps ErrSuperseded.
type SupersededError struct {
	TurnID  string
	Attempt int
	Step    string
	Epoch   int
	Seq     int64
}

// Error implements error.
func (e *SupersededError) Error() string {
	switch {
	case e.Step == "":
		return fmt.Sprintf("%v: attempt %d of %s is live", ErrSuperseded, e.Attempt, e.TurnID)
	case e.Epoch == 0:
		return fmt.Sprintf("%v: step %s has not been started in attempt %d of %s", ErrSuperseded, e.Step, e.Attempt, e.TurnID)
	}
	return fmt.Sprintf("%v: epoch %d of step %s is live", ErrSuperseded, e.Epoch, e.Step)
}

// Unwrap returns ErrSuperseded.
func (e *SupersededError) Unwrap() error { return ErrSuperseded }

// ReviewedAttemptError says that a verdict is about another attempt than the live one,
// which is Attempt.
type ReviewedAttemptError struct {
	TurnID  string
	Attempt int
}

// Error implements error.
func (e *ReviewedAttemptError) Error() string {
	return fmt.Sprintf("attempt %d of %s is live, and the verdict is about another one", e.Attempt, e.TurnID)
}

// InvalidError says which member of a command is wrong, and why. Field is a
// path such as input[0].content[0].text.
type InvalidError struct {
	Field  string
	Reason string // a word for programs
	Text   string // a sentence for people
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Field + ": " + e.Text }
