package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ending is how a turn ends.
type ending struct {
	state      turns.State
	message    string
	reason     string
	stopReason string
	failure    *turns.Failure
}

// interruption is the message of an interrupted turn.
func interruption(reason string) string { return "Turn interrupted: " + reason }

// end adds the ends of all open items, then the end of the turn, then the
// end of a thread that waited for it (I5). The thread has no active turn then.
func (w *turnWriter) end(end ending) {
	act := w.d.active()
	status := items.StatusCompleted
	switch end.state {
	case turns.Failed:
		status = items.StatusFailed
	case turns.Interrupted:
		status = items.StatusInterrupted
	}
	truncated := false
	if end.message == "" && end.state != turns.Interrupted {
		end.message, truncated = w.d.items.endMessage()
	}
	undelivered := w.d.items.closeItems(status)
	w.d.steps.endAll("", turns.StepStatus(end.state))
	ended := &turns.EndedEvent{
		State: end.state, StartedAt: act.turn.StartedAt, CompletedAt: w.d.change.now,
		Message: end.message, MessageTruncated: truncated, Reason: end.reason, StopReason: end.stopReason, Error: end.failure,
		Usage: act.usage, UndeliveredItemIDs: undelivered,
	}
	w.addEnd(w.d.active().turn, w.d.turnScope(), ended)
	if next, _ := threads.Next(w.d.next().thread.State, threads.VerbEnd, false); next != w.d.next().thread.State {
		w.d.addThreadClosed(w.d.next().thread.Reason)
	}
}

// closeItems ends all open items and returns the ids of the user messages
// that the agent never got.
func (w *itemWriter) closeItems(status items.Status) (undelivered []string) {
	for _, o := range w.d.active().open.list {
		if o.isInput() {
			_ = w.addUpdated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
			continue
		}
		w.closeItem(o, status)
	}
	return undelivered
}

// closeItem ends an item with what it was part of.
func (w *itemWriter) closeItem(o *openItem, status items.Status) {
	if o.row.Type.IsQuestion() {
		w.resolve(o, cancelled, "")
		return
	}
	_ = w.addUpdated(o, status)
}

// addEnd adds the terminal event of a turn.
func (w *turnWriter) addEnd(row *turns.Turn, at scope, e *turns.EndedEvent) {
	method := notify.TurnCompleted
	e.Type = "completed"
	switch e.State {
	case turns.Failed:
		method, e.Type = notify.TurnFailed, "failed"
	case turns.Interrupted:
		method, e.Type = notify.TurnInterrupted, "interrupted"
	}
	w.d.change.turn(row, row.TurnID, method, at, e)
}

// endQueued ends a turn that has not started, or not again. The end is all
// that there is of this attempt: turn/retry supersedes it like any other.
func (w *turnWriter) endQueued(row *turns.Turn, reason string) {
	var undelivered []string
	for _, o := range w.d.next().queued(row.TurnID).input {
		if o.row.Status.Open() {
			_ = w.d.items.addUpdated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
		}
	}
	w.addEnd(row, inTry(notify.NewSpan(row.TurnID, "", row.Attempt, nil)), &turns.EndedEvent{
		State: turns.Interrupted, StartedAt: row.StartedAt, CompletedAt: w.d.change.now, Message: interruption(reason), Reason: reason,
		UndeliveredItemIDs: undelivered,
	})
}

func (d *decision) addThreadClosed(reason string) {
	d.change.thread(notify.ThreadClosed, d.threadChanged("closed", threads.Closed, reason))
}

// addProgress adds turn/progress.
func (w *turnWriter) addProgress(state turns.Progress, message string) {
	w.addProgressEvent(turns.ProgressEvent{State: state, Message: message})
}

// addProgressEvent is progress for who has more to say; the time it adds itself.
func (w *turnWriter) addProgressEvent(e turns.ProgressEvent) {
	w.progressOf(w.d.active().turn, w.d.turnScope(), e)
}

func (w *turnWriter) progressOf(row *turns.Turn, at scope, e turns.ProgressEvent) {
	since := row.FirstStartedAt
	if since.IsZero() {
		since = row.StartedAt
	}
	e.Type, e.ElapsedMs = "progress", max(0, w.d.change.now.Sub(since.Time).Milliseconds())
	w.d.change.turn(row, row.TurnID, notify.TurnProgress, at, &e)
}

// resolve ends a question. The agent gets the answer after the commit.
func (w *itemWriter) resolve(o *openItem, ans items.Answer, by string) {
	content := withOutcome(o.content, ans.Outcome, ans.Answer, by)
	raw, truncated, total, err := items.Fit(content, w.d.rules.cfg.MaxItemBytes)
	if err != nil && w.d.change.err == nil {
		w.d.change.err = err
	}
	row := o.row
	w.d.change.item(row, row.TurnID, notify.ItemUpdated, row.ItemID, o.scope(), &items.Updated{
		ItemID: row.ItemID, Type: "updated", Status: ans.Status, Content: raw, Truncated: truncated, TotalBytes: total,
	})
	w.d.active().open.remove(row.ItemID)
	if o.question != nil {
		w.d.addEffect(deliverAnswer{o.question, ans})
	}
}

// stop adds what clients see of a stop at once: the progress, and the end of
// all questions, which agents wait for. After the commit the agent is asked to
// stop, and has until the deadline. A turn that nobody works on ends at once:
// one between two attempts, or one that no worker has claimed.
func (w *turnWriter) stop(s stop, within time.Duration) {
	act := w.d.active()
	if act.unattended() {
		w.endStopped(&s, turns.Outcome{})
		return
	}
	if w.d.active().turn.Progress != turns.Interrupting || (act.stop != nil && act.stop.state != s.state) {
		w.addProgress(turns.Interrupting, s.reason)
	}
	w.d.items.cancelQuestions()
	act.stop = &s
	w.d.addEffect(stopWork{errTurnInterrupted, within})
}

func (w *itemWriter) cancelQuestions() {
	for _, o := range w.d.active().open.list {
		if o.row.Type.IsQuestion() {
			w.resolve(o, cancelled, "")
		}
	}
	w.d.active().clock.wait(false)
}
