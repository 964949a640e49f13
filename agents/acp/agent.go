package acp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed82539d15/holon/turns"
)

// Agent is an ACP agent. Its methods may be called from many goroutines. The
// engine calls Serve for its life; what was started without Serve lives until
// Close.
type Agent struct {
	name string
	cfg  Config
	pool pool

	ctx     context.Context // of what is handed over outside of turns
	cancel  context.CancelFunc
	closing *once
	running sync.WaitGroup // processes and sessions
	host    atomic.Pointer[turns.Host]
	late    atomic.Int64 // messages that nobody could take any more

	mu      sync.Mutex
	threads map[string]*thread
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
	a := &Agent{name: name, cfg: cfg, closing: newOnce(), threads: map[string]*thread{}}
	a.pool.a = a
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// Info describes the agent as far as it is known: an agent that has not been
// started yet has said nothing of itself.
func (a *Agent) Info() turns.AgentInfo {
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	info := turns.AgentInfo{
		Name: a.name, Kind: Kind, State: turns.AgentIdle,
		Version: p.known.version, Protocol: p.known.protocol, Capabilities: p.known.turns(), LastError: p.lastErr,
	}
	starting := false
	for _, pr := range p.procs {
		info.Processes++
		info.Sessions += pr.router.count()
		select {
		case <-pr.ready:
			if !pr.retired {
				info.State = turns.AgentReady
			}
		default:
			starting = true
		}
	}
	switch {
	case info.State == turns.AgentReady:
	case starting:
		info.State = turns.AgentStarting
	case p.lastErr != "":
		info.State = turns.AgentFailed
	}
	info.Capabilities.Modes, info.Capabilities.Models = p.modes, p.models
	return info
}

// Late is how many messages of the agent came too late for anybody: for a
// session that was left behind, a thread that had closed.
func (a *Agent) Late() int64 { return a.late.Load() }

// Serve implements turns.Service. It returns when all processes have ended:
// each is told by the end of its stdin, after 3 s by TERM, after another 3 s
// by KILL, all at the same time.
func (a *Agent) Serve(ctx context.Context, host turns.Host) error {
	a.host.Store(&host)
	if a.cfg.Eager {
		if pr, err := a.pool.enter(ctx); err == nil {
			a.running.Go(func() {
				defer a.pool.leave(pr)
				_ = pr.wait(ctx) // Info shows what is wrong
			})
		}
	}
	<-ctx.Done()
	return a.Close()
}

// Close ends all processes and waits for them, as the end of Serve does. It
// may be called more than once; later prompts fail.
func (a *Agent) Close() error {
	a.closing.fire()
	a.pool.close()
	a.pool.wait()
	a.cancel() // whoever still waits for room in a thread's inbox
	a.running.Wait()
	return nil
}
