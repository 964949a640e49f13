package api

import (
	"context"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// Agent is who a request comes from that carries the token of an agent: of one
// thread and one start of the agent's process, or of one attempt of a turn.
type Agent struct {
	ThreadID string
	TurnID   string // "" = a process that may run many turns of the thread
	Attempt  int    // of TurnID
	// Alive ends when the token is revoked. Requests are refused from then on, and
	// streams end. nil = it never is.
	Alive context.Context
}

// ended reports whether the token has been revoked.
func (a *Agent) ended() bool { return a.Alive != nil && a.Alive.Err() != nil }

type agentKey struct{}

// WithAgent returns the context of the requests of an agent. Call then executes
// only what the methods declare for agents (see agents in access.go), and streams
// carry only the agent's own thread and those below it.
func WithAgent(ctx context.Context, a Agent) context.Context {
	return context.WithValue(ctx, agentKey{}, a)
}

// AgentOf returns the agent whose request this is; false for the request of a
// person or program that is not limited to a thread.
func AgentOf(ctx context.Context) (Agent, bool) {
	a, ok := ctx.Value(agentKey{}).(Agent)
	return a, ok
}

// relation says what a thread is to an agent.
type relation int

const (
	unrelated relation = iota
	ownThread
	belowOwn // a child thread of its thread, or of one below it
)

// relate returns what a thread is to the agent. A thread that does not exist is
// unrelated.
func (a *API) relate(ctx context.Context, own, threadID string) (relation, error) {
	if threadID == "" {
		return unrelated, nil
	}
	if threadID == own {
		return ownThread, nil
	}
	for id, level := threadID, 0; level < threads.MaxLevel; level++ {
		parent, err := a.parentOf(ctx, id)
		switch {
		case err != nil || parent == "":
			return unrelated, err
		case parent == own:
			return belowOwn, nil
		}
		id = parent
	}
	return unrelated, nil
}

// parentOf returns the thread whose child thread this is; "" for none, and for a
// thread that does not exist. A parent that was kept before there were child
// threads is none. The parent of a thread never changes, so what is found is kept.
func (a *API) parentOf(ctx context.Context, threadID string) (string, error) {
	if parent, ok := a.parents.get(threadID); ok {
		return parent, nil
	}
	s, err := a.Reader.ReadThread(ctx, threadID, 0)
	if err != nil || s.Thread == nil {
		return "", err
	}
	parent := ""
	if s.Thread.Level > 0 && s.Thread.Parent != nil {
		parent = s.Thread.Parent.ThreadID
	}
	a.parents.put(threadID, parent)
	return parent, nil
}

// subtree are the agent's own thread and those below it: the forced filter of what
// it reads of the log. Whether a thread belongs to it never changes, so it grows by
// itself: a new child thread simply belongs to it.
type subtree struct {
	api *API
	own string
}

// Has implements notify.Members.
func (t subtree) Has(ctx context.Context, threadID string) (bool, error) {
	r, err := t.api.relate(ctx, t.own, threadID)
	return r != unrelated, err
}

// narrow forces the filter of a stream or page of an agent, or of a named token that
// is limited. Threads that it names must be its own or below. It changes nothing in a
// request of others.
func (a *API) narrow(ctx context.Context, f *notify.Filter, field string) error {
	agent, ok := AgentOf(ctx)
	if !ok {
		return a.narrowToken(ctx, f, field)
	}
	if agent.ended() {
		return errAgentEnded()
	}
	for i, id := range f.ThreadIDs {
		r, err := a.relate(ctx, agent.ThreadID, id)
		if err != nil {
			return err
		}
		if r == unrelated {
			if field == "thread_ids" {
				return notAllowed(indexed(field, i), "an agent reads only its own thread and those below it")
			}
			return notAllowed(field, "an agent reads only its own thread and those below it")
		}
	}
	f.Within = subtree{a, agent.ThreadID}
	return nil
}
