package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// inFlight are the measured windows of round trips.
var inFlight = []int{1, 16}

// measureRoundTrips measures requests a second on one connection, with 1 and with 16
// in flight. The baseline is the JSON-RPC library on a plain socket, with a
// result of the same size.
func measureRoundTrips(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("roundtrip"))
	if err != nil {
		return nil, err
	}
	result, err := s.rawStatus(ctx)
	if err != nil {
		return nil, err
	}
	_, address, err := r.listening(ctx, "jsonrpc", "--result", string(result))
	if err != nil {
		return nil, err
	}
	var size [2]float64 // of an answer
	ours := func(ctx context.Context, window int) (float64, error) {
		c, err := wire.Open(ctx, s.address, "POST", "/rpc/stream", readLimit)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		if err := c.Until(1); err != nil { // stream/opened
			return 0, err
		}
		return r.rounds(c, &size[0], window, appendChunkedRequest)
	}
	baseline := func(ctx context.Context, window int) (float64, error) {
		c, err := wire.Dial(ctx, address, readLimit)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		return r.rounds(c, &size[1], window, appendRequest)
	}
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			profiled := r.profile(ctx, s, fmt.Sprintf("roundtrip-%d", i))
			rates, err := eachOf(ctx, inFlight, ours)
			return rates, errors.Join(err, profiled())
		},
		func(ctx context.Context, _ int) ([]float64, error) { return eachOf(ctx, inFlight, baseline) })
	if err != nil {
		return nil, err
	}
	if d := size[0]/size[1] - 1; d < -0.05 || d > 0.05 {
		return nil, fmt.Errorf("an answer has %.0f bytes, the baseline's %.0f: they must be alike", size[0], size[1])
	}
	var rows []Row
	for i, window := range inFlight {
		rows = append(rows, newRow(fmt.Sprintf("roundtrip-%d", window), fmt.Sprintf("holon/status on one two-way stream, %d in flight", window), "requests/s", pairs[i]).atLeast(0.85))
	}
	rows[0] = rows[0].note("baseline: the JSON-RPC library on a plain socket, answering %.0f bytes like the server (%.0f)", size[1], size[0])
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

// appendRequest appends a request as one line. Its length does not depend on
// the id, which is at least a million.
func appendRequest(b []byte, id int) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(id), 10)
	return append(b, `,"method":"holon/status","params":{}}`+"\n"...)
}

// appendChunkedRequest appends a request as one chunk of a request's body.
func appendChunkedRequest(b []byte, id int) []byte {
	return wire.AppendChunk(b, appendRequest(make([]byte, 0, 128), id))
}

// rounds keeps window requests in flight: for every received answer it sends
// one more request, in one write per read. It returns answers a second, and
// their size.
func (r *run) rounds(c *wire.Stream, size *float64, window int, appendTo func([]byte, int) []byte) (float64, error) {
	n := r.sizes.rounds
	if window > 1 {
		n *= 4
	}
	if _, err := exchange(c, n/10, window, 1_000_000, appendTo); err != nil { // to warm up
		return 0, err
	}
	before := c.Bytes
	took, err := exchange(c, n, window, 2_000_000, appendTo)
	*size = float64(c.Bytes-before) / float64(n)
	return float64(n) / took.Seconds(), err
}

func exchange(c *wire.Stream, n, window, id int, appendTo func([]byte, int) []byte) (time.Duration, error) {
	var out []byte
	sent, answered, came := 0, 0, window
	c.KeepTail = true
	began := time.Now()
	for answered < n {
		out = out[:0]
		for ; came > 0 && sent < n; came-- {
			out = appendTo(out, id+sent)
			sent++
		}
		if len(out) > 0 {
			if err := c.Write(out); err != nil {
				return 0, err
			}
		}
		lines, err := c.Read()
		if err != nil {
			return 0, err
		}
		came = lines
		answered += lines
	}
	took := time.Since(began)
	if answered != n || !bytes.Contains(c.Tail, []byte(`"result"`)) {
		return 0, fmt.Errorf("%d answers to %d requests, ending in %.200s", answered, n, c.Tail)
	}
	return took, nil
}
