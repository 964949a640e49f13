package main

import (
	"context"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// tickEvery is how often the spinner of the status line moves.
const tickEvery = 120 * time.Millisecond

// feedItem is an event or a change of the connection.
type feedItem struct {
	event client.Event
	state *client.State
}

// feed runs a subscription in a goroutine and passes its events on, in order.
// items is closed when the subscription has ended; err is set then.
type feed struct {
	items  chan feedItem
	err    error
	stop   context.CancelFunc
	keeper *keeper // of what show has printed; nil: none
	idle   func()  // called once by show if nothing comes for quietFor at its beginning; nil: never
}

// quietFor is how long a feed is silent before a person is told that it waits: what there
// is to show has begun to come by then.
const quietFor = time.Second

// startFeed starts a feed. The caller must call end.
func startFeed(ctx context.Context, c *client.Client, options client.Options) *feed {
	ctx, stop := context.WithCancel(ctx)
	// 256 items: the terminal may fall behind a burst for a moment without
	// blocking the connection.
	f := &feed{items: make(chan feedItem, 256), stop: stop}
	send := func(item feedItem) error {
		select {
		case f.items <- item:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	options.OnState = func(state client.State) { _ = send(feedItem{state: &state}) }
	go func() {
		defer close(f.items)
		f.err = c.Subscribe(options).Run(ctx, func(event client.Event) error { return send(feedItem{event: event}) })
	}()
	return f
}

// end stops the feed and waits for it.
func (f *feed) end() {
	f.stop()
	for range f.items {
	}
}

// newTimeline returns a renderer for stdout: live on a terminal, plain lines
// elsewhere.
func (c *console) newTimeline(options timeline.Options) *timeline.Renderer {
	options.Terminal = c.isTerminal(c.out)
	options.Color = options.Terminal && c.env("NO_COLOR") == ""
	options.ASCII = !c.utf8Locale()
	options.Width, options.Height = c.columns, c.windowRows
	return timeline.New(c.out, options)
}

// signs returns the signs of states for the terminal on stdout, or for plain lines.
func (c *console) signs(terminal bool) timeline.Signs {
	return timeline.Signs{ASCII: !c.utf8Locale(), Color: terminal && c.env("NO_COLOR") == ""}
}

// ticks returns a channel that ticks while the timeline is live. On no terminal
// the channel is nil and never ticks.
func (c *console) ticks() <-chan time.Time {
	if !c.isTerminal(c.out) {
		return nil
	}
	return time.Tick(tickEvery)
}

// noteState reports a change of the connection on stderr, for outputs that are
// for programs.
func (c *console) noteState(state client.State) {
	switch {
	case state.Kind == client.Lost && state.Attempt == 1:
		c.note("holon: connection lost (%s), resuming after seq %d …", timeline.OneLine(state.Reason.Error()), state.AfterSeq)
	case state.Kind == client.Resumed:
		c.note("holon: resumed after seq %d", state.AfterSeq)
	}
}
