package requests

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/notify"
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
	after, whole := action.After, ctx
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
	var below sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	below.Go(func() { followBelow(ctx, c, action, func() error { return put(screen.Below{}) }) })
	go func() {
		defer close(pieces)
		defer below.Wait()
		defer stop()
		ended <- c.Subscribe(client.Options{
			AfterSeq: &after, ThreadIDs: []string{action.Thread}, RetryFirst: true,
			OnState: func(s client.State) { _ = put(screen.Connection{State: s}) }, // ctx has ended
		}).Run(ctx, func(e client.Event) error { return put(e) })
	}()
	gatherEvents(pieces, send)
	if err := <-ended; whole.Err() == nil {
		send(screen.Done{Action: action, Err: err})
	}
}

// belowEvents are the events of threads below that a page shows something of. They come
// without what agents print.
var belowEvents = []string{notify.ThreadStarted, notify.ThreadClosed, "turn/*"}

// followBelow reports events of the threads below, until ctx ends or tell fails. If the
// server refuses it, the page lives without.
func followBelow(ctx context.Context, c *client.Client, action screen.Follow, tell func() error) {
	after := action.After
	_ = c.Subscribe(client.Options{
		AfterSeq: &after, WithinThreadIDs: []string{action.Thread}, Methods: belowEvents, Summary: true, RetryFirst: true,
	}).Run(ctx, func(e client.Event) error {
		if e.ThreadID == action.Thread {
			return nil
		}
		return tell()
	})
}

// gatherEvents passes on what comes until pieces is closed: events together, everything
// else at once and in its place.
func gatherEvents(pieces <-chan tea.Msg, send func(tea.Msg)) {
	var events []client.Event
	var below bool
	var due <-chan time.Time
	flush := func() {
		if len(events) > 0 {
			send(events)
		}
		if below {
			send(screen.Below{})
		}
		events, below, due = nil, false, nil
	}
	for {
		select {
		case msg, open := <-pieces:
			if !open {
				flush()
				return
			}
			switch msg := msg.(type) {
			case client.Event:
				events = append(events, msg)
			case screen.Below:
				below = true
			default:
				flush()
				send(msg)
				continue
			}
			if len(events) == mostTogether {
				flush()
			} else if due == nil {
				due = time.After(gather)
			}
		case <-due:
			flush()
		}
	}
}
