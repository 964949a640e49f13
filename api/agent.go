package api

import (
	"context"
	"strings"

	"github.com/seed82539d15/holon/notify"
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
	below, err := a.below(own).Has(ctx, threadID)
	if err != nil || !below {
		return unrelated, err
	}
	return belowOwn, nil
}

// narrow sets which threads a stream or page carries events of: those that within
// names and those below them; of an agent, and of a named token that is limited, only
// its own and those below. Threads that it names must be among those; field is the
// member of f.ThreadIDs.
func (a *API) narrow(ctx context.Context, f *notify.Filter, within []string, field string) error {
	f.Within = a.members(ctx, within)
	agent, ok := AgentOf(ctx)
	if !ok {
		if c, ok := CredentialOf(ctx); ok {
			return a.mayStream(ctx, c, f.ThreadIDs, field, within)
		}
		return nil
	}
	if agent.ended() {
		return errAgentEnded()
	}
	if err := a.allRelated(ctx, agent, f.ThreadIDs, field); err != nil {
		return err
	}
	return a.allRelated(ctx, agent, within, "within_thread_ids")
}

// allRelated refuses threads that are neither the agent's own nor below it.
func (a *API) allRelated(ctx context.Context, agent Agent, ids []string, field string) error {
	for i, id := range ids {
		r, err := a.relate(ctx, agent.ThreadID, id)
		if err != nil {
			return err
		}
		if r == unrelated {
			if strings.HasSuffix(field, "s") {
				field = indexed(field, i)
			}
			return notAllowed(field, "an agent reads only its own thread and those below it")
		}
	}
	return nil
}
