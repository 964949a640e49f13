package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// Recover ends what a crash or a stop left unfinished, before a listener opens. It ends the
// attempts of active turns: each turn ends or waits for a retry. It closes closing
// threads. A worker's turn continues in its worker. A turn that waits for a person keeps
// waiting, without a process, if its agent can go on with it, also while that agent is not
// configured. Turns start with Run:
// retries first, then queued turns.
func (e *Engine) Recover(ctx context.Context) error {
	rt, err := e.rows.Runtime(ctx)
	if err != nil {
		return fmt.Errorf("read the runtime's state: %w", err)
	}
	if err := e.pause.inherit(rt); err != nil {
		return err
	}
	active, queued, err := e.rows.Unfinished(ctx)
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
	fresh, err := e.rules.inboxes.InboxesWithNew(ctx)
	if err != nil {
		return fmt.Errorf("look for inboxes with new entries: %w", err)
	}
	e.gate.joinAll(fresh) // each is judged once the gate opens
	return nil
}

// recoverSafely works like recoverThread, with a guard against panics: the server starts,
// and the thread refuses commands.
func (e *Engine) recoverSafely(threadID string) (found recovered, err error) {
	a := newActor(e, threadID)
	defer func() {
		if v := recover(); v != nil {
			a.logPanic(v)
			found, err = turnEnded, nil
			broken := newActor(e, threadID)
			broken.dead = fmt.Errorf("recover thread %s: %w", threadID, turns.ErrInternal)
			e.actors.put(broken)
		}
	}()
	return a.recoverThread()
}

// recovered is the state of a thread's turn after recovery.
type recovered int

const (
	turnEnded     recovered = iota
	turnWaits               // for its next attempt
	turnContinues           // in a worker, or it waits for one, for child turns or for a person
)

// recoverThread commits the end of the turn that was active, or of its attempt.
// The actor has no goroutine and is dropped afterwards.
func (a *actor) recoverThread() (recovered, error) {
	a.recovering = true
	if err := a.load(); err != nil {
		return turnEnded, fmt.Errorf("load thread %s: %w", a.id, err)
	}
	d, left := a.decide(), turnEnded
	switch act := d.active(); {
	case act != nil && act.waitsForAttempt():
		return turnWaits, nil // it is in the log already
	case act != nil && (act.turn.WaitsForChildren() || act.suspended() && a.agent().mayGoOn() || act.resumesAfterRestart(a.agent())):
		return turnContinues, nil
	case act != nil && act.turn.Resumable && act.pendingQuestions() > 0 && a.agent().mayGoOn():
		d.turn.suspend()
		left = turnContinues
	case act != nil:
		if d.turn.recoverTurn() {
			left = turnWaits
		}
	case d.next().thread != nil && d.next().thread.State == threads.Closing:
		d.addThreadClosed(d.next().thread.Reason, "")
	default:
		return turnEnded, nil
	}
	_, err := a.append(d)
	return left, err
}
