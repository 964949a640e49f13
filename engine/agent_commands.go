package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// callAgentWithin is how long an agent may take to change settings or to fork:
// it may have to start first, and to load its session.
const callAgentWithin = 60 * time.Second

// ThreadConfigure lets the agent of a thread change the thread's settings, and
// stores the result. The agent is called outside of the thread's actor, for one
// change of a thread at a time. A client that hangs up does not stop it. With a Cwd the
// thread's agent works there from the next turn on; without a Config it is not asked.
// Errors: *InvalidError, threads.ErrNotFound, threads.ErrClosed, ErrBusy for a Cwd while a
// turn of the thread is active, ErrAgentNotFound, *UnsupportedError, *AgentError,
// ledger.ErrKeyConflict, ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) ThreadConfigure(ctx context.Context, c turns.Configure) (turns.ConfigureResult, error) {
	if err := c.Check(); err != nil {
		return turns.ConfigureResult{}, err
	}
	c.Cwd = cleaned(c.Cwd)
	unlock, err := e.agentLocks.lock(ctx, c.ThreadID)
	if err != nil {
		return turns.ConfigureResult{}, err
	}
	defer unlock()
	if r, ok, err := ledger.Replay[turns.ConfigureResult](e.store, c.Key); ok || err != nil {
		return r, err
	}
	t, err := e.openThread(ctx, c.ThreadID, c.Cwd != "")
	if err != nil {
		return turns.ConfigureResult{}, err
	}
	g := e.rules.agents.of(t.Agent)
	if c.Cwd != "" && !sameDirectory(c.Cwd, t.Cwd) {
		if g.local != nil {
			if err := e.dirs.usable(ctx, c.Cwd); err != nil {
				return turns.ConfigureResult{}, err
			}
		}
		if g.keepsDirectory && t.AgentSessionID != "" {
			return turns.ConfigureResult{}, &turns.UnsupportedError{Agent: t.Agent, What: "goes on with a conversation only in the directory in which that began: start another thread in the new one"}
		}
		t.Cwd = c.Cwd
	}
	var is turns.AgentThread
	if len(c.Config) > 0 {
		if g.configurer == nil {
			return turns.ConfigureResult{}, turns.NoSettings(t.Agent, c.Config)
		}
		if is, err = e.callAgent(t.Agent, func(ctx context.Context) (turns.AgentThread, error) {
			return g.configurer.Configure(ctx, agentThread(t), c.Config)
		}); err != nil {
			return turns.ConfigureResult{}, err
		}
	}
	return call(context.WithoutCancel(ctx), e, c.ThreadID, func(a *actor) (turns.ConfigureResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (turns.ConfigureResult, error) { return d.configure(c, is) })
		return r, err
	})
}

// configure stores where the agent of a thread works, and the settings that it returned
// if it was asked.
func (d *decision) configure(c turns.Configure, is turns.AgentThread) (turns.ConfigureResult, error) {
	if err := d.mustBeOpen(); err != nil {
		return turns.ConfigureResult{}, err
	}
	if c.Cwd != "" && !sameDirectory(c.Cwd, d.next().thread.Cwd) {
		// The agent may have its new settings already, so a turn that has begun since it was
		// asked is no reason to refuse any more.
		if d.active() != nil && len(c.Config) == 0 {
			return turns.ConfigureResult{}, turns.ErrBusy
		}
		d.change.thread(notify.ThreadUpdated, &threads.Updated{Type: "updated", Cwd: c.Cwd, RequestedBy: requestedBy(c.By)})
	}
	if len(c.Config) > 0 {
		if err := d.setAgentThread(is, "", c.By); err != nil {
			return turns.ConfigureResult{}, err
		}
	}
	t := d.next().thread
	return turns.ConfigureResult{ThreadID: t.ThreadID, Config: t.Config, Cwd: t.Cwd}, nil
}

// ThreadFork starts a thread whose agent continues the conversation of another
// one from the end of its newest turn. Errors: as ThreadConfigure, and ErrNotFound
// for AfterTurnID, ErrBusy while a turn of the thread is active, threads.ErrConflict
// if NewThreadID exists.
func (e *Engine) ThreadFork(ctx context.Context, c turns.Fork) (turns.ForkResult, error) {
	if err := c.Check(); err != nil {
		return turns.ForkResult{}, err
	}
	unlock, err := e.agentLocks.lock(ctx, c.ThreadID)
	if err != nil {
		return turns.ForkResult{}, err
	}
	defer unlock()
	if r, ok, err := ledger.Replay[turns.ForkResult](e.store, c.Key); ok || err != nil {
		return r, err
	}
	t, err := e.openThread(ctx, c.ThreadID, true)
	if err != nil {
		return turns.ForkResult{}, err
	}
	agent := e.rules.agents.of(t.Agent).forker
	if agent == nil {
		return turns.ForkResult{}, &turns.UnsupportedError{Agent: t.Agent, What: "cannot fork a conversation"}
	}
	from, err := e.forkPoint(ctx, c)
	if err != nil {
		return turns.ForkResult{}, err
	}
	newID := c.NewThreadID
	if newID == "" {
		newID = threads.NewID()
	} else if err := e.mustNotExist(ctx, newID); err != nil {
		return turns.ForkResult{}, err
	}
	forked, err := e.callAgent(t.Agent, func(ctx context.Context) (turns.AgentThread, error) { return agent.Fork(ctx, agentThread(t), newID) })
	if err != nil {
		return turns.ForkResult{}, err
	}
	// The conversation must not have continued meanwhile: it would be unknown how
	// much of it is in the fork. The agent's fork is abandoned then.
	ctx = context.WithoutCancel(ctx)
	source, err := e.openThread(ctx, c.ThreadID, true)
	if err != nil {
		return turns.ForkResult{}, err
	}
	if now, err := e.forkPoint(ctx, c); err != nil || now != from {
		return turns.ForkResult{}, errors.Join(err, turns.ErrBusy)
	}
	return call(ctx, e, newID, func(a *actor) (turns.ForkResult, error) {
		r, _, err := keyed(a, c.Key, func(d *decision) (turns.ForkResult, error) { return d.startFork(c.By, source, from, forked) })
		return r, err
	})
}

func (d *decision) startFork(by turns.By, source threads.Thread, from threads.ForkedFrom, forked turns.AgentThread) (turns.ForkResult, error) {
	if d.next().thread != nil {
		return turns.ForkResult{}, threads.ErrConflict
	}
	if d.rules.draining() {
		return turns.ForkResult{}, turns.ErrDraining
	}
	body := &threads.Changed{
		Type: "started", State: threads.Running, StartedAt: d.change.now, SessionID: d.change.threadID, Agent: source.Agent,
		Cwd: source.Cwd, ForkedFrom: &from, RequestedBy: requestedBy(by),
	}
	title := source.Title // of the agent, unless it was given: only then it is in thread/started
	if source.TitleBy == threads.ByClient {
		body.Title, title = title, ""
	}
	d.change.thread(notify.ThreadStarted, body)
	if err := d.setAgentThread(forked, title, by); err != nil {
		return turns.ForkResult{}, err
	}
	return turns.ForkResult{
		ThreadID: d.change.threadID, SessionID: d.change.threadID, State: threads.Running, Agent: source.Agent, StartedAt: d.change.now, ForkedFrom: from,
	}, nil
}

// openThread returns the row of an open thread whose agent is configured. With
// idle, no turn may be active.
func (e *Engine) openThread(ctx context.Context, threadID string, idle bool) (threads.Thread, error) {
	if e.pause.isDraining() {
		return threads.Thread{}, turns.ErrDraining
	}
	return call(ctx, e, threadID, func(a *actor) (threads.Thread, error) {
		if err := a.state.mustBeOpen(); err != nil {
			return threads.Thread{}, err
		}
		switch {
		case idle && a.state.active != nil:
			return threads.Thread{}, turns.ErrBusy
		case e.rules.agents[a.state.thread.Agent] == nil:
			return threads.Thread{}, e.rules.agents.missing(a.state.thread.Agent)
		}
		return *a.state.thread, nil
	})
}

func agentThread(t threads.Thread) turns.AgentThread {
	return turns.AgentThread{ThreadID: t.ThreadID, Cwd: t.Cwd, SessionID: t.AgentSessionID, Config: t.Config}
}

func (e *Engine) mustNotExist(ctx context.Context, threadID string) error {
	_, err := call(ctx, e, threadID, func(a *actor) (struct{}, error) {
		if a.state.thread != nil {
			return struct{}{}, threads.ErrConflict
		}
		return struct{}{}, nil
	})
	return err
}

// forkPoint returns the newest turn of the thread that has run. AfterTurnID must be
// that turn, or one that ended after it without having run.
func (e *Engine) forkPoint(ctx context.Context, c turns.Fork) (threads.ForkedFrom, error) {
	from := threads.ForkedFrom{ThreadID: c.ThreadID}
	last, err := e.rows.LastTurn(ctx, c.ThreadID)
	if err != nil {
		return from, err
	}
	if last != nil {
		from.TurnID = last.TurnID
	}
	if c.AfterTurnID == "" || c.AfterTurnID == from.TurnID {
		return from, nil
	}
	t, err := e.rows.Turn(ctx, c.AfterTurnID)
	switch {
	case err != nil:
		return from, err
	case t == nil || t.ThreadID != c.ThreadID:
		return from, turns.ErrNotFound
	case !t.State.Ended() || (last != nil && t.UpdatedSeq < last.UpdatedSeq):
		return from, turns.Invalid("after_turn_id", turns.ReasonInvalid, "agents fork at the end of a conversation only: it must be the thread's newest turn that has ended")
	}
	return from, nil
}

// callAgent calls an agent outside of its turns. It returns one of the errors that
// ThreadConfigure and ThreadFork promise.
func (e *Engine) callAgent(name string, f func(context.Context) (turns.AgentThread, error)) (t turns.AgentThread, err error) {
	ctx, cancel := context.WithTimeout(e.agentCtx, callAgentWithin)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("agent panicked", zap.String("agent", name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			err = &turns.AgentError{Kind: "agent_failed", Message: fmt.Sprint("the agent panicked: ", v)}
		}
	}()
	t, err = f(ctx)
	var bad *turns.InvalidError
	var failed *turns.AgentError
	var cannot *turns.UnsupportedError
	switch {
	case err == nil || errors.As(err, &bad) || errors.As(err, &failed) || errors.As(err, &cannot):
	case e.agentCtx.Err() != nil:
		err = turns.ErrDraining
	case ctx.Err() != nil:
		err = &turns.AgentError{Kind: "timeout", Message: fmt.Sprintf("the agent %s did not answer within %v", name, callAgentWithin)}
	default:
		err = &turns.AgentError{Kind: "agent_failed", Message: err.Error()}
	}
	return t, err
}
