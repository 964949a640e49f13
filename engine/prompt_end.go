package engine

import (
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
		w.nextPrompt()
		return
	}
	if out.Cause != "" && w.retry(out.Cause, out.Why()) {
		return
	}
	end := ending{state: out.State, message: out.Message, stopReason: out.StopReason, failure: out.Failure}
	switch {
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

// nextPrompt starts the next prompt of the turn with what was steered to it.
func (w *turnWriter) nextPrompt() {
	act := w.d.active()
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
	var input []items.UserMessage
	for _, o := range act.open.list { // what was steered is left
		if m, ok := o.content.(items.UserMessage); ok {
			input = append(input, m)
			_ = w.d.items.addUpdated(o, items.StatusCompleted)
			act.open.remove(o.row.ItemID)
		}
	}
	act.steers = nil
	act.clock.wait(false)
	if !waited && act.turn.Progress != turns.Running {
		w.addProgress(turns.Running, "")
	}
	w.d.addEffect(detachWork{})
	w.d.addEffect(startPrompt{input})
}

// endPrompt ends the items that the agent has left open.
func (w *turnWriter) endPrompt(status items.Status) {
	act := w.d.active()
	for _, o := range act.open.list {
		switch {
		case o.isInput():
		case o.row.Type.IsQuestion():
			w.d.items.resolve(o, cancelled, "")
		default:
			_ = w.d.items.addUpdated(o, status)
			act.open.remove(o.row.ItemID)
			act.open.noteEnded(o)
		}
	}
}
