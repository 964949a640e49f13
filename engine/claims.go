package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// claims brings the turns that wait for a worker together with the workers
// that ask for one, each in the order of their coming. Whoever meets is decided
// under the lock; whether the turn can still be taken, its actor says, who owns
// it. All methods may be called from many goroutines and none but take blocks.
type claims struct {
	mu     sync.Mutex
	stands map[string]*stand // by agent
	closed bool              // the server stops: nobody takes a turn any more
}

// stand is where the turns of one agent are taken.
type stand struct {
	offers  []offer    // bounded by the active turns
	waiting []*claimer // bounded by MaxClaimers; empty unless offers is
	leases  int        // that are held
	seen    time.Time  // when a worker asked last
}

// offer is an attempt that waits for a worker.
type offer struct {
	threadID string
	turnID   string
	attempt  int
}

// claimer is a worker that waits.
type claimer struct {
	got chan offer // capacity 1
}

// at returns the stand of an agent. The caller holds mu.
func (c *claims) at(agent string) *stand {
	s := c.stands[agent]
	if s == nil {
		if c.stands == nil {
			c.stands = map[string]*stand{}
		}
		s = &stand{}
		c.stands[agent] = s
	}
	return s
}

// offer puts a turn at the end of the line, or at its front if it was taken
// from there in vain.
func (c *claims) offer(agent string, o offer, front bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(agent)
	if len(s.waiting) > 0 {
		s.waiting[0].got <- o
		s.waiting = s.waiting[1:]
		return
	}
	if front {
		s.offers = slices.Insert(s.offers, 0, o)
		return
	}
	s.offers = append(s.offers, o)
}

// withdraw takes a turn out of the line, if it is still there.
func (c *claims) withdraw(agent, turnID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.stands[agent]; s != nil {
		s.offers = slices.DeleteFunc(s.offers, func(o offer) bool { return o.turnID == turnID })
	}
}

// take waits for a turn of the agent: until ctx is done, which is an error, or
// until timeout, which is not: ok is false then. first is for who waited in
// line before and got a turn that could not be taken. A turn that take has
// returned is the caller's: it is taken, or offered again.
func (c *claims) take(ctx context.Context, agent string, timeout <-chan time.Time, first bool) (o offer, ok bool, err error) {
	me := &claimer{got: make(chan offer, 1)}
	c.mu.Lock()
	s := c.at(agent)
	s.seen = time.Now()
	switch {
	case c.closed:
		c.mu.Unlock()
		return offer{}, false, turns.ErrDraining
	case len(s.offers) > 0:
		o = s.offers[0]
		s.offers = s.offers[1:]
		c.mu.Unlock()
		return o, true, nil
	case len(s.waiting) >= turns.MaxClaimers:
		c.mu.Unlock()
		return offer{}, false, turns.ErrInboxFull
	case first:
		s.waiting = slices.Insert(s.waiting, 0, me)
	default:
		s.waiting = append(s.waiting, me)
	}
	c.mu.Unlock()
	select {
	case o, ok = <-me.got:
		if !ok {
			return offer{}, false, turns.ErrDraining
		}
		return o, true, nil
	case <-timeout:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if c.leave(s, me) {
		return offer{}, false, err
	}
	// Something came at the same moment.
	o, ok = <-me.got
	switch {
	case !ok:
		return offer{}, false, turns.ErrDraining
	case err != nil:
		c.offer(agent, o, true)
		return offer{}, false, err
	}
	return o, true, nil
}

// leave reports whether the claimer was still in line.
func (c *claims) leave(s *stand, me *claimer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(s.waiting, me)
	if i < 0 {
		return false
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return true
}

// held counts the leases of an agent.
func (c *claims) held(agent string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at(agent).leases += n
}

// close sends all who wait away, and all who come later.
func (c *claims) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, s := range c.stands {
		for _, w := range s.waiting {
			close(w.got)
		}
		s.waiting = nil
	}
}

// presence is how long an agent counts as ready after a worker was heard of
// that asked for a turn: between two claims it has nothing to say.
const presence = 2 * turns.MaxClaimWait

// about fills in what is known of the agent's workers.
func (c *claims) about(agent string, info *turns.AgentInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.at(agent)
	info.Sessions = s.leases
	info.State = turns.AgentIdle
	if len(s.waiting) > 0 || s.leases > 0 || !s.seen.IsZero() && time.Since(s.seen) < presence {
		info.State = turns.AgentReady
	}
}
