package acp

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed82539d15/holon/agents/process"
	"github.com/seed82539d15/holon/turns"
)

// Agent is an ACP agent. Its methods may be called from many goroutines. The
// engine calls Serve once, until the server stops; processes that were started without
// Serve run until Close.
type Agent struct {
	name string
	cfg  Config
	pool pool

	ctx     context.Context // for ops that are emitted outside of turns
	cancel  context.CancelFunc
	closing *once
	running sync.WaitGroup // processes and sessions
	host    atomic.Pointer[turns.Host]
	late    atomic.Int64 // messages that came too late to be stored
	warned  atomic.Bool  // a thread was told that the agent asks for less than everything
	meter   process.Meter

	mu      sync.Mutex
	threads map[string]*thread
}

var (
	_ turns.Service         = (*Agent)(nil)
	_ turns.Local           = (*Agent)(nil)
	_ turns.DirectoryKeeper = (*Agent)(nil)
	_ turns.Configurer      = (*Agent)(nil)
	_ turns.Forker          = (*Agent)(nil)
)

// New returns an agent of this name. It starts nothing and does not look up the
// command: that happens when a process is started, so that a program may be
// installed later. The error says what is wrong with cfg.
func New(name string, cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	a := &Agent{name: name, cfg: cfg, closing: newOnce(), threads: map[string]*thread{}}
	a.pool.enterRoom(a, cmp.Or(cfg.Room, NewRoom(0)))
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a, nil
}

// Info describes the agent as far as it is known: before its first start its
// capabilities are unknown.
func (a *Agent) Info() turns.AgentInfo {
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	info := turns.AgentInfo{
		Name: a.name, Kind: Kind, State: turns.AgentIdle,
		Version: p.known.version, Protocol: p.known.protocol, Capabilities: p.known.turns(), LastError: p.lastErr,
		DirectoryGiven: a.cfg.Cwd != "",
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
	info.Mode, info.Warning = opensIn(&a.cfg, p.begun)
	return info
}

// Late returns how many messages of the agent came too late to be stored: for an
// abandoned session, or for a thread that had closed.
func (a *Agent) Late() int64 { return a.late.Load() }

// Serve implements turns.Service. It returns when all processes have ended. It
// ends them all at the same time: each by the end of its stdin, after 3 s by
// TERM, after another 3 s by KILL.
func (a *Agent) Serve(ctx context.Context, host turns.Host) error {
	a.host.Store(&host)
	if a.cfg.Eager {
		if pr, err := a.pool.enter(ctx, "", nil); err == nil {
			a.running.Go(func() {
				defer a.pool.leave(pr)
				_ = pr.wait(ctx) // Info shows what is wrong
			})
		}
	}
	<-ctx.Done()
	return a.Close()
}

// Close ends all processes and waits for them, as Serve does at its end. It may
// be called more than once; later prompts fail.
func (a *Agent) Close() error {
	a.closing.fire()
	a.pool.close()
	a.pool.wait()
	a.cancel() // ends calls that still wait for space in a thread's intake
	a.running.Wait()
	return nil
}
