package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Recover ends what a crash left unfinished, before a listener opens: the
// attempts of active turns are given up, by which the turns end or wait to be
// tried again, and closing threads are closed. A worker's turn is left to its
// worker. Turns start with Run, those that are tried again before those that are
// queued.
func (e *Engine) Recover(ctx context.Context) error {
	rt, err := e.store.Runtime(ctx)
	if err != nil {
		return fmt.Errorf("read the runtime's state: %w", err)
	}
	e.pause.set(rt)
	e.gate.pause(rt.Paused)
	active, queued, err := e.store.Unfinished(ctx)
	if err != nil {
		return fmt.Errorf("look for unfinished turns: %w", err)
	}
	// In parallel, so that they share commits.
	errs := make(chan error, len(active))
	found := make([]recovered, len(active))
	slots := make(chan struct{}, e.rules.cfg.MaxActiveTurns)
	for i, id := range active {
		slots <- struct{}{}
		go func() {
			var err error
			found[i], err = e.recoverSafely(id)
			errs <- err
			<-slots
		}()
	}
	for range active {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return fmt.Errorf("recover threads: %w", err)
	}
	for i, id := range active {
		switch found[i] {
		case turnWaits:
			e.gate.joinAll([]string{id})
		case turnContinues:
			e.gate.adopt()
			e.resumeIDs = append(e.resumeIDs, id)
		}
	}
	e.gate.joinAll(queued)
	return nil
}

// recovered is what there is of a thread's turn after recovery.
type recovered int

const (
	turnEnded     recovered = iota
	turnWaits               // for its next attempt
	turnContinues           // in a worker, or it waits for one
)

// recoverThread commits the end of the turn that was active, or of its
// attempt. The actor has no goroutine of its own yet and is dropped afterwards.
func (a *actor) recoverThread() (recovered, error) {
	a.recovering = true
	if err := a.load(); err != nil {
		return turnEnded, fmt.Errorf("load thread %s: %w", a.id, err)
	}
	d, left := a.decide(), turnEnded
	switch act := d.active(); {
	case act != nil && act.waitsForAttempt():
		return turnWaits, nil // it is in the log already
	case act != nil && act.outlivesRestart(a.agent()):
		return turnContinues, nil
	case act != nil:
		if d.turn.recoverTurn() {
			left = turnWaits
		}
	case d.next().thread != nil && d.next().thread.State == threads.Closing:
		d.addThreadClosed(d.next().thread.Reason)
	default:
		return turnEnded, nil
	}
	_, err := a.append(d)
	return left, err
}

// Drain lets running turns go on for DrainAfter, interrupts the rest and
// waits DrainGrace for them; those that wait for a person, or begin to, it
// interrupts at once: nothing would come of letting them go on. New turns are
// refused from now on, queued ones stay queued. Turns of workers are left alone
// and not waited for. It returns early when no other turn is active or ctx is
// done.
func (e *Engine) Drain(ctx context.Context) error {
	e.pause.drain()
	e.claims.close()

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

// interruptWaiting ends a turn for which nobody will be asked any more. One that
// waits for its next attempt, or is a worker's, is left to the next server.
func (a *actor) interruptWaiting() {
	act := a.state.active
	switch {
	case act == nil:
	case act.waitsForAttempt():
		a.slot.keep()
	case act.work.exec != nil && act.work.exec.outlivesServer():
		a.slot.leave() // nobody waits for it, and the next server finds it
	case act.clock.waiting:
		a.stopForDrain(a.agent().stopWithin(a.e.rules.cfg.InterruptAfter))
	}
}

func (a *actor) stopForDrain(within time.Duration) {
	act := a.state.active
	if act == nil || act.work.exec == nil || act.work.exec.outlivesServer() || a.held != nil || a.dead != nil {
		return
	}
	if act.stop != nil {
		act.work.stop(errTurnInterrupted, within)
		return
	}
	d := a.observe()
	d.turn.stop(stop{state: turns.Interrupted, reason: "server stopping"}, within)
	a.commitOutput(d)
}

// waitFor reports whether c was closed before the time was over or ctx done.
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
