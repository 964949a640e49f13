package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Review gives a verdict about the end of a turn that waits for one. A rejected turn is
// continued by another one, which is queued with the verdict or not at all. Errors:
// *InvalidError, ErrNotFound, ErrNotInReview, ErrReviewed, *ReviewedAttemptError,
// ledger.ErrKeyConflict, ledger.ErrStorageFull, ledger.ErrStorageFailed; if another
// turn is to continue, also threads.ErrClosed, ErrQueueFull, *TooManyError (of a child
// turn), ErrDraining.
func (e *Engine) Review(ctx context.Context, c turns.ReviewTurn) (turns.ReviewTurnResult, error) {
	if err := c.Check(); err != nil {
		return turns.ReviewTurnResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.ReviewTurnResult{}, err
	}
	const tries = 5
	for i := 1; ; i++ {
		r, err := call(ctx, e, threadID, func(a *actor) (turns.ReviewTurnResult, error) { return a.review.give(c) })
		if !errors.Is(err, turns.ErrOwnerMoved) || i == tries { // otherwise it decides anew
			return r, err
		}
	}
}

// reviewKeeper is the actor's side of reviews. It belongs to the actor's goroutine.
type reviewKeeper struct{ a *actor }

// give gives a verdict. The turn that continues a rejected one starts if it can.
func (k *reviewKeeper) give(c turns.ReviewTurn) (turns.ReviewTurnResult, error) {
	r, replayed, err := keyed(k.a, c.Key, func(d *decision) (turns.ReviewTurnResult, error) { return d.review.give(c) })
	if err == nil && !replayed && r.ContinuedBy != "" {
		k.a.startNext()
	}
	return r, err
}

// reviewWriter adds the events of reviews to a decision.
type reviewWriter struct{ d *decision }

// rule returns what the thread's agent says about reviews.
func (w *reviewWriter) rule() turns.ReviewRule {
	return w.d.rules.cfg.Reviews[w.d.next().thread.Agent]
}

// policyOf returns the review policy of a turn. named is that of the request; "" = none.
func (w *reviewWriter) policyOf(named turns.ReviewPolicy) turns.ReviewPolicy {
	p := cmp.Or(named, w.rule().Policy)
	if p == turns.ReviewNone {
		return ""
	}
	return p
}

// asked returns the member review of the events of a turn that starts.
func asked(p turns.ReviewPolicy) *turns.ReviewAsked {
	if p == "" {
		return nil
	}
	return &turns.ReviewAsked{Policy: p}
}

// ofEnd returns the member review of the end of a turn; nil if the end needs none.
func (w *reviewWriter) ofEnd(t *turns.Turn, end turns.State) *turns.ReviewAsked {
	p := t.ReviewPolicy()
	if !p.Asks(end) {
		return nil
	}
	wait := cmp.Or(w.rule().Timeout, turns.DefaultReviewTimeout)
	return &turns.ReviewAsked{Policy: p, State: turns.ReviewPending, DueAt: notify.TimeOf(w.d.change.now.Add(wait))}
}

// give adds the verdict and, if a rejected turn is continued, the turn that does so.
func (w *reviewWriter) give(c turns.ReviewTurn) (turns.ReviewTurnResult, error) {
	t, err := w.d.rules.turnRow(w.d.next(), c.TurnID)
	switch {
	case err != nil:
		return turns.ReviewTurnResult{}, err
	case t == nil:
		return turns.ReviewTurnResult{}, turns.ErrNotFound
	}
	if err := c.MayReview(t); err != nil {
		return turns.ReviewTurnResult{}, err
	}
	verdict := turns.ReviewedEvent{Verdict: c.Verdict, Note: c.Note, By: cmp.Or(c.By, turns.ByClient)}
	if c.Continues() && t.MayContinue() {
		verdict.ContinuedBy = turns.NewID()
	}
	span, err := w.spanOf(t)
	if err != nil {
		return turns.ReviewTurnResult{}, err
	}
	row := w.add(t, span, verdict)
	if verdict.ContinuedBy != "" {
		if err := w.addContinuation(row, c.Note, c.By); err != nil {
			return turns.ReviewTurnResult{}, err
		}
	}
	return turns.ReviewTurnResult{
		TurnID: t.TurnID, ThreadID: t.ThreadID, Attempt: t.Attempt, State: t.State, Review: row.Review, ContinuedBy: row.ContinuedBy,
	}, nil
}

// add adds turn/reviewed. It belongs to the attempt, so that a retry supersedes it.
func (w *reviewWriter) add(t *turns.Turn, span *notify.Span, e turns.ReviewedEvent) *turns.Turn {
	e.Type, e.State, e.Policy, e.ReviewedAt = "reviewed", t.State, t.Review.Policy, w.d.change.now
	if t.IsChild() {
		e.Parent, e.Title = t.Parent, t.Title
	}
	at := scope{attempt: t.Attempt}
	if span != nil {
		at = inTry(span)
	}
	return w.d.change.turn(t, t.TurnID, notify.TurnReviewed, at, &e)
}

// spanOf reads the live try of a turn that has ended; nil if the turn is from before
// there were attempts.
func (w *reviewWriter) spanOf(t *turns.Turn) (span *notify.Span, err error) {
	err = w.d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		v, err := r.Get(turns.StepsByEpoch, t.TurnID, "", int64(t.Attempt))
		if v == nil || err != nil {
			return err
		}
		row, err := turns.ReadStep(v)
		if err == nil {
			span = notify.NewSpan(t.TurnID, "", row.Epoch, nil)
			span.Seq = row.Seq
		}
		return err
	})
	return span, err
}

// addContinuation queues the turn that continues a rejected one, before all others of the
// thread. It has the options of the rejected one, and the note as its input.
func (w *reviewWriter) addContinuation(rejected *turns.Turn, note string, by turns.By) error {
	d := w.d
	if err := d.mayStart(); err != nil {
		return err
	}
	msgs := []items.UserMessage{{
		Type: items.KindUserMessage, Role: "user", Origin: items.OriginReview, Content: []items.Part{{Type: items.PartText, Text: note}},
	}}
	if err := d.checkWorkerInput("", msgs); err != nil {
		return err
	}
	q := request{
		Start: turns.Start{
			ThreadID: rejected.ThreadID, Metadata: rejected.Metadata, TimeoutSeconds: rejected.TimeoutSeconds,
			Parent: rejected.Parent, Retry: rejected.Retry, Review: rejected.ReviewPolicy(), By: by,
		},
		turnID: rejected.ContinuedBy, msgs: msgs, child: rejected.Child(), chain: rejected.Chain, rejected: rejected,
	}
	if rejected.IsChild() {
		f := rejected.WorksAgain()
		if refused, err := d.child.refused(f); err != nil || refused != nil {
			return cmp.Or(err, refused)
		}
		d.fence(f)
	}
	_, err := d.enqueue(q, turns.QueuedContinues)
	return err
}

// threadCloses gives all pending reviews of the thread the verdict blocked.
func (w *reviewWriter) threadCloses() {
	blocked := turns.ReviewedEvent{Verdict: turns.Blocked, By: turns.ByServer, Reason: turns.ReviewThreadClosed}
	if w.d.change.committed == nil {
		return // it is new
	}
	for _, t := range w.d.change.rows.turns { // one that ends with the thread
		if t.InReview() {
			w.add(t, w.d.change.root(), blocked)
		}
	}
	var list []*turns.Turn
	err := w.d.rules.inboxes.ReadToDecide(context.Background(), func(r ledger.Reader) error {
		return r.Scan(ledger.Range{Index: turns.PendingReviewsOfThread, Prefix: []any{w.d.change.threadID}}, func(v ledger.Values) error {
			t, err := turns.Read(v)
			if err == nil {
				list = append(list, t)
			}
			return err
		})
	})
	for _, t := range list {
		span, failed := w.spanOf(t)
		if err = cmp.Or(err, failed); err == nil {
			w.add(t, span, blocked)
		}
	}
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
}
