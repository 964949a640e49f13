package turns_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// The whole matrix: which end of a turn a policy asks about.
func TestPoliciesAskAboutTheirEnds(t *testing.T) {
	asks := map[turns.ReviewPolicy][]turns.State{
		"": nil, turns.ReviewNone: nil,
		turns.ReviewOnSuccess: {turns.Completed},
		turns.ReviewOnFailure: {turns.Failed},
		turns.ReviewAlways:    {turns.Completed, turns.Failed},
	}
	for policy, states := range asks {
		for _, s := range append([]turns.State{turns.Absent}, turns.States...) {
			want := false
			for _, is := range states {
				want = want || s == is
			}
			if got := policy.Asks(s); got != want {
				t.Errorf("%q asks about %q: %v, want %v", policy, s, got, want)
			}
		}
		if err := policy.Check("review"); err != nil {
			t.Errorf("%q: %v", policy, err)
		}
	}
	var bad *turns.InvalidError
	if err := turns.ReviewPolicy("On_Success").Check("review"); !errors.As(err, &bad) || bad.Field != "review" || bad.Reason != turns.ReasonUnknown {
		t.Errorf("an unknown policy: %v", err)
	}
}

// The accepted end, from the events of a turn. seq 2 is the end, 3 the verdict.
func TestAcceptedEndOfATurnWithAPolicy(t *testing.T) {
	type want struct {
		accepted, end int64
		inReview      bool
	}
	none, yes := "", "turn_b"
	for _, policy := range turns.ReviewPolicies {
		for _, state := range []turns.State{turns.Completed, turns.Failed, turns.Interrupted} {
			for _, verdict := range append([]turns.ReviewState{""}, turns.Verdicts...) {
				for _, by := range []string{none, yes} {
					if by != "" && verdict != turns.Rejected || verdict != "" && !policy.Asks(state) {
						continue
					}
					row := reviewedTurn(policy, state, verdict, by)
					w := want{end: 2}
					switch {
					case policy == turns.ReviewNone:
						w = want{}
					case !policy.Asks(state):
						w.accepted = 2
					case verdict == "":
						w.inReview = true
					case by == "":
						w.accepted = 3
					}
					name := fmt.Sprintf("%s, %s, %q, continued by %q", policy, state, verdict, by)
					if got := (want{row.AcceptedSeq, row.EndSeq(), row.InReview()}); got != w {
						t.Errorf("%s: %+v, want %+v", name, got, w)
					}
					if row.State != state || row.ContinuedBy != by || policy.Asks(state) != row.WasReviewed() {
						t.Errorf("%s: %+v, review %+v", name, row, row.Review)
					}
				}
			}
		}
	}
}

// reviewedTurn folds the events of a turn: its start, its end and the verdict, if
// there is one.
func reviewedTurn(policy turns.ReviewPolicy, state turns.State, verdict turns.ReviewState, by string) *turns.Turn {
	h := notify.Header{Seq: 1, ThreadID: "thread_a", TurnID: "turn_a", Attempt: 1, Timestamp: now}
	start, end := &turns.StartedEvent{StartedAt: now}, &turns.EndedEvent{State: state, CompletedAt: now}
	if policy != turns.ReviewNone {
		start.Review = &turns.ReviewAsked{Policy: policy}
	}
	if policy.Asks(state) {
		end.Review = &turns.ReviewAsked{Policy: policy, State: turns.ReviewPending, DueAt: later}
	}
	row := turns.Apply(nil, h, start)
	h.Seq = 2
	row = turns.Apply(row, h, end)
	if verdict != "" {
		h.Seq = 3
		row = turns.Apply(row, h, &turns.ReviewedEvent{State: state, Verdict: verdict, Policy: policy, Note: "why", By: turns.ByClient, ContinuedBy: by, ReviewedAt: now})
	}
	return row
}

func TestARetrySupersedesTheReview(t *testing.T) {
	for _, verdict := range append([]turns.ReviewState{""}, turns.Verdicts...) {
		row := reviewedTurn(turns.ReviewAlways, turns.Completed, verdict, "")
		row = turns.Apply(row, notify.Header{Seq: 9, TurnID: "turn_a", ThreadID: "thread_a", Timestamp: now}, &turns.RewindEvent{NewEpoch: 2})
		if row.State != turns.Queued || row.AcceptedSeq != 0 || *row.Review != (turns.Review{Policy: turns.ReviewAlways}) {
			t.Errorf("after %q: %+v, review %+v", verdict, row, row.Review)
		}
	}
}

// The whole matrix: which verdict may be given about which turn.
func TestMayReview(t *testing.T) {
	attempt := new(turns.ReviewedAttemptError)
	active := &turns.Turn{Attempt: 1, State: turns.Active, Review: &turns.Review{Policy: turns.ReviewAlways}}
	for name, c := range map[string]struct {
		row     *turns.Turn
		attempt int
		want    error
	}{
		"pending":                  {reviewedTurn(turns.ReviewAlways, turns.Completed, "", ""), 1, nil},
		"approved":                 {reviewedTurn(turns.ReviewAlways, turns.Completed, turns.Approved, ""), 1, turns.ErrReviewed},
		"rejected and continued":   {reviewedTurn(turns.ReviewAlways, turns.Completed, turns.Rejected, "turn_b"), 1, turns.ErrReviewed},
		"blocked":                  {reviewedTurn(turns.ReviewAlways, turns.Failed, turns.Blocked, ""), 1, turns.ErrReviewed},
		"without a policy":         {reviewedTurn(turns.ReviewNone, turns.Completed, "", ""), 1, turns.ErrNotInReview},
		"interrupted":              {reviewedTurn(turns.ReviewAlways, turns.Interrupted, "", ""), 1, turns.ErrNotInReview},
		"not asked about":          {reviewedTurn(turns.ReviewOnFailure, turns.Completed, "", ""), 1, turns.ErrNotInReview},
		"active":                   {active, 1, turns.ErrNotInReview},
		"another attempt":          {reviewedTurn(turns.ReviewAlways, turns.Completed, "", ""), 2, attempt},
		"another attempt, decided": {reviewedTurn(turns.ReviewAlways, turns.Completed, turns.Approved, ""), 2, attempt},
	} {
		for _, verdict := range turns.Verdicts {
			err := (&turns.ReviewTurn{Attempt: c.attempt, Verdict: verdict}).MayReview(c.row)
			if c.want == error(attempt) {
				if got := new(turns.ReviewedAttemptError); !errors.As(err, &got) || got.Attempt != 1 {
					t.Errorf("%s, %s: %v", name, verdict, err)
				}
			} else if err != c.want {
				t.Errorf("%s, %s: %v, want %v", name, verdict, err, c.want)
			}
		}
	}
}

func TestCheckOfAVerdict(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		command turns.ReviewTurn
		field   string
	}{
		"approved":               {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved}, ""},
		"approved, with a note":  {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved, Note: "well done"}, ""},
		"blocked":                {turns.ReviewTurn{Attempt: 1, Verdict: turns.Blocked}, ""},
		"rejected":               {turns.ReviewTurn{Attempt: 1, Verdict: turns.Rejected, Note: "more tests"}, ""},
		"rejected, continue":     {turns.ReviewTurn{Attempt: 1, Verdict: turns.Rejected, Note: "more tests", Continue: &yes}, ""},
		"rejected for good":      {turns.ReviewTurn{Attempt: 1, Verdict: turns.Rejected, Continue: &no}, ""},
		"rejected without why":   {turns.ReviewTurn{Attempt: 1, Verdict: turns.Rejected}, "note"},
		"approved and continued": {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved, Continue: &yes}, "continue"},
		"blocked, not continued": {turns.ReviewTurn{Attempt: 1, Verdict: turns.Blocked, Continue: &no}, "continue"},
		"no verdict":             {turns.ReviewTurn{Attempt: 1}, "verdict"},
		"pending":                {turns.ReviewTurn{Attempt: 1, Verdict: turns.ReviewPending}, "verdict"},
		"no attempt":             {turns.ReviewTurn{Verdict: turns.Approved}, "attempt"},
		"a note of the bound":    {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved, Note: strings.Repeat("x", turns.MaxNoteBytes)}, ""},
		"a note above it":        {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved, Note: strings.Repeat("x", turns.MaxNoteBytes+1)}, "note"},
		"a note that is no text": {turns.ReviewTurn{Attempt: 1, Verdict: turns.Approved, Note: "\xff"}, "note"},
	} {
		err := c.command.Check()
		var bad *turns.InvalidError
		if errors.As(err, &bad); (err == nil) != (c.field == "") || err != nil && (bad == nil || bad.Field != c.field) {
			t.Errorf("%s: %v, want the field %q", name, err, c.field)
		}
	}
}

func TestResultOfATurnInReviewIsNoEnd(t *testing.T) {
	r := turns.ResultOf(reviewedTurn(turns.ReviewAlways, turns.Completed, "", ""), items.Said{Text: "done"}, later)
	if r.State != turns.InReview || r.Accepted() || r.Review == nil || r.Review.State != turns.ReviewPending {
		t.Errorf("in review: %+v", r)
	}
	r = turns.ResultOf(reviewedTurn(turns.ReviewAlways, turns.Completed, turns.Blocked, ""), items.Said{Text: "done"}, later)
	if r.State != turns.Completed || !r.Accepted() || r.Review.State != turns.Blocked {
		t.Errorf("blocked: %+v", r)
	}
	if r = turns.ResultOf(reviewedTurn(turns.ReviewOnFailure, turns.Completed, "", ""), items.Said{Text: "done"}, later); r.Review != nil || !r.Accepted() {
		t.Errorf("not asked about: %+v", r)
	}
}

// A child turn that is asked for after its parent turn has failed goes on, also while
// that failure waits for a review and is no accepted end yet.
func TestFateBelowATurnInReview(t *testing.T) {
	parent := reviewedTurn(turns.ReviewAlways, turns.Failed, "", "")
	parent.AttentionPolicy, parent.CompletedAt = turns.Notify, now
	for created, want := range map[int64]turns.Fate{1: turns.FateInterrupt, 3: turns.FateNone} {
		child := &turns.Turn{TurnID: "turn_c", State: turns.Active, Attempt: 1, AttentionPolicy: turns.Notify, CreatedSeq: created, Parent: parentOf("turn_a")}
		if got := turns.FateOf(child, parent); got != want {
			t.Errorf("a child turn from seq %d: %q, want %q", created, got, want)
		}
	}
}

func parentOf(turnID string) *threads.Parent {
	return &threads.Parent{ThreadID: "thread_a", TurnID: turnID, Attempt: 1}
}
