package engine

import (
	"cmp"
	"unicode/utf8"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// ending is how a turn ends.
type ending struct {
	by         turns.By // who interrupted it; "" = the server
	state      turns.State
	message    string
	format     items.Format // of message, if the agent said it
	reason     string
	stopReason string
	failure    *turns.Failure
}

// interruption returns the message of an interrupted turn.
func interruption(reason string) string { return "Turn interrupted: " + reason }

// end ends the active turn: it adds the ends of all open items and steps, then
// the end of the turn, then the end of a thread that waited for it (I5).
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
		said := w.d.items.endMessage()
		end.message, end.format, truncated = said.Text, said.Format, said.Truncated
		if said.Text != "" && !said.Truncated && utf8.ValidString(said.Text) { // then the log has the same
			w.d.saidBy, w.d.said = act.turn.TurnID, &said
		}
	}
	undelivered := w.d.items.closeItems(status)
	w.d.steps.endAll("", turns.StepStatus(end.state))
	ended := &turns.EndedEvent{
		State: end.state, StartedAt: act.turn.StartedAt, CompletedAt: w.d.change.now,
		Message: end.message, MessageTruncated: truncated, Format: end.format, Reason: end.reason, StopReason: end.stopReason, Error: end.failure,
		Usage: act.usage, UndeliveredItemIDs: undelivered,
	}
	if end.state == turns.Completed {
		w.d.fence(w.d.child.settled())
	}
	if end.state == turns.Interrupted {
		ended.By = cmp.Or(end.by, turns.ByServer)
	}
	w.d.inbox.turnEnds(end.state)
	w.addEnd(w.d.active().turn, w.d.turnScope(), ended)
	if next, _ := threads.Next(w.d.next().thread.State, threads.VerbEnd, false); next != w.d.next().thread.State {
		w.d.addThreadClosed(w.d.next().thread.Reason, "")
	}
}

// endStopped ends a turn that was asked to stop, as the stop says.
func (w *turnWriter) endStopped(s *stop, out turns.Outcome) {
	end := ending{by: s.by, state: s.state, reason: s.reason, stopReason: out.StopReason, failure: s.failure}
	if end.stopReason == "" && out.State == turns.Failed && out.Failure != nil {
		end.stopReason = out.Failure.Message
	}
	if end.state == turns.Interrupted {
		end.message = interruption(s.reason)
	}
	w.end(end)
}

// endQueued ends a queued turn. Its end is the only event of this attempt, which
// turn/retry supersedes like any other.
func (w *turnWriter) endQueued(row *turns.Turn, by turns.By, reason string) {
	var undelivered []string
	for _, o := range w.d.next().queued(row.TurnID).input {
		if o.row.Status.Open() {
			_ = w.d.items.addUpdated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
		}
	}
	w.addEnd(row, inTry(notify.NewSpan(row.TurnID, "", row.Attempt, nil)), &turns.EndedEvent{
		State: turns.Interrupted, StartedAt: row.StartedAt, CompletedAt: w.d.change.now, Message: interruption(reason), Reason: reason,
		UndeliveredItemIDs: undelivered, By: by,
	})
}

// addEnd adds the terminal event of a turn. If the end waits for a review, it detaches the
// child turn first: the owner may be the reviewer, and would wait for itself.
func (w *turnWriter) addEnd(row *turns.Turn, at scope, e *turns.EndedEvent) {
	method := notify.TurnCompleted
	if e.Review = w.d.review.ofEnd(row, e.State); e.Review != nil && row.AttentionPolicy == turns.Blocking && row.Job == "" {
		row = w.addDetached(row, turns.DetachInReview, "")
	}
	e.Type = "completed"
	if row.IsChild() {
		e.Parent, e.Title = row.Parent, row.Title
	}
	switch e.State {
	case turns.Failed:
		method, e.Type = notify.TurnFailed, "failed"
	case turns.Interrupted:
		method, e.Type = notify.TurnInterrupted, "interrupted"
	}
	w.d.change.turn(row, row.TurnID, method, at, e)
}
