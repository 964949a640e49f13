package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	places := make(chan struct{}, e.cfg.MaxActiveTurns)
	for i, id := range active {
		places <- struct{}{}
		go func() {
			var err error
			found[i], err = e.recoverSafely(id)
			errs <- err
			<-places
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
			e.gate.queue([]string{id})
		case turnGoesOn:
			e.gate.adopt()
			e.resume = append(e.resume, id)
		}
	}
	e.gate.queue(queued)
	return nil
}

// recovered is what there is of a thread's turn after recovery.
type recovered int

const (
	turnEnded  recovered = iota
	turnWaits            // for its next attempt
	turnGoesOn           // in a worker, or it waits for one
)

// recoverThread commits the end of the turn that was active, or of its
// attempt. The actor has no goroutine of its own yet and is dropped afterwards.
func (a *actor) recoverThread() (recovered, error) {
	a.recovers = true
	if err := a.load(); err != nil {
		return turnEnded, fmt.Errorf("load thread %s: %w", a.id, err)
	}
	b, left := a.build(), turnEnded
	switch {
	case a.active != nil && a.active.waitsForAttempt():
		return turnWaits, nil // it is in the log already
	case a.active != nil && a.goesOnWithoutUs():
		return turnGoesOn, nil
	case a.active != nil:
		if a.recoverTurn(b) {
			left = turnWaits
		}
	case a.thread != nil && a.thread.State == "closing":
		b.threadClosed(a.thread.Reason)
	default:
		return turnEnded, nil
	}
	_, err := a.append(b)
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
	e.owners.eachActor(func(a *actor) { a.stopWaiting() })
	if waitFor(ctx, empty, e.cfg.DrainAfter) {
		return nil
	}
	// Three quarters of the grace for agents, the rest for the commits.
	within := e.cfg.DrainGrace * 3 / 4
	e.owners.eachActor(func(a *actor) { a.stopForDrain(within) })
	if !waitFor(ctx, empty, e.cfg.DrainGrace) {
		return context.DeadlineExceeded
	}
	return nil
}

// stopWaiting ends a turn for which nobody will be asked any more. One that
// waits for its next attempt, or is a worker's, is left to the next server.
func (a *actor) stopWaiting() {
	switch {
	case a.active == nil:
	case a.active.waitsForAttempt():
		a.holdOff()
	case a.active.worker != nil:
		a.leaveAlone()
	case a.active.isWaiting:
		a.stopForDrain(a.stopWithin())
	}
}

func (a *actor) stopForDrain(within time.Duration) {
	if a.active == nil || a.active.run == nil || a.held != nil || a.dead != nil {
		return
	}
	b := a.build()
	if a.active.stop == nil {
		b.stopTurn(stop{state: turns.Interrupted, reason: "server stopping"}, within)
		a.commitOutput(b)
		return
	}
	a.tellStop(errTurnInterrupted, within)
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
