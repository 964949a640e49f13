package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/internal/bench/process"
	"github.com/seed82539d15/holon/internal/bench/wire"
)

// measureMemory measures the resident memory of an idle stream. The baseline is a
// handler that waits. Descriptors: Go raises the soft limit to the hard limit,
// which must be above the number of streams.
func measureMemory(ctx context.Context, r *run) ([]Row, error) {
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, _ int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("memory"))
			if err != nil {
				return nil, err
			}
			kb, err := r.perStream(ctx, s.Process, s.address, "/rpc/stream", s.collect)
			return kb, errors.Join(err, s.stop())
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			p, address, err := r.listening(ctx, "idle")
			if err != nil {
				return nil, err
			}
			kb, err := r.perStream(ctx, p, address, "/stream", func(ctx context.Context) error {
				return get(ctx, http.DefaultClient, "http://"+address+"/debug/pprof/heap?gc=1", io.Discard)
			})
			return kb, errors.Join(err, p.Stop())
		})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, n := range r.sizes.idleStreams {
		rows = append(rows, newRow(fmt.Sprintf("memory-%d", n), fmt.Sprintf("resident memory of each of %d idle streams", n), "KiB", pairs[i]).atMost(1.25))
	}
	rows[0] = rows[0].note("baseline: a net/http handler that has sent one line and waits")
	return rows, nil
}

// perStream opens streams up to each number and returns what each of them
// added to the process, in KiB.
func (r *run) perStream(ctx context.Context, p *process.Process, address, target string, collect func(context.Context) error) ([]float64, error) {
	empty, err := memoryAtRest(ctx, p, collect)
	if err != nil {
		return nil, err
	}
	var streams []*wire.Stream
	defer func() {
		for _, s := range streams {
			s.Close()
		}
	}()
	var kb []float64
	for _, n := range r.sizes.idleStreams {
		for len(streams) < n {
			s, err := wire.Open(ctx, address, "GET", target, readLimit)
			if err != nil {
				return nil, fmt.Errorf("open stream %d: %w", len(streams)+1, err)
			}
			streams = append(streams, s)
			if err := s.Until(1); err != nil {
				return nil, err
			}
		}
		full, err := memoryAtRest(ctx, p, collect)
		if err != nil {
			return nil, err
		}
		kb = append(kb, float64(full-empty)/float64(n)/1024)
	}
	return kb, nil
}

// memoryAtRest returns the resident memory after garbage has been collected and returned
// to the system: when it has stopped falling.
func memoryAtRest(ctx context.Context, p *process.Process, collect func(context.Context) error) (int64, error) {
	least := int64(math.MaxInt64)
	for range 6 {
		if err := collect(ctx); err != nil {
			return 0, err
		}
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		now, err := p.RSS()
		if err != nil {
			return 0, err
		}
		if now > least-least/200 {
			return min(now, least), nil
		}
		least = now
	}
	return least, nil
}
