package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// errNotClaimable says that an offered turn has ended, or was retried,
// before the worker could claim it.
var errNotClaimable = errors.New("the turn is not to be claimed any more")

// Claim gives a worker the turn of the agent that has waited longest. If there is
// none, it waits; workers are served first come first served. If none comes in
// time, the result is empty and err is nil. A worker that has disconnected (ctx)
// gets no turn. Errors: *InvalidError, ErrAgentNotFound, ErrOverloaded (too many
// workers wait), ledger.ErrKeyConflict, ErrDraining, ledger.ErrStorageFull,
// ledger.ErrStorageFailed, ctx's.
func (ws *Workers) Claim(ctx context.Context, c turns.Claim) (turns.ClaimResult, error) {
	if err := ws.checkClaim(c); err != nil {
		return turns.ClaimResult{}, err
	}
	if r, ok, err := ledger.Replay[turns.ClaimResult](ws.e.store, c.Key); err != nil {
		return turns.ClaimResult{}, err
	} else if ok {
		return ws.replayClaim(ctx, r)
	}
	timeout := time.NewTimer(c.Wait)
	defer timeout.Stop()
	for front := false; ; front = true {
		o, ok, err := ws.claims.take(ctx, c.Agent, timeout.C, front)
		if err != nil || !ok {
			return turns.ClaimResult{}, err
		}
		r, replayed, err := ws.claimTurn(ctx, c, o)
		switch {
		case errors.Is(err, errNotClaimable):
			continue
		case err == nil && replayed:
			return ws.replayClaim(ctx, r)
		}
		return r, err
	}
}

func (ws *Workers) checkClaim(c turns.Claim) error {
	if ws.e.rules.agents[c.Agent] == nil {
		return ws.e.rules.agents.missing(c.Agent)
	}
	if ws.e.rules.agents[c.Agent].remote == nil {
		return turns.Invalid("agent", turns.ReasonInvalid, "%s runs its turns itself: only turns of an agent of kind worker are claimed", c.Agent)
	}
	if len(c.Worker) > turns.MaxWorkerName {
		return turns.Invalid("worker", turns.ReasonTooLarge, "has %d bytes, at most %d are allowed", len(c.Worker), turns.MaxWorkerName)
	}
	if c.Wait < 0 || c.Wait > turns.MaxClaimWait {
		return turns.Invalid("wait_seconds", turns.ReasonRange, "must be between 0 and %d", int(turns.MaxClaimWait.Seconds()))
	}
	return turns.CheckText("worker", c.Worker)
}

// claimTurn runs claim in the actor of an offered turn. Unlike call, it puts the
// turn back into the queue if the actor cannot be reached.
func (ws *Workers) claimTurn(ctx context.Context, c turns.Claim, o offer) (turns.ClaimResult, bool, error) {
	type answer struct {
		r        turns.ClaimResult
		replayed bool
		err      error
	}
	done := make(chan answer, 1)
	err := ws.e.actors.submit(o.threadID, func(a *actor) {
		out := answer{err: turns.ErrInternal} // if it panics
		defer func() { done <- out }()
		out.r, out.replayed, out.err = a.claim(ctx, c, o)
	}, false)
	if err != nil {
		ws.claims.offer(c.Agent, o, true)
		return turns.ClaimResult{}, false, err
	}
	select {
	case out := <-done:
		return out.r, out.replayed, out.err
	case <-ctx.Done():
		return turns.ClaimResult{}, false, context.Cause(ctx)
	}
}

// claim commits that a worker has the turn. On an error the turn goes back to the
// front of the queue for another worker, unless it can no longer be claimed.
func (a *actor) claim(ctx context.Context, c turns.Claim, o offer) (r turns.ClaimResult, replayed bool, err error) {
	claimed := false
	defer func() {
		if !claimed && err != errNotClaimable {
			a.e.workers.claims.offer(c.Agent, o, true)
		}
	}()
	if a.dead != nil { // offered again, it would keep all other turns of the agent waiting
		return r, false, errNotClaimable
	}
	if err := a.load(); err != nil {
		return r, false, err
	}
	act := a.state.active
	if act == nil || act.turn.TurnID != o.turnID || act.turn.Attempt != o.attempt || act.turn.Prompts != o.prompt {
		return r, false, errNotClaimable
	}
	w := act.work.worker()
	if w == nil || !w.unattended() {
		return r, false, errNotClaimable
	}
	defer func() {
		if errors.Is(err, ledger.ErrStorageFull) {
			w.since = time.Now() // a worker has come, and a full disk is not its fault
		}
	}()
	switch err := a.mayDecide(); {
	case err != nil:
		return r, false, err
	case ctx.Err() != nil: // the worker has disconnected
		return r, false, context.Cause(ctx)
	case a.e.pause.isDraining():
		return r, false, turns.ErrDraining
	}
	input, err := a.e.rules.readInput(act.turn)
	if err != nil {
		return r, false, err
	}
	lease := turns.Lease{TurnID: o.turnID, Attempt: o.attempt, Prompt: o.prompt}
	token, err := a.e.workers.secret.token(context.Background(), lease)
	if err != nil {
		return r, false, err
	}
	r, replayed, err = keyed(a, c.Key, func(d *decision) (turns.ClaimResult, error) {
		d.turn.addProgressEvent(turns.ProgressEvent{State: turns.Running, Claimed: true, Worker: c.Worker})
		// This is stored with the key. replayClaim reads the rest again; the
		// token is stored nowhere.
		return turns.ClaimResult{
			Turn: &turns.Turn{TurnID: o.turnID, ThreadID: o.threadID, Attempt: o.attempt}, Lease: &lease,
		}, nil
	})
	if err != nil || replayed {
		return r, replayed, err
	}
	claimed = true
	w.beginLease()
	act = a.state.active
	turn := *act.turn
	r.Turn, r.Cwd, r.Input = &turn, a.state.thread.Cwd, workerInput(input)
	act.markSent(r.Input)
	r.Lease.Token, r.Lease.ExpiresAt = token, notify.TimeOf(w.until)
	r.Access = grant(a, w)
	return r, false, nil
}

// replayClaim completes the answer that is stored with a key: the turn as it is
// now, and the lease as it was given, even if it is no longer valid.
func (ws *Workers) replayClaim(ctx context.Context, r turns.ClaimResult) (turns.ClaimResult, error) {
	return call(ctx, ws.e, r.Turn.ThreadID, func(a *actor) (turns.ClaimResult, error) {
		row, err := a.e.rules.turnRow(a.state, r.Lease.TurnID)
		switch {
		case err != nil:
			return turns.ClaimResult{}, err
		case row == nil:
			return turns.ClaimResult{}, turns.ErrNotFound
		}
		input, err := a.e.rules.readInput(row)
		if err != nil {
			return turns.ClaimResult{}, err
		}
		if r.Lease.Token, err = ws.secret.token(context.Background(), *r.Lease); err != nil {
			return turns.ClaimResult{}, err
		}
		turn := *row
		r.Turn, r.Cwd, r.Input = &turn, a.state.thread.Cwd, workerInput(input)
		if a.e.rules.mustHold(a.state, *r.Lease) == nil {
			r.Lease.ExpiresAt = notify.TimeOf(a.state.active.work.worker().until)
			r.Access = grant(a, a.state.active.work.worker())
			a.state.active.markSent(r.Input)
		}
		return r, nil
	})
}

// workerInput returns input as workers receive it.
func workerInput(input []*openItem) []turns.WorkerInput {
	list := make([]turns.WorkerInput, 0, len(input))
	for _, o := range input {
		if m, ok := o.content.(items.UserMessage); ok {
			list = append(list, turns.WorkerInput{ItemID: o.row.ItemID, Type: "message", Role: m.Role, Content: m.Content})
		}
	}
	return list
}
