package acp

import (
	"context"
	"os"

	"github.com/seed82539d15/holon/turns"
)

// Probe starts the agent once, opens a session in the configured directory
// (without one, in a new empty one) and ends it, for holon doctor. The error is
// ctx's, or a *Problem that says for a person what is wrong and what to do.
// Probe needs no Serve and does not affect running processes. It returns what
// the agent has reported about itself by then.
func (a *Agent) Probe(ctx context.Context) (turns.AgentInfo, error) {
	cfg := a.cfg
	cfg.Eager, cfg.MaxProcesses, cfg.Room = false, 1, nil
	cfg.Tools = nil // they are of a thread, and this is none
	dir := cfg.Cwd
	if dir == "" {
		made, err := os.MkdirTemp("", "holon-probe-")
		if err != nil {
			return a.Info(), &Problem{Kind: ProblemFailed, Message: "no directory could be made for the session: " + err.Error()}
		}
		defer os.RemoveAll(made)
		dir = made
	}
	once, err := New(a.name, cfg)
	if err != nil {
		return a.Info(), &Problem{Kind: ProblemFailed, Message: err.Error()}
	}
	defer once.Close()
	o, err := once.open(ctx, turns.AgentThread{ThreadID: "probe", Cwd: dir}, nil, nil)
	if err == nil {
		err = o.s.pr.loggedIn(ctx)
		once.closeSession(o.s)
		once.pool.leave(o.s.pr)
	}
	return once.Info(), err
}
