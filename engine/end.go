package engine

import (
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
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

// endTurn adds the ends of all open items, then the end of the turn, then the
// end of a thread that waited for it (I5). The caller drops the active turn
// once this is committed.
func (b *builder) endTurn(end ending) {
	act := b.a.active
	status := items.StatusCompleted
	switch end.state {
	case turns.Failed:
		status = items.StatusFailed
	case turns.Interrupted:
		status = items.StatusInterrupted
	}
	truncated := false
	if end.message == "" && end.state != turns.Interrupted {
		end.message, truncated = b.message()
	}
	undelivered := b.closeItems(status)
	b.closeSteps("", turns.StepStatus(end.state))
	ended := &turns.EndedEvent{
		State: end.state, StartedAt: act.turn.StartedAt, CompletedAt: b.change.now,
		Message: end.message, MessageTruncated: truncated, Reason: end.reason, StopReason: end.stopReason, Error: end.failure,
		Usage: b.used(), UndeliveredItemIDs: undelivered,
	}
	b.ended(b.activeRow(), b.here(), ended)
	if next, _ := threads.Next(b.change.threadRow().State, threads.VerbEnd, false); next != b.change.threadRow().State {
		b.threadClosed(b.change.threadRow().Reason)
	}
}

// used is what the turn has used, as far as is known.
func (b *builder) used() *items.Usage {
	if b.usage != nil {
		return b.usage
	}
	return b.a.active.usage
}

// closeItems ends all open items and returns the ids of the user messages
// that the agent never got.
func (b *builder) closeItems(status items.Status) (undelivered []string) {
	for _, o := range b.openItems().list {
		if o.isInput() {
			_ = b.updated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
			continue
		}
		b.closeItem(o, status)
	}
	return undelivered
}

// closeItem ends an item with what it was part of.
func (b *builder) closeItem(o *openItem, status items.Status) {
	if o.row.Type.IsQuestion() {
		b.resolve(o, items.Answer{Status: items.StatusCancelled, Outcome: items.Outcome{Type: items.OutcomeCancelled}}, "")
		return
	}
	_ = b.updated(o, status)
}

// ended adds the terminal event of a turn.
func (b *builder) ended(row *turns.Turn, at place, e *turns.EndedEvent) {
	method := notify.TurnCompleted
	e.Type = "completed"
	switch e.State {
	case turns.Failed:
		method, e.Type = notify.TurnFailed, "failed"
	case turns.Interrupted:
		method, e.Type = notify.TurnInterrupted, "interrupted"
	}
	b.change.turn(row, row.TurnID, method, at, e)
}

// endQueued ends a turn that has not started, or not again. The end is all
// that there is of this attempt: turn/retry takes it back like any other.
func (b *builder) endQueued(row *turns.Turn, reason string) {
	var undelivered []string
	for _, o := range b.a.inputs[row.TurnID] {
		if o.row.Status.Open() {
			_ = b.updated(o, items.StatusInterrupted)
			undelivered = append(undelivered, o.row.ItemID)
		}
	}
	b.ended(row, in(notify.NewSpan(row.TurnID, "", row.Attempt, nil)), &turns.EndedEvent{
		State: turns.Interrupted, StartedAt: row.StartedAt, CompletedAt: b.change.now, Message: interruption(reason), Reason: reason,
		UndeliveredItemIDs: undelivered,
	})
}

func (b *builder) threadClosed(reason string) {
	b.change.thread(notify.ThreadClosed, b.changed("closed", threads.Closed, reason))
}

// activeRow is the row of the active turn as this unit leaves it so far.
func (b *builder) activeRow() *turns.Turn {
	row := b.a.active.turn
	if i, ok := b.change.turnAt[row.TurnID]; ok {
		return b.change.rows.turns[i]
	}
	return row
}

// progress adds turn/progress.
func (b *builder) progress(state turns.Progress, message string) {
	b.progressed(turns.ProgressEvent{State: state, Message: message})
}

// progressed is progress for who has more to say; the time it adds itself.
func (b *builder) progressed(e turns.ProgressEvent) {
	b.progressOf(b.activeRow(), b.here(), e)
}

func (b *builder) progressOf(row *turns.Turn, at place, e turns.ProgressEvent) {
	since := row.FirstStartedAt
	if since.IsZero() {
		since = row.StartedAt
	}
	e.Type, e.ElapsedMs = "progress", max(0, b.change.now.Sub(since.Time).Milliseconds())
	b.change.turn(row, row.TurnID, notify.TurnProgress, at, &e)
}

// resolve ends a question. The agent is told after the commit.
func (b *builder) resolve(o *openItem, ans items.Answer, by string) {
	content := resolved(o.content, ans.Outcome, ans.Answer, by)
	raw, truncated, total, err := items.Fit(content, b.a.e.cfg.MaxItemBytes)
	if err != nil && b.change.err == nil {
		b.change.err = err
	}
	row := o.row
	b.change.item(row, row.TurnID, notify.ItemUpdated, row.ItemID, o.place(), &items.Updated{
		ItemID: row.ItemID, Type: "updated", Status: ans.Status, Content: raw, Truncated: truncated, TotalBytes: total,
	})
	act := b.a.active
	b.after = append(b.after, func(ledger.Receipt) {
		act.open.remove(row.ItemID)
		if o.ask != nil {
			o.ask.answer <- ans
		}
	})
}

// stopTurn adds what is seen of a stop at once: the progress, and the end of
// all questions, which agents wait for. After the commit the agent is told,
// and has until the deadline. A turn between two attempts, or one that no
// worker has claimed, has nobody at work, and ends at once.
func (b *builder) stopTurn(s stop, within time.Duration) {
	act := b.a.active
	if act.unattended() {
		b.endStopped(&s, turns.Outcome{})
		return
	}
	if b.activeRow().Progress != turns.Interrupting || (act.stop != nil && act.stop.state != s.state) {
		b.progress(turns.Interrupting, s.reason)
	}
	b.cancelQuestions()
	b.after = append(b.after, func(ledger.Receipt) {
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
	b.after = append(b.after, func(ledger.Receipt) { act.setWaiting(b.a.e, false) })
}

// stopWithin is how long the thread's agent may take to stop. A worker learns
// of it within a period of its lease.
func (a *actor) stopWithin() time.Duration {
	if r := a.remote(); r != nil {
		return r.Leases().WithDefaults().Lease
	}
	if s, ok := a.e.agents[a.thread.Agent].(turns.Stopper); ok {
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
