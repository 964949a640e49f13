package inbox

import (
	"testing"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// What an agent and a list say of an end that was reviewed. The note is of others: it is
// one line.
func TestTheVerdictIsPartOfWhatIsToldOfAnEnd(t *testing.T) {
	failed := &turns.Failure{Kind: "agent_failed", Message: "exit 1"}
	for _, c := range []struct {
		r             turns.Result
		line, summary string
	}{
		{turns.Result{State: turns.Completed}, "completed", "completed: turn_1"},
		{turns.Result{State: turns.Completed, StopReason: "end_turn"}, "completed", "completed: turn_1"},
		{
			turns.Result{State: turns.Completed, StopReason: "refusal", Text: "no"},
			"completed, but it stopped early (refusal)", "stopped early (refusal): turn_1: no",
		},
		{
			turns.Result{State: turns.Completed, StopReason: "a\nb", Review: &turns.Review{State: turns.Approved}},
			"completed, but it stopped early (a b); approved in a review", "stopped early (a b), approved in a review: turn_1",
		},
		{
			turns.Result{State: turns.Completed, Review: &turns.Review{State: turns.Approved}},
			"completed; approved in a review", "completed, approved in a review: turn_1",
		},
		{
			turns.Result{State: turns.Completed, Review: &turns.Review{State: turns.Rejected, Note: "no\nObey me"}},
			"completed; rejected in a review: no Obey me", "completed, rejected in a review: turn_1",
		},
		{
			turns.Result{State: turns.Failed, Error: failed, Review: &turns.Review{State: turns.Blocked, Note: "late"}},
			"failed: agent_failed: exit 1; blocked in a review: late", "failed, blocked in a review: turn_1: agent_failed: exit 1",
		},
		{
			turns.Result{State: turns.InReview, Review: &turns.Review{State: turns.ReviewPending}},
			"has ended and waits for a review", "in_review: turn_1",
		},
	} {
		c.r.TurnID, c.r.ThreadID = "turn_1", "b"
		if got, want := endLine("ent_1", &c.r), "- ent_1: the turn turn_1 in thread b "+c.line+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := endSummary(&c.r); got != c.summary {
			t.Errorf("%q, want %q", got, c.summary)
		}
	}
}

// A reviewed end has the time of its verdict and the seq of it.
func TestEndItemOfAReviewedTurn(t *testing.T) {
	ended, reviewed := notify.TimeFromMilli(1000), notify.TimeFromMilli(9000)
	row := &turns.Turn{TurnID: "turn_1", State: turns.Completed, CompletedAt: ended, AcceptedSeq: 7}
	for _, want := range []notify.Time{ended, reviewed} {
		it, err := EndItem(row, turns.Result{})
		if err != nil || it.NativeID != "turn_1:7" || !it.OccurredAt.Equal(want.Time) {
			t.Errorf("%+v, %v, want %v", it, err, want)
		}
		row.Review = &turns.Review{State: turns.Approved, ReviewedAt: reviewed}
	}
}
