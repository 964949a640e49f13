// Package mailbox is the built-in agent of threads that are inboxes of people or
// teams. It runs no turns: the engine refuses turn/start there, and new entries
// never wake it.
package mailbox

import (
	"context"

	"github.com/seed82539d15/holon/turns"
)

// Agent is the agent of mailboxes. It has no state.
type Agent struct{ name string }

// New makes the agent with this name.
func New(name string) *Agent { return &Agent{name} }

// Info implements turns.Agent.
func (a *Agent) Info() turns.AgentInfo {
	return turns.AgentInfo{Name: a.name, Kind: turns.KindMailbox, State: turns.AgentReady}
}

// Run implements turns.Agent. The engine never calls it.
func (a *Agent) Run(context.Context, *turns.Prompt) turns.Outcome {
	return turns.FailedWith(turns.KindAgentFailed, "a mailbox runs no turns")
}
