package engine

import (
	"cmp"
	"context"
	"strings"

	"github.com/seed82539d15/holon/turns"
)

// Interrupt ends a queued turn, or asks an active one to stop. It returns once
// that is durable. If the turn has not ended by then, ended delivers the final
// answer when it does. ended is nil if the result is final. Errors:
// *InvalidError, ErrNotFound, ErrNotActive, ledger.ErrKeyConflict, ledger.ErrStorageFull,
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
		r, replayed, err := keyed(a, c.Key, func(d *decision) (turns.InterruptResult, error) { return d.interrupt(c) })
		if err != nil {
			return both{}, err
		}
		if replayed {
			// An answer that was not final at the commit has the present state.
			if t, err := e.rows.Turn(context.Background(), r.TurnID); err == nil && t != nil && t.State.Ended() {
				r.State, r.InterruptedAt, r.Message, r.Seq = string(t.State), t.CompletedAt, t.Message, t.UpdatedSeq
				return both{r: r}, nil
			}
		}
		if r.State == string(turns.Interrupting) && a.state.isActive(c.TurnID) {
			wait = a.waiters.forEnd(c.TurnID)
		}
		return both{r, wait}, nil
	})
	return out.r, out.ended, err
}

func (d *decision) interrupt(c turns.Interrupt) (turns.InterruptResult, error) {
	by, reason := cmp.Or(c.By, turns.ByClient), c.Reason
	if reason == "" {
		reason = "requested by a client"
		if name, ok := strings.CutPrefix(string(by), turns.ByTokenPrefix); ok {
			reason = "requested by " + name
		} else if by == turns.ByOwner {
			reason = "requested by the owner's agent"
		}
	}
	r := turns.InterruptResult{TurnID: c.TurnID, InterruptedAt: d.change.now, Message: interruption(reason)}
	if q := d.next().queued(c.TurnID); q != nil {
		d.turn.endQueued(q.turn, by, reason)
		r.State = string(turns.Interrupted)
		return r, nil
	}
	if !d.next().isActive(c.TurnID) {
		return r, turns.ErrNotActive
	}
	act := d.active()
	r.State = string(turns.Interrupting)
	if s := act.stop; s != nil && s.state == turns.Interrupted {
		r.Message = interruption(s.reason)
		return r, nil // it stops already; its end answers this request too
	}
	if act.unattended() {
		r.State = string(turns.Interrupted)
	}
	d.turn.stop(stop{by: by, state: turns.Interrupted, reason: reason}, d.stopWithin())
	return r, nil
}
