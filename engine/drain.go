package engine

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// Drain lets running turns continue for DrainAfter. Then it gives up the attempts of those
// that have a policy, for the next server to retry, interrupts the rest and waits
// DrainGrace for them. Turns that wait for a person, or begin to, are left to the next
// server at once: see leaveWaiting. New turns are refused from now on, queued ones stay
// queued. Turns of workers continue, and Drain does not wait for them. It returns early
// when no other turn is active, or when ctx is done.
func (e *Engine) Drain(ctx context.Context) error {
	e.pause.drain()
	e.workers.claims.close()

	empty := e.gate.whenEmpty()
	e.actors.eachActor((*actor).leaveWaiting)
	if waitFor(ctx, empty, e.rules.cfg.DrainAfter) {
		return nil
	}
	// Three quarters of the grace for agents, the rest for the commits.
	within := e.rules.cfg.DrainGrace * 3 / 4
	e.actors.eachActor(func(a *actor) { a.stopForDrain(within) })
	if !waitFor(ctx, empty, e.rules.cfg.DrainGrace) {
		return context.DeadlineExceeded
	}
	return nil
}

// leaveWaiting leaves a turn that waits, or is a worker's, to the next server. Nothing is
// written about one that waits for a person, and its agent is told nothing: the next server
// decides as after a kill, so that a stop in order loses no more than that.
func (a *actor) leaveWaiting() {
	act := a.state.active
	if act != nil && act.work.exec != nil && act.work.exec.outlivesServer() {
		a.slot.leave() // the drain does not wait for it, and the next server finds it
		return
	}
	switch {
	case a.defers((*actor).leaveWaiting) || act == nil:
	case act.betweenPrompts():
		a.slot.leave() // the next server goes on with it
	case act.waitsForAttempt():
		a.slot.keep()
	case act.waitsForPerson() && act.work.exec != nil:
		act.work.leave()
		a.slot.leave()
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
	switch {
	case act.waitsForPerson(): // since a moment ago
		a.leaveWaiting()
		return
	case act.stop != nil:
		act.work.stop(errTurnInterrupted, within)
		return
	}
	d := a.observe()
	if !d.turn.retryRestarted(turns.ServerStopping, true) {
		d.turn.stop(d.turn.stoppedByServer(), within)
	}
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
