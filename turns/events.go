package turns

import (
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Events are the events of turns.
var Events = []ledger.EventType{
	ledger.Event[QueuedEvent](notify.TurnQueued, ledger.OfAttempt, foldTurn, "A turn waits in the queue. It comes only for a turn that could not start at once."),
	ledger.Event[StartedEvent](notify.TurnStarted, ledger.OfTry, foldTurn, "A turn is active."),
	ledger.Event[ProgressEvent](notify.TurnProgress, ledger.OfTry, foldTurn, "What an active turn is doing: each change of state, and a message at most once a second."),
	ledger.Event[EndedEvent](notify.TurnCompleted, ledger.OfTry, foldTurn, "A turn ended successfully. A turn that has ended has exactly one live end (completed, interrupted or failed), after the ends of all its items."),
	ledger.Event[EndedEvent](notify.TurnInterrupted, ledger.OfTry, foldTurn, "A turn was interrupted."),
	ledger.Event[EndedEvent](notify.TurnFailed, ledger.OfTry, foldTurn, "A turn failed; error says why."),
	ledger.Event[ReviewedEvent](notify.TurnReviewed, ledger.OfTry, foldTurn, "The verdict about an end that waited for a review. Without continued_by it is the accepted end of the turn; with it, that turn was queued to continue this one."),
	ledger.Event[DetachedEvent](notify.TurnDetached, ledger.OfMarker, foldTurn, "No turn waits for the end of this child turn any more: the inbox of its owner has it. It belongs to the turn, whatever its attempts."),
}

// StepEvents are the events of steps and attempts.
var StepEvents = []ledger.EventType{
	ledger.Event[StepEvent](notify.StepStarted, ledger.OfStep, nil, "A try of a step begins; lineage says which step and which try."),
	ledger.Event[StepEvent](notify.StepEnded, ledger.OfStep, nil, "A try of a step has ended."),
	ledger.Event[RewindEvent](notify.StreamRewind, ledger.OfMarker, foldTurn, "The current try of a step has been given up: its events are superseded (docs/rewind.md). A method filter never removes this event."),
	ledger.Event[LateEvent](notify.TurnLate, ledger.OfAttempt, nil, "What a try still wrote after it had been given up. It is kept, and is never part of the live view. epoch is 0 if that attempt had no try of the step."),
}

// RuntimeEvents are the events of the whole server.
var RuntimeEvents = []ledger.EventType{
	ledger.Event[RuntimeEvent](notify.HolonPaused, ledger.OfLog, foldRuntime, "No turn starts until holon/resumed."),
	ledger.Event[RuntimeEvent](notify.HolonResumed, ledger.OfLog, foldRuntime, "Turns start again."),
}

func foldTurn(s ledger.State, h *notify.Header, body any) {
	prev, _ := s.Row(Table, h.TurnID).(*Turn)
	if u := Used(prev, body); u != nil {
		if t, ok := s.Row(threads.Table, h.ThreadID).(*threads.Thread); ok {
			s.Put(t.Spend(u))
		}
	}
	if next := Apply(prev, *h, body); next != nil {
		s.Put(next)
	}
}

func foldRuntime(s ledger.State, h *notify.Header, body any) {
	prev, ok := s.Row(RuntimeTable, (&Runtime{}).ID()).(*Runtime)
	if !ok {
		prev = &Runtime{}
	}
	if next := ApplyRuntime(*prev, *h, body); next != nil {
		s.Put(next)
	}
}

// FoldTry applies an event of any kind to the rows of tries, and sets h.Span.
// ApplyStep says which rows those are.
func FoldTry(s ledger.State, h *notify.Header, body any) {
	change := func(row *Step) {
		if next := ApplyStep(row, *h, body); next != nil {
			s.Put(next)
		}
	}
	switch body.(type) {
	case *RewindEvent:
		s.Rows(StepTable, h.TurnID, func(r ledger.Row) bool {
			change(r.(*Step))
			return true
		})
	case *LateEvent:
		if row := findTry(s, h.TurnID, "", h.Attempt); row != nil {
			change(row)
		}
	default:
		if len(h.Lineage) == 0 {
			return
		}
		row := findTry(s, h.TurnID, h.Step, h.Epoch)
		if h.Span = h.Seq; row != nil {
			h.Span = row.Seq
		}
		change(row)
	}
}

// findTry looks for a try. It begins with the newest, which writes most.
func findTry(s ledger.State, turnID, step string, epoch int) (found *Step) {
	s.Rows(StepTable, turnID, func(r ledger.Row) bool {
		if row := r.(*Step); row.Step == step && row.Epoch == epoch {
			found = row
		}
		return found == nil
	})
	return found
}
