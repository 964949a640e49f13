package client

import (
	"cmp"
	"context"
	"time"

	"github.com/seed82539d15/holon/internal/backoff"
)

// Backoff says how long to wait before each reconnect. The zero value uses the
// defaults.
type Backoff struct {
	// First is the wait before the second attempt; zero means 100 ms. The first
	// attempt after a loss comes at once.
	First time.Duration
	// Max is the longest wait; zero means longestFar, or longestNear for a server
	// on this machine.
	Max time.Duration
}

// The longest waits. A person waits for a server on this machine that comes back,
// and an attempt there costs next to nothing. A server elsewhere may have thousands
// of clients, which would all come at once.
const (
	longestNear = time.Second
	longestFar  = 5 * time.Second
)

// wait returns the wait before attempt (counted from 1): nothing, then First
// doubled up to Max. Each is varied by up to half, so that many clients of a
// server that restarts do not reconnect at the same moment.
func (b Backoff) wait(attempt int, near bool) time.Duration {
	if attempt <= 1 {
		return 0
	}
	longest := longestFar
	if near {
		longest = longestNear
	}
	first, limit := cmp.Or(max(b.First, 0), 100*time.Millisecond), cmp.Or(max(b.Max, 0), longest)
	return backoff.Backoff{First: first, Max: limit, Spread: 0.5}.Wait(attempt - 1)
}

// AwaitRetry waits before an attempt (counted from 1) to reach the server again, as a
// subscription does: as long, and no longer than until RetryNow. What fails without a
// subscription uses it. The error is the cause of the context's end.
func (c *Client) AwaitRetry(ctx context.Context, attempt int) error {
	return pause(ctx, Backoff{}.wait(attempt, c.near()), c.retryNow())
}

// AwaitReconnect waits before an attempt (counted from 1) to open a stream again that err
// has ended, and finds the server's address anew: it may have another one after a restart.
// It returns err at once if another attempt is useless, because the server has refused
// for good, and the cause of the context's end.
func (c *Client) AwaitReconnect(ctx context.Context, attempt int, err error) error {
	if !mayPass(err) {
		return err
	}
	wait, enough := c.waitAfter(err, Backoff{}, attempt)
	if err := pause(ctx, wait, enough); err != nil {
		return err
	}
	c.refresh()
	return nil
}

// waitAfter returns the wait before an attempt after err. A wait that the server has asked for
// is not cut short, so enough is nil then.
func (c *Client) waitAfter(err error, backoff Backoff, attempt int) (wait time.Duration, enough <-chan struct{}) {
	wait, enough = backoff.wait(attempt, c.near()), c.retryNow()
	if least := retryAfter(err); least > 0 {
		return max(wait, least), nil
	}
	return wait, enough
}

// near reports whether the server is on this machine.
func (c *Client) near() bool {
	endpoint, err := c.Endpoint()
	return err == nil && isLocal(endpoint.URL)
}

// RetryNow makes the subscriptions that wait for their next attempt try at once:
// the server has answered somebody else, or a person has asked. A wait that the
// server itself wants is kept.
func (c *Client) RetryNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.retried)
	c.retried = make(chan struct{})
}

// retryNow returns a channel that is closed by the next RetryNow.
func (c *Client) retryNow() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retried
}

// pause waits, less long if enough is closed, or returns the context's cause if the
// context ends first. enough may be nil.
func pause(ctx context.Context, wait time.Duration, enough <-chan struct{}) error {
	if wait <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
	case <-enough:
	}
	return nil
}
