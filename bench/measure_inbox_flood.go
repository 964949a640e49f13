package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed82539d15/holon/bench/wire"
)

// The flood: clients with one request in flight each. Together these have more
// than the intake of one thread takes (4 MiB), so that some are always refused.
// A refused one repeats after a while, as the answer asks it to.
const (
	floodClients = 64
	floodItems   = 64
	floodPayload = 1 << 10
	floodRetry   = time.Second // retry_after_ms
)

const floodedThread = "flooded"

// measureFlood: whether items that flood a thread's inbox delay the commands of
// the same thread. Ours is turn/start of short turns beside the flood, the
// baseline the same alone.
func measureFlood(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serveQuietly(ctx, r.newDir("flood"), "--max-unacked-items", "2000000", "--max-pending-items", "2000000", "--max-unacked-bytes", "34359738368")
	if err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": floodedThread}, nil); err != nil {
		return nil, err
	}
	pairs := make([][]Pair, 3)
	for i := range r.pairs {
		alone, _, err := r.shortTurns(ctx, s)
		if err != nil {
			return nil, err
		}
		profiled := r.profile(ctx, s, fmt.Sprintf("inbox-flood-%d", i))
		f, err := s.flood(ctx, i)
		if err != nil {
			return nil, err
		}
		began := time.Now()
		beside, health, err := r.shortTurns(ctx, s)
		took := time.Since(began)
		if err := errors.Join(err, f.end(), profiled()); err != nil {
			return nil, err
		}
		if f.refused.Load() == 0 {
			return nil, errors.New("the flood was never refused: it was below the bound")
		}
		for j, part := range []float64{0.5, 0.99} {
			pairs[j] = append(pairs[j], Pair{Ours: percentile(beside, part), Baseline: percentile(alone, part)})
		}
		busy := percentile(health, 0.99)
		pairs[2] = append(pairs[2], Pair{Ours: pairs[1][i].Ours, Baseline: pairs[1][i].Baseline + busy})
		r.say("pair %d of %d, turn/start alone and beside: p50 %.2f, %.2f ms; p99 %.2f, %.2f ms; p99 of /healthz beside %.2f ms (%d items in %.1f s, %d requests refused)", i+1, r.pairs,
			pairs[0][i].Baseline, pairs[0][i].Ours, pairs[1][i].Baseline, pairs[1][i].Ours, busy, f.stored.Load()*floodItems, took.Seconds(), f.refused.Load())
	}
	what := "turn/start of a thread whose inbox is flooded up to the bound of its intake, "
	return []Row{
		newRow("inbox-flood-p50", what+"p50", "ms", pairs[0]).shown().note("baseline: the same thread without the flood"),
		newRow("inbox-flood-p99", what+"p99", "ms", pairs[1]).atMost(3),
		newRow("inbox-flood-busy", what+"p99", "ms", pairs[2]).shown().
			note("baseline: the p99 of it alone, plus that of GET /healthz beside the flood, which shows how busy the processors are"),
	}, s.stop()
}

// shortTurns starts turns one after the other, and returns the milliseconds until
// each start was answered, and those of GET /healthz in between.
func (r *run) shortTurns(ctx context.Context, s *server) (times, health []float64, err error) {
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	since := func(began time.Time) float64 { return float64(time.Since(began)) / float64(time.Millisecond) }
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "/say hello"}}}}
	for range r.sizes.floodCommands {
		var turn struct {
			TurnID string `json:"turn_id"`
		}
		began := time.Now()
		if err := s.client.Call(ctx, "turn/start", map[string]any{"thread_id": floodedThread, "input": input}, &turn); err != nil {
			return nil, nil, err
		}
		times = append(times, since(began))
		if err := s.ended(ctx, turn.TurnID); err != nil {
			return nil, nil, err
		}
		began = time.Now()
		if err := get(ctx, plain, "http://"+s.address+"/healthz", io.Discard); err != nil {
			return nil, nil, err
		}
		health = append(health, since(began))
	}
	return times, health, nil
}

// ended waits until a turn has ended.
func (s *server) ended(ctx context.Context, turnID string) error {
	tick := time.Tick(2 * time.Millisecond)
	for {
		var got struct {
			Turn struct {
				State string `json:"state"`
			} `json:"turn"`
		}
		if err := s.client.Call(ctx, "turn/read", map[string]any{"turn_id": turnID}, &got); err != nil {
			return err
		}
		switch got.Turn.State {
		case "queued", "active":
		case "completed":
			return nil
		default:
			return fmt.Errorf("turn %s is %s", turnID, got.Turn.State)
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flooding is a running flood.
type flooding struct {
	stop            context.CancelFunc
	group           *errgroup.Group
	stored, refused atomic.Int64 // requests
}

// flood starts a flood, and returns when a request was refused: the intake is full
// then.
func (s *server) flood(ctx context.Context, round int) (*flooding, error) {
	ctx, stop := context.WithCancel(ctx)
	f := &flooding{stop: stop}
	var group *errgroup.Group
	group, ctx = errgroup.WithContext(ctx)
	f.group = group
	full := make(chan struct{})
	first := sync.OnceFunc(func() { close(full) })
	for i := range floodClients {
		items := make([]inboxItem, floodItems)
		for j := range items {
			ref := ""
			if j%2 == 0 {
				ref = fmt.Sprintf("pr:%d", j%8)
			}
			items[j] = newItem(fmt.Sprintf("%d-%d-%d-########", round, i, j), ref, floodPayload)
		}
		request, err := line(1, "inbox/ingest", map[string]any{"thread_id": floodedThread, "items": items})
		if err != nil {
			return nil, errors.Join(err, f.end())
		}
		group.Go(func() error { return f.client(ctx, s.address, request, first) })
	}
	select {
	case <-full:
		return f, nil
	case <-ctx.Done():
		return nil, errors.Join(f.end(), ctx.Err())
	}
}

// client sends one request after the other, with new ids each, until ctx ends.
func (f *flooding) client(ctx context.Context, address string, request []byte, full func()) error {
	c, err := wire.Open(ctx, address, "POST", answersOnly, readLimit)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Until(1); err != nil { // stream/opened
		return err
	}
	c.KeepTail = true
	for n := 0; ctx.Err() == nil; n++ {
		if err := c.Send(bytes.ReplaceAll(request, []byte("########"), fmt.Appendf(nil, "%08d", n))); err != nil {
			return err
		}
		c.Tail = c.Tail[:0]
		if err := c.Until(int64(n) + 2); err != nil {
			return err
		}
		switch {
		case !bytes.Contains(c.Tail, []byte(`"error":`)):
			f.stored.Add(1)
		case bytes.Contains(c.Tail, []byte(`"overloaded"`)):
			f.refused.Add(1)
			full()
			select {
			case <-time.After(floodRetry):
			case <-ctx.Done():
			}
		default:
			return fmt.Errorf("refused: %s", c.Tail)
		}
	}
	return nil
}

// end ends the flood.
func (f *flooding) end() error {
	f.stop()
	return f.group.Wait()
}
