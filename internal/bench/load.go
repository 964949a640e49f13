package bench

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// The load of every measure of appends: /items on as many threads as may have
// an active turn at once. 200 bytes is a line or two of an agent's message; its
// event has about 560.
const (
	loadThreads = 64
	itemSize    = 200
)

// pollEvery is how often the end of a load is polled: an error below 1 % for a
// run of a second, at the cost of 1 % of a processor.
const pollEvery = 10 * time.Millisecond

// loadResult is the result of a load.
type loadResult struct {
	events int64         // rows that the log has grown by
	took   time.Duration // from before the first request to the last commit
	before time.Time     // a moment before the last commit, by at most pollEvery
	latest int64
}

func (l loadResult) rate() float64 { return float64(l.events) / l.took.Seconds() }

// startThreads makes the threads of the load.
func (s *server) startThreads(ctx context.Context) error {
	return s.onThreads(ctx, func(ctx context.Context, id string) error {
		return s.client.Call(ctx, "thread/start", map[string]any{"thread_id": id}, nil)
	})
}

func (s *server) onThreads(ctx context.Context, f func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range loadThreads {
		group.Go(func() error { return f(ctx, fmt.Sprintf("bench_%d", i)) })
	}
	return group.Wait()
}

// startTurn starts a turn with a text.
func (s *server) startTurn(ctx context.Context, thread, text string) error {
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}}
	return s.client.Call(ctx, "turn/start", map[string]any{"thread_id": thread, "input": input}, nil)
}

// idle waits until no turn is active or queued.
func (s *server) idle(ctx context.Context) error {
	tick := time.Tick(pollEvery)
	for {
		st, err := s.status(ctx)
		if err != nil || st.Turns.Active+st.Turns.Queued == 0 {
			return err
		}
		select {
		case <-tick:
		case <-s.Running():
			return s.Stop()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// load runs a turn of items messages on each thread, and returns when all are
// in the log.
func (s *server) load(ctx context.Context, items int) (loadResult, error) {
	return s.loadOf(ctx, fmt.Sprintf("/items %d %d", items, itemSize), items)
}

// loadOf works like load, with the caller's text, which makes items messages.
func (s *server) loadOf(ctx context.Context, text string, items int) (l loadResult, err error) {
	start, err := s.status(ctx)
	if err != nil {
		return l, err
	}
	began := time.Now()
	err = s.onThreads(ctx, func(ctx context.Context, id string) error { return s.startTurn(ctx, id, text) })
	if err != nil {
		return l, err
	}
	tick := time.Tick(pollEvery)
	for l.before = began; ; {
		asked := time.Now()
		st, err := s.status(ctx)
		if err != nil {
			return l, err
		}
		if st.Turns.Active+st.Turns.Queued == 0 {
			l.took = time.Since(began)
			l.events, l.latest = st.LatestSeq-start.LatestSeq, st.LatestSeq
			if want := int64(loadThreads * items); l.events < want {
				return l, fmt.Errorf("the turns ended with %d events, not with at least %d: one has failed", l.events, want)
			}
			return l, nil
		}
		l.before = asked
		select {
		case <-tick:
		case <-s.Running():
			return l, s.Stop()
		case <-ctx.Done():
			return l, ctx.Err()
		}
	}
}

// fill makes the log at least n events long.
func (s *server) fill(ctx context.Context, n int) error {
	if err := s.startThreads(ctx); err != nil {
		return err
	}
	_, err := s.load(ctx, (n+loadThreads-1)/loadThreads)
	return err
}
