package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed82539d15/holon/bench/baseline/fsync"
	"github.com/seed82539d15/holon/bench/wire"
)

// pace is from one event to the next: 200 a second.
const pace = 5 * time.Millisecond

// measureLatency: from the writing of a request that makes one event to the
// arrival of that event at a stream, with 1 and with 100 streams. The request
// is thread/pause and thread/resume in turn: one event, one commit each. The
// baseline is what the disk needs for an fsync and what the in-memory program
// needs from the writing of a line to its arrival.
func measureLatency(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("latency"))
	if err != nil {
		return nil, err
	}
	const thread = "bench_latency"
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": thread}, nil); err != nil {
		return nil, err
	}
	// Without an id nothing is answered: what comes back is the event.
	pausing := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"thread/pause","params":{"thread_id":%q}}`+"\n", thread)
	resuming := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"thread/resume","params":{"thread_id":%q}}`+"\n", thread)

	var tails, disk, asked []float64
	ours := func(ctx context.Context, streams int) (float64, error) {
		st, err := s.status(ctx)
		if err != nil {
			return 0, err
		}
		// The sender's own subscription lets nothing through: it is not read.
		times, err := r.paced(ctx, pacedOptions{
			address: s.address, streams: streams, stream: fmt.Sprintf("/rpc/stream?after_seq=%d", st.LatestSeq), opened: 1,
			send: "/rpc/stream?method=holon/paused",
			line: func(i int) []byte {
				if i%2 == 0 {
					return pausing
				}
				return resuming
			},
		})
		if err != nil {
			return 0, err
		}
		if streams > 1 {
			return median(times), nil
		}
		tails = append(tails, percentile(times, 0.99))
		trip, err := r.pacedTrips(ctx, s.address)
		asked = append(asked, trip)
		return median(times), err
	}
	baseline := func(ctx context.Context, streams int) (float64, error) {
		_, address, err := r.listening(ctx, "fanout")
		if err != nil {
			return 0, err
		}
		// As long as the frame of a thread/paused.
		line := append(slices.Repeat([]byte{'x'}, 340), '\n')
		times, err := r.paced(ctx, pacedOptions{
			address: address, streams: streams, stream: "/stream?from=0",
			send: "/publish", line: func(int) []byte { return line },
		})
		return median(times), err
	}
	both := []int{1, manyStreams}
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, _ int) ([]float64, error) { return eachOf(ctx, both, ours) },
		func(ctx context.Context, _ int) ([]float64, error) {
			d, err := resultOf[fsync.Result](ctx, r, "fsync", "--file", r.newDir("fsync"), "--count", fmt.Sprint(r.sizes.paced), "--every", pace.String())
			if err != nil {
				return nil, err
			}
			synced := median(d.Milliseconds)
			disk = append(disk, synced)
			delivered, err := eachOf(ctx, both, baseline)
			for i := range delivered {
				delivered[i] += synced
			}
			return delivered, err
		})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i, streams := range both {
		rows = append(rows, newRow(fmt.Sprintf("latency-%d", streams), fmt.Sprintf("append to receipt at 200 events/s, %d stream(s), p50", streams), "ms", pairs[i]).atMost(1.5))
	}
	rows[0] = rows[0].note("from the writing of a request to the arrival of its event; baseline: p50 of fsync (%.2f ms) + p50 of an in-memory delivery", median(disk)).
		note("ours p99 with 1 stream: %s ms", figure(median(tails))).
		note("a request that changes nothing (holon/status) takes %.2f ms there and back at the same pace", median(asked))
	return rows, nil
}

func eachOf(ctx context.Context, counts []int, f func(context.Context, int) (float64, error)) ([]float64, error) {
	var values []float64
	for _, n := range counts {
		v, err := f(ctx, n)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// pacedOptions say where events are sent and where they arrive.
type pacedOptions struct {
	address string
	streams int
	stream  string // target of the streams
	opened  int64  // lines before the first event
	send    string // target of the sender
	line    func(i int) []byte
}

// paced sends lines at the pace, and returns for each delivery the
// milliseconds from the writing of the line to its arrival.
func (r *run) paced(ctx context.Context, o pacedOptions) ([]float64, error) {
	n := r.sizes.paced
	sender, err := wire.Dial(ctx, o.address, readLimit)
	if err != nil {
		return nil, err
	}
	defer sender.Close()
	if err := sender.Request("POST", o.send); err != nil {
		return nil, err
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	arrived := make([][]time.Time, o.streams)
	failures := make(chan error, o.streams)
	var streams []*wire.Stream
	defer func() {
		for _, s := range streams {
			s.Close()
		}
		sender.Close()
	}()
	for range o.streams {
		s, err := wire.Open(ctx, o.address, "GET", o.stream, readLimit)
		if err != nil {
			return nil, err
		}
		streams = append(streams, s)
		if err := s.Until(o.opened); err != nil {
			return nil, err
		}
	}
	for i, s := range streams {
		arrived[i] = make([]time.Time, 0, n)
		reading.Go(func() { failures <- arrivals(s, n, &arrived[i]) })
	}
	sent := make([]time.Time, n)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range n {
		line := o.line(i)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		sent[i] = time.Now()
		if err := sender.Send(line); err != nil {
			return nil, err
		}
	}
	for range streams {
		select {
		case err := <-failures:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	times := make([]float64, 0, n*o.streams)
	for _, list := range arrived {
		for i, at := range list {
			times = append(times, float64(at.Sub(sent[i]))/float64(time.Millisecond))
		}
	}
	return times, nil
}

// arrivals notes when each of n further lines has come.
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

// pacedTrips is the median of the milliseconds that a holon/status takes there
// and back at the pace: what of a latency is neither log nor disk.
func (r *run) pacedTrips(ctx context.Context, address string) (float64, error) {
	c, err := wire.Open(ctx, address, "POST", "/rpc/stream", readLimit)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := c.Until(1); err != nil { // stream/opened
		return 0, err
	}
	var times []float64
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := range r.sizes.paced / 2 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		began := time.Now()
		if err := c.Write(appendChunkedRequest(nil, 1_000_000+i)); err != nil {
			return 0, err
		}
		if err := c.Until(int64(i) + 2); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(began))/float64(time.Millisecond))
	}
	return median(times), nil
}

// percentile is the value below which a part of the values is.
func percentile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
