package engine

import (
	"context"
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Retry starts another attempt of a turn that has failed or was interrupted, or whose end
// has a review, pending or given: the review is superseded with the end. The turn goes to
// the end of its thread's queue and starts at once if it can. Its clock (timeout_seconds)
// starts anew. max_attempts of its policy does not limit this retry, but counts the
// attempt. Errors: *InvalidError, ErrNotFound, ErrNotEnded, ErrCompleted, ErrContinued,
// ErrNoAttempts, threads.ErrClosed, ErrQueueFull, *TooManyError (of a child turn),
// ledger.ErrKeyConflict, ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) Retry(ctx context.Context, c turns.Retry) (turns.RetryResult, error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.RetryResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.RetryResult{}, err
	}
	return e.children.retryOfChild(ctx, c, threadID, func(a *actor) (turns.RetryResult, error) {
		r, replayed, err := keyed(a, c.Key, func(d *decision) (turns.RetryResult, error) { return d.retry(c, false) })
		switch {
		case err != nil:
			return r, err
		case replayed:
			return currentResult(a, r), nil
		}
		return startRetried(a, r), nil
	})
}

// retry adds the marker, which queues the turn, so that no crash loses the retry.
// Text that no attempt has received waits for this one. forJob says that the program of the
// parent turn has asked for the job again.
func (d *decision) retry(c turns.Retry, forJob bool) (turns.RetryResult, error) {
	if err := d.mayStart(); err != nil {
		return turns.RetryResult{}, err
	}
	t, err := d.rules.log.Turn(context.Background(), c.TurnID)
	switch {
	case err != nil:
		return turns.RetryResult{}, err
	case t == nil:
		return turns.RetryResult{}, turns.ErrNotFound
	case !t.State.Ended():
		return turns.RetryResult{}, turns.ErrNotEnded
	case t.ContinuedBy != "":
		return turns.RetryResult{}, turns.ErrContinued
	case t.State == turns.Completed && !t.WasReviewed():
		return turns.RetryResult{}, turns.ErrCompleted
	case d.next().isFull(t.Outside, d.rules.cfg.MaxQueue):
		return turns.RetryResult{}, turns.ErrQueueFull
	}
	steps, err := d.rules.log.Steps(context.Background(), c.TurnID)
	if err != nil {
		return turns.RetryResult{}, err
	}
	input, err := d.rules.readInput(&turns.Turn{TurnID: t.TurnID, Attempt: t.Attempt + 1})
	if err != nil {
		return turns.RetryResult{}, err
	}
	d.change.selectTries(triesFromRows(c.TurnID, steps))
	if d.change.root() == nil {
		return turns.RetryResult{}, turns.ErrNoAttempts
	}
	if t, err = d.child.mayRetryChild(t, forJob); err != nil {
		return turns.RetryResult{}, err
	}
	rank, position := d.next().queuePosition(t.Outside, false)
	d.change.rewind("", t, turns.RewindEvent{Reason: turns.CauseRequest, Message: cutText(c.Reason), Rank: rank, Usage: t.Usage, RequestedBy: requestedBy(c.By)})
	for _, o := range input {
		if status, err := items.Next(o.row.Status, o.row.Type, items.VerbReopen, ""); err == nil {
			o.row = d.items.addUpdated(o, status)
		}
	}
	d.next().setInput(c.TurnID, input)
	return turns.RetryResult{
		TurnID: c.TurnID, ThreadID: d.change.threadID, State: turns.Queued, Attempt: t.Attempt + 1, QueuedAt: d.change.now, Position: position,
	}, nil
}

// startRetried starts the turn that was queued again, or adds the reason why it
// waits. An error does not matter here: the turn stays queued.
func startRetried(a *actor, r turns.RetryResult) turns.RetryResult {
	a.startNext()
	if a.state.isActive(r.TurnID) {
		return currentResult(a, r)
	}
	i := slices.IndexFunc(a.state.queue, func(q *queuedTurn) bool { return q.turn.TurnID == r.TurnID })
	if i < 0 {
		return r
	}
	r.Position = i + 1 // a turn before it may just have started
	why, err := a.state.queueReason(turns.BusyQueue)
	if paused, draining := a.e.gate.state(); err == nil && a.state.active == nil && len(a.state.queue) == 1 && a.state.thread.State != threads.Paused {
		why = turns.QueuedCapacity
		if paused || draining {
			why = turns.QueuedPaused
		}
	}
	t, d := a.state.queue[i].turn, a.decide()
	d.change.turn(t, t.TurnID, notify.TurnQueued, scope{attempt: t.Attempt}, &turns.QueuedEvent{
		Type: "queued", State: turns.Queued, Position: r.Position, Rank: t.Rank, QueuedAt: r.QueuedAt, Reason: why,
		Parent: t.Parent, Child: t.Child(),
	})
	if rc, err := a.commit(d); err == nil {
		r.Seq = rc.Last
	}
	return r
}

// currentResult updates the answer to the present state of the attempt, which may
// wait, run, or have ended since the commit. The answer for a superseded attempt
// stays as it was.
func currentResult(a *actor, r turns.RetryResult) turns.RetryResult {
	t, err := a.e.rules.turnRow(a.state, r.TurnID)
	if err != nil || t == nil || t.Attempt != r.Attempt {
		return r
	}
	r.State, r.Seq = t.State, max(r.Seq, t.UpdatedSeq)
	if t.State != turns.Queued {
		r.StartedAt, r.QueuedAt, r.Position = t.StartedAt, notify.Time{}, 0
	}
	return r
}
