package turns

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// Brief is the part of the row of a turn that summaries read of many turns.
type Brief struct {
	CreatedSeq  int64
	TurnID      string
	State       State
	Progress    Progress
	QueuedAt    notify.Time
	StartedAt   notify.Time // of the current attempt
	CompletedAt notify.Time
	UpdatedSeq  int64
	Retry       bool // it waits for its next attempt
	Waits       bool // the active turn has an unanswered question
	Review      ReviewState
	Continued   bool   // another turn continues it, whose accepted end counts for it
	Message     string // of the progress
	StopReason  string
	ThreadID    string
}

var briefTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: []string{"created_seq", "turn_id", "state", "progress", "queued_at",
	"started_at", "completed_at", "updated_seq", "retry_at", "waits_for", "review_state", "progress_message", "stop_reason", "thread_id", "continued_by"}})

// The orders in which turns are found, for ReadBrief.
var (
	BriefUnfinished = briefly(UnfinishedOfThread)
	BriefOfThread   = briefly(OfThread)
	BriefChildrenOf = briefly(ChildrenOf)
	BriefInReview   = briefly(PendingReviewsOfThread)
	BriefReviews    = briefly(PendingReviews)
	BriefRefused    = briefly(Refused)
)

func briefly(ix *ledger.Index) *ledger.Index {
	brief := *ix
	brief.Table = briefTable
	return &brief
}

// ReadBrief makes a Brief of the columns of such an order.
func ReadBrief(v ledger.Values) Brief {
	b := Brief{
		CreatedSeq: v.Int(0), TurnID: v.Text(1), State: State(v.Text(2)), Progress: Progress(v.Text(3)),
		QueuedAt: notify.TimeFromMilli(v.Int(4)), StartedAt: notify.TimeFromMilli(v.Int(5)),
		CompletedAt: notify.TimeFromMilli(v.Int(6)), UpdatedSeq: v.Int(7), Retry: v.Int(8) != 0, Review: ReviewState(v.Text(10)),
		Message: v.Text(11), StopReason: v.Text(12), ThreadID: v.Text(13), Continued: v.Text(14) != "",
	}
	b.Waits = b.State == Active && b.Progress == Waiting && !b.Retry && v.Blob(9) == nil
	return b
}

// Fails reports whether nothing good has come of a turn that ended: it has failed, or its
// review has refused the end. One that another turn continues has not: its end is that of the
// other.
func (b *Brief) Fails() bool { return !b.Continued && (b.State == Failed || b.Review.Refuses()) }
