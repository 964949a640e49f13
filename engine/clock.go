package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// nextDue is when onTime has something to do; zero = never.
func (a *actor) nextDue() time.Time {
	if a.dead != nil {
		return time.Time{}
	}
	if a.held != nil {
		return a.heldBy
	}
	next := a.startBy
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if act := a.active; act != nil {
		at(act.stopBy)
		at(act.worker.due())
		if act.placed {
			at(act.retryAt)
		}
		if act.stop == nil && act.timeout > 0 && !act.runSince.IsZero() {
			at(act.runSince.Add(act.timeout))
		}
		if act.progressNext != nil {
			at(act.progressAt.Add(progressEvery))
		}
		for _, o := range act.open.list {
			if o.ask != nil && o.ask.expires > 0 {
				at(time.UnixMilli(o.ask.expires))
			}
		}
	}
	return next
}

// untilNext is how long the actor may sleep.
func (a *actor) untilNext() time.Duration {
	const asleep = time.Hour
	if next := a.nextDue(); !next.IsZero() {
		return max(0, time.Until(next))
	}
	switch {
	case a.active != nil || a.dead != nil:
		return asleep
	case a.loaded && a.thread == nil:
		return 0 // an id that names nothing is not worth keeping an actor for
	}
	return idleAfter
}

// onTime does what is due.
func (a *actor) onTime() {
	if a.held != nil {
		a.commitOutput(a.held)
		return
	}
	now := time.Now()
	if !a.startBy.IsZero() && !now.Before(a.startBy) {
		a.startBy = time.Time{}
		a.startNext()
	}
	act := a.active
	if act == nil {
		return
	}
	b := a.build()
	switch {
	case !act.stopBy.IsZero() && !now.Before(act.stopBy):
		b.giveUp()
	case act.stop == nil && act.timeout > 0 && !act.runSince.IsZero() && act.left() <= 1:
		b.stopTurn(timedOut(), a.stopWithin())
	case act.worker.isOver(now):
		a.hearWorker()
		return
	case act.placed && act.waitsForAttempt() && !now.Before(act.retryAt):
		a.startAttempt()
		return
	default:
		if act.progressNext != nil && now.Sub(act.progressAt) >= progressEvery {
			b.progress(b.activeRow().Progress, *act.progressNext)
			act.progressAt, act.progressNext = now, nil
		}
		b.expire(now)
	}
	a.commitOutput(b)
}

const timeoutReason = "timeout"

// timedOut is the stop of a turn that has used up its timeout_seconds.
func timedOut() stop {
	return stop{
		state: turns.Failed, reason: timeoutReason,
		failure: &turns.Failure{Kind: "timeout", Message: "the turn took longer than its timeout_seconds"},
	}
}

// giveUp goes on without an agent, or a worker, that did not stop in time.
func (b *builder) giveUp() {
	act := b.a.active
	if act.worker != nil && act.stop != nil {
		b.endStopped(act.stop, turns.Outcome{StopReason: "the worker did not stop in time"})
		return
	}
	if act.run == nil {
		return
	}
	run := act.run
	run.cancel(errAbandoned)
	b.promptEnded(turns.Outcome{State: turns.Interrupted, StopReason: "the agent did not stop in time"})
}

// expire ends the questions whose time has come, as they were configured.
func (b *builder) expire(now time.Time) {
	act := b.a.active
	left := 0
	for _, o := range act.open.list {
		if o.ask == nil {
			continue
		}
		if o.ask.expires == 0 || now.Before(time.UnixMilli(o.ask.expires)) {
			left++
			continue
		}
		ans := turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeExpired}}
		if p, ok := o.content.(items.PermissionRequest); ok {
			if opt, ok := optionOfKind(p.Options, o.ask.options.OnExpiry); ok {
				ans.Outcome.OptionID, ans.Outcome.Kind = opt.OptionID, opt.Kind
				ans.Status = statusOfKind(opt.Kind)
			}
		}
		b.resolve(o, ans, "expiry")
	}
	if left == 0 && act.isWaiting {
		b.answered()
	}
}

// answered adds what follows the last answer a turn waited for.
func (b *builder) answered() {
	act := b.a.active
	if act.stop == nil {
		b.progress(turns.Running, "")
	}
	b.after = append(b.after, func(ledger.Receipt) { act.setWaiting(b.a.e, false) })
}

func optionOfKind(options []items.Option, kind string) (items.Option, bool) {
	for _, o := range options {
		if kind != "" && o.Kind == kind {
			return o, true
		}
	}
	return items.Option{}, false
}

// statusOfKind is the status of a permission request that was answered so.
func statusOfKind(kind string) items.Status {
	if kind == items.AllowOnce || kind == items.AllowAlways {
		return items.StatusCompleted
	}
	return items.StatusDeclined
}
