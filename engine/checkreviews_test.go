package engine_test

import (
	"slices"

	"github.com/seed82539d15/holon/turns"
)

// reviewed checks a verdict: a turn has one for each attempt that waits for it, and
// what follows from it is in the same unit.
func (c *checker) reviewed(e event, b *turns.ReviewedEvent) {
	c.t.Helper()
	prev := c.turns[e.TurnID]
	switch {
	case prev == nil || !prev.InReview():
		c.errorf(e, "the turn does not wait for it: %+v", prev)
		return
	case e.Attempt != prev.Attempt || len(e.Lineage) != 1 || e.Lineage[0].Epoch != prev.Attempt:
		c.errorf(e, "is about attempt %d, lineage %v", e.Attempt, e.Lineage)
	case b.State != prev.State || !slices.Contains(turns.Verdicts, b.Verdict) || b.By == "" || (b.By == turns.ByServer) != (b.Reason != ""):
		c.errorf(e, "says %+v", b)
	case b.ContinuedBy != "" && (b.Verdict != turns.Rejected || c.turns[b.ContinuedBy] != nil):
		c.errorf(e, "is continued by %s", b.ContinuedBy)
	}
	c.turns[e.TurnID] = turns.Apply(prev, e.header(), b)
	c.continues = b.ContinuedBy
}

// continuation checks the first event of a turn that continues a rejected one.
func (c *checker) continuation(e event, b *turns.QueuedEvent) {
	c.t.Helper()
	if c.continues != "" && e.TurnID != c.continues {
		c.errorf(e, "%s should be queued, which continues a rejected turn", c.continues)
	}
	c.continues = ""
	if b.Continues == "" {
		return
	}
	was := c.turns[b.Continues]
	if was == nil || was.ContinuedBy != e.TurnID || was.ThreadID != e.ThreadID {
		c.errorf(e, "continues %+v", was)
		return
	}
	same(c.t, "what was asked for", &turns.Turn{
		Parent: b.Parent, AttentionPolicy: b.AttentionPolicy, Title: b.Title, RootThreadID: b.RootThreadID, Continuations: b.Continuations,
		TimeoutSeconds: b.TimeoutSeconds, Retry: b.Retry, Chain: b.Chain, Review: &turns.Review{Policy: b.Review.Policy},
	}, &turns.Turn{
		Parent: was.Parent, AttentionPolicy: was.AttentionPolicy, Title: was.Title, RootThreadID: was.RootThreadID, Continuations: was.Continuations + 1,
		TimeoutSeconds: was.TimeoutSeconds, Retry: was.Retry, Chain: was.Chain, Review: &turns.Review{Policy: was.Review.Policy},
	})
	if b.Position != 1 || b.Continuations > turns.MaxContinuations {
		c.errorf(e, "has position %d, continuation %d", b.Position, b.Continuations)
	}
}

// endInReview checks the end of a turn against its policy.
func (c *checker) endInReview(e event, prev *turns.Turn, b *turns.EndedEvent) {
	c.t.Helper()
	if asks := prev.ReviewPolicy().Asks(b.State); asks != (b.Review != nil) {
		c.errorf(e, "review is %+v, the policy is %q", b.Review, prev.ReviewPolicy())
	}
	if b.Review != nil && (b.Review.State != turns.ReviewPending || !b.Review.DueAt.After(e.Timestamp.Time) || prev.AttentionPolicy == turns.Blocking && prev.Job == "") {
		c.errorf(e, "review is %+v, and the turn is %q", b.Review, prev.AttentionPolicy)
	}
}

// noneInReview checks that no turn of a thread that is closed waits for a review.
func (c *checker) noneInReview(e event) {
	c.t.Helper()
	for _, t := range c.turns {
		if t.ThreadID == e.ThreadID && t.InReview() {
			c.errorf(e, "%s still waits for a review", t.TurnID)
		}
	}
}
