package engine

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Drain lets running turns continue for DrainAfter, then interrupts the rest and
// waits DrainGrace for them. It interrupts turns that wait for a person, or begin
// to, at once, because no answer will come. New turns are refused from now on,
// queued ones stay queued. Turns of workers continue, and Drain does not wait for
// them. It returns early when no other turn is active, or when ctx is done.
func (e *Engine) Drain(ctx context.Context) error {
	e.pause.drain()
	e.workers.claims.close()

	empty := e.gate.whenEmpty()
	e.owners.eachActor((*actor).interruptWaiting)
	if waitFor(ctx, empty, e.rules.cfg.DrainAfter) {
		return nil
	}
	// Three quarters of the grace for agents, the rest for the commits.
	within := e.rules.cfg.DrainGrace * 3 / 4
	e.owners.eachActor(func(a *actor) { a.stopForDrain(within) })
	if !waitFor(ctx, empty, e.rules.cfg.DrainGrace) {
		return context.DeadlineExceeded
	}
	return nil
}

// interruptWaiting interrupts a turn that waits for a person. A turn that waits for
// its next attempt or for child turns, or is a worker's, is left to the next server.
func (a *actor) interruptWaiting() {
	act := a.state.active
	if act != nil && act.work.exec != nil && act.work.exec.outlivesServer() {
		a.slot.leave() // the drain does not wait for it, and the next server finds it
		return
	}
	switch {
	case a.defers((*actor).interruptWaiting) || act == nil:
	case act.turn.WaitsForChildren():
		a.slot.leave() // the next server goes on with it
	case act.waitsForAttempt():
		a.slot.keep()
	case act.waitsForPerson():
		a.stopForDrain(a.agent().stopWithin(a.e.rules.cfg.InterruptAfter))
	}
}

func (a *actor) stopForDrain(within time.Duration) {
	if a.defers(func(a *actor) { a.stopForDrain(within) }) {
		return
	}
	act := a.state.active
	if act == nil || act.work.exec == nil || act.work.exec.outlivesServer() || a.dead != nil {
		return
	}
	if act.stop != nil {
		act.work.stop(errTurnInterrupted, within)
		return
	}
	d := a.observe()
	if d.turn.giveUpWake() {
		a.commitOutput(d)
		return
	}
	d.turn.stop(stop{state: turns.Interrupted, reason: "server stopping"}, within)
	a.commitOutput(d)
}

// waitFor waits for c. It reports false if d has passed or ctx was done before.
func waitFor(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}
