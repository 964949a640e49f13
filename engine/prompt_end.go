package engine

import (
	"slices"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// promptEnded follows the agent's return: the turn continues with what was steered
// to it, is retried, or ends.
func (w *turnWriter) promptEnded(out turns.Outcome) {
	act := w.d.active()
	if s := act.stop; s != nil {
		w.endStopped(s, out)
		return
	}
	if out.State == "" {
		out.State = turns.Completed
	}
	if len(act.steers) > 0 && (act.cut || (out.State == turns.Completed && out.Cause == "")) {
		w.nextPrompt(out.Unread)
		return
	}
	if out.Cause != "" && w.retry(out.Cause, out.Why()) {
		return
	}
	end := ending{state: out.State, message: out.Message, format: out.Format, stopReason: out.StopReason, failure: out.Failure}
	switch {
	case out.Cause == turns.CauseServer: // it could not go on after a restart
		end = w.endOfRestart()
	case end.state == turns.Interrupted:
		end.reason = "the agent stopped"
		if end.message == "" {
			end.message = interruption(end.reason)
		}
	case end.state == turns.Failed && end.failure == nil:
		end.failure = &turns.Failure{Kind: "agent_failed", Message: "the agent gave no reason"}
	}
	if end.state == turns.Completed && w.waits(out) {
		return
	}
	w.end(end)
}

// nextPrompt starts the next prompt of the turn with what was steered to it. unread says that
// the agent did not get the input of the last one: it comes first. Otherwise the turn would
// end as if the agent had read what it was given, and acknowledge entries that it never saw.
func (w *turnWriter) nextPrompt(unread bool) {
	act := w.d.active()
	var input []items.UserMessage
	answers := act.answers
	status := items.StatusCompleted
	if act.cut {
		status = items.StatusInterrupted
	}
	act.cut = false
	waited := act.turn.WaitsForChildren()
	if waited {
		w.resume()
	}
	w.endPrompt(status)
	if r, ok := act.work.exec.(*run); ok && unread {
		input, act.answers = slices.Clip(r.input), answers
	}
	input = append(input, w.d.items.completeSteers()...)
	act.clock.wait(false)
	if !waited && act.turn.Progress != turns.Running {
		w.addProgress(turns.Running, "")
	}
	w.d.addEffect(detachWork{})
	w.d.addEffect(startPrompt{input})
}

// endPrompt ends the items that the agent has left open. The answers that it might have asked
// for again were for this prompt.
func (w *turnWriter) endPrompt(status items.Status) {
	act := w.d.active()
	act.answers = nil
	for _, o := range act.open.list {
		switch {
		case o.isInput():
		case o.row.Type.IsQuestion():
			w.d.items.resolve(o, w.d.items.cancelled(), "")
		default:
			_ = w.d.items.addUpdated(o, status)
			act.open.remove(o.row.ItemID)
			act.open.noteEnded(o)
		}
	}
}
