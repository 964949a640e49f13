package acp

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/turns"
)

// Agent is an ACP agent. Its methods may be called from many goroutines. The
// engine calls Serve for its life; without Serve its processes live until the
// server's end.
type Agent struct {
	name string
	cfg  Config
}

var (
	_ turns.Service    = (*Agent)(nil)
	_ turns.Configurer = (*Agent)(nil)
	_ turns.Forker     = (*Agent)(nil)
)

// New returns an agent of this name. It starts nothing and does not look for
// the command: that happens when a process is started, so that a program may
// be installed later. The error names what is wrong with cfg.
func New(name string, cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return &Agent{name: name, cfg: cfg}, nil
}

// Info describes the agent as far as it is known: an agent that has not been
// started yet has said nothing of itself.
func (a *Agent) Info() turns.AgentInfo {
	return turns.AgentInfo{Name: a.name, Kind: Kind, State: turns.AgentIdle}
}

// Run implements turns.Agent.
func (a *Agent) Run(ctx context.Context, p *turns.Prompt) turns.Outcome {
	return turns.Outcome{State: turns.Failed, Failure: &turns.Failure{Kind: "agent_unavailable", Message: "not yet"}}
}

// Serve implements turns.Service.
func (a *Agent) Serve(ctx context.Context, host turns.Host) error {
	<-ctx.Done()
	return nil
}

// Configure implements turns.Configurer.
func (a *Agent) Configure(ctx context.Context, t turns.AgentThread, set map[string]jsontext.Value) (turns.AgentThread, error) {
	return t, &turns.AgentError{Kind: "agent_unavailable", Message: "not yet"}
}

// Fork implements turns.Forker.
func (a *Agent) Fork(ctx context.Context, t turns.AgentThread, newThreadID string) (turns.AgentThread, error) {
	return t, &turns.AgentError{Kind: "agent_unavailable", Message: "not yet"}
}

// Probe starts the agent once, opens a session and ends it again, for holon
// doctor. The error is a *Problem that says in a person's words what is wrong
// and what to do. It needs no Serve and touches nothing that runs.
func (a *Agent) Probe(ctx context.Context) error { return errors.New("not yet") }
