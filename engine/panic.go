package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/turns"
)

// maxPanics is how often an actor starts over. The thread of one that panics
// again is left as the log has it until the server is started again: whatever
// is wrong there must not fill the log, nor run for ever.
const maxPanics = 3

// survive is deferred around an actor's work: a panic ends what the thread was
// at, and nothing else of the server.
func (a *actor) survive() {
	v := recover()
	if v == nil {
		return
	}
	a.logPanic(v)
	if a.gone {
		return // what is left of the thread is the next server's
	}
	defer func() {
		if v := recover(); v != nil {
			a.logPanic(v)
			a.die(turns.ErrInternal)
		}
	}()
	a.panics++
	a.startOver("the server failed at the turn; its log has the cause")
	if a.panics > maxPanics {
		a.die(turns.ErrInternal)
	}
}

func (a *actor) logPanic(v any) {
	fields := []zap.Field{zap.String("thread_id", a.id), zap.Any("panic", v), zap.ByteString("stack", debug.Stack())}
	if a.active != nil {
		fields = append(fields, zap.String("turn_id", a.active.turn.TurnID))
	}
	a.e.log.Error("the thread's actor panicked", fields...)
}

// startOver makes the actor's memory of what the log says, after the two may
// have parted. The turn that was active fails, for the reason given.
func (a *actor) startOver(why string) {
	was, placed := a.active, a.entered
	if was != nil {
		a.claimPlace(was)
		placed = placed || was.placed
		was.setWaiting(a.e, false)
	}
	a.abandonRun()
	a.held, a.loaded = nil, false
	if err := a.load(); err != nil {
		a.e.log.Error("read the thread again", zap.String("thread_id", a.id), zap.Error(err))
		a.active = was
		a.die(turns.ErrInternal)
		return
	}
	a.entered = false
	if a.active == nil { // it had ended, or there was none
		a.giveBack(placed)
		a.startBy = time.Now().Add(heldRetry)
		return
	}
	a.active.placed = placed
	if was != nil {
		a.active.waiters = was.waiters
	}
	b := a.build()
	b.endTurn(ending{state: turns.Failed, failure: &turns.Failure{Kind: "internal", Message: why}})
	b.after = append(b.after, a.turnOver)
	a.commitLast(b)
}

// giveBack frees a place of the thread's, or its place in line.
func (a *actor) giveBack(placed bool) {
	if placed {
		a.e.gate.leave()
	} else {
		a.e.gate.decline(a.id)
	}
}

// recoverSafely is recoverThread for a thread whose recovery may panic: the
// server starts without it.
func (e *Engine) recoverSafely(threadID string) (found recovered, err error) {
	a := newActor(e, threadID)
	defer func() {
		if v := recover(); v != nil {
			a.logPanic(v)
			found, err = turnEnded, nil
			broken := newActor(e, threadID)
			broken.dead = fmt.Errorf("recover thread %s: %w", threadID, turns.ErrInternal)
			e.owners.put(broken)
		}
	}()
	return a.recoverThread()
}
