package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// watch holds streams that are read continuously, and the arrival time of each
// line of each stream.
type watch struct {
	streams  []*wire.Stream
	arrived  [][]time.Time
	failures chan error // one from each stream
	reading  sync.WaitGroup
}

// watched opens streams, reads their first lines (opened), and then records
// when each of n further lines arrives. The caller must close the watch.
func watched(ctx context.Context, address, target string, streams int, opened int64, n int) (*watch, error) {
	w := &watch{arrived: make([][]time.Time, streams), failures: make(chan error, streams)}
	for range streams {
		s, err := wire.Open(ctx, address, "GET", target, readLimit)
		if err != nil {
			w.close()
			return nil, err
		}
		w.streams = append(w.streams, s)
		if err := s.Until(opened); err != nil {
			w.close()
			return nil, err
		}
	}
	for i, s := range w.streams {
		w.arrived[i] = make([]time.Time, 0, n)
		w.reading.Go(func() { w.failures <- arrivals(s, n, &w.arrived[i]) })
	}
	return w, nil
}

// wait waits until all lines have come on all streams.
func (w *watch) wait(ctx context.Context) error {
	for range w.streams {
		select {
		case err := <-w.failures:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// times returns the milliseconds of each delivery. Line i of each stream was sent
// at sent[i]; a zero time is ignored. wait must have returned nil.
func (w *watch) times(sent []time.Time) []float64 {
	var times []float64
	for _, list := range w.arrived {
		for i, at := range list {
			if !sent[i].IsZero() {
				times = append(times, float64(at.Sub(sent[i]))/float64(time.Millisecond))
			}
		}
	}
	return times
}

// close cuts the streams and waits for their goroutines.
func (w *watch) close() {
	for _, s := range w.streams {
		s.Close()
	}
	w.reading.Wait()
}

// arrivals records when each of n further lines arrives.
func arrivals(s *wire.Stream, n int, at *[]time.Time) error {
	for len(*at) < n {
		lines, err := s.Read()
		if err != nil {
			return fmt.Errorf("after %d of %d events: %w", len(*at), n, err)
		}
		now := time.Now()
		for range min(lines, n-len(*at)) {
			*at = append(*at, now)
		}
	}
	return nil
}
