package turns

import (
	"time"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// ReviewPolicy says which ends of a turn wait for a review. "" is ReviewNone.
type ReviewPolicy string

// The review policies. An interrupted turn is never reviewed.
const (
	ReviewNone      ReviewPolicy = "none"
	ReviewOnSuccess ReviewPolicy = "on_success" // completed turns
	ReviewOnFailure ReviewPolicy = "on_failure" // failed ones
	ReviewAlways    ReviewPolicy = "always"     // both
)

// ReviewPolicies lists the policies that clients can name.
var ReviewPolicies = []ReviewPolicy{ReviewNone, ReviewOnSuccess, ReviewOnFailure, ReviewAlways}

// Asks reports whether a turn with this policy that ends in this state waits for a
// review.
func (p ReviewPolicy) Asks(s State) bool {
	switch p {
	case ReviewOnSuccess:
		return s == Completed
	case ReviewOnFailure:
		return s == Failed
	case ReviewAlways:
		return s == Completed || s == Failed
	}
	return false
}

// Check checks that the policy is known or "". The error is an *InvalidError.
func (p ReviewPolicy) Check(field string) error {
	return OneOf(field, ReasonUnknown, p, ReviewNone, ReviewOnSuccess, ReviewOnFailure, ReviewAlways)
}

// ReviewState is where the review of a turn's live end is. "" = that end needs none,
// or there is none yet.
type ReviewState string

// The states of a review. All but Pending are verdicts.
const (
	ReviewPending ReviewState = "pending"
	Approved      ReviewState = "approved"
	Rejected      ReviewState = "rejected"
	Blocked       ReviewState = "blocked"
)

// Verdicts lists the verdicts of a review.
var Verdicts = []ReviewState{Approved, Rejected, Blocked}

// The bounds of reviews.
const (
	// DefaultReviewTimeout is how long a review waits for a verdict if the agent's
	// configuration does not say otherwise.
	DefaultReviewTimeout = 24 * time.Hour
	// MaxContinuations is how many turns continue a rejected one, one after the other.
	// After them a rejection is final, so that a reviewer and an agent who do not agree
	// come to an end.
	MaxContinuations = 3
	// MaxNoteBytes bounds the note of a review: it is the input of a turn, and in the
	// log and the row of the turn it is about.
	MaxNoteBytes = 16 << 10
)

// Refuses reports whether a review in this state says of an end that it is not good enough.
// A turn that continues a rejected one is the newer one of its thread.
func (s ReviewState) Refuses() bool { return s == Rejected || s == Blocked }

// Review is what is known of the review of a turn. Only Policy is set until the turn
// has ended in a way that the policy asks about, and again after a retry.
type Review struct {
	Policy     ReviewPolicy `json:"policy"`
	State      ReviewState  `json:"state,omitzero"`
	Note       string       `json:"note,omitzero"`
	By         By           `json:"by,omitzero"`          // who gave the verdict
	Reason     string       `json:"reason,omitzero"`      // of a verdict by the server: see ReviewTimeout
	DueAt      notify.Time  `json:"due_at,omitzero"`      // when a pending review becomes blocked
	ReviewedAt notify.Time  `json:"reviewed_at,omitzero"` // of the verdict
	EndSeq     int64        `json:"end_seq,omitzero"`     // the seq of the end that is reviewed
}

// Why the server has given a verdict.
const (
	ReviewTimeout      = "timeout"       // nobody gave one in time
	ReviewThreadClosed = "thread_closed" // the thread was closed
)

// ReviewAsked is the member review of the events of a turn: its policy, and of an end
// that waits for a review also the state and the time at which it becomes blocked.
type ReviewAsked struct {
	Policy ReviewPolicy `json:"policy"`
	State  ReviewState  `json:"state,omitzero"`
	DueAt  notify.Time  `json:"due_at,omitzero"`
}

// ReviewedEvent is the body of turn/reviewed: the verdict about the live end of a
// turn. State is that of the turn. If ContinuedBy is not set, it is the accepted end of
// the turn. Otherwise that turn, which was queued with this event, continues it, and
// the turn has no accepted end of its own.
type ReviewedEvent struct {
	Type        string       `json:"type"`
	State       State        `json:"state"`
	Verdict     ReviewState  `json:"verdict"`
	Policy      ReviewPolicy `json:"policy"`
	Note        string       `json:"note,omitzero"`
	By          By           `json:"by"`
	Reason      string       `json:"reason,omitzero"`
	ContinuedBy string       `json:"continued_by,omitzero"`
	ReviewedAt  notify.Time  `json:"reviewed_at"`

	// Of a child turn, for those who see only ends.
	Parent *threads.Parent `json:"parent,omitzero"`
	Title  string          `json:"title,omitzero"`
}

// ReviewRule is what the configuration of an agent says about the reviews of its turns.
// The zero value: none, and the default time.
type ReviewRule struct {
	Policy  ReviewPolicy
	Timeout time.Duration // 0 = DefaultReviewTimeout
}

// ReviewTurn gives a verdict about the live end of a turn.
type ReviewTurn struct {
	TurnID  string      `json:"turn_id"`
	Attempt int         `json:"attempt"`
	Verdict ReviewState `json:"verdict"`
	Note    string      `json:"note,omitzero"`
	// Continue says whether a rejected turn is continued by another one, whose input is
	// the note. nil = true. It goes with no other verdict.
	Continue *bool       `json:"continue,omitzero"`
	By       By          `json:"-"` // "" = ByClient
	Key      *ledger.Key `json:"-"`
}

// ReviewTurnResult answers turn/review. ContinuedBy is the turn that continues a
// rejected one; without it the verdict is the accepted end of the turn.
type ReviewTurnResult struct {
	TurnID      string  `json:"turn_id"`
	ThreadID    string  `json:"thread_id"`
	Attempt     int     `json:"attempt"`
	State       State   `json:"state"`
	Review      *Review `json:"review"`
	ContinuedBy string  `json:"continued_by,omitzero"`
	Seq         int64   `json:"seq"`
}

// Check checks what needs no turn. The error is an *InvalidError.
func (c *ReviewTurn) Check() error {
	if c.Verdict == "" {
		return Invalid("verdict", ReasonRequired, "must be approved, rejected or blocked")
	}
	if err := OneOf("verdict", ReasonUnknown, c.Verdict, Approved, Rejected, Blocked); err != nil {
		return err
	}
	switch {
	case c.Attempt < 1:
		return Invalid("attempt", ReasonRange, "must be the attempt of the turn that is reviewed, from 1")
	case c.Continue != nil && c.Verdict != Rejected:
		return Invalid("continue", ReasonInvalid, "goes with the verdict rejected only")
	case c.Continues() && c.Note == "":
		return Invalid("note", ReasonRequired, "is the input of the turn that continues a rejected one; give continue: false to reject without another turn")
	}
	return checkText("note", c.Note, MaxNoteBytes)
}

// Continues reports whether the verdict asks for a turn that continues the one that is
// reviewed.
func (c *ReviewTurn) Continues() bool {
	return c.Verdict == Rejected && (c.Continue == nil || *c.Continue)
}

// MayReview returns why the verdict cannot be given about the turn as it is, nil if it
// can: ErrReviewed, ErrNotInReview or a *ReviewedAttemptError.
func (c *ReviewTurn) MayReview(t *Turn) error {
	switch {
	case t.Attempt != c.Attempt:
		return &ReviewedAttemptError{TurnID: t.TurnID, Attempt: t.Attempt}
	case t.InReview():
		return nil
	case t.Review != nil && t.Review.State != "":
		return ErrReviewed
	}
	return ErrNotInReview
}

// MayContinue reports whether another turn may continue this one: fewer than
// MaxContinuations did so before it.
func (t *Turn) MayContinue() bool { return t.Continuations < MaxContinuations }

// Why explains why a review refuses an end, "" if nobody has said it.
func (r *Review) Why() string {
	switch {
	case r.Note != "":
		return r.Note
	case r.Reason == ReviewTimeout:
		return "nobody has reviewed it in time"
	}
	return ""
}

// InReview reports whether the turn has ended and waits for a verdict.
func (t *Turn) InReview() bool { return t.Review != nil && t.Review.State == ReviewPending }

// WasReviewed reports whether the live end of the turn waits for a verdict, or has
// one.
func (t *Turn) WasReviewed() bool { return t.Review != nil && t.Review.State != "" }

// ReviewPolicy returns the policy of the turn; "" = ReviewNone.
func (t *Turn) ReviewPolicy() ReviewPolicy {
	if t.Review == nil {
		return ""
	}
	return t.Review.Policy
}

// EndSeq returns the seq of the live end of a turn that has ended, as far as the row has it:
// of child turns and of turns with a review policy. 0 for any other.
func (t *Turn) EndSeq() int64 {
	if t.Review != nil && t.Review.EndSeq != 0 {
		return t.Review.EndSeq
	}
	return t.AcceptedSeq
}

// asked makes the review of a turn that starts; nil if its policy asks for none.
func (a *ReviewAsked) asked() *Review {
	if a == nil {
		return nil
	}
	return &Review{Policy: a.Policy}
}

// unreviewed returns the review of a turn that is tried again; nil if its policy asks for
// none.
func (r *Review) unreviewed() *Review {
	if r == nil {
		return nil
	}
	return &Review{Policy: r.Policy}
}

// ended follows the end of the turn: it is the accepted one, unless it waits for a
// review.
func (t *Turn) ended(h notify.Header, asked *ReviewAsked) {
	t.Review = t.Review.unreviewed()
	if t.Review != nil {
		t.Review.EndSeq = h.Seq
	}
	if asked != nil && asked.State == ReviewPending {
		t.Review = &Review{Policy: asked.Policy, State: ReviewPending, DueAt: asked.DueAt, EndSeq: h.Seq}
		return
	}
	if t.IsChild() || t.Review != nil {
		t.AcceptedSeq = h.Seq
	}
}

// reviewed follows the verdict about the turn's end.
func (t *Turn) reviewed(h notify.Header, b *ReviewedEvent) {
	r := Review{Policy: b.Policy}
	if t.Review != nil {
		r = *t.Review
	}
	r.State, r.Note, r.By, r.Reason, r.ReviewedAt = b.Verdict, b.Note, b.By, b.Reason, b.ReviewedAt
	t.Review, t.ContinuedBy = &r, b.ContinuedBy
	if b.ContinuedBy == "" {
		t.AcceptedSeq = h.Seq
	}
}

// The orders in which turns are found that wait for a review.
var (
	PendingReviews         = &ledger.Index{Table: Table, Name: "turns_review", Columns: []string{"created_seq"}, Where: inReview}
	PendingReviewsOfThread = &ledger.Index{Table: Table, Name: "turns_review_thread", Columns: []string{"thread_id", "created_seq"}, Where: inReview}
	// ReviewsDue finds them by the time at which they become blocked.
	ReviewsDue = &ledger.Index{Table: Table, Name: "turns_review_due", Columns: []string{"review_due_at", "created_seq"}, Where: inReview}

	// Refused finds turns of which the review has rejected or blocked the end.
	Refused = &ledger.Index{Table: Table, Name: "turns_refused", Columns: []string{"created_seq"}, Where: []ledger.Only{
		{Column: "review_state", Values: []any{string(Rejected), string(Blocked)}},
	}}

	inReview = []ledger.Only{{Column: "review_state", Values: []any{string(ReviewPending)}}}
	// notInReview leaves out turns that wait for a review.
	notInReview = ledger.Only{Column: "review_state", Values: []any{"", string(Approved), string(Rejected), string(Blocked)}}
)

// SetSeq sets the seq of the response.
func (r *ReviewTurnResult) SetSeq(seq int64) { r.Seq = seq }
