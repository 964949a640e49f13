package engine

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Retry tries a turn again that has failed or was interrupted: it goes to the
// end of its thread's queue, and starts at once if nothing keeps it. Its clock
// (timeout_seconds) and its policy's attempts do not go on: somebody has asked
// for it. Errors: *InvalidError, ErrNotFound, ErrNotEnded, ErrCompleted,
// ErrNoAttempts, threads.ErrClosed, ErrQueueFull, ErrKeyConflict, ErrDraining,
// ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) Retry(ctx context.Context, c turns.Retry) (turns.RetryResult, error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.RetryResult{}, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.RetryResult{}, err
	}
	return call(ctx, e, threadID, func(a *actor) (turns.RetryResult, error) {
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.RetryResult, error) { return a.retry(b, c) })
		switch {
		case err != nil:
			return r, err
		case replayed:
			return a.asItStands(r), nil
		}
		return a.startRetried(r), nil
	})
}

// retry adds the marker, which queues the turn: what follows it is lost by no
// crash. Text that no attempt has got waits for this one.
func (a *actor) retry(b *builder, c turns.Retry) (turns.RetryResult, error) {
	if err := a.mayStart(); err != nil {
		return turns.RetryResult{}, err
	}
	t, err := a.e.store.Turn(context.Background(), c.TurnID)
	switch {
	case err != nil:
		return turns.RetryResult{}, err
	case t == nil:
		return turns.RetryResult{}, turns.ErrNotFound
	case !t.State.Ended():
		return turns.RetryResult{}, turns.ErrNotEnded
	case t.State == turns.Completed:
		return turns.RetryResult{}, turns.ErrCompleted
	case len(a.queue) >= a.e.cfg.MaxQueue:
		return turns.RetryResult{}, turns.ErrQueueFull
	}
	steps, err := a.e.store.Steps(context.Background(), c.TurnID)
	if err != nil {
		return turns.RetryResult{}, err
	}
	input, err := a.inputOf(c.TurnID)
	if err != nil {
		return turns.RetryResult{}, err
	}
	b.change.use(triesOf(c.TurnID, steps))
	if b.change.root() == nil {
		return turns.RetryResult{}, turns.ErrNoAttempts
	}
	rank := int64(1)
	if n := len(a.queue); n > 0 {
		rank = a.queue[n-1].Rank + 1
	}
	b.change.rewind("", t, turns.RewindEvent{Reason: turns.CauseRequest, Message: cutText(c.Reason), Rank: rank, Usage: t.Usage})
	for _, o := range input {
		if status, err := items.Next(o.row.Status, o.row.Type, items.VerbReopen, ""); err == nil {
			o.row = b.updated(o, status)
		}
	}
	b.after = append(b.after, func(ledger.Receipt) { a.inputs[c.TurnID] = input })
	return turns.RetryResult{
		TurnID: c.TurnID, ThreadID: a.id, State: turns.Queued, Attempt: t.Attempt + 1, QueuedAt: b.change.now, Position: len(a.queue) + 1,
	}, nil
}

// startRetried starts the turn that was queued again, or says in the log why
// it waits. What cannot be stored now does not matter: the turn is queued.
func (a *actor) startRetried(r turns.RetryResult) turns.RetryResult {
	a.startNext()
	if a.active != nil && a.active.turn.TurnID == r.TurnID {
		return a.asItStands(r)
	}
	for i, t := range a.queue {
		if t.TurnID != r.TurnID {
			continue
		}
		r.Position = i + 1 // one that was before it may just have started
		why, err := a.whyQueue(turns.BusyQueue)
		if paused, draining := a.e.gate.state(); err == nil && a.active == nil && len(a.queue) == 1 && a.thread.State != "paused" {
			why = turns.QueuedCapacity
			if paused || draining {
				why = turns.QueuedPaused
			}
		}
		b := a.build()
		b.change.turn(t, t.TurnID, notify.TurnQueued, place{attempt: t.Attempt}, &turns.QueuedEvent{
			Type: "queued", State: turns.Queued, Position: r.Position, Rank: t.Rank, QueuedAt: r.QueuedAt, Reason: why,
		})
		if rc, err := a.commit(b); err == nil {
			r.Seq = rc.Last
		}
		break
	}
	return r
}

// asItStands is the answer with what was not final when it was committed: the
// attempt may wait still, run, or have ended since. Of one that has been given
// up there is no more to say than was said.
func (a *actor) asItStands(r turns.RetryResult) turns.RetryResult {
	t, err := a.turnRow(r.TurnID)
	if err != nil || t == nil || t.Attempt != r.Attempt {
		return r
	}
	r.State, r.Seq = t.State, max(r.Seq, t.UpdatedSeq)
	if t.State != turns.Queued {
		r.StartedAt, r.QueuedAt, r.Position = t.StartedAt, notify.Time{}, 0
	}
	return r
}
