package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// agent is a configured agent with what it can do beyond running turns, which is
// found out once. The zero value is an agent that is no longer configured.
type agent struct {
	turns.Agent                     // nil: not configured
	remote         turns.Remote     // nil: its turns run in this process
	retrier        turns.Retrier    // nil: it has no policy of its own
	stopper        turns.Stopper    // nil: the engine's deadline holds
	configurer     turns.Configurer // nil: its threads have no settings
	forker         turns.Forker     // nil: its conversations cannot be forked
	service        turns.Service    // nil: it does nothing outside of its turns
	local          turns.Local      // nil: it works in no directory that the server knows
	keepsDirectory bool             // its sessions work only in the directory in which they began
	lender         turns.Lender     // nil: its prompts need no slot of their own
	access         turns.Granter    // nil: its workers get no access to the server
}

func newAgent(is turns.Agent) *agent {
	g := &agent{Agent: is}
	g.remote, _ = is.(turns.Remote)
	g.retrier, _ = is.(turns.Retrier)
	g.stopper, _ = is.(turns.Stopper)
	g.configurer, _ = is.(turns.Configurer)
	g.forker, _ = is.(turns.Forker)
	g.service, _ = is.(turns.Service)
	g.local, _ = is.(turns.Local)
	if s, ok := is.(turns.DirectoryKeeper); ok {
		g.keepsDirectory = s.KeepsDirectory()
	}
	g.lender, _ = is.(turns.Lender)
	if equipped, ok := is.(turns.Equipped); ok {
		g.access = equipped.Access()
	}
	return g
}

// agents are the configured agents by name.
type agents map[string]*agent

// of returns the agent of a thread, which may no longer be configured.
func (a agents) of(name string) *agent {
	if g := a[name]; g != nil {
		return g
	}
	return &agent{}
}

// missing returns the error for an agent that is not configured.
func (a agents) missing(name string) error {
	return &turns.NoAgentError{Agent: name, Known: slices.Sorted(maps.Keys(a))}
}

// mayGoOn reports whether the agent may go on with a turn that has waited over a restart. A
// worker never does: it gets attempts whole.
func (g *agent) mayGoOn() bool { return g.remote == nil }

// leases returns the policy of an agent whose turns are claimed by workers.
func (g *agent) leases() turns.LeasePolicy { return g.remote.Leases().WithDefaults() }

// stopWithin returns how long the agent may take to stop. otherwise is the engine's
// deadline. A worker learns of a stop within the period of its lease.
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

// retryPolicy returns the agent's policy. Members of own, the turn's policy, replace
// its members; own may be nil.
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

// kind returns the agent's kind, "" if it is not configured.
func (g *agent) kind() string {
	if g.Agent == nil {
		return ""
	}
	return g.Info().Kind
}
