package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// Pause keeps turns of all threads from starting; those that run go on. It
// survives a restart. Errors: *InvalidError, ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) Pause(ctx context.Context, c turns.Pause) (turns.PauseResult, error) {
	if err := turns.CheckSeconds("timeout_seconds", c.TimeoutSeconds); err != nil {
		return turns.PauseResult{}, err
	}
	body := &turns.RuntimeEvent{Type: "paused", Reason: c.Reason}
	if c.TimeoutSeconds > 0 {
		body.Until = notify.TimeOf(time.Now().Add(time.Duration(c.TimeoutSeconds * float64(time.Second))))
	}
	return e.changeRuntime(notify.HolonPaused, body, c.Key)
}

// Resume ends a pause. Errors: as Pause.
func (e *Engine) Resume(ctx context.Context, c turns.Resume) (turns.PauseResult, error) {
	return e.changeRuntime(notify.HolonResumed, &turns.RuntimeEvent{Type: "resumed", Reason: c.Reason}, c.Key)
}

// changeRuntime closes the gate before a pause is in the log, and opens it
// after a resume is: see gate.
func (e *Engine) changeRuntime(method string, body *turns.RuntimeEvent, key *ledger.Key) (turns.PauseResult, error) {
	e.runtimeMu.Lock()
	defer e.runtimeMu.Unlock()
	if err := turns.CheckText("reason", body.Reason); err != nil {
		return turns.PauseResult{}, err
	}
	if key != nil {
		if r, ok, err := replay[turns.PauseResult](e.store, key); ok || err != nil {
			return r, err
		}
	}
	prev := e.Runtime()
	next := &prev
	r := turns.PauseResult{Success: true, Message: "already " + body.Type, State: e.stateAfter(prev), Until: prev.Until}
	c := &change{now: nowTime()}
	pauses := method == notify.HolonPaused
	if prev.Paused != pauses {
		d := notify.Draft{Method: method, Header: notify.Header{Seq: notify.Provisional(0), Timestamp: c.now}, Body: body}
		if err := d.Encode(); err != nil {
			return turns.PauseResult{}, err
		}
		next = turns.ApplyRuntime(prev, d.Header, body)
		c.unit.Drafts, c.unit.Rows = []notify.Draft{d}, []ledger.Row{next}
		r.Message, r.State, r.Until = body.Type, e.stateAfter(*next), next.Until
	}
	if err := c.setKey(key, r); err != nil {
		return turns.PauseResult{}, err
	}
	if pauses {
		e.gate.set(true, e.isDraining())
	}
	rc, err := e.store.Append(&c.unit)
	if err == nil && rc.Stored != nil {
		r, err = again[turns.PauseResult](rc.Stored, key)
		e.gate.set(prev.Paused, e.isDraining())
		return r, err
	}
	if err != nil {
		e.gate.set(prev.Paused, e.isDraining())
		return turns.PauseResult{}, err
	}
	e.stateMu.Lock()
	e.runtime = *next
	e.stateMu.Unlock()
	e.gate.set(next.Paused, e.isDraining())
	select {
	case e.timer <- struct{}{}:
	default:
	}
	r.Seq = rc.Last
	return r, nil
}

func (e *Engine) stateAfter(r turns.Runtime) string {
	switch {
	case e.isDraining():
		return "draining"
	case r.Paused:
		return "paused"
	}
	return "running"
}

// keepPause ends a pause whose time has come, until ctx is done.
func (e *Engine) keepPause(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait := time.Hour
		if r := e.Runtime(); r.Paused && !r.Until.IsZero() {
			wait = max(0, time.Until(r.Until.Time))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-e.timer:
		case <-timer.C:
			if r := e.Runtime(); r.Paused && !r.Until.IsZero() && !time.Now().Before(r.Until.Time) {
				if _, err := e.Resume(ctx, turns.Resume{Reason: "timeout"}); err != nil {
					e.log.Error("resume after timeout", zap.Error(err))
					if errors.Is(err, ledger.ErrStorageFailed) {
						<-ctx.Done()
						return
					}
					timer.Reset(heldRetry)
					select {
					case <-ctx.Done():
						return
					case <-timer.C:
					}
				}
			}
		}
	}
}

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
	e.stateMu.Lock()
	e.runtime = rt
	e.stateMu.Unlock()
	e.gate.set(rt.Paused, false)
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
	e.stateMu.Lock()
	e.draining = true
	paused := e.runtime.Paused
	e.stateMu.Unlock()
	e.gate.set(paused, true)
	e.claims.close()

	empty := e.gate.whenEmpty()
	e.eachActor(func(a *actor) { a.stopWaiting() })
	if waitFor(ctx, empty, e.cfg.DrainAfter) {
		return nil
	}
	// Three quarters of the grace for agents, the rest for the commits.
	within := e.cfg.DrainGrace * 3 / 4
	e.eachActor(func(a *actor) { a.stopForDrain(within) })
	if !waitFor(ctx, empty, e.cfg.DrainGrace) {
		return context.DeadlineExceeded
	}
	return nil
}

// eachActor gives all busy threads a command of the engine's own.
func (e *Engine) eachActor(f func(*actor)) {
	e.mu.Lock()
	ids := make([]string, 0, len(e.actors))
	for id := range e.actors {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	for _, id := range ids {
		_ = e.submit(id, f, true) // fails only when the engine has ended
	}
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
