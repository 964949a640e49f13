package acp

import (
	"time"

	"github.com/seed82539d15/holon/turns"
)

var _ turns.Stopper = (*Agent)(nil)

// stopExtra is how long the last steps may take after CancelAfter.
const stopExtra = time.Second + leftTerm + leftKill

// StopWithin implements turns.Stopper: a cancelled prompt returns by itself
// within this time.
func (a *Agent) StopWithin() time.Duration { return a.cfg.CancelAfter + stopExtra }

// Stats counts what the processes of an agent have done since New, and what
// waits.
type Stats struct {
	Starts   int64 // processes started
	Failures int64 // processes that ended without a request
	Waiting  int   // bytes of all processes that wait for the log
}

// Stats returns the counters. It may be called at any time.
func (a *Agent) Stats() Stats {
	p := &a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Stats{Starts: p.starts, Failures: p.failures}
	for _, pr := range p.procs {
		s.Waiting += pr.budget.waiting()
	}
	return s
}

// Kill ends all processes at once and waits until they are reaped. Nothing is
// started any more. It is for a server that stops without waiting.
func (a *Agent) Kill() {
	a.pool.kill()
	a.pool.wait()
}
