package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// worker is the executor of an attempt that a worker claims over the wire. The log
// has only the claim. The rest is in memory and begins anew after a restart.
type worker struct {
	claims   *claims
	agent    string
	offer    offer
	policy   turns.LeasePolicy
	since    time.Time // when the attempt began to wait for a claim
	until    time.Time // when the lease runs out; zero = not claimed yet
	expiring bool      // it is overdue, and ends unless a command in the intake renews the lease
	sent     []string  // ids of user messages in the last answer; the worker's next request confirms them
	revoke   func()    // ends the worker's access to the server; nil = it has none
	detached bool
}

// stop implements executor. The worker learns of the stop when it renews its
// lease.
func (w *worker) stop(error) {}

// supersede implements executor. The turn's row says which attempt is live.
func (w *worker) supersede() {}

// detach implements executor. Later writes of the worker are refused because of
// the turn's row.
func (w *worker) detach() {
	switch {
	case w.detached:
	case w.unattended():
		w.claims.withdraw(w.agent, w.offer.turnID)
	default:
		w.claims.countLeases(w.agent, -1)
	}
	if w.revoke != nil {
		w.revoke()
	}
	w.detached = true
}

// grant gives the worker access to the server; nil if its agent's workers have none.
func grant(a *actor, w *worker) *turns.Access {
	g := a.agent().access
	if g == nil {
		return nil
	}
	given, revoke, err := g.GrantAttempt(context.Background(), a.id, w.offer.turnID, w.offer.attempt)
	if err != nil { // the turn can run without the tools
		a.e.log.Warn("a worker gets no access to the server", zap.String("thread_id", a.id), zap.Error(err))
		return nil
	}
	w.revoke = revoke
	return &given
}

// leave implements executor. A worker outlives the server.
func (w *worker) leave() {}

// unattended implements executor.
func (w *worker) unattended() bool { return w.until.IsZero() }

// outlivesServer implements executor.
func (w *worker) outlivesServer() bool { return true }

// overdueReason implements executor.
func (w *worker) overdueReason() string { return "the worker did not stop in time" }

// acceptsText implements executor.
func (w *worker) acceptsText() bool { return false }

// steer implements executor. The worker gets the text when it renews its lease.
func (w *worker) steer([]injection, bool) {}

// due implements executor: the end of the lease, or of the wait for a claim.
func (w *worker) due() time.Time {
	switch {
	case w.expiring:
		return time.Time{}
	case !w.until.IsZero():
		return w.until
	case w.policy.ClaimTimeout < 0:
		return time.Time{}
	}
	return w.since.Add(w.policy.ClaimTimeout)
}

// renew begins another period of the lease.
func (w *worker) renew() { w.until = time.Now().Add(w.policy.Lease) }

// beginLease follows the claim.
func (w *worker) beginLease() {
	w.renew()
	w.claims.countLeases(w.agent, 1)
}

// claimedWorker returns the worker that has claimed the active turn; nil if none has.
func (act *activeTurn) claimedWorker() *worker {
	if w := act.work.worker(); w != nil && !w.unattended() {
		return w
	}
	return nil
}

// expireWorker ends the attempt of a worker whose time is over, after the commands
// in the intake: a renewal that came in time may have waited for a slow disk.
func (a *actor) expireWorker(w *worker) {
	w.expiring = true
	a.in.post(func(a *actor) {
		w.expiring = false
		act := a.state.active
		if a.stopped || a.dead != nil || a.held != nil || act == nil || act.work.worker() != w || time.Now().Before(w.due()) {
			return
		}
		d := a.observe()
		d.turn.endExpired(w)
		a.commitOutput(d)
	})
}

// checkWorkerInput refuses messages that make the input of a worker's turn larger
// than the answer to its claim can be: no worker could ever receive such a turn.
// turnID is "" for a new turn.
func (d *decision) checkWorkerInput(turnID string, more []items.UserMessage) error {
	if d.agent().remote == nil {
		return nil
	}
	const names = 128 // of the members around a message, and its item_id
	size := 0
	if turnID != "" {
		rows, err := d.rules.log.Input(context.Background(), turnID)
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

// newWorker returns the executor of the thread's active turn, which no worker has
// claimed yet.
func newWorker(a *actor) *worker {
	t, agent := a.state.active.turn, a.state.thread.Agent
	return &worker{
		claims: &a.e.workers.claims, agent: agent, policy: a.e.rules.agents.of(agent).leases(), since: time.Now(),
		offer: offer{threadID: a.id, turnID: t.TurnID, attempt: t.Attempt, prompt: t.Prompts},
	}
}

// resumesAfterRestart reports whether the active turn that a restart has found is a
// worker's. The worker does not notice the restart.
func (act *activeTurn) resumesAfterRestart(g *agent) bool {
	return g.remote != nil && !act.waitsForAttempt() && len(act.tries.live) > 0 &&
		(act.turn.ClaimedSeq > 0 || act.turn.Progress == turns.Starting)
}

// resumeWorker makes the worker of a turn that was read from the log. The lease, or
// the wait for a claim, begins anew, because no worker could renew or claim while
// the server was down. The turn's timeout has continued, like the worker.
func (a *actor) resumeWorker() {
	act, w := a.state.active, newWorker(a)
	if since := act.turn.RunningSince; !since.IsZero() { // used_ms has what it took before
		act.clock.since = since.Time
	}
	act.work.exec = w
	if act.turn.ClaimedSeq == 0 {
		a.e.workers.claims.offer(w.agent, w.offer, false)
		return
	}
	w.beginLease()
	grant(a, w) // the worker has it since its claim
	if act.turn.Progress == turns.Interrupting {
		s := stop{by: act.turn.InterruptedBy, state: turns.Interrupted, reason: act.turn.ProgressMessage}
		if s.reason == timeoutReason && act.clock.timeout > 0 && act.clock.left() <= 1 {
			s = timedOut()
		}
		act.stop, act.work.stopBy = &s, w.until
	}
}

// endExpired ends the attempt of a worker whose lease has run out, or the turn
// that no worker has claimed in time.
func (w *turnWriter) endExpired(is *worker) {
	const why = "the worker's lease has run out"
	act := w.d.active()
	switch {
	case is.unattended():
		w.end(ending{state: turns.Failed, failure: &turns.Failure{
			Kind: "agent_unavailable", Message: fmt.Sprintf("no worker has claimed the turn within %v", is.policy.ClaimTimeout),
		}})
	case act.stop != nil:
		w.endStopped(act.stop, turns.Outcome{StopReason: why})
	case w.retry(turns.CauseLease, why):
	case w.d.agent().retryPolicy(act.turn.Retry).OnCrash == turns.CrashRetry:
		w.end(ending{state: turns.Failed, failure: &turns.Failure{Kind: "agent_unavailable", Message: why + ", in the last attempt of the turn"}})
	default:
		w.end(ending{state: turns.Interrupted, reason: why, message: interruption(why)})
	}
}

// unsentSteers returns the ids of the turn's steers that were not in the last answer.
func (act *activeTurn) unsentSteers() (ids []string) {
	sent := act.work.worker().sent
	for _, id := range act.steers {
		if !slices.Contains(sent, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// markSent records that an answer to the worker has these messages.
func (act *activeTurn) markSent(messages []turns.WorkerInput) {
	w := act.work.worker()
	for _, m := range messages {
		if o := act.open.get(m.ItemID); o != nil && !slices.Contains(w.sent, m.ItemID) {
			w.sent = append(w.sent, m.ItemID)
		}
	}
}

// confirmSent completes the user messages of the last answer: the worker has
// received them, because it has made another request.
func (w *turnWriter) confirmSent() {
	act := w.d.active()
	for _, id := range act.work.worker().sent {
		if o := act.open.get(id); o != nil {
			_ = w.d.items.addUpdated(o, items.StatusCompleted)
			act.open.remove(id)
		}
		act.dropSteer(id)
	}
}
