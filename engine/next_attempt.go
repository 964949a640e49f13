package engine

import (
	"fmt"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// retry supersedes the attempt of the active turn if the turn's policy allows
// another one: open items except user messages end as interrupted, then comes the
// marker, and the next attempt begins with its wait. Otherwise it adds nothing and
// reports false; the caller ends the turn.
func (w *turnWriter) retry(c turns.Cause, message string) bool {
	return w.retryWith(turns.RewindEvent{Reason: c, Message: message})
}

// retryRestarted retries because the server has ended, or ends. uncounted says that this
// is not the turn's fault, so that the attempt does not count against max_attempts.
// Restarts in a row in which the agent says nothing are bounded nevertheless.
func (w *turnWriter) retryRestarted(message string, uncounted bool) bool {
	marker := turns.RewindEvent{Reason: turns.CauseServer, Message: message, Uncounted: uncounted}
	if act := w.d.active(); !act.hasOutput {
		marker.SilentRestarts = act.turn.SilentRestarts + 1
	}
	return !w.d.active().silentTooOften() && w.retryWith(marker)
}

// retryWith retries with this marker, which has at least a reason.
func (w *turnWriter) retryWith(marker turns.RewindEvent) bool {
	act, row := w.d.active(), w.d.active().turn
	p := w.d.agent().retryPolicy(row.Retry)
	spent := !marker.Uncounted && row.Attempt-row.Uncounted >= p.MaxAttempts
	if act.stop != nil || p.OnCrash != turns.CrashRetry || spent || w.d.change.root() == nil {
		return false
	}
	marker.Message, marker.UsedMs, marker.Usage = cutText(marker.Message), w.usedMs(), act.usage
	w.d.steps.endOpenItems("")
	w.d.change.rewind("", row, marker)
	at := notify.TimeOf(w.d.change.now.Add(p.Wait(row.TurnID, row.Attempt)))
	w.d.change.beginTry("")
	w.addProgressEvent(turns.ProgressEvent{State: turns.Waiting, Message: marker.Message, RetryAt: at})
	act.usage, act.cut, act.answers = nil, false, nil
	act.progressNext, act.progressAt = nil, time.Time{}
	act.clock.wait(false)
	act.retryAt = at.Time
	w.d.addEffect(supersedeWork{})
	return true
}

// usedMs returns what the turn has used of its timeout, 0 if it has none.
func (w *turnWriter) usedMs() int64 {
	act := w.d.active()
	total := timeoutOf(act.turn, w.d.rules.cfg.DefaultTimeout)
	if total == 0 {
		return 0
	}
	return (total - act.clock.left()).Milliseconds()
}

// addAttempt begins the attempt that the active turn waits for. The agent gets
// all user messages of the turn so far as one prompt.
func (d *decision) addAttempt() error {
	act := d.active()
	input, err := d.rules.readInput(act.turn)
	if err != nil {
		return err
	}
	d.turn.addStarted(act.turn, act.turn.TurnID, turns.OriginRetry, request{})
	d.items.completeInput(input)
	for _, o := range input {
		act.open.remove(o.row.ItemID)
	}
	act.steers, act.retryAt = nil, time.Time{}
	if err := d.child.tellInput(messages(input)); err != nil {
		return err
	}
	earlier, err := d.child.tellEarlierChildren(messages(input))
	if err != nil {
		return err
	}
	d.turn.addPrompt(append(messages(input), earlier...))
	return nil
}

// recoverTurn retries or ends the turn that was active when the server ended. It
// reports whether the turn waits for its next attempt now.
func (w *turnWriter) recoverTurn() (waits bool) {
	act := w.d.active()
	w.d.items.cancelReason = items.ReasonRestart
	if act.turn.Progress == turns.Interrupting { // an interrupt that was asked for has priority over the policy
		end := interruptedBy(act.turn.InterruptedBy, turns.ServerRestarted)
		if act.turn.InterruptedBy == turns.ByServer && act.silentTooOften() { // by a stop that was cut off: see stoppedByServer
			end = w.endOfRestart()
		}
		w.end(end)
		return false
	}
	if !act.clock.waiting {
		act.clock.since = time.Now().Add(-act.minRunTime())
	}
	if w.retryRestarted(turns.ServerRestarted, act.turn.WaitsForPerson()) {
		return true
	}
	w.end(w.endOfRestart())
	return false
}

func interruptedBy(by turns.By, reason string) ending {
	return ending{by: by, state: turns.Interrupted, reason: reason, message: interruption(reason)}
}

// endOfRestart returns how the turn ends because of a restart after which it is not retried.
func (w *turnWriter) endOfRestart() ending {
	act := w.d.active()
	if w.d.agent().retryPolicy(act.turn.Retry).OnCrash != turns.CrashRetry || w.d.change.root() == nil {
		return interruptedBy("", turns.ServerRestarted)
	}
	why := turns.RestartedInLastAttempt
	if act.silentTooOften() {
		why.Message = fmt.Sprintf("%d restarts of the server in a row have ended the turn before its agent said anything", turns.MaxSilentRestarts)
	}
	return ending{state: turns.Failed, reason: turns.ServerRestarted, failure: &why}
}

// silentTooOften reports whether a restart now is one too many without output.
func (act *activeTurn) silentTooOften() bool {
	return !act.hasOutput && act.turn.SilentRestarts+1 >= turns.MaxSilentRestarts
}

// stoppedByServer returns how a turn ends that a stop of the server does not retry.
func (w *turnWriter) stoppedByServer() stop {
	if end := w.endOfRestart(); w.d.active().silentTooOften() && end.failure != nil {
		return stop{state: end.state, reason: turns.ServerStopping, failure: end.failure}
	}
	return stop{state: turns.Interrupted, reason: turns.ServerStopping}
}

// minRunTime returns how long the clock has run at least since the turn last waited or, if it
// has not, since the attempt began, as far as the log shows. The time until the next start
// of the server is not counted.
func (act *activeTurn) minRunTime() time.Duration {
	since := act.turn.RunningSince
	if since.IsZero() {
		return 0
	}
	last := since
	for _, o := range act.open.list {
		if o.row.UpdatedAt.After(last.Time) {
			last = o.row.UpdatedAt
		}
	}
	for _, s := range act.tries.rows {
		if s.StartedAt.After(last.Time) {
			last = s.StartedAt
		}
	}
	return last.Sub(since.Time)
}
