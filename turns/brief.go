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
	StartedAt   notify.Time // of the first attempt
	CompletedAt notify.Time
	UpdatedSeq  int64
	Waits       bool // the active turn has an unanswered question
	InReview    bool
	Message     string // of the progress
	StopReason  string
	ThreadID    string
}

var briefTable = ledger.NewTable(ledger.Table{Name: Table.Name, Columns: []string{"created_seq", "turn_id", "state", "progress", "queued_at",
	"started_at", "first_started_at", "completed_at", "updated_seq", "retry_at", "waits_for", "review_state", "progress_message", "stop_reason", "thread_id"}})

// The orders in which turns are found, for ReadBrief.
var (
	BriefUnfinished = briefly(UnfinishedOfThread)
	BriefOfThread   = briefly(OfThread)
	BriefChildrenOf = briefly(ChildrenOf)
	BriefInReview   = briefly(PendingReviewsOfThread)
	BriefReviews    = briefly(PendingReviews)
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
		CompletedAt: notify.TimeFromMilli(v.Int(7)), UpdatedSeq: v.Int(8), InReview: ReviewState(v.Text(11)) == ReviewPending,
		Message: v.Text(12), StopReason: v.Text(13), ThreadID: v.Text(14),
	}
	if first := v.Int(6); first != 0 {
		b.StartedAt = notify.TimeFromMilli(first)
	}
	b.Waits = b.State == Active && b.Progress == Waiting && v.Int(9) == 0 && v.Blob(10) == nil
	return b
}
