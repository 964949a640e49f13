package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/turns"
)

// stopServicesWithin is how long Run waits at its end for agents that stop their
// processes: two signals with 3 s for each, and a second more.
const stopServicesWithin = 7 * time.Second

// services are the agents that implement turns.Service, and their failures.
type services struct {
	log    *zap.Logger
	wg     sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	failed map[string]string // by agent: why Serve returned early
}

// serve starts Serve of all services.
func (s *services) serve(all agents, names []string, h turns.Host) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, name := range names {
		if agent := all[name].service; agent != nil {
			s.wg.Go(func() { s.serveOne(ctx, name, agent, h) })
		}
	}
}

func (s *services) serveOne(ctx context.Context, name string, agent turns.Service, h turns.Host) {
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("agent panicked", zap.String("agent", name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
				err = fmt.Errorf("the agent panicked: %v", v)
			}
		}()
		return agent.Serve(ctx, h)
	}()
	switch {
	case ctx.Err() != nil && err != nil:
		s.log.Warn("an agent did not stop cleanly", zap.String("agent", name), zap.Error(err))
	case err != nil:
		s.log.Error("an agent has failed", zap.String("agent", name), zap.Error(err))
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failed == nil {
			s.failed = map[string]string{}
		}
		s.failed[name] = err.Error()
	}
}

// stop ends the services and waits for them within a bound.
func (s *services) stop() {
	s.cancel()
	stopped := make(chan struct{})
	go func() {
		s.wg.Wait()
		close(stopped)
	}()
	if !waitFor(context.Background(), stopped, stopServicesWithin) {
		s.log.Warn("agents have not stopped and are left alone")
	}
}

// whyFailed returns why Serve of an agent has returned early.
func (s *services) whyFailed(name string) (why string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why, failed = s.failed[name]
	return why, failed
}

// Agents lists the configured agents, the default one first.
func (e *Engine) Agents() []turns.AgentInfo {
	out := []turns.AgentInfo{e.agentInfo(e.rules.cfg.DefaultAgent)}
	for _, n := range e.names {
		if n != e.rules.cfg.DefaultAgent {
			out = append(out, e.agentInfo(n))
		}
	}
	return out
}

// Directory returns the directory in which the agent of this name works for a thread
// with this cwd. It is "" where the server knows no directory: for mailboxes, for
// workers, and for agents that are no longer configured.
func (e *Engine) Directory(agent, cwd string) string {
	if local := e.rules.agents.of(agent).local; local != nil {
		if dir, err := local.Directory(cwd); err == nil {
			return dir
		}
	}
	return cwd
}

// agentInfo returns the agent's own info with what the engine knows. An agent that
// gives no state is ready.
func (e *Engine) agentInfo(name string) turns.AgentInfo {
	info := e.rules.agents[name].Info()
	if info.State == "" {
		info.State = turns.AgentReady
	}
	info.Directory = e.Directory(name, "")
	if e.rules.agents[name].remote != nil {
		e.workers.claims.describe(name, &info)
	}
	if why, failed := e.services.whyFailed(name); failed {
		info.State, info.LastError = turns.AgentFailed, why
	}
	return info
}
