package timeline

import (
	"testing"
	"time"
)

func TestWordsForATurnThatIsReviewed(t *testing.T) {
	for _, c := range []struct {
		s    TurnState
		sign Sign
		want string
	}{
		{TurnState{State: "completed", Review: "pending", Took: 3 * time.Second}, SignAsk, "in review, completed in 3.0s"},
		{TurnState{State: "failed", Review: "pending", Took: 3 * time.Second, Why: "oh"}, SignAsk, "in review, failed in 3.0s"},
		{TurnState{State: "completed", Review: "approved", Took: 3 * time.Second}, SignCompleted, "completed in 3.0s, approved"},
		{TurnState{State: "completed", Review: "rejected", Took: 3 * time.Second}, SignFailed, "completed in 3.0s, rejected"},
		{TurnState{State: "completed", Review: "blocked", Took: 3 * time.Second}, SignInterrupted, "completed in 3.0s, blocked"},
		{TurnState{State: "failed", Review: "approved", Took: 3 * time.Second, Why: "oh"}, SignFailed, "failed after 3.0s, approved: oh"},
		{TurnState{State: "completed", Took: 3 * time.Second}, SignCompleted, "completed in 3.0s"},
		{TurnState{State: "completed", StopReason: "end_turn", Took: 3 * time.Second}, SignCompleted, "completed in 3.0s"},
		{TurnState{State: "completed", StopReason: "refusal", Took: 3 * time.Second}, SignEarly, "stopped early in 3.0s: refusal"},
		{TurnState{State: "completed", StopReason: "refusal", Review: "pending", Took: 3 * time.Second}, SignAsk, "in review, stopped early in 3.0s: refusal"},
		{TurnState{State: "failed", StopReason: "error", Took: 3 * time.Second, Why: "oh"}, SignFailed, "failed after 3.0s: oh"},
	} {
		if sign, words := c.s.Words(time.Time{}); sign != c.sign || words != c.want {
			t.Errorf("%+v: %v %q, want %v %q", c.s, sign, words, c.sign, c.want)
		}
	}
}

func TestVerdictsInTheTimeline(t *testing.T) {
	for want, p := range map[string]params{
		"approved in a review":                                  {Verdict: "approved"},
		"rejected in a review: more tests\nturn_2 continues it": {Verdict: "rejected", Note: "more tests", ContinuedBy: "turn_2"},
		"blocked: nobody has reviewed it in time":               {Verdict: "blocked", Reason: "timeout"},
		"blocked: the thread was closed before it was reviewed": {Verdict: "blocked", Reason: "thread_closed"},
	} {
		if _, text := p.verdict(Options{}); text != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
