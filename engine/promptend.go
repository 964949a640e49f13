package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// promptEnded is the agent's return: the turn goes on with what was steered
// to it, or ends.
func (b *builder) promptEnded(out turns.Outcome) {
	a, act := b.a, b.a.active
	run := act.run
	close(run.over)
	act.run, act.stopBy = nil, time.Time{}
	if s := act.stop; s != nil {
		b.endStopped(s, out)
		return
	}
	if out.State == "" {
		out.State = turns.Completed
	}
	goesOn := len(act.steers) > 0 && (act.cut || (out.State == turns.Completed && out.Cause == ""))
	if goesOn {
		b.nextPrompt()
		return
	}
	if out.Cause != "" && b.again(out.Cause, out.Why()) {
		run.givenUp = true
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
	b.endTurn(end)
	b.after = append(b.after, a.turnOver)
}

// endStopped ends a turn that was told to stop, as the stop says.
func (b *builder) endStopped(s *stop, out turns.Outcome) {
	end := ending{state: s.state, reason: s.reason, stopReason: out.StopReason, failure: s.failure}
	if end.stopReason == "" && out.State == turns.Failed && out.Failure != nil {
		end.stopReason = out.Failure.Message
	}
	if end.state == turns.Interrupted {
		end.message = interruption(s.reason)
	}
	b.endTurn(end)
	b.after = append(b.after, b.a.turnOver)
}

// nextPrompt gives the agent, in the same turn, what was steered to it.
func (b *builder) nextPrompt() {
	a, act := b.a, b.a.active
	status := items.StatusCompleted
	if act.cut {
		status = items.StatusInterrupted
	}
	act.cut = false
	var input []items.UserMessage
	for _, o := range append([]*openItem(nil), act.open.list...) {
		switch m, isUser := o.content.(items.UserMessage); {
		case isUser:
			input = append(input, m)
			_ = b.updated(o, items.StatusCompleted)
			act.open.remove(o.row.ItemID)
		case o.row.Type.IsQuestion():
			b.resolve(o, turns.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, "")
		default:
			_ = b.updated(o, status)
			act.open.remove(o.row.ItemID)
			act.open.ended(o)
		}
	}
	act.steers = nil
	act.setWaiting(a.e, false)
	if b.activeRow().Progress != turns.Running {
		b.progress(turns.Running, "")
	}
	b.after = append(b.after, func(ledger.Receipt) { a.startPrompt(input) })
}
