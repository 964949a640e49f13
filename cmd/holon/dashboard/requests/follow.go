package requests

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// Events are given out together: at most mostTogether, and at most every gather. So a
// flood of deltas makes few pictures.
const (
	mostTogether = 1000
	gather       = 25 * time.Millisecond
)

// Follow gives the events of a thread after a seq to take, in order, and the changes of
// the connection to state, all from one goroutine, until ctx ends (then the error is its
// cause) or the server refuses for good. It reconnects by itself.
func Follow(ctx context.Context, c *client.Client, thread string, after int64, take func([]client.Event), state func(client.State)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type piece struct {
		event client.Event
		state *client.State
	}
	pieces := make(chan piece, mostTogether)
	send := func(p piece) error {
		select {
		case pieces <- p:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ended := make(chan error, 1)
	go func() {
		defer close(pieces)
		ended <- c.Subscribe(client.Options{
			AfterSeq: &after, ThreadIDs: []string{thread}, RetryFirst: true,
			OnState: func(s client.State) { _ = send(piece{state: &s}) },
		}).Run(ctx, func(e client.Event) error { return send(piece{event: e}) })
	}()
	var events []client.Event
	flush := func() {
		if len(events) > 0 {
			take(events)
			events = nil
		}
	}
	var due <-chan time.Time
	for {
		select {
		case p, open := <-pieces:
			switch {
			case !open:
				flush()
				return <-ended
			case p.state != nil:
				flush()
				state(*p.state)
				continue
			}
			if events = append(events, p.event); len(events) == 1 {
				due = time.After(gather)
			}
			if len(events) == mostTogether {
				flush()
				due = nil
			}
		case <-due:
			flush()
			due = nil
		}
	}
}
