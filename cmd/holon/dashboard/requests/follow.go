package requests

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// Events are given out together: at most mostTogether, and at most every gather. So a
// flood of deltas makes few pictures. While a page is busy no more than two such batches
// wait, and the server keeps the rest.
const (
	mostTogether = 1000
	gather       = 25 * time.Millisecond
)

// Follow carries out a screen.Follow until ctx ends. It sends the events of the thread
// after the seq, in order, as []client.Event, and the changes of the connection as
// screen.Connection, all from one goroutine. It reconnects by itself: nothing is lost or
// comes twice. If the server refuses for good, such as a cursor that is no longer valid,
// a screen.Done with the error is the last message.
func Follow(ctx context.Context, c *client.Client, action screen.Follow, send func(tea.Msg)) {
	after := action.After
	pieces := make(chan tea.Msg, mostTogether)
	put := func(msg tea.Msg) error {
		select {
		case pieces <- msg:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	ended := make(chan error, 1)
	go func() {
		defer close(pieces)
		ended <- c.Subscribe(client.Options{
			AfterSeq: &after, ThreadIDs: []string{action.Thread}, RetryFirst: true,
			OnState: func(s client.State) { _ = put(screen.Connection{State: s}) }, // ctx has ended
		}).Run(ctx, func(e client.Event) error { return put(e) })
	}()
	gatherEvents(pieces, send)
	if err := <-ended; ctx.Err() == nil {
		send(screen.Done{Action: action, Err: err})
	}
}

// gatherEvents passes on what comes until pieces is closed: events together, everything
// else at once and in its place.
func gatherEvents(pieces <-chan tea.Msg, send func(tea.Msg)) {
	var events []client.Event
	var due <-chan time.Time
	flush := func() {
		if len(events) > 0 {
			send(events)
		}
		events, due = nil, nil
	}
	for {
		select {
		case msg, open := <-pieces:
			if !open {
				flush()
				return
			}
			e, isEvent := msg.(client.Event)
			if !isEvent {
				flush()
				send(msg)
				continue
			}
			if events = append(events, e); len(events) == 1 {
				due = time.After(gather)
			}
			if len(events) == mostTogether {
				flush()
			}
		case <-due:
			flush()
		}
	}
}
