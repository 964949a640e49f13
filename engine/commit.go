package engine

import (
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// commit hands a unit of one command in and, once it is durable, makes its
// rows the actor's memory. On an error nothing has changed.
func (a *actor) commit(b *builder) (ledger.Receipt, error) {
	switch {
	case a.gone:
		return ledger.Receipt{}, turns.ErrDraining
	case a.dead != nil:
		return ledger.Receipt{}, a.dead
	case a.held != nil:
		return ledger.Receipt{}, ledger.ErrStorageFull
	}
	return a.append(b)
}

// commitOutput hands a unit of agent output in. The actor's memory has moved
// on already, so the unit must become durable: while the disk is full it is
// kept and tried again, and nothing else happens in the thread.
func (a *actor) commitOutput(b *builder) {
	if b.change.empty() {
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
		a.die(ledger.ErrStorageFailed)
	case a.active == nil:
		a.e.log.Error("what an agent said outside of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.e.late.Add(1)
		a.held, a.loaded = nil, false
	default:
		a.e.log.Error("agent output cannot be stored: the turn is given up", zap.String("thread_id", a.id), zap.Error(err))
		a.startOver("the agent's output could not be stored")
	}
}

// die parts from the agent because nothing of the thread can be decided any
// more; every command is refused with why. The turn stays as the log has it;
// its place is free, so that a drain does not wait for it.
func (a *actor) die(why error) {
	a.dead, a.held, a.startBy = why, nil, time.Time{}
	a.leave()
	if a.active == nil {
		return
	}
	a.active.setWaiting(a.e, false)
	a.abandonRun()
	a.leaveGate(a.active)
}

// commitLast hands in the end of a turn whose agent has been parted from. What
// the disk has no room for is tried again; after anything else there is nothing
// more to try.
func (a *actor) commitLast(b *builder) {
	switch _, err := a.append(b); {
	case err == nil:
	case errors.Is(err, ledger.ErrStorageFull):
		a.held, a.heldBy = b, time.Now().Add(heldRetry)
	default:
		a.e.log.Error("the end of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.die(ledger.ErrStorageFailed)
	}
}

// maxRefused is how many commits in a row may fail in a way that nothing
// explains before the thread is treated as one of a failed disk: ten seconds.
const maxRefused = 20

// tryLater says when to try again what could not be committed. After a disk
// that failed, or too many errors that nothing explains, it is never.
func (a *actor) tryLater(what string, err error) (at time.Time) {
	a.e.log.Warn(what, zap.String("thread_id", a.id), zap.Error(err))
	if !errors.Is(err, ledger.ErrStorageFull) {
		a.refused++
	}
	if errors.Is(err, ledger.ErrStorageFailed) || a.refused > maxRefused {
		a.die(ledger.ErrStorageFailed)
		return time.Time{}
	}
	return time.Now().Add(heldRetry)
}

func (a *actor) append(b *builder) (ledger.Receipt, error) {
	b.change.flushDelta()
	if b.change.err != nil {
		return ledger.Receipt{}, b.change.err
	}
	if a.active != nil && !b.activeRow().WaitsForPerson() {
		a.claimPlace(a.active) // before the log says that it goes on, or more turns might run than places are taken
	}
	rc, err := a.e.store.Append(b.change.finish(a.thread))
	if err != nil || rc.Stored != nil {
		return rc, err
	}
	a.adopt(b, rc)
	return rc, nil
}

// adopt makes committed rows the actor's memory.
func (a *actor) adopt(b *builder, rc ledger.Receipt) {
	a.newest = b.change.newest
	a.refused = 0
	n := len(b.change.unit.Drafts)
	if b.change.rows.thread != nil {
		a.thread = b.change.rows.thread
	}
	if b.change.tries != nil {
		b.change.tries.settle(rc.First)
	}
	if b.open != nil {
		a.active.open = *b.open
	}
	if n > 0 && a.thread != nil {
		a.thread.LatestSeq, a.thread.LatestThreadSeq = rc.Last, b.change.unit.Base+int64(n)
	}
	for _, t := range b.change.rows.turns {
		a.queue = slices.DeleteFunc(a.queue, func(q *turns.Turn) bool { return q.TurnID == t.TurnID })
		switch {
		case t.State == turns.Queued:
			a.queue = append(a.queue, t)
			slices.SortFunc(a.queue, byRank)
			if t.Attempt > 1 && b.change.tries != nil && b.change.tries.turnID == t.TurnID {
				a.tried[t.TurnID] = b.change.tries
			}
		case a.active != nil && a.active.turn.TurnID == t.TurnID:
			a.active.turn = t
		case t.State == turns.Active:
			a.active = a.newActive(t, b.change.tries)
			a.active.placed, a.entered = true, false
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		default:
			delete(a.inputs, t.TurnID)
			delete(a.tried, t.TurnID)
		}
	}
	if b.change.tries != nil && a.active != nil && a.active.turn.TurnID == b.change.tries.turnID {
		a.active.tries = b.change.tries
	}
	for _, f := range b.after {
		f(rc)
	}
	if b.change.rows.thread != nil && a.thread.State == threads.Closed {
		a.isClosed()
	}
}
