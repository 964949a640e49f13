package engine

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// mayDecide returns an error if no command can be decided now: the engine has
// stopped, the thread has failed, or output is held that the log does not have.
func (a *actor) mayDecide() error {
	switch {
	case a.stopped:
		return turns.ErrDraining
	case a.dead != nil:
		return a.dead
	case a.held != nil:
		return ledger.ErrStorageFull
	}
	return nil
}

// commit commits a decision about a command. On an error nothing has changed.
func (a *actor) commit(d *decision) (ledger.Receipt, error) {
	if err := a.mayDecide(); err != nil {
		return ledger.Receipt{}, err
	}
	return a.append(d)
}

// commitOutput commits a decision about something that has happened already. The
// state has changed, so the unit must become durable: while the disk is full it is
// kept and committed again, and nothing else is decided in the thread.
func (a *actor) commitOutput(d *decision) {
	a.countWaiting() // before the event of it can be read
	if d.change.empty() {
		a.enact(d)
		return
	}
	_, err := a.append(d)
	switch {
	case err == nil:
		a.release()
	case errors.Is(err, ledger.ErrStorageFull):
		if a.held == nil {
			a.e.log.Warn("disk full: the turn is held until there is space", zap.String("thread_id", a.id))
		}
		a.held, a.heldRetryAt = d, time.Now().Add(heldRetry)
	case errors.Is(err, ledger.ErrStorageFailed):
		a.die(ledger.ErrStorageFailed)
	case a.work == nil:
		a.e.log.Error("agent output outside of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.e.lateOutput.Add(1)
		a.release()
		a.loaded = false
	default:
		a.e.log.Error("agent output cannot be stored: the turn is given up", zap.String("thread_id", a.id), zap.Error(err))
		a.startOver("the agent's output could not be stored")
	}
}

// defers reports whether a unit is held. Then f, a command of the engine's own, runs after
// the unit is committed.
func (a *actor) defers(f func(*actor)) bool {
	if a.held != nil {
		a.afterHeld = append(a.afterHeld, f)
	}
	return a.held != nil
}

// release follows the end of a held unit, if there was one.
func (a *actor) release() {
	a.held = nil
	for _, f := range a.afterHeld {
		a.in.post(f)
	}
	a.afterHeld = nil
}

// die detaches the agent because nothing of the thread can be decided any more.
// Every command is refused with why. The turn stays as it is in the log. Its slot
// is freed, so that a drain does not wait for it.
func (a *actor) die(why error) {
	a.dead, a.startRetryAt, a.inbox.wakeAt = why, time.Time{}, time.Time{}
	a.release()
	a.work.detach()
	a.slot.leave()
	a.countWaiting()
}

// commitEnd commits the end of a turn whose agent has been detached. While the
// disk is full the commit is retried. After any other error the thread fails.
func (a *actor) commitEnd(d *decision) {
	switch _, err := a.append(d); {
	case err == nil:
	case errors.Is(err, ledger.ErrStorageFull):
		a.held, a.heldRetryAt = d, time.Now().Add(heldRetry)
	default:
		a.e.log.Error("the end of a turn cannot be stored", zap.String("thread_id", a.id), zap.Error(err))
		a.die(ledger.ErrStorageFailed)
	}
}

// maxRefused is how many commits in a row may fail with an unexplained error
// before the disk counts as failed for the thread: ten seconds.
const maxRefused = 20

// retryTime logs an error and says when to try again. After a failed disk, or
// more than maxRefused unexplained errors, the thread fails and the time is zero.
func (a *actor) retryTime(what string, err error) (at time.Time) {
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

func (a *actor) append(d *decision) (ledger.Receipt, error) {
	d.change.flushDelta()
	if d.change.err != nil {
		return ledger.Receipt{}, d.change.err
	}
	if act := d.active(); act == nil || !act.mayLend() {
		a.slot.reclaim() // before the log says that it continues, or more turns might run than slots are taken
	}
	rc, err := a.e.store.Append(d.change.finish())
	if err != nil || rc.Stored != nil {
		return rc, err
	}
	a.refused = 0
	d.change.assignSeqs(rc)
	a.enact(d)
	return rc, nil
}

// enact makes the next state the actor's once it is durable. Then it applies the
// effects of the decision, and what follows from the two states: the end of the
// turn, an empty queue, a closed thread.
func (a *actor) enact(d *decision) {
	queued, owns := len(a.state.queue), a.work != nil && a.work.hasChildren
	a.state = d.next()
	a.stats.committed(d)
	if a.recovering {
		return
	}
	a.inbox.followInbox(d)
	act := a.state.active
	if act != nil {
		act.open.unshareTexts()
		if a.work == nil {
			a.slot.hold()
		}
		a.work = act.work
	}
	for _, e := range d.effects {
		e.apply(a)
	}
	switch {
	case act == nil && a.work != nil:
		a.turnEnded(d.change.turnRow(a.work.turnID))
	case act == nil && queued > 0 && len(a.state.queue) == 0:
		a.e.gate.decline(a.id)
	}
	if d.change.rows.thread != nil {
		a.waiters.closed(a.state.thread)
	}
	a.review.follow(d)
	a.child.tellFamily(d, owns)
	a.countWaiting()
}
