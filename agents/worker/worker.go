// Package worker is the agent whose turns are executed elsewhere: by programs
// that connect to the server as clients, claim turns, and write with the lease
// of the claim (docs/write-an-agent.md, "Workers"). The engine does all of it; this
// package only holds the policies. It owns no process, no goroutine and no
// connection.
package worker

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// Agent is a turns.Remote with a retry policy. It has no state and is safe for
// use by many goroutines.
type Agent struct {
	name   string
	leases turns.LeasePolicy
	retry  turns.RetryPolicy
	access turns.Granter // nil = none
}

// New makes an agent of this name. Zero members of the policies mean their
// defaults: leases of 30 s, 300 s for a worker to claim a turn, and a turn
// whose lease runs out is interrupted. access gives workers access to the server;
// nil = they get none.
func New(name string, leases turns.LeasePolicy, retry turns.RetryPolicy, access turns.Granter) *Agent {
	return &Agent{name: name, leases: leases, retry: retry, access: access}
}

// Access implements turns.Equipped.
func (a *Agent) Access() turns.Granter { return a.access }

// Info implements turns.Agent. The engine adds the state of the workers: ready
// while one waits or has a lease, idle when none has called for a while.
func (a *Agent) Info() turns.AgentInfo {
	return turns.AgentInfo{Name: a.name, Kind: "worker", State: turns.AgentIdle}
}

// Leases implements turns.Remote.
func (a *Agent) Leases() turns.LeasePolicy { return a.leases }

// RetryPolicy implements turns.Retrier.
func (a *Agent) RetryPolicy() turns.RetryPolicy { return a.retry }

// Run implements turns.Agent. The engine never calls it: turns of a Remote are
// claimed.
func (a *Agent) Run(context.Context, *turns.Prompt) turns.Outcome {
	return turns.FailedWith(turns.KindAgentUnavailable, "the turns of "+a.name+" are claimed by workers")
}
