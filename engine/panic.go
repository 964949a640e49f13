package engine

import (
	"context"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/turns"
)

// maxPanics is how often an actor starts over. The thread of one that panics
// again is left as the log has it until the server is started again: whatever
// is wrong there must not fill the log, nor run for ever.
const maxPanics = 3

// panicked follows a panic in the actor's work, which ends what the thread was
// at, and nothing else of the server.
func (a *actor) panicked(v any) {
	a.logPanic(v)
	if a.stopped {
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
	if act := a.state.active; act != nil {
		fields = append(fields, zap.String("turn_id", act.turn.TurnID))
	}
	a.e.log.Error("the thread's actor panicked", fields...)
}

// startOver makes the actor's memory of what the log says, after the two may
// have parted. The turn that was active fails, for the reason given.
func (a *actor) startOver(why string) {
	a.work.detach()
	a.slot.reclaim()
	a.held, a.loaded = nil, false
	if err := a.load(); err != nil {
		a.e.log.Error("read the thread again", zap.String("thread_id", a.id), zap.Error(err))
		a.die(turns.ErrInternal)
		return
	}
	a.countWaiting()
	if a.state.active == nil { // it had ended, or there was none
		a.slot.leave()
		a.answerWaiters()
		a.startRetryAt = time.Now().Add(heldRetry)
		return
	}
	if a.slot.state == slotReserved {
		a.slot.hold()
	}
	d := a.decide()
	d.turn.end(ending{state: turns.Failed, failure: &turns.Failure{Kind: "internal", Message: why}})
	a.commitEnd(d)
}

// answerWaiters answers those who wait for what was in the commit after which
// the actor panicked.
func (a *actor) answerWaiters() {
	a.waiters.closed(a.state.thread)
	if len(a.waiters.ends) == 0 {
		return
	}
	t, err := a.e.store.Turn(context.Background(), a.waiters.turnID)
	if err != nil || t == nil {
		a.e.log.Error("read the end of a turn", zap.String("turn_id", a.waiters.turnID), zap.Error(err))
		return
	}
	a.waiters.ended(t)
}
