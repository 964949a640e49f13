package turns

import (
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
)

// commit hands a unit of one command in and, once it is durable, makes its
// rows the actor's memory. On an error nothing has changed.
func (a *actor) commit(b *builder) (ledger.Receipt, error) {
	switch {
	case a.gone:
		return ledger.Receipt{}, ErrDraining
	case a.dead:
		return ledger.Receipt{}, ledger.ErrStorageFailed
	case a.held != nil:
		return ledger.Receipt{}, ledger.ErrStorageFull
	}
	return a.append(b)
}

// commitOutput hands a unit of agent output in. The actor's memory has moved
// on already, so the unit must become durable: while the disk is full it is
// kept and tried again, and nothing else happens in the thread.
func (a *actor) commitOutput(b *builder) {
	if b.empty() {
		for _, f := range b.after { // whoever waits for what came before it
			f(ledger.Receipt{})
		}
		return
	}
	_, err := a.append(b)
	switch {
	case err == nil:
		a.held = nil
	case errors.Is(err, ledger.ErrStorageFull):
		if a.held == nil {
			a.e.log.Warn("disk full: the turn is held until there is space", zap.String("thread_id", a.id))
		}
		a.held, a.heldBy = b, time.Now().Add(heldRetry)
	case errors.Is(err, ledger.ErrStorageFailed):
		a.die()
	case a.active == nil:
		a.e.log.Error("what an agent said outside of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.e.late.Add(1)
		a.held, a.loaded = nil, false
	default:
		a.e.log.Error("agent output cannot be stored: the turn is given up", zap.String("thread_id", a.id), zap.Error(err))
		a.giveUpTurn()
	}
}

// die parts from the agent because nothing of the thread can be stored any
// more. The turn stays as the log has it; its place is free, so that a drain
// does not wait for it.
func (a *actor) die() {
	a.dead, a.held = true, nil
	if a.active == nil {
		return
	}
	a.active.setWaiting(a.e, false)
	a.abandonRun()
	a.leaveGate(a.active)
}

// giveUpTurn ends a turn whose memory and log have parted, from what the log
// says of it.
func (a *actor) giveUpTurn() {
	was := a.active
	a.abandonRun()
	a.held, a.loaded = nil, false
	if err := a.load(); err != nil || a.active == nil {
		a.active = was
		a.die()
		return
	}
	was.setWaiting(a.e, false)
	a.active.waiters, a.active.placed = was.waiters, was.placed
	b := a.build()
	b.endTurn(ending{state: Failed, failure: &Failure{Kind: "internal", Message: "the agent's output could not be stored"}})
	b.after = append(b.after, a.turnOver)
	switch _, err := a.append(b); {
	case err == nil:
	case errors.Is(err, ledger.ErrStorageFull):
		a.held, a.heldBy = b, time.Now().Add(heldRetry)
	default:
		a.die()
	}
}

func (a *actor) append(b *builder) (ledger.Receipt, error) {
	b.flushDelta()
	if b.err != nil {
		return ledger.Receipt{}, b.err
	}
	rc, err := a.e.store.Append(b.finish(a.thread))
	if err != nil || rc.Stored != nil {
		return rc, err
	}
	a.adopt(b, rc)
	return rc, nil
}

// adopt makes committed rows the actor's memory.
func (a *actor) adopt(b *builder, rc ledger.Receipt) {
	n := len(b.unit.Drafts)
	if b.rows.thread != nil {
		a.thread = b.rows.thread
	}
	if b.tries != nil {
		b.tries.settle(rc.First)
	}
	if b.open != nil {
		a.active.open = *b.open
	}
	if n > 0 && a.thread != nil {
		a.thread.LatestSeq, a.thread.LatestThreadSeq = rc.Last, b.unit.Base+int64(n)
	}
	for _, t := range b.rows.turns {
		a.queue = slices.DeleteFunc(a.queue, func(q *Turn) bool { return q.TurnID == t.TurnID })
		switch {
		case t.State == Queued:
			a.queue = append(a.queue, t)
			slices.SortFunc(a.queue, byRank)
			if t.Attempt > 1 && b.tries != nil && b.tries.turnID == t.TurnID {
				a.tried[t.TurnID] = b.tries
			}
		case a.active != nil && a.active.turn.TurnID == t.TurnID:
			a.active.turn = t
		case t.State == Active:
			a.active = a.newActive(t, b.tries)
			a.active.placed = true
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		default:
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		}
	}
	if b.tries != nil && a.active != nil && a.active.turn.TurnID == b.tries.turnID {
		a.active.tries = b.tries
	}
	for _, f := range b.after {
		f(rc)
	}
	if b.rows.thread != nil && a.thread.State == threads.Closed {
		a.isClosed()
	}
}
