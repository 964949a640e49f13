package acp

import (
	"context"
	"os"

	"github.com/seed82539d15/holon/turns"
)

// Probe starts the agent once, opens a session in the configured directory
// (without one, in a fresh empty one) and ends it again, for holon doctor. The
// error is a *Problem that says in a person's words what is wrong and what to
// do, or ctx's. It needs no Serve and touches nothing that runs. What the
// agent said of itself is returned as far as it came.
func (a *Agent) Probe(ctx context.Context) (turns.AgentInfo, error) {
	cfg := a.cfg
	cfg.Eager, cfg.MaxProcesses = false, 1
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
	o, err := once.open(ctx, turns.AgentThread{ThreadID: "probe", Cwd: dir})
	if err == nil {
		err = o.s.pr.loggedIn(ctx)
		once.letGo(o.s)
		once.pool.leave(o.s.pr)
	}
	return once.Info(), err
}
