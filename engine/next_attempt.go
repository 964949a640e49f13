package engine

import (
	"time"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// retry supersedes the attempt of the active turn if the turn's policy allows
// another one: open items except user messages end as interrupted, then comes the
// marker, and the next attempt begins with its wait. Otherwise it adds nothing and
// reports false; the caller ends the turn.
func (w *turnWriter) retry(c turns.Cause, message string) bool {
	act, row := w.d.active(), w.d.active().turn
	p := w.d.agent().retryPolicy(row.Retry)
	if act.stop != nil || p.OnCrash != turns.CrashRetry || row.Attempt >= p.MaxAttempts || w.d.change.root() == nil {
		return false
	}
	message = cutText(message)
	w.d.steps.endOpenItems("")
	w.d.change.rewind("", row, turns.RewindEvent{Reason: c, Message: message, UsedMs: w.usedMs(), Usage: act.usage})
	at := notify.TimeOf(w.d.change.now.Add(p.Wait(row.TurnID, row.Attempt)))
	w.d.change.beginTry("")
	w.addProgressEvent(turns.ProgressEvent{State: turns.Waiting, Message: message, RetryAt: at})
	act.usage, act.cut = nil, false
	act.progressNext, act.progressAt = nil, time.Time{}
	act.clock.wait(false)
	act.retryAt = at.Time
	w.d.addEffect(supersedeWork{})
	return true
}

// usedMs is what the turn has used of its timeout, 0 if it has none.
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
	earlier, err := d.child.tellEarlierChildren()
	if err != nil {
		return err
	}
	d.turn.addPrompt(append(messages(input), earlier...))
	return nil
}

// recoverTurn retries or ends the turn that was active when the server ended. It
// reports whether the turn waits for its next attempt now.
func (w *turnWriter) recoverTurn() (waits bool) {
	const why = "server restarted"
	end := ending{by: w.d.active().turn.InterruptedBy, state: turns.Interrupted, reason: why, message: interruption(why)}
	if act := w.d.active(); act.turn.Progress != turns.Interrupting { // an interrupt that was asked for has priority over the policy
		act.clock.since = time.Now().Add(-act.minRunTime())
		if w.retry(turns.CauseServer, why) {
			return true
		}
		if w.d.agent().retryPolicy(act.turn.Retry).OnCrash == turns.CrashRetry && w.d.change.root() != nil {
			end = ending{state: turns.Failed, failure: &turns.Failure{Kind: "unavailable", Message: "the server was restarted in the last attempt of the turn"}}
		}
	}
	w.end(end)
	return false
}

// minRunTime is how long an attempt has run at least, as far as the log shows. The
// time until the next start of the server is not counted.
func (act *activeTurn) minRunTime() time.Duration {
	if act.turn.Prompts > 0 {
		return 0 // used_ms has what the attempt took until it last waited for child turns
	}
	last := act.turn.StartedAt
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
	return last.Sub(act.turn.StartedAt.Time)
}
