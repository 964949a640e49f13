package turns

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Table is where turns are stored.
var Table = ledger.NewTable(ledger.Table{
	Name: "turns",
	Columns: []string{"created_seq", "turn_id", "thread_id", "state", "attempt", "rank", "progress", "progress_message",
		"origin", "message", "reason", "stop_reason", "error", "usage", "undelivered", "metadata", "parent_thread_id",
		"parent_turn_id", "timeout_seconds", "queued_at", "started_at", "completed_at", "updated_seq", "retry",
		"retry_at", "used_ms", "worker", "claimed_seq", "first_started_at",
		"message_truncated", "chain", "wake", "interrupted_by",
		"parent_attempt", "attention_policy", "title", "root_thread_id", "accepted_seq", "prompts", "prompt_seq", "waits_for",
		"review_policy", "review_state", "review_note", "review_by", "review_reason", "review_due_at", "reviewed_at", "review_end_seq",
		"continues", "continuations", "continued_by", "requested_by",
		"running_since", "uncounted", "silent_restarts", "resumable", "suspended_seq", "restart_seq", "format", "outside", "job", "job_digest"},
	Key: []string{"created_seq"},
	Mutable: []string{"state", "attempt", "rank", "progress", "progress_message", "origin", "message", "reason",
		"stop_reason", "error", "usage", "undelivered", "queued_at", "started_at", "completed_at", "updated_seq",
		"retry_at", "used_ms", "worker", "claimed_seq", "first_started_at", "message_truncated", "chain", "wake", "interrupted_by",
		"attention_policy", "accepted_seq", "prompts", "prompt_seq", "waits_for",
		"review_policy", "review_state", "review_note", "review_by", "review_reason", "review_due_at", "reviewed_at", "review_end_seq",
		"continued_by", "running_since", "uncounted", "silent_restarts", "resumable", "suspended_seq", "restart_seq", "format"},
})

// Table implements ledger.Row.
func (t *Turn) Table() *ledger.Table { return Table }

// ID implements ledger.Row.
func (t *Turn) ID() any { return t.TurnID }

// New implements ledger.Row.
func (t *Turn) New() bool { return t.CreatedSeq < 0 }

// Bytes implements ledger.Row.
func (t *Turn) Bytes() int {
	note := 0
	if t.Review != nil {
		note = len(t.Review.Note)
	}
	return len(t.Metadata) + len(t.Title) + len(t.Job) + note + 48*len(t.WaitsFor) + len(t.Message) + len(t.Reason) + len(t.ProgressMessage) + 48*len(t.UndeliveredItemIDs)
}

// AssignSeqs implements ledger.Row.
func (t *Turn) AssignSeqs(first int64) {
	t.CreatedSeq = notify.AssignSeq(t.CreatedSeq, first)
	t.UpdatedSeq = notify.AssignSeq(t.UpdatedSeq, first)
	t.ClaimedSeq = notify.AssignSeq(t.ClaimedSeq, first)
	t.AcceptedSeq, t.PromptSeq = notify.AssignSeq(t.AcceptedSeq, first), notify.AssignSeq(t.PromptSeq, first)
	t.SuspendedSeq = notify.AssignSeq(t.SuspendedSeq, first)
	t.RestartSeq = notify.AssignSeq(t.RestartSeq, first)
	if t.Review != nil {
		r := *t.Review // shared with earlier rows of the turn
		r.EndSeq = notify.AssignSeq(r.EndSeq, first)
		t.Review = &r
	}
}

// Values implements ledger.Row.
func (t *Turn) Values(first int64) (ledger.Values, error) {
	failure, err := optional(t.Error, t.Error == nil)
	if err != nil {
		return nil, err
	}
	usage, err := optional(t.Usage, t.Usage == nil)
	if err != nil {
		return nil, err
	}
	undelivered, err := optional(t.UndeliveredItemIDs, t.UndeliveredItemIDs == nil)
	if err != nil {
		return nil, err
	}
	retry, err := optional(t.Retry, t.Retry == nil)
	if err != nil {
		return nil, err
	}
	waitsFor, err := optional(t.WaitsFor, len(t.WaitsFor) == 0)
	if err != nil {
		return nil, err
	}
	parentThread, parentTurn := t.Parent.Columns()
	parentAttempt := 0
	if t.Parent != nil {
		parentAttempt = t.Parent.Attempt
	}
	review := Review{}
	if t.Review != nil {
		review = *t.Review
	}
	var restartSeq any // nil is not in the index
	if t.RestartSeq != 0 {
		restartSeq = notify.AssignSeq(t.RestartSeq, first)
	}
	var job any // nil is not in the index
	if t.Job != "" {
		job = t.Job
	}
	return ledger.Values{
		notify.AssignSeq(t.CreatedSeq, first), t.TurnID, t.ThreadID, string(t.State), int64(t.Attempt), t.Rank,
		string(t.Progress), t.ProgressMessage, string(t.Origin), t.Message, t.Reason, t.StopReason, failure, usage,
		undelivered, []byte(t.Metadata), parentThread, parentTurn, t.TimeoutSeconds, t.QueuedAt.Milli(),
		t.StartedAt.Milli(), t.CompletedAt.Milli(), notify.AssignSeq(t.UpdatedSeq, first), retry, t.RetryAt.Milli(),
		t.UsedMs, t.Worker, notify.AssignSeq(t.ClaimedSeq, first), t.FirstStartedAt.Milli(), ledger.Flag(t.MessageTruncated),
		int64(t.Chain), ledger.Flag(t.Wake), string(t.InterruptedBy),
		int64(parentAttempt), string(t.AttentionPolicy), t.Title, t.RootThreadID, notify.AssignSeq(t.AcceptedSeq, first), int64(t.Prompts),
		notify.AssignSeq(t.PromptSeq, first), waitsFor,
		string(review.Policy), string(review.State), review.Note, string(review.By), review.Reason, review.DueAt.Milli(),
		review.ReviewedAt.Milli(), notify.AssignSeq(review.EndSeq, first), t.Continues, int64(t.Continuations), t.ContinuedBy,
		t.RequestedBy,
		t.RunningSince.Milli(), int64(t.Uncounted), int64(t.SilentRestarts), ledger.Flag(t.Resumable), notify.AssignSeq(t.SuspendedSeq, first), restartSeq,
		string(t.Format), ledger.Flag(t.Outside), job, t.JobDigest,
	}, nil
}

// Read makes a turn of its columns.
func Read(v ledger.Values) (*Turn, error) {
	t := &Turn{
		CreatedSeq: v.Int(0), TurnID: v.Text(1), ThreadID: v.Text(2), State: State(v.Text(3)),
		Attempt: int(v.Int(4)), Rank: v.Int(5), Progress: Progress(v.Text(6)), ProgressMessage: v.Text(7),
		Origin: Origin(v.Text(8)), Message: v.Text(9), Reason: v.Text(10), StopReason: v.Text(11),
		Metadata: v.Blob(15), Parent: threads.ParentOf(v.Text(16), v.Text(17)), TimeoutSeconds: v.Float(18),
		QueuedAt: notify.TimeFromMilli(v.Int(19)), StartedAt: notify.TimeFromMilli(v.Int(20)),
		CompletedAt: notify.TimeFromMilli(v.Int(21)), UpdatedSeq: v.Int(22),
		RetryAt: notify.TimeFromMilli(v.Int(24)), UsedMs: v.Int(25), Worker: v.Text(26), ClaimedSeq: v.Int(27),
		FirstStartedAt: notify.TimeFromMilli(v.Int(28)), MessageTruncated: v.Int(29) != 0, Chain: int(v.Int(30)),
		Wake: v.Int(31) != 0, InterruptedBy: By(v.Text(32)),
		AttentionPolicy: AttentionPolicy(v.Text(34)), Title: v.Text(35), RootThreadID: v.Text(36), AcceptedSeq: v.Int(37),
		Prompts: int(v.Int(38)), PromptSeq: v.Int(39), Continues: v.Text(49), Continuations: int(v.Int(50)), ContinuedBy: v.Text(51),
		RequestedBy: v.Text(52), RunningSince: notify.TimeFromMilli(v.Int(53)), Uncounted: int(v.Int(54)),
		SilentRestarts: int(v.Int(55)), Resumable: v.Int(56) != 0, SuspendedSeq: v.Int(57), RestartSeq: v.Int(58),
		Format: items.Format(v.Text(59)), Outside: v.Int(60) != 0, Job: v.Text(61), JobDigest: v.Text(62),
	}
	if policy := ReviewPolicy(v.Text(41)); policy != "" {
		t.Review = &Review{
			Policy: policy, State: ReviewState(v.Text(42)), Note: v.Text(43), By: By(v.Text(44)), Reason: v.Text(45),
			DueAt: notify.TimeFromMilli(v.Int(46)), ReviewedAt: notify.TimeFromMilli(v.Int(47)), EndSeq: v.Int(48),
		}
	}
	if t.Parent != nil {
		t.Parent.Attempt = int(v.Int(33))
	}
	for _, member := range []struct {
		name string
		raw  []byte
		into any
	}{
		{"error", v.Blob(12), &t.Error}, {"usage", v.Blob(13), &t.Usage},
		{"undelivered items", v.Blob(14), &t.UndeliveredItemIDs}, {"retry", v.Blob(23), &t.Retry},
		{"waits for", v.Blob(40), &t.WaitsFor},
	} {
		if member.raw == nil {
			continue
		}
		if err := json.Unmarshal(member.raw, member.into); err != nil {
			return nil, fmt.Errorf("%s of turn %s: %w", member.name, t.TurnID, err)
		}
	}
	return t, nil
}

// optional returns v as JSON, nil if v is absent.
func optional(v any, absent bool) ([]byte, error) {
	if absent {
		return nil, nil
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}
