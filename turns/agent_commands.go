package turns

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// askAgentWithin is how long an agent may take to change settings or to fork:
// it may have to start first, and to load its session.
const askAgentWithin = 60 * time.Second

// UnsupportedError says that an agent cannot do what was asked of it.
type UnsupportedError struct {
	Agent string
	What  string // such as "has no settings"
}

// Error implements error.
func (e *UnsupportedError) Error() string { return fmt.Sprintf("the agent %s %s", e.Agent, e.What) }

// ThreadConfigure lets the agent of a thread change the thread's settings,
// and stores what they are then. The agent is asked outside of the thread's
// actor, one change of a thread after the other; a client that hangs up does
// not stop it. Errors: *InvalidError, threads.ErrNotFound, threads.ErrClosed,
// ErrAgentNotFound, *UnsupportedError, *AgentError, ErrKeyConflict,
// ErrDraining, ledger.ErrStorageFull, ledger.ErrStorageFailed.
func (e *Engine) ThreadConfigure(ctx context.Context, c Configure) (ConfigureResult, error) {
	if err := c.check(); err != nil {
		return ConfigureResult{}, err
	}
	unlock, err := e.asking.lock(ctx, c.ThreadID)
	if err != nil {
		return ConfigureResult{}, err
	}
	defer unlock()
	if c.Key != nil {
		if r, ok, err := replay[ConfigureResult](e.store, c.Key); ok || err != nil {
			return r, err
		}
	}
	t, err := e.ofAgent(ctx, c.ThreadID, false)
	if err != nil {
		return ConfigureResult{}, err
	}
	agent, ok := e.agents[t.Agent].(Configurer)
	if !ok {
		return ConfigureResult{}, &UnsupportedError{Agent: t.Agent, What: "has no settings"}
	}
	is, err := e.ask(t.Agent, func(ctx context.Context) (AgentThread, error) { return agent.Configure(ctx, agentThread(t), c.Config) })
	if err != nil {
		return ConfigureResult{}, err
	}
	return call(context.WithoutCancel(ctx), e, c.ThreadID, func(a *actor) (ConfigureResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (ConfigureResult, error) {
			if err := a.takesCommands(); err != nil {
				return ConfigureResult{}, err
			}
			if err := b.setAgentThread(is); err != nil {
				return ConfigureResult{}, err
			}
			return ConfigureResult{ThreadID: a.id, Config: b.threadRow().Config}, nil
		})
		return r, err
	})
}

// ThreadFork starts a thread whose agent goes on from the conversation of
// another one, as it stands at the end of its newest turn. Errors: as
// ThreadConfigure, and ErrNotFound for AfterTurnID, ErrBusy while a turn of
// the thread is active, threads.ErrConflict if NewThreadID exists.
func (e *Engine) ThreadFork(ctx context.Context, c Fork) (ForkResult, error) {
	if err := c.check(); err != nil {
		return ForkResult{}, err
	}
	unlock, err := e.asking.lock(ctx, c.ThreadID)
	if err != nil {
		return ForkResult{}, err
	}
	defer unlock()
	if c.Key != nil {
		if r, ok, err := replay[ForkResult](e.store, c.Key); ok || err != nil {
			return r, err
		}
	}
	t, err := e.ofAgent(ctx, c.ThreadID, true)
	if err != nil {
		return ForkResult{}, err
	}
	agent, ok := e.agents[t.Agent].(Forker)
	if !ok {
		return ForkResult{}, &UnsupportedError{Agent: t.Agent, What: "cannot fork a conversation"}
	}
	from, err := e.forkPoint(ctx, c)
	if err != nil {
		return ForkResult{}, err
	}
	newID := c.NewThreadID
	if newID == "" {
		newID = threads.NewID()
	} else if err := e.mustNotExist(ctx, newID); err != nil {
		return ForkResult{}, err
	}
	forked, err := e.ask(t.Agent, func(ctx context.Context) (AgentThread, error) { return agent.Fork(ctx, agentThread(t), newID) })
	if err != nil {
		return ForkResult{}, err
	}
	// The conversation must not have gone on meanwhile: nobody could say what
	// of it is in the fork. What the agent has made is given up then.
	ctx = context.WithoutCancel(ctx)
	source, err := e.ofAgent(ctx, c.ThreadID, true)
	if err != nil {
		return ForkResult{}, err
	}
	if now, err := e.forkPoint(ctx, c); err != nil || now != from {
		return ForkResult{}, errors.Join(err, ErrBusy)
	}
	return call(ctx, e, newID, func(a *actor) (ForkResult, error) {
		r, _, err := keyed(a, c.Key, func(b *builder) (ForkResult, error) { return a.startFork(b, source, from, forked) })
		return r, err
	})
}

func (a *actor) startFork(b *builder, source threads.Thread, from threads.ForkedFrom, forked AgentThread) (ForkResult, error) {
	if a.thread != nil {
		return ForkResult{}, threads.ErrConflict
	}
	if a.e.isDraining() {
		return ForkResult{}, ErrDraining
	}
	b.thread(notify.ThreadStarted, &threads.Changed{
		Type: "started", State: threads.Running, StartedAt: b.now, SessionID: a.id, Agent: source.Agent,
		Title: source.Title, Cwd: source.Cwd, ForkedFrom: &from,
	})
	if err := b.setAgentThread(forked); err != nil {
		return ForkResult{}, err
	}
	return ForkResult{
		ThreadID: a.id, SessionID: a.id, State: threads.Running, Agent: source.Agent, StartedAt: b.now, ForkedFrom: from,
	}, nil
}

// setAgentThread stores what an agent says of its thread.
func (b *builder) setAgentThread(t AgentThread) error {
	err := b.setThread(items.SetThread{Config: t.Config, AgentSessionID: t.SessionID})
	if err != nil {
		return &AgentError{Kind: "agent_failed", Message: err.Error()}
	}
	return nil
}

// takesCommands refuses what needs an open thread.
func (a *actor) takesCommands() error {
	switch {
	case a.thread == nil:
		return threads.ErrNotFound
	case a.thread.State == threads.Closing || a.thread.State == threads.Closed:
		return threads.ErrClosed
	}
	return nil
}

// ofAgent is the row of an open thread whose agent is configured; idle asks
// that no turn is active.
func (e *Engine) ofAgent(ctx context.Context, threadID string, idle bool) (threads.Thread, error) {
	if e.isDraining() {
		return threads.Thread{}, ErrDraining
	}
	return call(ctx, e, threadID, func(a *actor) (threads.Thread, error) {
		if err := a.takesCommands(); err != nil {
			return threads.Thread{}, err
		}
		switch {
		case idle && a.active != nil:
			return threads.Thread{}, ErrBusy
		case e.agents[a.thread.Agent] == nil:
			return threads.Thread{}, ErrAgentNotFound
		}
		return *a.thread, nil
	})
}

func agentThread(t threads.Thread) AgentThread {
	return AgentThread{ThreadID: t.ThreadID, Cwd: t.Cwd, SessionID: t.AgentSessionID, Config: t.Config}
}

func (e *Engine) mustNotExist(ctx context.Context, threadID string) error {
	_, err := call(ctx, e, threadID, func(a *actor) (struct{}, error) {
		if a.thread != nil {
			return struct{}{}, threads.ErrConflict
		}
		return struct{}{}, nil
	})
	return err
}

// forkPoint is the newest turn of the thread that has run. AfterTurnID must
// be it, or one that ended after it without having run.
func (e *Engine) forkPoint(ctx context.Context, c Fork) (threads.ForkedFrom, error) {
	from := threads.ForkedFrom{ThreadID: c.ThreadID}
	last, err := e.store.LastTurn(ctx, c.ThreadID)
	if err != nil {
		return from, err
	}
	if last != nil {
		from.TurnID = last.TurnID
	}
	if c.AfterTurnID == "" || c.AfterTurnID == from.TurnID {
		return from, nil
	}
	t, err := e.store.Turn(ctx, c.AfterTurnID)
	switch {
	case err != nil:
		return from, err
	case t == nil || t.ThreadID != c.ThreadID:
		return from, ErrNotFound
	case !t.State.Ended() || (last != nil && t.UpdatedSeq < last.UpdatedSeq):
		return from, invalid("after_turn_id", reasonInvalid, "agents fork at the end of a conversation only: it must be the thread's newest turn that has ended")
	}
	return from, nil
}

// ask calls an agent outside of its turns. What comes back is one of the
// errors that ThreadConfigure and ThreadFork promise.
func (e *Engine) ask(name string, f func(context.Context) (AgentThread, error)) (t AgentThread, err error) {
	ctx, cancel := context.WithTimeout(e.agentCtx, askAgentWithin)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("agent panicked", zap.String("agent", name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			err = &AgentError{Kind: "agent_failed", Message: fmt.Sprint("the agent panicked: ", v)}
		}
	}()
	t, err = f(ctx)
	var bad *InvalidError
	var failed *AgentError
	var cannot *UnsupportedError
	switch {
	case err == nil || errors.As(err, &bad) || errors.As(err, &failed) || errors.As(err, &cannot):
	case e.agentCtx.Err() != nil:
		err = ErrDraining
	case ctx.Err() != nil:
		err = &AgentError{Kind: "timeout", Message: fmt.Sprintf("the agent %s did not answer within %v", name, askAgentWithin)}
	default:
		err = &AgentError{Kind: "agent_failed", Message: err.Error()}
	}
	return t, err
}

func (c Configure) check() error {
	if len(c.Config) == 0 {
		return invalid("config", reasonRequired, "name at least one setting")
	}
	n := 0
	for name, v := range c.Config {
		n += len(name) + len(v)
		if !jsontext.Value(v).IsValid() {
			return invalid("config."+name, reasonInvalid, "is no JSON")
		}
	}
	if n > MaxMetadataBytes {
		return invalid("config", reasonTooLarge, "has %d bytes, at most %d are allowed", n, MaxMetadataBytes)
	}
	return nil
}

func (c Fork) check() error {
	if c.NewThreadID != "" && !threads.ValidID(c.NewThreadID) {
		return invalid("new_thread_id", reasonInvalid, "must be 1 to 64 of A-Z a-z 0-9 _ -")
	}
	return nil
}
