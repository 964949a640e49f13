package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// claims matches the turns that wait for a worker with the workers that wait
// for a turn, both first come first served. The match is made under the lock.
// Then the actor, which owns the turn, decides whether it can still be claimed.
// All methods may be called from many goroutines; only take blocks.
type claims struct {
	mu     sync.Mutex
	queues map[string]*claimQueue // by agent
	closed bool                   // the server stops: no turn is handed out any more
}

// claimQueue is the turns and the workers of one agent that wait.
type claimQueue struct {
	offers    []offer    // bounded by the active turns
	waiting   []*claimer // bounded by MaxClaimers; only while offers is empty
	leases    int        // held by workers
	lastClaim time.Time  // when a worker last asked for a turn
}

// offer is an attempt that waits for a worker.
type offer struct {
	threadID string
	turnID   string
	attempt  int
	prompt   int // of the attempt, from 2; 0 = the first
}

// claimer is a worker that waits.
type claimer struct {
	offered chan offer // capacity 1
}

// queue returns the queue of an agent. The caller holds mu.
func (c *claims) queue(agent string) *claimQueue {
	q := c.queues[agent]
	if q == nil {
		if c.queues == nil {
			c.queues = map[string]*claimQueue{}
		}
		q = &claimQueue{}
		c.queues[agent] = q
	}
	return q
}

// offer puts a turn at the end of the queue, or at its front if a worker could
// not take it.
func (c *claims) offer(agent string, o offer, front bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(agent)
	if len(q.waiting) > 0 {
		q.waiting[0].offered <- o
		q.waiting = q.waiting[1:]
		return
	}
	if front {
		q.offers = slices.Insert(q.offers, 0, o)
		return
	}
	q.offers = append(q.offers, o)
}

// withdraw removes a turn from the queue, if it is still there.
func (c *claims) withdraw(agent, turnID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[agent]; q != nil {
		q.offers = slices.DeleteFunc(q.offers, func(o offer) bool { return o.turnID == turnID })
	}
}

// take waits for a turn of the agent. It returns an error when ctx is done, and
// ok false after the timeout. front puts the worker at the front: it has waited
// before and got a turn that could no longer be claimed. The caller must claim
// the turn that it gets, or offer it again.
func (c *claims) take(ctx context.Context, agent string, timeout <-chan time.Time, front bool) (o offer, ok bool, err error) {
	w := &claimer{offered: make(chan offer, 1)}
	c.mu.Lock()
	q := c.queue(agent)
	q.lastClaim = time.Now()
	switch {
	case c.closed:
		c.mu.Unlock()
		return offer{}, false, turns.ErrDraining
	case len(q.offers) > 0:
		o = q.offers[0]
		q.offers = q.offers[1:]
		c.mu.Unlock()
		return o, true, nil
	case len(q.waiting) >= turns.MaxClaimers:
		c.mu.Unlock()
		return offer{}, false, turns.ErrOverloaded
	case front:
		q.waiting = slices.Insert(q.waiting, 0, w)
	default:
		q.waiting = append(q.waiting, w)
	}
	c.mu.Unlock()
	select {
	case o, ok = <-w.offered:
		if !ok {
			return offer{}, false, turns.ErrDraining
		}
		return o, true, nil
	case <-timeout:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if c.leave(q, w) {
		return offer{}, false, err
	}
	// A turn, or the close, came at the same moment.
	o, ok = <-w.offered
	switch {
	case !ok:
		return offer{}, false, turns.ErrDraining
	case err != nil:
		c.offer(agent, o, true)
		return offer{}, false, err
	}
	return o, true, nil
}

// leave removes the claimer, and reports whether it still waited.
func (c *claims) leave(q *claimQueue, w *claimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(q.waiting, w)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// countLeases adds n, which may be negative, to the leases of an agent.
func (c *claims) countLeases(agent string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue(agent).leases += n
}

// close refuses all workers that wait and all that come later.
func (c *claims) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, q := range c.queues {
		for _, w := range q.waiting {
			close(w.offered)
		}
		q.waiting = nil
	}
}

// presence is how long an agent counts as ready after a worker has asked for a
// turn. Between two claims a worker sends nothing.
const presence = 2 * turns.MaxClaimWait

// describe fills in what is known of the agent's workers.
func (c *claims) describe(agent string, info *turns.AgentInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queue(agent)
	info.Sessions = q.leases
	info.State = turns.AgentIdle
	if len(q.waiting) > 0 || q.leases > 0 || !q.lastClaim.IsZero() && time.Since(q.lastClaim) < presence {
		info.State = turns.AgentReady
	}
}
