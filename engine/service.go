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

// stopServicesWithin is how long Run waits, at its end, for agents that end
// what they have started: two signals with 3 s for each, and a second more.
const stopServicesWithin = 7 * time.Second

// services are the agents that are served, and what became of them.
type services struct {
	wg     sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	failed map[string]string // by agent: why Serve came back before its time
}

// serve starts serving all agents that want it.
func (e *Engine) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	e.services.cancel = cancel
	for _, name := range e.names {
		if s, ok := e.agents[name].(turns.Service); ok {
			e.services.wg.Go(func() { e.serveOne(ctx, name, s) })
		}
	}
}

func (e *Engine) serveOne(ctx context.Context, name string, s turns.Service) {
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				e.log.Error("agent panicked", zap.String("agent", name), zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
				err = fmt.Errorf("the agent panicked: %v", v)
			}
		}()
		return s.Serve(ctx, host{e})
	}()
	switch {
	case ctx.Err() != nil && err != nil:
		e.log.Warn("an agent did not end in order", zap.String("agent", name), zap.Error(err))
	case err != nil:
		e.log.Error("an agent has failed", zap.String("agent", name), zap.Error(err))
		e.services.mu.Lock()
		defer e.services.mu.Unlock()
		if e.services.failed == nil {
			e.services.failed = map[string]string{}
		}
		e.services.failed[name] = err.Error()
	}
}

// stopServices ends the services and waits for them within a bound.
func (e *Engine) stopServices() {
	e.services.cancel()
	stopped := make(chan struct{})
	go func() {
		e.services.wg.Wait()
		close(stopped)
	}()
	if !waitFor(context.Background(), stopped, stopServicesWithin) {
		e.log.Warn("agents have not ended what they started and are left alone")
	}
}

// Agents lists the configured agents, the default one first.
func (e *Engine) Agents() []turns.AgentInfo {
	out := []turns.AgentInfo{e.agentInfo(e.cfg.DefaultAgent)}
	for _, n := range e.names {
		if n != e.cfg.DefaultAgent {
			out = append(out, e.agentInfo(n))
		}
	}
	return out
}

// agentInfo is what the agent says of itself. One that says nothing of its
// state needs nothing to be ready.
func (e *Engine) agentInfo(name string) turns.AgentInfo {
	info := e.agents[name].Info()
	if info.State == "" {
		info.State = turns.AgentReady
	}
	if _, ok := e.agents[name].(turns.Remote); ok {
		e.claims.about(name, &info)
	}
	e.services.mu.Lock()
	defer e.services.mu.Unlock()
	if why, failed := e.services.failed[name]; failed {
		info.State, info.LastError = turns.AgentFailed, why
	}
	return info
}
