package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

// waitWindow is how long digests collect: longer than it takes to fill all inboxes
// and to watch them.
const waitWindow = 90 * time.Second

// measureWaiting measures what it costs that many inboxes have a pending flush. Ours is
// with all of them, the baseline the same server with one. Then the windows end:
// how long after that everything is posted, in a server that was there all the
// time, and in one that starts when all of them are overdue.
func measureWaiting(ctx context.Context, r *run) ([]Row, error) {
	window := waitWindow
	if r.sizes.waitFor < time.Second {
		window = 3 * time.Second // a test
	}
	dir := r.newDir("waiting")
	s, err := r.serveQuietly(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.makeInboxes(ctx, r.sizes.waitingBoxes, window); err != nil {
		return nil, err
	}
	if _, err := s.arriveInAll(ctx, "first", 1); err != nil {
		return nil, err
	}
	one, err := s.atRest(ctx, r.sizes.waitFor)
	if err != nil {
		return nil, err
	}
	last, err := s.arriveInAll(ctx, "second", r.sizes.waitingBoxes)
	if err != nil {
		return nil, err
	}
	filled := time.Since(last)
	all, err := s.atRest(ctx, r.sizes.waitFor)
	if err != nil {
		return nil, err
	}
	pending, err := s.metric(ctx, "holon_inbox_pending_items")
	if err == nil && pending < float64(r.sizes.waitingBoxes) {
		err = fmt.Errorf("%v items are pending: the windows have ended already", pending)
	}
	if err != nil {
		return nil, err
	}
	r.say("%d inboxes filled in %.1f s; goroutines %v with one, %v with all; processor %.2f %% and %.2f %%", r.sizes.waitingBoxes, filled.Seconds(), one.goroutines, all.goroutines, one.cpu*100, all.cpu*100)
	live, err := s.untilPosted(ctx, last.Add(filled+window))
	if err != nil {
		return nil, err
	}
	// Once more, with a stop before the windows end.
	if _, err = s.arriveInAll(ctx, "third", r.sizes.waitingBoxes); err != nil {
		return nil, err
	}
	due := time.Now().Add(window)
	if err := s.stop(); err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Until(due)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s, err = r.serveQuietly(ctx, dir); err != nil {
		return nil, err
	}
	restarted, err := s.untilPosted(ctx, time.Now().Add(-s.ready))
	if err != nil {
		return nil, err
	}
	with := fmt.Sprintf("%d inboxes with a pending flush", r.sizes.waitingBoxes)
	goroutines := newRow("inbox-goroutines", "goroutines with "+with, "", []Pair{{all.goroutines, one.goroutines}}).atMost(1.2)
	cpu := newRow("inbox-cpu", fmt.Sprintf("processor time in %s with %s", r.sizes.waitFor, with), "%", []Pair{{all.cpu * 100, one.cpu * 100}}).atMost(1.2)
	return []Row{
		goroutines.or("+10", all.goroutines-one.goroutines <= 10).note("once; baseline: with one such inbox"),
		cpu.or("≤ 1 % of a processor", all.cpu <= 0.01),
		newRow("inbox-flush", "from the end of the last window until everything is posted, "+with, "s", []Pair{{live, window.Seconds()}}).shown().note("once; baseline: the window"),
		newRow("inbox-flush-restart", "from the start of a server until everything overdue is posted, "+with, "s", []Pair{{restarted, s.ready.Seconds()}}).shown().note("once; baseline: the time to ready"),
	}, s.stop()
}

func waitingBox(i int) string { return fmt.Sprintf("waiting_%d", i) }

func (s *server) makeInboxes(ctx context.Context, n int, window time.Duration) error {
	var starts, policies [][]byte
	for i := range n {
		start, err := ingest.Line(i, "thread/start", map[string]any{"thread_id": waitingBox(i)})
		if err != nil {
			return err
		}
		policy, err := ingest.Line(i, "inbox/configure", map[string]any{"thread_id": waitingBox(i), "policy": map[string]any{"window_ms": window.Milliseconds(), "max_delay_ms": window.Milliseconds()}})
		if err != nil {
			return err
		}
		starts, policies = append(starts, start), append(policies, policy)
	}
	_, err := s.sendAll(ctx, starts)
	if err == nil {
		_, err = s.sendAll(ctx, policies)
	}
	return err
}

// arriveInAll stores a grouped item in each of n inboxes, and returns when it began.
func (s *server) arriveInAll(ctx context.Context, native string, n int) (began time.Time, err error) {
	var lines [][]byte
	for i := range n {
		l, err := ingest.Line(i, "inbox/ingest", map[string]any{"thread_id": waitingBox(i), "items": []ingest.Item{ingest.NewItem(native, "pr:1", itemSize)}})
		if err != nil {
			return began, err
		}
		lines = append(lines, l)
	}
	began = time.Now()
	_, err = s.sendAll(ctx, lines)
	return began, err
}

// resting is a server that nobody asks for anything. cpu is the part of one
// processor that it uses.
type resting struct{ goroutines, cpu float64 }

// atRest waits until actors without work have ended, and watches for a while.
func (s *server) atRest(ctx context.Context, watch time.Duration) (rest resting, err error) {
	pause := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := pause(min(7*time.Second, 2*watch)); err != nil {
		return rest, err
	}
	before, err := s.metric(ctx, "process_cpu_seconds_total")
	if err == nil {
		err = pause(watch)
	}
	if err != nil {
		return rest, err
	}
	after, err := s.metric(ctx, "process_cpu_seconds_total")
	if err != nil {
		return rest, err
	}
	rest.goroutines, err = s.metric(ctx, "go_goroutines")
	rest.cpu = math.Max(after-before, 1e-6) / watch.Seconds()
	return rest, err
}

// untilPosted waits until nothing is pending, and returns the seconds since a time.
func (s *server) untilPosted(ctx context.Context, since time.Time) (float64, error) {
	tick := time.Tick(50 * time.Millisecond)
	for {
		n, err := s.metric(ctx, "holon_inbox_pending_items")
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return math.Max(time.Since(since).Seconds(), 1e-3), nil
		}
		select {
		case <-tick:
		case <-s.Running():
			return 0, errors.Join(errors.New("the server has ended"), s.Stop())
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}
