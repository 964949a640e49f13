package engine

import (
	"context"
	"errors"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// waitsForAttempt reports whether the turn is between two attempts: the old
// one has been given up, the new one begins at retryAt. Nothing runs then.
func (act *activeTurn) waitsForAttempt() bool { return !act.retryAt.IsZero() }

// again gives the attempt of the active turn up, if the turn is to be tried
// again by itself: what is open ends interrupted, but for what people said,
// the marker follows, and with the wait the next attempt begins. If not, it
// reports false and has added nothing; the caller ends the turn. A prompt
// under way is the caller's to part from.
//
// The actor's memory changes with the commit, but for open items: see private.
func (b *builder) again(c turns.Cause, message string) bool {
	a, act, row := b.a, b.a.active, b.activeRow()
	p := a.policy()
	if act.stop != nil || p.OnCrash != turns.CrashRetry || row.Attempt >= p.MaxAttempts || b.change.root() == nil {
		return false
	}
	message = cutText(message)
	b.closeTry("")
	b.change.rewind("", row, turns.RewindEvent{Reason: c, Message: message, UsedMs: a.usedMs(), Usage: act.usage})
	at := notify.TimeOf(b.change.now.Add(p.Wait(row.TurnID, row.Attempt)))
	b.change.begin("")
	b.progressed(turns.ProgressEvent{State: turns.Waiting, Message: message, RetryAt: at})
	b.after = append(b.after, func(ledger.Receipt) {
		act.usage, act.cut, act.prompts, act.stopBy = nil, false, 0, time.Time{}
		act.progressNext, act.progressAt = nil, time.Time{}
		act.setWaiting(a.e, false)
		a.partFromWorker(act)
		act.retryAt = at.Time
		if a.e.pause.isDraining() {
			a.holdOff()
		}
	})
	return true
}

// closeTry ends what is open of the try of a path that stands, and of those
// below it, which are about to be taken back.
func (b *builder) closeTry(path string) {
	for _, o := range b.openItems().list {
		if o.isInput() || o.span == nil || !covers(path, o.span.Step) {
			continue
		}
		b.closeItem(o, items.StatusInterrupted)
		b.openItems().remove(o.row.ItemID)
	}
	b.openItems().forget(path)
}

// usedMs is what the turn has used of its timeout, 0 if it has none.
func (a *actor) usedMs() int64 {
	total := a.timeoutOf(a.active.turn)
	if total == 0 {
		return 0
	}
	return (total - a.active.left()).Milliseconds()
}

// holdOff gives up the place of a turn that waits for its next attempt, if no
// turn is to start.
func (a *actor) holdOff() {
	if a.active.placed {
		a.active.placed = a.e.gate.stay(a.id)
	}
}

// takePlace is what a turn that waits for its next attempt does when the gate
// has a place: it keeps it, also before its time. nextDue has the rest.
func (a *actor) takePlace() {
	if a.dead != nil || a.gone {
		a.e.gate.decline(a.id)
		return
	}
	if !a.active.placed {
		a.active.placed, _ = a.e.gate.enter(a.id)
	}
}

// startAttempt starts the attempt that the turn has waited for. The agent gets
// everything that was said to the turn so far, as one prompt.
func (a *actor) startAttempt() {
	act := a.active
	for {
		if a.holdOff(); !act.placed {
			return // it stands in line
		}
		input, err := a.inputOf(act.turn.TurnID)
		if err == nil {
			b := a.build()
			b.started(act.turn, act.turn.TurnID, turns.OriginRetry, turns.Start{})
			b.given(input)
			b.waitsForClaim(act.turn.TurnID)
			b.after = append(b.after, func(ledger.Receipt) {
				for _, o := range input {
					act.open.remove(o.row.ItemID)
				}
				act.steers, act.retryAt = nil, time.Time{}
				a.startPrompt(messages(input))
			})
			_, err = a.commit(b)
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, turns.ErrRuntimePaused): // the gate is closed by now
		default:
			if at := a.tryLater("an attempt cannot start now", err); !at.IsZero() {
				act.retryAt = at
			}
			return
		}
	}
}

// inputOf reads everything that was said to a turn.
func (a *actor) inputOf(turnID string) ([]*openItem, error) {
	rows, err := a.e.store.Input(context.Background(), turnID)
	if err != nil {
		return nil, err
	}
	list := make([]*openItem, 0, len(rows))
	for _, row := range rows {
		if row.Status == items.StatusDeleted {
			continue
		}
		content, err := items.Decode(row.Content)
		if err != nil {
			return nil, err
		}
		list = append(list, &openItem{row: row, content: content})
	}
	return list, nil
}

// given completes input that no agent had got before.
func (b *builder) given(input []*openItem) {
	for _, o := range input {
		if o.row.Status.Open() {
			_ = b.updated(o, items.StatusCompleted)
		}
	}
}

// recoverTurn adds what becomes of the turn that was active when the server
// ended. It reports whether the turn waits for its next attempt now.
func (a *actor) recoverTurn(b *builder) (waits bool) {
	const why = "server restarted"
	end := ending{state: turns.Interrupted, reason: why, message: interruption(why)}
	if act := a.active; act.turn.Progress != turns.Interrupting { // what was asked for comes before what the policy says
		act.runSince = time.Now().Add(-act.known())
		if b.again(turns.CauseServer, why) {
			return true
		}
		if a.policy().OnCrash == turns.CrashRetry && b.change.root() != nil {
			end = ending{state: turns.Failed, failure: &turns.Failure{Kind: "unavailable", Message: "the server was restarted in the last attempt of the turn"}}
		}
	}
	b.endTurn(end)
	return false
}

// known is how long an attempt, of which only the log is left, has run at
// least. The time until the next start of the server is not counted.
func (act *activeTurn) known() time.Duration {
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

// policy is the retry policy of the active turn: what the turn says, and for
// what it leaves open what its agent says.
func (a *actor) policy() turns.RetryPolicy {
	var p turns.RetryPolicy
	if r, ok := a.e.agents[a.thread.Agent].(turns.Retrier); ok {
		p = r.RetryPolicy()
	}
	if own := a.active.turn.Retry; own != nil {
		p = own.Over(p)
	}
	return p.WithDefaults()
}
