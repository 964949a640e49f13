package turns

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// ending is how a turn ends.
type ending struct {
	state      State
	message    string
	reason     string
	stopReason string
	failure    *Failure
}

// interruption is the message of an interrupted turn.
func interruption(reason string) string { return "Turn interrupted: " + reason }

// endTurn adds the ends of all open items, then the end of the turn, then the
// end of a thread that waited for it (I5). The caller drops the active turn
// once this is committed.
func (b *builder) endTurn(end ending) {
	act := b.a.active
	status := items.StatusCompleted
	switch end.state {
	case Failed:
		status = items.StatusFailed
	case Interrupted:
		status = items.StatusInterrupted
	}
	undelivered := b.closeItems(status)
	ended := &EndedEvent{
		State: end.state, StartedAt: act.turn.StartedAt, CompletedAt: b.now,
		Message: end.message, Reason: end.reason, StopReason: end.stopReason, Error: end.failure,
		Usage: act.usage, UndeliveredItemIDs: undelivered,
	}
	b.ended(b.activeRow(), ended)
	if next, _ := threads.Next(b.threadRow().State, threads.VerbEnd, false); next != b.threadRow().State {
		b.threadClosed(b.threadRow().Reason)
	}
}

// closeItems ends all open items and returns the ids of the user messages
// that the agent never got.
func (b *builder) closeItems(status items.Status) (undelivered []string) {
	for _, o := range b.a.active.open.list {
		switch {
		case o.row.Type.IsQuestion():
			b.resolve(o, items.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, "")
		case o.row.Type == items.KindUserMessage:
			b.updated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
		default:
			b.updated(o, status)
		}
	}
	return undelivered
}

// ended adds the terminal event of a turn.
func (b *builder) ended(row *Turn, e *EndedEvent) {
	method := notify.TurnCompleted
	e.Type = "completed"
	switch e.State {
	case Failed:
		method, e.Type = notify.TurnFailed, "failed"
	case Interrupted:
		method, e.Type = notify.TurnInterrupted, "interrupted"
	}
	b.turn(row, row.TurnID, method, row.Attempt, e)
}

// endQueued ends a turn that has not started.
func (b *builder) endQueued(row *Turn, reason string) {
	b.ended(row, &EndedEvent{
		State: Interrupted, StartedAt: row.StartedAt, CompletedAt: b.now, Message: interruption(reason), Reason: reason,
	})
}

func (b *builder) threadClosed(reason string) {
	b.thread(notify.ThreadClosed, b.changed("closed", threads.Closed, reason))
}

// activeRow is the row of the active turn as this unit leaves it so far.
func (b *builder) activeRow() *Turn {
	row := b.a.active.turn
	if i, ok := b.turnAt[row.TurnID]; ok {
		return b.unit.Turns[i]
	}
	return row
}

// progress adds turn/progress.
func (b *builder) progress(state Progress, message string) {
	row := b.activeRow()
	b.turn(row, row.TurnID, notify.TurnProgress, row.Attempt, &ProgressEvent{
		Type: "progress", State: state, Message: message,
		ElapsedMs: max(0, b.now.Sub(row.StartedAt.Time).Milliseconds()),
	})
}

// resolve ends a question. The agent is told after the commit.
func (b *builder) resolve(o *openItem, ans items.Answer, by string) {
	content := resolved(o.content, ans.Outcome, ans.Answer, by)
	raw, truncated, total, err := items.Fit(content, b.a.e.cfg.MaxItemBytes)
	if err != nil && b.err == nil {
		b.err = err
	}
	row := o.row
	b.item(row, row.TurnID, notify.ItemUpdated, row.ItemID, row.Attempt, &items.Updated{
		ItemID: row.ItemID, Type: "updated", Status: ans.Status, Content: raw, Truncated: truncated, TotalBytes: total,
	})
	act := b.a.active
	b.after = append(b.after, func(Receipt) {
		act.open.remove(row.ItemID)
		if o.ask != nil {
			o.ask.answer <- ans
		}
	})
}

// stopTurn adds what is seen of a stop at once: the progress, and the end of
// all questions, which agents wait for. After the commit the agent is told,
// and has until the deadline.
func (b *builder) stopTurn(s stop, within time.Duration) {
	act := b.a.active
	if b.activeRow().Progress != Interrupting || (act.stop != nil && act.stop.state != s.state) {
		b.progress(Interrupting, s.reason)
	}
	b.cancelQuestions()
	b.after = append(b.after, func(Receipt) {
		act.stop = &s
		b.a.tellStop(errTurnInterrupted, within)
	})
}

func (b *builder) cancelQuestions() {
	for _, o := range b.a.active.open.list {
		if o.row.Type.IsQuestion() {
			b.resolve(o, items.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, "")
		}
	}
	act := b.a.active
	b.after = append(b.after, func(Receipt) { act.setWaiting(b.a.e, false) })
}

// stopWithin is how long the thread's agent may take to stop.
func (a *actor) stopWithin() time.Duration {
	if s, ok := a.e.agents[a.thread.Agent].(Stopper); ok {
		if d := s.StopWithin(); d > 0 {
			return d
		}
	}
	return a.e.cfg.InterruptAfter
}

// tellStop cancels the present prompt and sets its deadline.
func (a *actor) tellStop(cause error, within time.Duration) {
	act := a.active
	if act.run != nil {
		act.run.cancel(cause)
	}
	if by := time.Now().Add(within); act.stopBy.IsZero() || by.Before(act.stopBy) {
		act.stopBy = by
	}
}

// setWaiting stops and starts the turn's clock.
func (act *activeTurn) setWaiting(e *Engine, waiting bool) {
	if act.isWaiting == waiting {
		return
	}
	act.isWaiting = waiting
	if waiting {
		e.waiting.Add(1)
		act.timeout = act.left()
		act.runSince = time.Time{}
		return
	}
	e.waiting.Add(-1)
	act.runSince = time.Now()
}

// left is what is left of the timeout; 0 = there is none. One that has run
// out is a nanosecond, so that it is not taken for none.
func (act *activeTurn) left() time.Duration {
	if act.timeout == 0 || act.runSince.IsZero() {
		return act.timeout
	}
	return max(1, act.timeout-time.Since(act.runSince))
}
