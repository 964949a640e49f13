package client

import (
	"cmp"
	"context"
	"time"

	"github.com/seed82539d15/holon/backoff"
)

// Backoff says how long to wait before each reconnect. The zero value uses the
// defaults.
type Backoff struct {
	// First is the wait before the second attempt; zero means 100 ms. The first
	// attempt after a loss comes at once.
	First time.Duration
	// Max is the longest wait; zero means 5 s, short enough for a person who
	// waits.
	Max time.Duration
}

// wait returns the wait before attempt (counted from 1): nothing, then First
// doubled up to Max. Each is varied by up to half, so that many clients of a
// server that restarts do not reconnect at the same moment.
func (b Backoff) wait(attempt int) time.Duration {
	if attempt <= 1 {
		return 0
	}
	first, limit := cmp.Or(max(b.First, 0), 100*time.Millisecond), cmp.Or(max(b.Max, 0), 5*time.Second)
	return backoff.Backoff{First: first, Max: limit, Spread: 0.5}.Wait(attempt - 1)
}

// pause waits, or returns the context's cause if the context ends first.
func pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}
