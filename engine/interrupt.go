package engine

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Interrupt ends a queued turn, or tells an active one to stop. It returns
// once that is durable. If the turn has not ended by then, ended delivers the
// final answer when it does; it is nil if the result is final. Errors:
// *InvalidError, ErrNotFound, ErrNotActive, ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Interrupt(ctx context.Context, c turns.Interrupt) (result turns.InterruptResult, ended <-chan turns.InterruptResult, err error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.InterruptResult{}, nil, err
	}
	threadID, err := e.threadOf(ctx, c.TurnID)
	if err != nil {
		return turns.InterruptResult{}, nil, err
	}
	type both struct {
		r     turns.InterruptResult
		ended chan turns.InterruptResult
	}
	out, err := call(ctx, e, threadID, func(a *actor) (both, error) {
		var wait chan turns.InterruptResult
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.InterruptResult, error) { return a.interrupt(b, c) })
		if err != nil {
			return both{}, err
		}
		if replayed {
			// What was not final at the commit is answered as it stands.
			if t, err := e.store.Turn(context.Background(), r.TurnID); err == nil && t != nil && t.State.Ended() {
				r.State, r.InterruptedAt, r.Message, r.Seq = string(t.State), t.CompletedAt, t.Message, t.UpdatedSeq
				return both{r: r}, nil
			}
		}
		if r.State == string(turns.Interrupting) && a.active != nil && a.active.turn.TurnID == c.TurnID {
			wait = make(chan turns.InterruptResult, 1)
			a.active.waiters = append(a.active.waiters, wait)
		}
		return both{r, wait}, nil
	})
	return out.r, out.ended, err
}

func (a *actor) interrupt(b *builder, c turns.Interrupt) (turns.InterruptResult, error) {
	reason := c.Reason
	if reason == "" {
		reason = "requested by a client"
	}
	r := turns.InterruptResult{TurnID: c.TurnID, InterruptedAt: b.change.now, Message: interruption(reason)}
	for _, t := range a.queue {
		if t.TurnID == c.TurnID {
			b.endQueued(t, reason)
			r.State = string(turns.Interrupted)
			if len(a.queue) == 1 && a.active == nil {
				b.after = append(b.after, func(ledger.Receipt) { a.e.gate.decline(a.id) })
			}
			return r, nil
		}
	}
	if a.active == nil || a.active.turn.TurnID != c.TurnID {
		return r, turns.ErrNotActive
	}
	r.State = string(turns.Interrupting)
	if s := a.active.stop; s != nil && s.state == turns.Interrupted {
		r.Message = interruption(s.reason)
		return r, nil // it is on its way already; its end is this answer too
	}
	if a.active.unattended() {
		r.State = string(turns.Interrupted)
	}
	b.stopTurn(stop{state: turns.Interrupted, reason: reason}, a.stopWithin())
	return r, nil
}
