package engine

import (
	"context"
	"errors"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// Workers is the part of the engine that workers call over the wire. Claim gives
// a worker a turn and a lease; every other method needs a lease. A change that
// returns without an error is durable (I1). All methods may be called from many
// goroutines, once Recover has returned: a command runs in the actor of its turn's
// thread, and claims and secret have locks of their own.
type Workers struct {
	e      *Engine
	claims claims      // turns that wait for workers, and workers that wait for turns
	secret leaseSecret // signs leases
}

// Workers returns the Workers of the engine; New has made it.
func (e *Engine) Workers() *Workers { return e.workers }

// leaseCommand is one command of a worker.
type leaseCommand[R any] struct {
	lease turns.Lease
	key   *ledger.Key
	// decide is f of keyed. The lease is valid and its attempt is live.
	decide func(d *decision) (R, error)
	// renews says that the command shows that the worker is there, also while
	// nothing can be stored.
	renews bool
	// afterCommit follows the commit, or the answer by the key; nil = nothing.
	afterCommit func(a *actor, r *R, replayed bool)
	// lateEvents is what turn/late keeps of the command if its attempt was
	// superseded; nil = nothing.
	lateEvents func(d *decision) ([]lateEvent, error)
}

// withLease runs a worker's command in the actor of its turn. Writes to a
// superseded try are kept as turn/late and refused.
func withLease[R any, P ledger.Result[R]](ctx context.Context, ws *Workers, c leaseCommand[R]) (R, error) {
	var none R
	if err := ws.secret.check(ctx, c.lease); err != nil {
		return none, err
	}
	threadID, err := ws.e.threadOf(ctx, c.lease.TurnID)
	if err != nil {
		return none, err
	}
	return inActor(ctx, ws.e, threadID, func(a *actor) (R, error) {
		if c.renews && a.e.rules.mustHold(a.state, c.lease) == nil {
			a.state.active.claimedWorker().renew()
		}
		if err := a.mayDecide(); err != nil {
			return none, err
		}
		decide := func() (R, bool, error) {
			return keyed[R, P](a, c.key, func(d *decision) (R, error) {
				if err := a.e.rules.mustHold(d.next(), c.lease); err != nil {
					return none, err
				}
				return c.decide(d)
			})
		}
		r, replayed, err := decide()
		for errors.Is(err, turns.ErrChildrenMoved) { // a child turn has started meanwhile, and the turn must wait for it
			a.work.hasChildren = true
			r, replayed, err = decide()
		}
		var late *lateError
		switch {
		case errors.As(err, &late):
			return none, refuseLate(a, c.lease, late, c.lateEvents)
		case err == nil && c.afterCommit != nil:
			c.afterCommit(a, &r, replayed)
		}
		return r, err
	})
}
