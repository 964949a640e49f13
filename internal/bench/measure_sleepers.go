package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

const (
	// largeEvent is the text of an event of the log that sleepers ask for: about the
	// largest that is usual.
	largeEvent  = 1_000_000
	largeEvents = 8
	// sleepersFor is how long sleepers are connected before anything is measured
	// beside them.
	sleepersFor = 5 * time.Second
	// sleepersMiB is the most that they may take, of which idle streams take about 116.
	sleepersMiB = 256
)

// measureSleepers measures streams that ask for large events and do not read. Their memory is
// beside that of as many idle streams, without a collection; events and replays of
// others are beside those without sleepers.
func measureSleepers(ctx context.Context, r *run) ([]Row, error) {
	dir := r.newDir("sleepers")
	s, err := r.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	large, err := s.fillLarge(ctx, r.sizes.sleeperEvents)
	if err := errors.Join(err, s.stop()); err != nil {
		return nil, err
	}
	asleep, idle := fmt.Sprintf("/rpc/stream?after_seq=%d", large), "/rpc/stream?method=none/none"
	pairs := make([][]Pair, 3)
	for i := range r.pairs {
		alone, err := r.beside(ctx, dir, idle)
		if err != nil {
			return nil, err
		}
		with, err := r.beside(ctx, dir, asleep)
		if err != nil {
			return nil, err
		}
		r.say("pair %d of %d, idle and asleep: %.0f, %.0f MiB; p99 live %.2f, %.2f ms, of a replay %.1f, %.1f ms",
			i+1, r.pairs, alone.mib, with.mib, alone.live, with.live, alone.replay, with.replay)
		pairs[0] = append(pairs[0], Pair{Ours: with.mib, Baseline: alone.mib})
		pairs[1] = append(pairs[1], Pair{Ours: with.live, Baseline: alone.live})
		pairs[2] = append(pairs[2], Pair{Ours: with.replay, Baseline: alone.replay})
	}
	n := r.sizes.sleepers
	memory := newRow("sleepers-memory", fmt.Sprintf("resident memory of %d streams that do not read events of 1 MB", n), "MiB", pairs[0]).
		note("baseline: as many idle streams; the most from the first stream until %v after the last, no collection is forced", sleepersFor)
	memory.Target, memory.Reached = fmt.Sprintf("≤ %d MiB", sleepersMiB), memory.Ours <= sleepersMiB
	return []Row{
		memory,
		newRow("sleepers-live", fmt.Sprintf("append to receipt beside %d streams that do not read, p99", n), "ms", pairs[1]).atMost(1.2).
			note("baseline: beside as many idle streams, which get nothing"),
		newRow("sleepers-replay", fmt.Sprintf("replay of %d events beside %d streams that do not read, p99", r.sizes.sleeperEvents, n), "ms", pairs[2]).atMost(1.2),
	}, nil
}

// fillLarge makes a log of so many usual events, then large ones. It returns the last seq
// before these.
func (s *server) fillLarge(ctx context.Context, events int) (int64, error) {
	if err := s.fill(ctx, events); err != nil {
		return 0, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return 0, err
	}
	st, err := s.status(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.startTurn(ctx, latencyThread, fmt.Sprintf("/items %d %d", largeEvents, largeEvent)); err != nil {
		return 0, err
	}
	return st.LatestSeq, s.idle(ctx)
}

// besideStreams is what a server does beside many streams: how much they have added to
// its memory, and the 99th percentiles of others, in milliseconds.
type besideStreams struct{ mib, live, replay float64 }

// beside starts a server, opens streams and reads nothing of them.
func (r *run) beside(ctx context.Context, dir, target string) (b besideStreams, err error) {
	s, err := r.serve(ctx, dir)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	empty, err := s.RSS()
	if err != nil {
		return b, err
	}
	streams, err := r.sleep(ctx, s.address, target)
	defer func() {
		for _, stream := range streams {
			stream.Close()
		}
	}()
	if err != nil {
		return b, err
	}
	tick, limit := time.Tick(50*time.Millisecond), time.After(sleepersFor)
	for waiting := true; waiting; {
		now, err := s.RSS()
		if err != nil {
			return b, err
		}
		b.mib = max(b.mib, float64(now-empty)/(1<<20))
		select {
		case <-tick:
		case <-limit:
			waiting = false
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
	live, err := r.emitted(ctx, s, 1)
	if err != nil {
		return b, err
	}
	var replays []float64
	for range r.sizes.sleeperReplays {
		took, _, err := s.replay(ctx, 0, int64(r.sizes.sleeperEvents))
		if err != nil {
			return b, err
		}
		replays = append(replays, float64(took)/float64(time.Millisecond))
	}
	b.live, b.replay = percentile(live, 0.99), percentile(replays, 0.99)
	return b, nil
}

// sleepersAtOnce is how many streams are opened at once.
const sleepersAtOnce = 64

// sleep opens streams whose responses have begun, and does not read them.
func (r *run) sleep(ctx context.Context, address, target string) ([]*wire.Stream, error) {
	streams := make([]*wire.Stream, r.sizes.sleepers)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sleepersAtOnce)
	for i := range streams {
		group.Go(func() (err error) {
			streams[i], err = wire.Open(ctx, address, "GET", target, readLimit)
			return err
		})
	}
	err := group.Wait()
	opened := streams[:0]
	for _, stream := range streams {
		if stream != nil {
			opened = append(opened, stream)
		}
	}
	return opened, err
}
