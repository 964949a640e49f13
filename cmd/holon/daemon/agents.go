package daemon

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed82539d15/holon/agents/echo"
	"github.com/seed82539d15/holon/agents/exec"
	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/turns"
)

// agents are the configured agents, and the server's address that some of
// them tell their processes once it is known.
type agents struct {
	list   []turns.Agent
	url    atomic.Pointer[string]
	closes []func()
}

func newAgents(cfg *config.Config) (*agents, error) {
	a := &agents{}
	names := make([]string, 0, len(cfg.Agents))
	for name := range cfg.Agents {
		names = append(names, name)
	}
	if !slices.Contains(names, config.KindEcho) {
		a.list = append(a.list, echo.New(config.KindEcho)) // always there: it needs no set-up
	}
	slices.Sort(names)
	for _, name := range names {
		c := cfg.Agents[name]
		switch c.Kind {
		case config.KindEcho:
			a.list = append(a.list, echo.New(name))
		case config.KindExec:
			agent, err := exec.New(name, exec.Config{
				Command: c.Command, Env: c.Env, Cwd: c.Cwd, Input: c.Input, Output: c.Output, URL: a.address,
			})
			if err != nil {
				return nil, fmt.Errorf("agents.%s: %w", name, err)
			}
			a.list = append(a.list, agent)
			a.closes = append(a.closes, func() { _ = agent.Close() })
		default:
			return nil, fmt.Errorf("agents.%s: kind %q is unknown: use echo or exec", name, c.Kind)
		}
	}
	return a, nil
}

// address is what HOLON_URL says; "" before the server listens.
func (a *agents) address() string {
	if p := a.url.Load(); p != nil {
		return *p
	}
	return ""
}

// close kills what agents still run.
func (a *agents) close() {
	for _, f := range a.closes {
		f()
	}
}
