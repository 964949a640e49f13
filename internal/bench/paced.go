package bench

import (
	"context"
	"slices"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// pacedOptions say where events are sent and where they arrive.
type pacedOptions struct {
	address string
	stream  string // target of the stream
	opened  int64  // lines before the first event
	send    string // target of the sender
	line    func(i int) []byte
}

// paced sends lines at the pace, and returns for each the milliseconds from
// its writing to its arrival on a stream.
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
	w, err := watched(ctx, o.address, o.stream, 1, o.opened, n)
	if err != nil {
		return nil, err
	}
	defer w.close()
	sent := make([]time.Time, n)
	tick := time.Tick(pace)
	for i := range n {
		line := o.line(i)
		select {
		case <-tick:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		sent[i] = time.Now()
		if err := sender.Send(line); err != nil {
			return nil, err
		}
	}
	if err := w.wait(ctx); err != nil {
		return nil, err
	}
	return w.times(sent), nil
}

// pacedTrips returns the median of the milliseconds of a holon/status round trip at
// the pace: the part of a request that is neither log nor disk.
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
	tick := time.Tick(pace)
	for i := range r.sizes.paced / 2 {
		select {
		case <-tick:
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

// percentile returns the value below which the given part of the values lies.
func percentile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
