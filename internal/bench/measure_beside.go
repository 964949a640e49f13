package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// listClients is how many clients list rows and events beside the streams.
const listClients = 8

// measureBeside measures whether clients that read delay those that send commands. Ours
// is the p99 of a command beside streams that replay in a loop and clients that
// list. The baseline is the p99 of the same command alone, plus that of GET
// /healthz beside the same load, which shows how busy the processors are.
func measureBeside(ctx context.Context, r *run) ([]Row, error) {
	dir := r.newDir("beside")
	s, err := r.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.fill(ctx, r.sizes.besideEvents), s.stop()); err != nil {
		return nil, err
	}
	// A server that has just started has nothing in its tail.
	if s, err = r.serve(ctx, dir); err != nil {
		return nil, err
	}
	pairs := make([][]Pair, 2)
	for i := range r.pairs {
		alone, err := r.commands(ctx, s)
		if err != nil {
			return nil, err
		}
		profiled := r.profile(ctx, s, fmt.Sprintf("beside-%d", i))
		load, err := s.readInLoops(ctx, r.sizes.besideStreams, int64(r.sizes.besideEvents))
		if err != nil {
			return nil, err
		}
		beside, err := r.commands(ctx, s)
		if err := errors.Join(err, load.end(), profiled()); err != nil {
			return nil, err
		}
		a, b := alone.p99(), beside.p99()
		r.say("pair %d of %d, p99 alone and beside: turn/start %.1f, %.1f ms; turn/interrupt %.1f, %.1f ms; /healthz %.1f, %.1f ms (%d replays, %d lists)",
			i+1, r.pairs, a.start, b.start, a.interrupt, b.interrupt, a.health, b.health, load.replays, load.lists)
		pairs[0] = append(pairs[0], Pair{Ours: b.start, Baseline: a.start + b.health})
		pairs[1] = append(pairs[1], Pair{Ours: b.interrupt, Baseline: a.interrupt + b.health})
	}
	if err := s.stop(); err != nil {
		return nil, err
	}
	with := fmt.Sprintf("p99 beside %d streams that replay and %d clients that list", r.sizes.besideStreams, listClients)
	return []Row{
		newRow("beside-start", "turn/start, "+with, "ms", pairs[0]).atMost(3).
			note("baseline: the p99 of it alone, plus that of GET /healthz beside the same load"),
		newRow("beside-interrupt", "turn/interrupt, "+with, "ms", pairs[1]).atMost(3),
	}, nil
}

// commandTimes are milliseconds.
type commandTimes struct{ start, interrupt, health []float64 }

// commandP99 is the 99th percentile of each.
type commandP99 struct{ start, interrupt, health float64 }

func (c commandTimes) p99() commandP99 {
	return commandP99{percentile(c.start, 0.99), percentile(c.interrupt, 0.99), percentile(c.health, 0.99)}
}

// commands starts turns and interrupts them, one after the other, and reads
// /healthz.
func (r *run) commands(ctx context.Context, s *server) (c commandTimes, err error) {
	const thread = "beside"
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": thread, "idempotency_key": thread}, nil); err != nil {
		return c, err
	}
	health := &http.Client{Transport: &http.Transport{}}
	defer health.CloseIdleConnections()
	timed := func(to *[]float64, f func() error) {
		if err != nil {
			return
		}
		began := time.Now()
		err = f()
		*to = append(*to, float64(time.Since(began))/float64(time.Millisecond))
	}
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "/sleep 600000"}}}}
	for i := 0; i < r.sizes.besideCommands && err == nil; i++ {
		key := fmt.Sprintf("beside_%d_%d", time.Now().UnixNano(), i) // a careful client has one
		var turn struct {
			TurnID string `json:"turn_id"`
		}
		timed(&c.start, func() error {
			return s.client.Call(ctx, "turn/start", map[string]any{"thread_id": thread, "idempotency_key": key, "input": input}, &turn)
		})
		timed(&c.interrupt, func() error {
			return s.client.Call(ctx, "turn/interrupt", map[string]any{"turn_id": turn.TurnID}, nil)
		})
		timed(&c.health, func() error { return get(ctx, health, "http://"+s.address+"/healthz", io.Discard) })
	}
	return c, err
}

// readLoad is a running load of readers.
type readLoad struct {
	stop  context.CancelFunc
	group sync.WaitGroup

	mu             sync.Mutex
	replays, lists int
	err            error // the first one before the end
}

// readInLoops opens streams that read the first n events of the log in a loop,
// and clients that list. It returns when each stream has received a line.
func (s *server) readInLoops(ctx context.Context, streams int, n int64) (*readLoad, error) {
	ctx, stop := context.WithCancel(ctx)
	l := &readLoad{stop: stop}
	begun := make(chan struct{}, streams)
	for i := range streams {
		l.loop(ctx, &l.replays, func(first bool) error {
			// Different start positions: otherwise the streams would share the processor's cache.
			from := n * int64(i) / int64(streams)
			if !first {
				from = 0
			}
			_, _, err := timed(ctx, s.address, func(stream *wire.Stream) error {
				if err := stream.Request("GET", fmt.Sprintf("/rpc/stream?after_seq=%d", from)); err != nil {
					return err
				}
				if err := stream.Header(); err != nil {
					return err
				}
				if err := stream.Until(2); err != nil {
					return err
				}
				if first {
					begun <- struct{}{}
				}
				return stream.Until(n - from + 1) // with stream/opened
			})
			return err
		})
	}
	for i := range listClients {
		l.loop(ctx, &l.lists, func(bool) error {
			thread := fmt.Sprintf("bench_%d", i)
			for method, params := range map[string]map[string]any{
				"thread/list": {}, "turn/list": {"thread_id": thread}, "item/list": {"thread_id": thread, "limit": 500},
				"event/list": {"after_seq": 0, "limit": 1000},
			} {
				if err := s.client.Call(ctx, method, params, nil); err != nil {
					return fmt.Errorf("%s: %w", method, err)
				}
			}
			return nil
		})
	}
	for range streams {
		select {
		case <-begun:
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), l.end())
		}
	}
	return l, nil
}

// loop calls f until ctx ends, and counts the calls in n. An error ends the
// whole load.
func (l *readLoad) loop(ctx context.Context, n *int, f func(first bool) error) {
	l.group.Go(func() {
		for first := true; ctx.Err() == nil; first = false {
			err := f(first)
			l.mu.Lock()
			if err == nil {
				*n++
			} else if ctx.Err() == nil && l.err == nil {
				l.err = err
				l.stop()
			}
			l.mu.Unlock()
		}
	})
}

// end ends the load and returns the error that has ended it before, if any.
func (l *readLoad) end() error {
	l.stop()
	l.group.Wait()
	return l.err
}
