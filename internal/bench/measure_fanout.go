package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// measureFanOut measures the sending of events that wait in memory to 100 streams at once. The
// baseline writes the same bytes from memory; a second one flushes each event,
// as a simple server would.
func measureFanOut(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("fanout"))
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, r.sizes.tailEvents); err != nil {
		return nil, err
	}
	st, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	events := int64(r.sizes.tailEvents)
	after := st.LatestSeq - events
	all, few := r.newDir("frames"), r.newDir("few-frames")
	if err := s.frames(ctx, after, events, all); err != nil {
		return nil, err
	}
	if err := s.frames(ctx, after, int64(r.sizes.flushEvents), few); err != nil {
		return nil, err
	}
	_, shared, err := r.listening(ctx, "fanout", "--frames", all)
	if err != nil {
		return nil, err
	}
	_, flushing, err := r.listening(ctx, "fanout", "--frames", few, "--flush-each")
	if err != nil {
		return nil, err
	}

	var flushed []float64
	target := fmt.Sprintf("/rpc/stream?after_seq=%d", after)
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			profiled := r.profile(ctx, s, fmt.Sprintf("fanout-%d", i))
			rate, err := fans(ctx, s.address, target, events, 1)
			return []float64{rate}, errors.Join(err, profiled())
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			rate, err := fans(ctx, shared, "/stream?from=0", events, 0)
			if err != nil {
				return nil, err
			}
			each, err := fan(ctx, flushing, "/stream?from=0", int64(r.sizes.flushEvents), 0)
			flushed = append(flushed, each)
			return []float64{rate}, err
		})
	if err != nil {
		return nil, err
	}
	row := newRow("fanout", fmt.Sprintf("a filled tail to %d streams", manyStreams), "deliveries/s", pairs[0]).atLeast(0.5).
		note("%d events that are in memory; baseline: the same bytes by cursor to chunked responses", events).
		note("third column, a flush per event: %s deliveries/s", figure(median(flushed)))
	return []Row{row}, nil
}

// frames writes n frames of the log to a file.
func (s *server) frames(ctx context.Context, after, n int64, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/rpc/stream?after_seq=%d", s.address, after), nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var w io.Writer = io.Discard // for stream/opened
	lines := bufio.NewReaderSize(resp.Body, 1<<20)
	for range n + 1 {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		w = f
	}
	return nil
}

// fanTimes is how often the tail is sent in one measurement: once takes less
// than a second, too little on a noisy machine.
const fanTimes = 4

// fans returns the rate of several fans, one after the other.
func fans(ctx context.Context, address, target string, events, more int64) (float64, error) {
	seconds := 0.0
	for range fanTimes {
		rate, err := fan(ctx, address, target, events, more)
		if err != nil {
			return 0, err
		}
		seconds += 1 / rate
	}
	return fanTimes / seconds, nil
}

// fan sends the same request on 100 connections at once, and returns deliveries
// a second: events times streams divided by the time until the last stream has
// all. more is the number of lines that are no events.
func fan(ctx context.Context, address, target string, events, more int64) (float64, error) {
	streams := make([]*wire.Stream, manyStreams)
	for i := range streams {
		s, err := wire.Dial(ctx, address, readLimit)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		streams[i] = s
	}
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() {
		for _, s := range streams {
			s.Close()
		}
	})()
	for _, s := range streams {
		group.Go(func() error {
			if err := s.Request("GET", target); err != nil {
				return err
			}
			if err := s.Header(); err != nil {
				return err
			}
			return s.Until(events + more)
		})
	}
	err := group.Wait()
	return float64(events*manyStreams) / time.Since(began).Seconds(), err
}
