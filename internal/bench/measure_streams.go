package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

const (
	// manyStreams is the number of subscribers in measures with many.
	manyStreams = 100
	// readLimit bounds one measurement of a stream.
	readLimit = 2 * time.Minute
	// caughtUpWithin is how soon after the last commit all streams must have
	// every event.
	caughtUpWithin = time.Second
)

// measureStreams measures the rate of appends while 100 streams read every event live.
func measureStreams(ctx context.Context, r *run) ([]Row, error) {
	var lags []float64
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("streams"))
			if err != nil {
				return nil, err
			}
			rate, lag, err := r.loadWithStreams(ctx, s, i)
			if err := errors.Join(err, s.stop()); err != nil {
				return nil, err
			}
			lags = append(lags, lag.Seconds())
			return []float64{rate}, nil
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("alone"))
			if err != nil {
				return nil, err
			}
			if err := s.startThreads(ctx); err != nil {
				return nil, err
			}
			l, err := s.load(ctx, r.sizes.streamItems)
			if err := errors.Join(err, s.stop()); err != nil {
				return nil, err
			}
			return []float64{l.rate()}, nil
		})
	if err != nil {
		return nil, err
	}
	lag := median(lags)
	row := newRow("streams", fmt.Sprintf("appends while %d streams read everything live", manyStreams), "events/s", pairs[0]).atLeast(0.5).
		also("caught up within 1 s", lag <= caughtUpWithin.Seconds()).
		note("baseline: the same server and load without streams").
		note("the last of the streams had everything %.2f s after the last commit (median; longest %.2f s)", lag, maxOf(lags))
	return []Row{row}, nil
}

func maxOf(values []float64) (m float64) {
	for _, v := range values {
		m = max(m, v)
	}
	return m
}

// loadWithStreams returns the rate of appends, and how long after the last
// commit the last stream had its last event.
func (r *run) loadWithStreams(ctx context.Context, s *server, i int) (rate float64, lag time.Duration, err error) {
	if err := s.startThreads(ctx); err != nil {
		return 0, 0, err
	}
	start, err := s.status(ctx)
	if err != nil {
		return 0, 0, err
	}
	readers, err := subscribe(ctx, manyStreams, s.address, fmt.Sprintf("/rpc/stream?after_seq=%d", start.LatestSeq))
	if err != nil {
		return 0, 0, err
	}
	defer readers.close()
	profiled := r.profile(ctx, s, fmt.Sprintf("streams-%d", i))
	l, err := s.load(ctx, r.sizes.streamItems)
	if err != nil {
		return 0, 0, err
	}
	// The first line of each stream is stream/opened.
	if err := readers.until(ctx, l.latest-start.LatestSeq+1); err != nil {
		return 0, 0, err
	}
	return l.rate(), time.Since(l.before), profiled()
}

// readers are streams that are read continuously, each by a goroutine.
type readers struct {
	streams []*wire.Stream
	lines   []atomic.Int64
	broken  chan error
	ended   sync.WaitGroup
}

// subscribe opens n streams and starts to read them.
func subscribe(ctx context.Context, n int, address, target string) (*readers, error) {
	rs := &readers{lines: make([]atomic.Int64, n), broken: make(chan error, n)}
	for range n {
		s, err := wire.Open(ctx, address, "GET", target, readLimit)
		if err != nil {
			rs.close()
			return nil, err
		}
		rs.streams = append(rs.streams, s)
	}
	for i, s := range rs.streams {
		rs.ended.Go(func() {
			for {
				if _, err := s.Read(); err != nil {
					rs.broken <- fmt.Errorf("a stream broke after %d lines: %w", s.Lines, err)
					return
				}
				rs.lines[i].Store(s.Lines)
			}
		})
	}
	return rs, nil
}

// until waits until every stream has had n lines.
func (rs *readers) until(ctx context.Context, n int64) error {
	tick := time.Tick(time.Millisecond)
	for i := range rs.lines {
		for rs.lines[i].Load() < n {
			select {
			case <-tick:
			case err := <-rs.broken:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// close cuts the streams and waits for their goroutines.
func (rs *readers) close() {
	for _, s := range rs.streams {
		s.Close()
	}
	rs.ended.Wait()
}
