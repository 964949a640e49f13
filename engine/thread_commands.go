package engine

import (
	"context"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// StartThread starts a thread, or returns the open one of that id. Errors:
// *InvalidError, ErrAgentNotFound, threads.ErrClosed, threads.ErrConflict,
// ErrKeyConflict, ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) StartThread(ctx context.Context, c turns.StartThread) (turns.StartThreadResult, error) {
	if err := c.Check(); err != nil {
		return turns.StartThreadResult{}, err
	}
	id := c.ThreadID
	if id == "" {
		if c.Key != nil { // a repeat must not wait behind a new, empty thread
			if r, ok, err := replay[turns.StartThreadResult](e.store, c.Key); ok || err != nil {
				return r, err
			}
		}
		id = threads.NewID()
	}
	return call(ctx, e, id, func(a *actor) (turns.StartThreadResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (turns.StartThreadResult, error) { return a.startThread(b, c) })
		return r, err
	})
}

func (a *actor) startThread(b *builder, c turns.StartThread) (turns.StartThreadResult, error) {
	state := threads.Absent
	if a.thread != nil {
		state = a.thread.State
	}
	if c.Agent != "" && a.e.agents[c.Agent] == nil {
		return turns.StartThreadResult{}, turns.ErrAgentNotFound
	}
	next, err := threads.Next(state, threads.VerbStart, false)
	if err != nil {
		return turns.StartThreadResult{}, err
	}
	created := next != state
	if created {
		if a.e.pause.isDraining() {
			return turns.StartThreadResult{}, turns.ErrDraining
		}
		agent := c.Agent
		if agent == "" {
			agent = a.e.cfg.DefaultAgent
		}
		b.change.thread(notify.ThreadStarted, &threads.Changed{
			Type: "started", State: threads.Running, StartedAt: b.change.now, SessionID: a.id, Agent: agent,
			Title: c.Title, Cwd: c.Cwd, Metadata: c.Metadata, Parent: c.Parent,
		})
	} else if (c.Agent != "" && c.Agent != a.thread.Agent) || (c.Cwd != "" && c.Cwd != a.thread.Cwd) {
		return turns.StartThreadResult{}, threads.ErrConflict
	}
	t := b.change.rows.thread
	if t == nil {
		t = a.thread
	}
	return turns.StartThreadResult{
		ThreadID: t.ThreadID, SessionID: t.ThreadID, State: t.State, Agent: t.Agent, StartedAt: t.StartedAt, Created: created,
	}, nil
}

// ChangeThread pauses, resumes or closes a thread. Repeating succeeds and
// changes nothing. Errors: *InvalidError, threads.ErrNotFound,
// threads.ErrClosed (not for close), ErrKeyConflict, ledger.ErrStorageFull,
// ledger.ErrStorageFailed.
func (e *Engine) ChangeThread(ctx context.Context, c turns.ChangeThread) (turns.ChangeThreadResult, error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.ChangeThreadResult{}, err
	}
	return call(ctx, e, c.ThreadID, func(a *actor) (turns.ChangeThreadResult, error) {
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.ChangeThreadResult, error) { return a.changeThread(b, c) })
		if err == nil && !replayed && c.Verb == threads.VerbResume {
			a.startNext()
		}
		return r, err
	})
}

// CloseThread is ChangeThread with VerbClose for a caller who waits: if the
// active turn has to end first, closed delivers the final answer when it has;
// it is nil if the result is final. Errors: as ChangeThread.
func (e *Engine) CloseThread(ctx context.Context, c turns.CloseThread) (result turns.ChangeThreadResult, closed <-chan turns.ChangeThreadResult, err error) {
	if err := turns.CheckText("reason", c.Reason); err != nil {
		return turns.ChangeThreadResult{}, nil, err
	}
	type both struct {
		r      turns.ChangeThreadResult
		closed chan turns.ChangeThreadResult
	}
	out, err := call(ctx, e, c.ThreadID, func(a *actor) (both, error) {
		r, replayed, err := keyed(a, c.Key, func(b *builder) (turns.ChangeThreadResult, error) {
			return a.changeThread(b, turns.ChangeThread{ThreadID: c.ThreadID, Verb: threads.VerbClose, Reason: c.Reason})
		})
		switch {
		case err != nil || r.State != threads.Closing:
			return both{r: r}, err
		case replayed && a.thread.State == threads.Closed:
			r.State, r.Seq = threads.Closed, a.thread.UpdatedSeq
			return both{r: r}, nil
		}
		wait := make(chan turns.ChangeThreadResult, 1)
		a.closers = append(a.closers, wait)
		return both{r, wait}, nil
	})
	return out.r, out.closed, err
}

// isClosed answers those who wait for the thread to be closed.
func (a *actor) isClosed() {
	for _, w := range a.closers {
		w <- turns.ChangeThreadResult{ThreadID: a.id, State: threads.Closed, Seq: a.thread.UpdatedSeq}
	}
	a.closers = nil
}

func (a *actor) changeThread(b *builder, c turns.ChangeThread) (turns.ChangeThreadResult, error) {
	if a.thread == nil {
		return turns.ChangeThreadResult{}, threads.ErrNotFound
	}
	next, err := threads.Next(a.thread.State, c.Verb, a.active != nil && !a.active.unattended())
	if err != nil {
		return turns.ChangeThreadResult{}, err
	}
	if next != a.thread.State {
		switch next {
		case threads.Paused:
			b.change.thread(notify.ThreadPaused, b.changed("paused", next, c.Reason))
		case threads.Running:
			b.change.thread(notify.ThreadResumed, b.changed("resumed", next, c.Reason))
		default:
			b.closeThread(next, c.Reason)
		}
	}
	return turns.ChangeThreadResult{ThreadID: a.id, State: next}, nil
}

// closeThread ends the queue, tells the active turn to stop, and closes the
// thread if there is none.
func (b *builder) closeThread(next threads.State, reason string) {
	a := b.a
	if reason == "" {
		reason = "thread closed"
	}
	if next == threads.Closing {
		b.change.thread(notify.ThreadUpdated, &threads.Updated{Type: "updated", State: threads.Closing, Reason: reason})
	}
	for _, t := range a.queue {
		b.endQueued(t, reason)
	}
	if a.active != nil {
		b.stopTurn(stop{state: turns.Interrupted, reason: reason}, a.stopWithin())
	}
	if next == threads.Closed {
		b.threadClosed(reason)
	}
	b.after = append(b.after, func(ledger.Receipt) { a.e.gate.decline(a.id) })
}

func (b *builder) changed(kind string, state threads.State, reason string) *threads.Changed {
	t := b.change.threadRow()
	return &threads.Changed{
		Type: kind, State: state, StartedAt: t.StartedAt, SessionID: t.ThreadID, Agent: t.Agent, Title: t.Title, Reason: reason,
	}
}
