package engine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// turnWriter adds the events of the active turn: its start, its progress, its
// attempts and its end.
type turnWriter struct{ d *decision }

// addStarted adds turn/started, with the fence of the runtime's pause. The attempt
// begins with it, unless it began with the wait for it.
func (w *turnWriter) addStarted(prev *turns.Turn, turnID string, origin turns.Origin, q request) {
	w.d.change.unit.Fences = append(w.d.change.unit.Fences, turns.NotPaused)
	e := &turns.StartedEvent{
		Type: "started", State: turns.Active, StartedAt: w.d.change.now, Origin: origin,
		Metadata: q.Metadata, Parent: q.Parent, Child: q.child, TimeoutSeconds: q.TimeoutSeconds, Retry: q.Retry, Chain: q.chain,
		Review: asked(q.Review), RequestedBy: requestedBy(q.By),
	}
	if prev != nil {
		e.Parent, e.Child, e.RequestedBy = prev.Parent, prev.Child(), prev.RequestedBy
	}
	if prev != nil && prev.Attempt > 1 {
		e.Origin, e.FirstStartedAt = turns.OriginRetry, prev.FirstStartedAt
		if e.FirstStartedAt.IsZero() { // it was interrupted in the queue
			e.FirstStartedAt = w.d.change.now
		}
		e.Metadata, e.TimeoutSeconds, e.Retry = prev.Metadata, prev.TimeoutSeconds, prev.Retry
		e.Chain, e.Review = prev.Chain, asked(prev.ReviewPolicy())
	}
	span := w.d.change.root()
	if span == nil {
		span = w.d.change.beginTry("")
	}
	w.d.change.turn(prev, turnID, notify.TurnStarted, inTry(span), e)
}

// addPrompt follows turn/started: the agent gets the input, or the turn waits
// for a worker.
func (w *turnWriter) addPrompt(input []items.UserMessage) {
	if w.d.agent().remote != nil {
		w.addProgress(turns.Starting, "")
	}
	w.d.addEffect(startPrompt{input})
}

// stop adds what clients see of a stop at once: the progress, and the end of all
// questions. After the commit the agent is asked to stop within a time. A turn at
// which neither an agent nor a worker is at work ends at once: one between two
// attempts, or one that no worker has claimed.
func (w *turnWriter) stop(s stop, within time.Duration) {
	act := w.d.active()
	if act.unattended() {
		w.endStopped(&s, turns.Outcome{})
		return
	}
	if w.d.active().turn.Progress != turns.Interrupting || (act.stop != nil && act.stop.state != s.state) {
		w.addProgressEvent(turns.ProgressEvent{State: turns.Interrupting, Message: s.reason, By: cmp.Or(s.by, turns.ByServer)})
	}
	w.d.items.cancelQuestions()
	act.stop = &s
	w.d.addEffect(stopWork{errTurnInterrupted, within})
}

// reportProgress adds the progress that an agent reports: a change of state at
// once, a message alone at most once a second; the newest waits. A turn that waits
// for a person, or is being interrupted, keeps that state.
func (w *turnWriter) reportProgress(op items.Progress) error {
	act := w.d.active()
	is := act.turn.Progress
	state, message := turns.Progress(op.State), cutText(op.Message)
	switch state {
	case "":
		state = is
	case turns.Starting, turns.Running:
		if is != turns.Starting && is != turns.Running {
			state = is
		}
	default:
		return fmt.Errorf("progress state %.60q is neither starting nor running: %w", op.State, items.ErrRefused)
	}
	switch {
	case state != is:
	case message == "":
		return nil
	case time.Since(act.progressAt) < progressEvery:
		act.progressNext = &message
		return nil
	}
	w.addProgress(state, message)
	act.progressNext = nil
	if message != "" {
		act.progressAt = time.Now()
	}
	return nil
}

// sendMessage sends the progress message that waits, once its second has passed.
func (w *turnWriter) sendMessage(now time.Time) {
	if act := w.d.active(); act.progressNext != nil && now.Sub(act.progressAt) >= progressEvery {
		w.addProgress(act.turn.Progress, *act.progressNext)
		act.progressAt, act.progressNext = now, nil
	}
}

// addProgress adds turn/progress.
func (w *turnWriter) addProgress(state turns.Progress, message string) {
	w.addProgressEvent(turns.ProgressEvent{State: state, Message: message})
}

// addProgressEvent adds turn/progress of the active turn. It sets the elapsed time.
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
