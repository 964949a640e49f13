package api

import (
	"context"
	"strings"

	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/tokens"
)

type agentKey struct{}

// WithAgent returns the context of the requests of an agent. Call then executes
// only what the methods declare for agents (see agents in agent_rules.go), and streams
// carry only the agent's own thread and those below it.
func WithAgent(ctx context.Context, a tokens.Agent) context.Context {
	return context.WithValue(ctx, agentKey{}, a)
}

// AgentOf returns the agent whose request this is; false for the request of a
// person or program that is not limited to a thread.
func AgentOf(ctx context.Context) (tokens.Agent, bool) {
	a, ok := ctx.Value(agentKey{}).(tokens.Agent)
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
// its own and those below. Threads that it names, also in whole, must be among those;
// field is the member of f.ThreadIDs.
func (a *API) narrow(ctx context.Context, f *notify.Filter, within, whole []string, field string) error {
	f.Within = a.members(ctx, within)
	lists := []namedThreads{{field, f.ThreadIDs}, {"within_thread_ids", within}, {"whole_thread_ids", whole}}
	agent, ok := AgentOf(ctx)
	if !ok {
		if t, ok := TokenOf(ctx); ok {
			return a.mayStream(ctx, t, lists)
		}
		return nil
	}
	if agent.Ended() {
		return errAgentEnded()
	}
	for _, l := range lists {
		if err := a.allRelated(ctx, agent, l); err != nil {
			return err
		}
	}
	return nil
}

// namedThreads are the threads that a member of params names.
type namedThreads struct {
	member string
	ids    []string
}

// at returns the member that an error about one of the threads names.
func (l namedThreads) at(i int) string {
	if strings.HasSuffix(l.member, "s") {
		return indexed(l.member, i)
	}
	return l.member
}

// allRelated refuses threads that are neither the agent's own nor below it.
func (a *API) allRelated(ctx context.Context, agent tokens.Agent, l namedThreads) error {
	for i, id := range l.ids {
		r, err := a.relate(ctx, agent.ThreadID, id)
		if err != nil {
			return err
		}
		if r == unrelated {
			return notAllowed(l.at(i), "an agent reads only its own thread and those below it")
		}
	}
	return nil
}
