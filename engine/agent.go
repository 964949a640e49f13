package engine

import (
	"time"

	"github.com/seed82539d15/holon/turns"
)

// agent is a configured agent with what it can do beyond running turns, which
// is looked for once. The zero value is an agent that is not configured any more.
type agent struct {
	turns.Agent                  // nil: not configured
	remote      turns.Remote     // nil: its turns run in this process
	retrier     turns.Retrier    // nil: it has no policy of its own
	stopper     turns.Stopper    // nil: the engine's deadline holds
	configurer  turns.Configurer // nil: its threads have no settings
	forker      turns.Forker     // nil: its conversations cannot be forked
	service     turns.Service    // nil: it has no life beside its turns
}

func newAgent(is turns.Agent) *agent {
	g := &agent{Agent: is}
	g.remote, _ = is.(turns.Remote)
	g.retrier, _ = is.(turns.Retrier)
	g.stopper, _ = is.(turns.Stopper)
	g.configurer, _ = is.(turns.Configurer)
	g.forker, _ = is.(turns.Forker)
	g.service, _ = is.(turns.Service)
	return g
}

// agents are the configured agents by name.
type agents map[string]*agent

// of returns the agent of a thread, which may not be configured any more.
func (a agents) of(name string) *agent {
	if g := a[name]; g != nil {
		return g
	}
	return &agent{}
}

// leases is the policy of an agent whose turns are claimed by workers.
func (g *agent) leases() turns.LeasePolicy { return g.remote.Leases().WithDefaults() }

// stopWithin is how long the agent may take to stop, otherwise being the
// engine's deadline. A worker learns of a stop within a period of its lease.
func (g *agent) stopWithin(otherwise time.Duration) time.Duration {
	if g.remote != nil {
		return g.leases().Lease
	}
	if g.stopper != nil {
		if d := g.stopper.StopWithin(); d > 0 {
			return d
		}
	}
	return otherwise
}

// retryPolicy is the agent's policy, completed by what the turn says, own, if
// that is not nil.
func (g *agent) retryPolicy(own *turns.RetryPolicy) turns.RetryPolicy {
	var p turns.RetryPolicy
	if g.retrier != nil {
		p = g.retrier.RetryPolicy()
	}
	if own != nil {
		p = own.Over(p)
	}
	return p.WithDefaults()
}
