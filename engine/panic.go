package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/threads"
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
	was := a.active
	if was != nil {
		a.claimPlace(was)
		was.setWaiting(a.e, false)
	}
	a.abandonRun()
	if was != nil && was.placed { // the place is the actor's while it reads
		was.placed, a.entered = false, true
	}
	a.held, a.loaded = nil, false
	if err := a.load(); err != nil {
		a.e.log.Error("read the thread again", zap.String("thread_id", a.id), zap.Error(err))
		a.active = was
		a.die(turns.ErrInternal)
		return
	}
	if a.active == nil { // it had ended, or there was none
		a.giveBack()
		a.answerEnded(was)
		a.startBy = time.Now().Add(heldRetry)
		return
	}
	a.active.placed, a.entered = a.entered, false
	if was != nil {
		a.active.waiters = was.waiters
	}
	b := a.build()
	b.endTurn(ending{state: turns.Failed, failure: &turns.Failure{Kind: "internal", Message: why}})
	b.after = append(b.after, a.turnOver)
	a.commitLast(b)
}

// giveBack frees the actor's place, or its place in line.
func (a *actor) giveBack() {
	if a.entered {
		a.leave()
	} else {
		a.e.gate.decline(a.id)
	}
}

// answerEnded answers those who wait for what was in the commit after which
// the actor panicked.
func (a *actor) answerEnded(was *activeTurn) {
	if a.thread != nil && a.thread.State == threads.Closed {
		a.isClosed()
	}
	if was == nil || len(was.waiters) == 0 {
		return
	}
	t, err := a.e.store.Turn(context.Background(), was.turn.TurnID)
	if err != nil || t == nil {
		a.e.log.Error("read the end of a turn", zap.String("turn_id", was.turn.TurnID), zap.Error(err))
		return
	}
	was.answer(t)
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
