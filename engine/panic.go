package engine

import (
	"context"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/turns"
)

// maxPanics is how often an actor starts over after a panic. After one more, the
// thread is left as it is in the log until a restart: a permanent fault must not
// fill the log or loop forever.
const maxPanics = 3

// panicked follows a panic in the actor. It ends the active turn of the thread and
// affects no other thread.
func (a *actor) panicked(v any) {
	a.logPanic(v)
	if a.stopped {
		return // the next server recovers the thread
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

// startOver reads the actor's state from the log again, because the state may differ from
// it. The turn that was active fails, with why as the message.
func (a *actor) startOver(why string) {
	a.work.detach()
	a.slot.reclaim()
	a.release()
	a.loaded = false
	has := a.slot.state
	if err := a.load(); err != nil {
		a.e.log.Error("read the thread again", zap.String("thread_id", a.id), zap.Error(err))
		a.die(turns.ErrInternal)
		return
	}
	a.slot.state = has // load takes it for the slot of a turn that Recover has found
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

// answerWaiters answers the clients that wait for what was in the last commit
// before the panic.
func (a *actor) answerWaiters() {
	a.waiters.closed(a.state.thread)
	if len(a.waiters.ends) == 0 {
		return
	}
	t, err := a.e.rows.Turn(context.Background(), a.waiters.turnID)
	if err != nil || t == nil {
		a.e.log.Error("read the end of a turn", zap.String("turn_id", a.waiters.turnID), zap.Error(err))
		a.waiters.ends = nil // they must not get the end of the next turn
		return
	}
	a.waiters.ended(t)
}
