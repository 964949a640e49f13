package engine

import (
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// waiters are the clients that wait for the end of the active turn, or of the
// thread. It belongs to the actor's goroutine. Channels have a capacity of 1.
type waiters struct {
	turnID string // of the turn that ends wait for
	ends   []chan turns.InterruptResult
	closes []chan turns.ChangeThreadResult
}

// forEnd returns a channel that gets the final answer when the turn has ended.
func (w *waiters) forEnd(turnID string) chan turns.InterruptResult {
	c := make(chan turns.InterruptResult, 1)
	w.turnID, w.ends = turnID, append(w.ends, c)
	return c
}

// forClose returns a channel that gets the final answer when the thread is closed.
func (w *waiters) forClose() chan turns.ChangeThreadResult {
	c := make(chan turns.ChangeThreadResult, 1)
	w.closes = append(w.closes, c)
	return c
}

// ended answers the clients that wait for the end of the turn.
func (w *waiters) ended(t *turns.Turn) {
	for _, c := range w.ends {
		c <- turns.InterruptResult{
			TurnID: t.TurnID, State: string(t.State), InterruptedAt: t.CompletedAt, Message: t.Message, Seq: t.UpdatedSeq,
		}
	}
	w.ends = nil
}

// closed answers the clients that wait for the thread, if it is closed.
func (w *waiters) closed(t *threads.Thread) {
	if t == nil || t.State != threads.Closed {
		return
	}
	for _, c := range w.closes {
		c <- turns.ChangeThreadResult{ThreadID: t.ThreadID, State: threads.Closed, Seq: t.UpdatedSeq}
	}
	w.closes = nil
}
