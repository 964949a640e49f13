package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// replayParts is how many parts of the log are replayed to get one rate.
const replayParts = 10

// measureGrowth measures whether a server gets slower as its log grows. Ours is the
// large log, the baseline the small one.
func measureGrowth(ctx context.Context, r *run) ([]Row, error) {
	small, large := r.newDir("small"), r.newDir("large")
	for dir, n := range map[string]int{small: r.sizes.small, large: r.grown()} {
		r.say("storing %d events", n)
		s, err := r.serve(ctx, dir)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(s.fill(ctx, n), s.stop()); err != nil {
			return nil, err
		}
	}
	part := int64(r.sizes.small)
	step := (int64(r.grown()) - part) / (replayParts - 1)
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) { return r.onLog(ctx, large, part, step, i) },
		func(ctx context.Context, _ int) ([]float64, error) {
			// The appends must not make the small log a large one.
			dir := r.newDir("copy")
			if err := copyFiles(small, dir); err != nil {
				return nil, err
			}
			values, err := r.onLog(ctx, dir, part, 0, -1)
			return values, errors.Join(err, os.RemoveAll(dir))
		})
	if err != nil {
		return nil, err
	}
	r.say("backing up")
	backup, writes, err := r.backedUp(ctx, large)
	if err != nil {
		return nil, err
	}
	with := fmt.Sprintf("with %d events stored", r.grown())
	ready := newRow("growth-ready", "time to ready "+with, "ms", pairs[0]).atMost(1.2)
	ready = ready.or("+50 ms", ready.Ours-ready.Baseline <= 50).
		note("baseline: the same with %d events stored", r.sizes.small)
	read := newRow("growth-read", "the slowest of eleven lists and reads "+with, "ms", pairs[3]).atMost(1.5)
	beside := newRow("growth-backup-writes", "p99 of commands beside holon backup "+with, "ms", []Pair{writes}).atMost(3)
	return []Row{
		ready,
		newRow("growth-append", "appends "+with, "events/s", pairs[1]).atLeast(0.8),
		newRow("growth-replay", "replay "+with, "events/s", pairs[2]).atLeast(0.8),
		read.or("≤ 20 ms", read.Ours <= 20),
		newRow("growth-backup", "holon backup "+with, "s", []Pair{backup}).atMost(4).note("once; baseline: a plain copy of the file, synced"),
		beside.or("≤ 20 ms", beside.Ours <= 20).note("once; baseline: before it"),
	}, nil
}

// grown returns how many events the large log has.
func (r *run) grown() int {
	if r.o.Grown > 0 {
		return r.o.Grown
	}
	return r.sizes.grown
}

// onLog starts a server on a log and returns the milliseconds until it is
// ready, the rate of appends, that of replays, and the milliseconds of the
// slowest list or read. Replays read the same number of events in both logs,
// from positions step apart.
func (r *run) onLog(ctx context.Context, dir string, part, step int64, i int) ([]float64, error) {
	s, err := r.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	var reading time.Duration
	for j := range int64(replayParts) {
		took, _, err := s.replay(ctx, j*step, part)
		if err != nil {
			return nil, err
		}
		reading += took
	}
	profiled := func() error { return nil }
	if i >= 0 {
		profiled = r.profile(ctx, s, fmt.Sprintf("growth-%d", i))
	}
	read, name, err := s.slowestRead(ctx)
	if err != nil {
		return nil, err
	}
	r.say("the slowest read is %s: %.1f ms", name, read)
	l, err := s.load(ctx, r.sizes.growthItems)
	if err := errors.Join(err, profiled(), s.stop()); err != nil {
		return nil, err
	}
	ready := float64(s.ready) / float64(time.Millisecond)
	return []float64{ready, l.rate(), float64(part*replayParts) / reading.Seconds(), read}, nil
}

// copyFiles copies the regular files of a directory into a new one.
func copyFiles(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			if err := copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
