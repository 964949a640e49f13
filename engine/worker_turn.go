package engine

import (
	"context"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Renew extends a lease by another period, and returns what has happened to the
// turn since. The steers of an answer count as delivered with the worker's next
// request (Renew, Complete or Fail), not before: an answer may be lost, and a
// repeat with the same key has them again. Errors: ErrLease,
// ErrNotFound, ErrNotActive, *SupersededError, ledger.ErrKeyConflict, ErrDraining,
// ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (ws *Workers) Renew(ctx context.Context, c turns.Renew) (turns.RenewResult, error) {
	return withLease(ctx, ws, leaseCommand[turns.RenewResult]{
		lease: c.Lease, key: c.Key, renews: true,
		decide: func(d *decision) (turns.RenewResult, error) {
			act := d.active()
			unsent := act.unsentSteers()
			d.turn.confirmSent()
			r := turns.RenewResult{
				ExpiresAt: notify.TimeOf(act.work.worker().until), InterruptRequested: act.stop != nil, Steers: []turns.WorkerInput{},
			}
			for _, id := range unsent {
				if o := act.open.get(id); o != nil {
					r.Steers = append(r.Steers, workerInput([]*openItem{o})...)
				}
			}
			return r, nil
		},
		afterCommit: func(a *actor, r *turns.RenewResult, replayed bool) {
			if a.e.rules.mustHold(a.state, c.Lease) != nil {
				return // a repeated answer of a lease that is no longer held
			}
			w := a.state.active.work.worker()
			r.ExpiresAt, r.InterruptRequested = notify.TimeOf(w.until), a.state.active.stop != nil
			if !replayed {
				w.sent = nil
			} // a repeated answer has the same steers again, even after a restart
			a.state.active.markSent(r.Steers)
		},
	})
}

// Complete ends the turn of a lease as completed, or as interrupted if an
// interrupt was requested before. Errors: as WriteItems.
func (ws *Workers) Complete(ctx context.Context, c turns.CompleteTurn) (turns.EndTurnResult, error) {
	if err := turns.CheckText("message", c.Message); err != nil {
		return turns.EndTurnResult{}, err
	}
	if c.Format.Check() != nil {
		return turns.EndTurnResult{}, turns.Invalid("format", turns.ReasonUnknown, "must be markdown or plain")
	}
	usage := c.Usage
	if usage != nil {
		u := *usage
		u.Type = items.KindUsage
		usage = &u
		if u.Cost != nil {
			if err := turns.CheckText("usage.cost.currency", u.Cost.Currency); err != nil {
				return turns.EndTurnResult{}, err
			}
		}
	}
	return withLease(ctx, ws, leaseCommand[turns.EndTurnResult]{
		lease: c.Lease, key: c.Key,
		decide: func(d *decision) (turns.EndTurnResult, error) {
			if usage != nil {
				d.active().usage = usage
			}
			return d.turn.endByWorker(turns.Outcome{State: turns.Completed, Message: c.Message, Format: c.Format}), nil
		},
		lateEvents: func(d *decision) ([]lateEvent, error) {
			return lateEnd(c.Lease, notify.TurnCompleted, &turns.EndedEvent{
				Type: "completed", State: turns.Completed, CompletedAt: d.change.now, Message: c.Message, Format: c.Format, Usage: usage,
			}), nil
		},
	})
}

// Fail ends the attempt of a lease. The turn is retried if the failure is
// transient and the policy allows it; otherwise it ends as failed, or as
// interrupted if an interrupt was requested before. Errors: as WriteItems.
func (ws *Workers) Fail(ctx context.Context, c turns.FailTurn) (turns.EndTurnResult, error) {
	failure := c.Error
	if failure.Kind == "" {
		failure.Kind = "agent_failed"
	}
	for field, s := range map[string]string{"error.kind": failure.Kind, "error.message": failure.Message} {
		if err := turns.CheckText(field, s); err != nil {
			return turns.EndTurnResult{}, err
		}
	}
	out := turns.Outcome{State: turns.Failed, Failure: &failure}
	if c.Transient {
		out.Cause = turns.CauseTransient
	}
	return withLease(ctx, ws, leaseCommand[turns.EndTurnResult]{
		lease: c.Lease, key: c.Key,
		decide: func(d *decision) (turns.EndTurnResult, error) { return d.turn.endByWorker(out), nil },
		lateEvents: func(d *decision) ([]lateEvent, error) {
			return lateEnd(c.Lease, notify.TurnFailed, &turns.EndedEvent{
				Type: "failed", State: turns.Failed, CompletedAt: d.change.now, Error: &failure,
			}), nil
		},
	})
}

// endByWorker ends the turn or its attempt as the worker says, or as an earlier
// stop says.
func (w *turnWriter) endByWorker(out turns.Outcome) turns.EndTurnResult {
	act := w.d.active()
	w.confirmSent()
	switch {
	case act.stop != nil:
		w.endStopped(act.stop, out)
	case out.Cause != "" && w.retry(out.Cause, out.Why()):
	case out.State == turns.Completed && w.waits(out):
	default:
		w.end(ending{state: out.State, message: out.Message, format: out.Format, failure: out.Failure})
	}
	row := w.d.change.turnRow(act.turn.TurnID)
	return turns.EndTurnResult{TurnID: row.TurnID, State: row.State, RetryAt: row.RetryAt, WaitsFor: row.WaitsFor}
}

func lateEnd(l turns.Lease, method string, e *turns.EndedEvent) []lateEvent {
	return []lateEvent{{epoch: l.Attempt, method: method, params: e}}
}
