package engine

import (
	"time"

	"github.com/seed82539d15/holon/turns"
)

// nextDue returns when runDue has something to do; zero = never.
func (a *actor) nextDue() time.Time {
	if a.dead != nil {
		return time.Time{}
	}
	if a.held != nil {
		return a.heldRetryAt
	}
	next := a.startRetryAt
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	at(a.inbox.wakeAt)
	at(a.child.lookAt)
	if act := a.state.active; act != nil {
		at(act.work.stopBy)
		if act.work.exec != nil {
			at(act.work.exec.due())
		}
		at(a.attemptDue())
		if act.stop == nil {
			at(act.clock.due())
		}
		if act.progressNext != nil {
			at(act.progressAt.Add(progressEvery))
		}
		for _, o := range act.open.list {
			if !act.work.left { // the next server ends what has expired
				at(o.expires)
			}
		}
	}
	return next
}

// attemptDue returns when the attempt that the active turn waits for begins; zero =
// there is none, or the turn has no slot yet.
func (a *actor) attemptDue() time.Time {
	due := a.state.active.retryAt
	if due.IsZero() || !a.slot.held() {
		return time.Time{}
	}
	if a.attemptRetryAt.After(due) {
		return a.attemptRetryAt
	}
	return due
}

// sleepTime returns how long the actor may wait for its intake. What is due is a time of the
// wall: a timer stands still while the machine sleeps.
func (a *actor) sleepTime() time.Duration {
	const asleep = time.Hour
	if next := a.nextDue(); !next.IsZero() {
		return min(max(0, time.Until(next)), maxSleep)
	}
	switch {
	case a.state.active != nil || a.dead != nil:
		return asleep
	case a.loaded && a.state.thread == nil:
		return 0 // there is no such thread: the actor ends at once
	}
	return idleAfter
}

// runDue does the work that is due.
func (a *actor) runDue() {
	if a.held != nil {
		a.commitOutput(a.held)
		return
	}
	now := time.Now()
	is := func(due time.Time) bool { return !due.IsZero() && !now.Before(due) }
	if is(a.startRetryAt) {
		a.startRetryAt = time.Time{}
		a.startNext()
	}
	if is(a.child.lookAt) {
		a.child.look()
	}
	act := a.state.active
	if is(a.inbox.wakeAt) {
		a.inbox.wakeAt = time.Time{}
		if act == nil {
			a.startNext()
		}
	}
	if act = a.state.active; act == nil {
		return
	}
	d := a.observe()
	switch {
	case is(act.work.stopBy) && act.work.exec == nil: // it has stopped
		act.work.stopBy = time.Time{}
	case is(act.work.stopBy):
		// It has had its time, so it is detached now, even if a full disk keeps the
		// end of its prompt from the log.
		why := act.work.exec.overdueReason()
		act.work.exec.detach()
		d.turn.promptEnded(turns.Outcome{State: turns.Interrupted, StopReason: why})
	case act.stop == nil && is(act.clock.due()):
		d.turn.stop(timedOut(), d.stopWithin())
	case act.work.exec != nil && is(act.work.exec.due()):
		a.expireWorker(act.work.worker())
		return
	case is(a.attemptDue()):
		a.startAttempt()
		return
	default:
		d.turn.sendMessage(now)
		if !act.work.left {
			d.turn.expireQuestions(now)
		}
	}
	a.commitOutput(d)
}

const timeoutReason = "timeout"

// timedOut returns the stop of a turn that has used up its timeout_seconds.
func timedOut() stop {
	return stop{
		state: turns.Failed, reason: timeoutReason,
		failure: &turns.Failure{Kind: "timeout", Message: "the turn took longer than its timeout_seconds"},
	}
}
