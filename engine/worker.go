package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/turns"
)

// worker is what the actor knows of whoever works on the active turn's attempt
// from outside; nil for a turn that its agent runs itself. Of it, the log has
// the claim: whose lease it was, a restart finds there.
type worker struct {
	policy turns.LeasePolicy
	since  time.Time // when the attempt began to wait for a claim
	until  time.Time // when the lease runs out; zero = nobody has claimed yet
	last   bool      // it is over, but for what had come by then and waits in the inbox
	told   []string  // user messages in the last answer: the worker's next word says that it has them
}

func (w *worker) unclaimed() bool { return w != nil && w.until.IsZero() }

// due is when the worker is given up, or the wait for one; zero = never.
func (w *worker) due() time.Time {
	switch {
	case w == nil || w.last:
		return time.Time{}
	case !w.until.IsZero():
		return w.until
	case w.policy.ClaimTimeout < 0:
		return time.Time{}
	}
	return w.since.Add(w.policy.ClaimTimeout)
}

func (w *worker) isOver(now time.Time) bool {
	due := w.due()
	return !due.IsZero() && !now.Before(due)
}

// renew lets the lease begin anew.
func (w *worker) renew() { w.until = time.Now().Add(w.policy.Lease) }

// hearWorker goes on without a worker whose time is over once everything is
// done that waits in the inbox: a renewal that came in time may have stood
// behind a disk that was slow.
func (a *actor) hearWorker() {
	w := a.active.worker
	w.last = true
	_ = a.in.command(func(a *actor) { // forced: never refused
		w.last = false
		if a.gone || a.dead != nil || a.held != nil || a.active == nil || a.active.worker != w || !w.isOver(time.Now()) {
			return
		}
		b := a.build()
		b.workerGone()
		a.commitOutput(b)
	}, true)
}

// unattended reports whether nobody is at work on the turn, so that there is
// nobody to be told to stop.
func (act *activeTurn) unattended() bool { return act.waitsForAttempt() || act.worker.unclaimed() }

// remote is the thread's agent if its turns are claimed, else nil.
func (a *actor) remote() turns.Remote {
	r, _ := a.e.agents[a.thread.Agent].(turns.Remote)
	return r
}

// canBeClaimed refuses messages with which a worker's turn, "" for one that is
// yet to be made, has more input than an answer to its claim has room for: such
// a turn would be claimed and never had.
func (a *actor) canBeClaimed(turnID string, more []items.UserMessage) error {
	if a.remote() == nil {
		return nil
	}
	const names = 128 // of the members around a message, and its item_id
	size := 0
	if turnID != "" {
		rows, err := a.e.store.Input(context.Background(), turnID)
		if err != nil {
			return err
		}
		for _, row := range rows {
			size += len(row.Content) + names
		}
	}
	for _, m := range more {
		raw, err := items.Encode(m)
		if err != nil {
			return err
		}
		size += len(raw) + names
	}
	if size > turns.MaxWorkerInput {
		return turns.Invalid("input", turns.ReasonTooLarge, "with it the turn has %d bytes of input, at most %d go to a worker", size, turns.MaxWorkerInput)
	}
	return nil
}

// waitsForClaim adds that the turn, which starts with this unit, waits for a
// worker, if it is one for workers.
func (b *builder) waitsForClaim(turnID string) {
	if b.a.remote() != nil {
		b.progressOf(b.change.rows.turns[b.change.turnAt[turnID]], b.here(), turns.ProgressEvent{State: turns.Starting})
	}
}

// offerTurn puts the attempt where workers claim it.
func (a *actor) offerTurn(r turns.Remote) {
	act := a.active
	act.worker = &worker{policy: r.Leases().WithDefaults(), since: time.Now()}
	a.e.claims.offer(a.thread.Agent, offer{threadID: a.id, turnID: act.turn.TurnID, attempt: act.turn.Attempt}, false)
}

// partFromWorker ends what there is between the active turn and a worker. What
// the worker still writes is refused by the log's own account of the turn.
func (a *actor) partFromWorker(act *activeTurn) {
	w := act.worker
	if w == nil {
		return
	}
	act.worker = nil
	if w.unclaimed() {
		a.e.claims.withdraw(a.thread.Agent, act.turn.TurnID)
	} else {
		a.e.claims.held(a.thread.Agent, -1)
	}
}

// goesOnWithoutUs reports whether the active turn of a server that has just
// started is a worker's, who knows nothing of the restart.
func (a *actor) goesOnWithoutUs() bool {
	t := a.active.turn
	return a.remote() != nil && !a.active.waitsForAttempt() && len(a.active.tries.live) > 0 &&
		(t.ClaimedSeq > 0 || t.Progress == turns.Starting)
}

// resumeWorker makes of what the log has of a worker's turn what the actor
// knows of it. The lease, or the wait for a claim, begins anew: while the
// server was away nobody could renew or claim. The turn's timeout has gone on,
// as the worker has.
func (a *actor) resumeWorker() {
	act := a.active
	act.runSince = act.turn.StartedAt.Time
	if act.turn.ClaimedSeq == 0 {
		a.offerTurn(a.remote())
		return
	}
	act.worker = &worker{policy: a.remote().Leases().WithDefaults()}
	act.worker.renew()
	a.e.claims.held(a.thread.Agent, 1)
	if act.turn.Progress == turns.Interrupting {
		s := stop{state: turns.Interrupted, reason: act.turn.ProgressMessage}
		if s.reason == timeoutReason && act.timeout > 0 && act.left() <= 1 {
			s = timedOut()
		}
		act.stop, act.stopBy = &s, act.worker.until
	}
}

// leaveAlone is what a drain does with a worker's turn: it goes on, and the
// next server finds it. Nobody waits for it.
func (a *actor) leaveAlone() {
	a.claimPlace(a.active)
	if a.active.placed {
		a.active.placed = false
		a.e.gate.leave(a.id)
	}
}

// workerGone goes on without a worker: one whose lease has run out, or that
// has never come.
func (b *builder) workerGone() {
	a, act := b.a, b.a.active
	const why = "the worker's lease has run out"
	switch w := act.worker; {
	case w.unclaimed():
		b.endTurn(ending{state: turns.Failed, failure: &turns.Failure{
			Kind: "agent_unavailable", Message: fmt.Sprintf("no worker has claimed the turn within %v", w.policy.ClaimTimeout),
		}})
	case act.stop != nil:
		b.endStopped(act.stop, turns.Outcome{StopReason: why})
		return
	case b.again(turns.CauseLease, why):
		return
	case a.policy().OnCrash == turns.CrashRetry:
		b.endTurn(ending{state: turns.Failed, failure: &turns.Failure{Kind: "agent_unavailable", Message: why + ", in the last attempt of the turn"}})
	default:
		b.endTurn(ending{state: turns.Interrupted, reason: why, message: interruption(why)})
	}
	b.after = append(b.after, a.turnOver)
}

// untold are the turn's steers that the last answer did not have.
func (act *activeTurn) untold() (ids []string) {
	for _, id := range act.steers {
		if !slices.Contains(act.worker.told, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// tell notes that the worker has been answered with these messages.
func (act *activeTurn) tell(messages []turns.WorkerInput) {
	for _, m := range messages {
		if o := act.open.get(m.ItemID); o != nil && !slices.Contains(act.worker.told, m.ItemID) {
			act.worker.told = append(act.worker.told, m.ItemID)
		}
	}
}

// confirmTold completes the user messages that the worker was answered with:
// it has spoken since, so it has them. The unit must be private.
func (b *builder) confirmTold() {
	act := b.a.active
	told := act.worker.told
	for _, id := range told {
		if o := b.openItems().get(id); o != nil {
			_ = b.updated(o, items.StatusCompleted)
			b.openItems().remove(id)
		}
	}
	b.after = append(b.after, func(ledger.Receipt) {
		for _, id := range told {
			act.dropSteer(id)
		}
	})
}
