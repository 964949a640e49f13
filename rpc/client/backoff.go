package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before each reconnect. The zero value uses the
// defaults.
type Backoff struct {
	// First is the wait before the second attempt; zero means 100 ms. The first
	// attempt after a loss comes at once.
	First time.Duration
	// Max bounds the wait; zero means 5 s, short enough for a person who waits.
	Max time.Duration
}

// wait returns the wait before attempt (counted from 1): nothing, then First
// doubled up to Max, each with jitter down to half so that many clients of a
// server that restarts do not come back in step.
func (b Backoff) wait(attempt int) time.Duration {
	if attempt <= 1 {
		return 0
	}
	first, limit := b.First, b.Max
	if first <= 0 {
		first = 100 * time.Millisecond
	}
	if limit <= 0 {
		limit = 5 * time.Second
	}
	wait := limit
	if shift := attempt - 2; shift < 16 {
		wait = min(limit, first<<shift)
	}
	return wait/2 + rand.N(wait/2+1)
}

// pause waits, or returns the context's cause if that ends first.
func pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
