package api

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// statusAge is how long counts are cached while the log does not grow: a change
// without an event (a prune by another process) is seen a second later.
const statusAge = time.Second

// statusCache keeps the store's counts until the head moves, because rows
// change with events only. So clients that poll holon/status cost no query.
type statusCache struct {
	mu     sync.Mutex
	counts turns.Counts
	read   time.Time
}

func (c *statusCache) forget() {
	c.mu.Lock()
	c.read = time.Time{}
	c.mu.Unlock()
}

// counts returns what the store holds at the head of the tail or after it.
func (a *API) counts(ctx context.Context) (turns.Counts, error) {
	head, now := a.Head(), time.Now()
	c := &a.status
	c.mu.Lock()
	if c.counts.Latest >= head && now.Sub(c.read) < statusAge {
		defer c.mu.Unlock()
		return c.counts, nil
	}
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	counts, err := a.Reader.Counts(ctx)
	if err != nil {
		return counts, err
	}
	counts.LogID = cmp.Or(counts.LogID, a.LogID)
	c.mu.Lock()
	if counts.Latest >= c.counts.Latest {
		c.counts, c.read = counts, now
	}
	c.mu.Unlock()
	return counts, nil
}
