package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
	store "github.com/seed82539d15/holon/persist/sqlite"
)

// measureReplay measures the replay of a log from disk to one stream. The baseline reads the same
// rows of the same file and writes the same frames.
func measureReplay(ctx context.Context, r *run) ([]Row, error) {
	events := int64(r.sizes.replayEvents)
	dir := r.newDir("replay")
	s, err := r.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.fill(ctx, r.sizes.replayEvents), s.stop()); err != nil {
		return nil, err
	}
	// A server that has just started has nothing in its tail.
	file := r.newDir("log") + ".db"
	if err := copyFile(filepath.Join(dir, store.FileName), file); err != nil {
		return nil, err
	}
	if s, err = r.serve(ctx, dir); err != nil {
		return nil, err
	}
	_, address, err := r.listening(ctx, "replay", "--file", file)
	if err != nil {
		return nil, err
	}
	var sent [2]int64
	ours := func(ctx context.Context, i int) ([]float64, error) {
		profiled := r.profile(ctx, s, fmt.Sprintf("replay-%d", i))
		rate, n, err := several(ctx, func(ctx context.Context) (time.Duration, int64, error) { return s.replay(ctx, 0, events) }, events)
		sent[0] = n
		return []float64{rate}, errors.Join(err, profiled())
	}
	baseline := func(ctx context.Context, _ int) ([]float64, error) {
		rate, n, err := several(ctx, func(ctx context.Context) (time.Duration, int64, error) { return plainReplay(ctx, address, events) }, events)
		sent[1] = n
		return []float64{rate}, err
	}
	// The files are in the page cache for both, or for neither: one run before
	// the measurement.
	if _, err := ours(ctx, -1); err != nil {
		return nil, err
	}
	if _, err := baseline(ctx, -1); err != nil {
		return nil, err
	}
	pairs, err := r.interleave(ctx, ours, baseline)
	if err != nil {
		return nil, err
	}
	// All but stream/opened must be the same; the last read may include the
	// beginning of later events.
	if more := sent[0] - sent[1]; more < 0 || more > 2*64<<10 {
		return nil, fmt.Errorf("the server sent %d bytes, the baseline %d", sent[0], sent[1])
	}
	row := newRow("replay", fmt.Sprintf("replay of %d events on one stream, from disk", events), "events/s", pairs[0]).atLeast(0.6).
		note("baseline: the same rows by ranges of 1,000, spliced into frames by SQLite itself, to a plain socket")
	return []Row{row}, nil
}

// replayTimes is how often the log is replayed in one measurement: once takes
// less than a second, too little on a noisy machine.
const replayTimes = 3

// several returns the rate of several replays, one after the other.
func several(ctx context.Context, replay func(context.Context) (time.Duration, int64, error), n int64) (rate float64, bytes int64, err error) {
	var total time.Duration
	for range replayTimes {
		took, b, err := replay(ctx)
		if err != nil {
			return 0, 0, err
		}
		total, bytes = total+took, b
	}
	return float64(n*replayTimes) / total.Seconds(), bytes, nil
}

// replay reads n events of the log on one stream, and returns the received
// bytes.
func (s *server) replay(ctx context.Context, after, n int64) (took time.Duration, bytes int64, err error) {
	return timed(ctx, s.address, func(stream *wire.Stream) error {
		if err := stream.Request("GET", fmt.Sprintf("/rpc/stream?after_seq=%d", after)); err != nil {
			return err
		}
		if err := stream.Header(); err != nil {
			return err
		}
		return stream.Until(n + 1) // with stream/opened
	})
}

func plainReplay(ctx context.Context, address string, n int64) (took time.Duration, bytes int64, err error) {
	return timed(ctx, address, func(stream *wire.Stream) error {
		if err := stream.Write(fmt.Appendf(nil, "0 %d\n", n)); err != nil {
			return err
		}
		return stream.Until(n)
	})
}

// timed connects, then takes the time of f.
func timed(ctx context.Context, address string, f func(*wire.Stream) error) (took time.Duration, bytes int64, err error) {
	stream, err := wire.Dial(ctx, address, readLimit)
	if err != nil {
		return 0, 0, err
	}
	defer stream.Close()
	defer context.AfterFunc(ctx, stream.Close)()
	began := time.Now()
	err = f(stream)
	return time.Since(began), stream.Bytes, err
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
