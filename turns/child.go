package turns

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
)

// AttentionPolicy says how the turn that has started a child turn learns of its
// end. A turn without a policy is no child turn. It only ever changes from Blocking
// to Notify.
type AttentionPolicy string

// The policies.
const (
	// Blocking: the turn that started it waits for its end.
	Blocking AttentionPolicy = "blocking_until_terminal"
	// Notify: nothing waits for its end; the inbox of the owner has it.
	Notify AttentionPolicy = "notify_on_terminal"
)

// Detach is why a child turn was detached.
type Detach string

// The reasons for detaching.
const (
	DetachRequested   Detach = "requested"    // turn/detach
	DetachTimeout     Detach = "timeout"      // wait_seconds have passed
	DetachQueued      Detach = "queued"       // a turn of a client waits for the owner
	DetachOwnerEnded  Detach = "owner_ended"  // the turn that started it has ended without waiting
	DetachInReview    Detach = "in_review"    // it waits for a review
	DetachPromptLimit Detach = "prompt_limit" // the turn that started it has had MaxPrompts prompts
)

// DetachedEvent is the body of turn/detached.
type DetachedEvent struct {
	Type            string          `json:"type"`
	AttentionPolicy AttentionPolicy `json:"attention_policy"`
	Reason          Detach          `json:"reason"`
	RequestedBy     string          `json:"requested_by,omitzero"` // the named token that asked for it; "" = none
}

// The bounds of child turns.
const (
	MaxChildren        = 64  // unended ones of a turn
	MaxUnendedBelow    = 256 // unended child turns below one root
	MaxPrompts         = 50  // of a turn; then its blocking children are detached
	MaxTitle           = 200 // characters
	MaxWaitSeconds     = 600 // of turn/start
	MaxAwaitSeconds    = 3600
	AwaitSeconds       = 600 // if a request names none
	MaxAwaited         = 64  // turns that one turn/await names
	MaxAwaiting        = 1024
	MaxAwaitingEach    = 256      // of MaxAwaiting, for one requester that is not the owner
	MaxResultText      = 16 << 10 // of one result, head and tail
	MaxResultsTogether = 1 << 20
)

// IsChild reports whether the turn is a child turn: its end enters the inbox of the
// thread that started it.
func (t *Turn) IsChild() bool { return t.AttentionPolicy != "" }

// Children counts the child turns of a thread: those that have not ended by their
// policy, and those whose end its agent was not told. WaitsFor are those that the
// active turn waits for between two prompts, and that have not ended. Room is how many
// more may start now: for the active turn, or for the thread if it has none.
type Children struct {
	Blocking int      `json:"blocking"`
	Notify   int      `json:"notify"`
	Untold   int      `json:"untold"`
	Room     int      `json:"room"`
	WaitsFor []string `json:"-"`
}

// Taken is the accepted end of a child turn that the inbox of its owner has. It is
// a part of the row of the turn, which the owner's units write: a fold of
// inbox/received.
type Taken struct {
	TurnID string
	Seq    int64 // of the end
}

// TakenTable is where it is stored.
var TakenTable = ledger.NewTable(ledger.Table{
	Name: "turns", Columns: []string{"turn_id", "taken_seq"}, Key: []string{"turn_id"}, Mutable: []string{"taken_seq"},
})

// TakenOf finds what is taken of a turn.
var TakenOf = &ledger.Index{Table: TakenTable, Unique: true, Columns: []string{"turn_id"}}

// Table implements ledger.Row.
func (t *Taken) Table() *ledger.Table { return TakenTable }

// ID implements ledger.Row.
func (t *Taken) ID() any { return t.TurnID }

// New implements ledger.Row: the child has made the row.
func (t *Taken) New() bool { return false }

// Bytes implements ledger.Row.
func (t *Taken) Bytes() int { return 0 }

// AssignSeqs implements ledger.Row.
func (t *Taken) AssignSeqs(int64) {}

// Values implements ledger.Row.
func (t *Taken) Values(int64) (ledger.Values, error) { return ledger.Values{t.TurnID, t.Seq}, nil }

// The orders in which child turns are found. A child turn is unsettled until the
// inbox of its owner has its accepted end.
var (
	Unsettled      = &ledger.Index{Table: Table, Name: "turns_unsettled", Columns: []string{"parent_thread_id", "parent_turn_id", "created_seq"}, Where: unsettled}
	UnsettledBelow = &ledger.Index{Table: Table, Name: "turns_below", Columns: []string{"root_thread_id", "created_seq"}, Where: unsettled}
	ChildrenOf     = &ledger.Index{Table: Table, Name: "turns_children", Columns: []string{"parent_thread_id", "created_seq"}, Where: []ledger.Only{
		{Column: "attention_policy", Values: []any{string(Blocking), string(Notify)}},
	}}

	unsettled = []ledger.Only{{Column: "unsettled", Values: []any{int64(1)}}}
	noJob     = ledger.Only{Column: "job", Values: []any{nil}}
	ownWork   = ledger.Only{Column: "outside", Values: []any{int64(0)}}
)

// ParentsOfUnended lists the turns of a thread for which child turns work that have not ended:
// those whose end has not arrived in its inbox, except those in review, about which nobody can
// tell when there is a verdict, except outside work, which nothing waits for, and except jobs, of
// whose ends the agent is not told.
func ParentsOfUnended(r ledger.Reader, ownerID string) (parents map[string]bool, err error) {
	list, err := UnendedOf(r, ownerID)
	for _, t := range list {
		if parents == nil {
			parents = map[string]bool{}
		}
		if t.Parent.TurnID != "" {
			parents[t.Parent.TurnID] = true
		}
	}
	return parents, err
}

// UnendedOf lists those child turns, in the order of their parent turns.
func UnendedOf(r ledger.Reader, ownerID string) (list []*Turn, err error) {
	err = r.Scan(ledger.Range{Index: Unsettled, Prefix: []any{ownerID}, Only: []ledger.Only{notInReview, noJob, ownWork}}, func(v ledger.Values) error {
		t, err := Read(v)
		if err == nil && t.Parent != nil {
			list = append(list, t)
		}
		return err
	})
	return list, err
}

// Result is a turn as those see it who wait for it, or are told of its end. State is
// that of the turn, or one of the ResultStates. Text is the last message of the
// agent, Format how it is meant.
type Result struct {
	TurnID        string       `json:"turn_id"`
	ThreadID      string       `json:"thread_id,omitzero"`
	Title         string       `json:"title,omitzero"`
	Job           string       `json:"job,omitzero"`     // its name, of a job
	Outside       bool         `json:"outside,omitzero"` // it is outside work
	State         State        `json:"state"`
	Attempt       int          `json:"attempt,omitzero"`
	StopReason    string       `json:"stop_reason,omitzero"` // why the agent stopped, of a turn that has ended
	Text          string       `json:"text,omitzero"`
	TextTruncated bool         `json:"text_truncated,omitzero"`
	Format        items.Format `json:"format,omitzero"`
	Error         *Failure     `json:"error,omitzero"`
	Usage         *items.Usage `json:"usage,omitzero"`
	StartedAt     notify.Time  `json:"started_at,omitzero"`
	CompletedAt   notify.Time  `json:"completed_at,omitzero"`
	ElapsedMs     int64        `json:"elapsed_ms"`
	ContinuedBy   string       `json:"continued_by,omitzero"` // the turn that continues a rejected one: what follows TurnID is of it
	Review        *Review      `json:"review,omitzero"`       // nil: its end is not reviewed
	EntryID       notify.ID    `json:"entry_id,omitzero"`     // of its end in the inbox of the owner
}

// The states that only results have.
const (
	Retrying     State = "retrying" // it waits for its next attempt
	InReview     State = "in_review"
	NotFound     State = "not_found"
	InvalidScope State = "invalid_scope" // it is no child turn of the owner, or not visible to the caller
)

// Accepted reports whether the result is an accepted end.
func (r *Result) Accepted() bool { return r.State.Ended() }

// EndOf returns the turn whose end the result shows: the one that was asked for, or the one
// that continues it.
func (r *Result) EndOf() string {
	if r.ContinuedBy != "" {
		return r.ContinuedBy
	}
	return r.TurnID
}

// ResultOf makes the result of a turn. said is the agent's last message.
func ResultOf(t *Turn, said items.Said, now notify.Time) Result {
	r := Result{
		TurnID: t.TurnID, ThreadID: t.ThreadID, Title: t.Title, Job: t.Job, Outside: t.Outside, State: t.State, Attempt: t.Attempt, Error: t.Error, Usage: t.Usage,
		StartedAt: t.StartedAt, CompletedAt: t.CompletedAt, Text: said.Text, TextTruncated: said.Truncated, Format: said.Format,
	}
	switch {
	case t.State == Active && !t.RetryAt.IsZero():
		r.State = Retrying
	case t.InReview():
		r.State = InReview
	}
	if t.State.Ended() {
		r.StopReason = t.StopReason
	}
	if t.WasReviewed() {
		r.Review = t.Review
	}
	since := t.StartedAt
	if !t.FirstStartedAt.IsZero() {
		since = t.FirstStartedAt
	}
	if !since.IsZero() {
		until := now
		if t.State.Ended() {
			until = t.CompletedAt
		}
		r.ElapsedMs = max(0, until.Sub(since.Time).Milliseconds())
	}
	r.Shorten(MaxResultText)
	return r
}

// LastMessage names the text of the result in words, for an agent.
func (r *Result) LastMessage() string {
	s := "the last message of " + r.TurnID
	if r.Format == items.FormatPlain {
		s += " (plain text)"
	}
	return s
}

// Shorten cuts the text to at most limit bytes of its head and its tail.
func (r *Result) Shorten(limit int) {
	const gap = "\n[…]\n"
	if len(r.Text) <= limit {
		return
	}
	head := max(0, (limit-len(gap))/2)
	tail := len(r.Text) - (limit - len(gap) - head)
	for head > 0 && !utf8.RuneStart(r.Text[head]) {
		head--
	}
	for tail < len(r.Text) && !utf8.RuneStart(r.Text[tail]) {
		tail++
	}
	r.Text, r.TextTruncated = r.Text[:head]+gap+r.Text[min(tail, len(r.Text)):], true
}

// CheckTitle checks the title of a child turn: one line of at most MaxTitle
// characters. The error is an *InvalidError.
func CheckTitle(field, s string) error {
	switch {
	case !utf8.ValidString(s):
		return Invalid(field, ReasonInvalid, "is not UTF-8")
	case utf8.RuneCountInString(s) > MaxTitle:
		return Invalid(field, ReasonTooLarge, "has more than %d characters", MaxTitle)
	case strings.ContainsFunc(s, BreaksLine):
		return Invalid(field, ReasonInvalid, "must be one line without control characters")
	}
	return nil
}

// BreaksLine reports whether no line of text may have the character: control
// characters, and those that change the direction or the lines of a text.
func BreaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
