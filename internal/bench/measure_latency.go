package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline/fanout"
	"github.com/seed82539d15/holon/internal/bench/baseline/fsync"
)

// pace is the interval between events: 200 a second.
const pace = 5 * time.Millisecond

// latencyThread is where the events of the measure are made.
const latencyThread = "bench_latency"

// measureLatency measures the time from the moment an agent emits an event to its arrival at a
// client, with 1 and with 100 streams. The agent writes the time into the
// event; client and server read the same clock. The baseline is the time of an
// fsync plus the time that the in-memory program needs from appending a line,
// made by itself at the same pace, to its arrival.
//
// A further row begins at the client: from the writing of a request that makes
// one event to the arrival of that event.
func measureLatency(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("latency"))
	if err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return nil, err
	}
	var tails, disk, delivered, asked []float64
	ours := func(ctx context.Context, i int) ([]float64, error) {
		profiled := r.profile(ctx, s, fmt.Sprintf("latency-%d", i))
		one, err := r.emitted(ctx, s, 1)
		if err := errors.Join(err, profiled()); err != nil {
			return nil, err
		}
		many, err := r.emitted(ctx, s, manyStreams)
		if err != nil {
			return nil, err
		}
		requested, err := r.requested(ctx, s)
		if err != nil {
			return nil, err
		}
		trip, err := r.pacedTrips(ctx, s.address)
		tails, asked = append(tails, percentile(one, 0.99)), append(asked, trip)
		return []float64{median(one), median(many), median(requested)}, err
	}
	baseline := func(ctx context.Context, _ int) ([]float64, error) {
		d, err := resultOf[fsync.Result](ctx, r, "fsync", "--file", r.newDir("fsync"), "--count", fmt.Sprint(r.sizes.paced), "--every", pace.String())
		if err != nil {
			return nil, err
		}
		_, address, err := r.listening(ctx, "fanout")
		if err != nil {
			return nil, err
		}
		one, err := r.produced(ctx, address, 1)
		if err != nil {
			return nil, err
		}
		many, err := r.produced(ctx, address, manyStreams)
		if err != nil {
			return nil, err
		}
		published, err := r.published(ctx, address)
		synced := median(d.Milliseconds)
		disk, delivered = append(disk, synced), append(delivered, median(one))
		return []float64{synced + median(one), synced + median(many), synced + median(published)}, err
	}
	pairs, err := r.interleave(ctx, ours, baseline)
	if err != nil {
		return nil, err
	}
	rows := []Row{
		newRow("latency-1", "append to receipt at 200 events/s, 1 stream, p50", "ms", pairs[0]).atMost(1.5),
		newRow("latency-100", "append to receipt at 200 events/s, 100 streams, p50", "ms", pairs[1]).atMost(1.5),
		newRow("latency-request", "request to receipt at 200 events/s, 1 stream, p50", "ms", pairs[2]).shown(),
	}
	rows[0] = rows[0].note("from an agent's emitting of an event to its arrival; baseline: p50 of fsync (%.2f ms) + p50 of an in-memory delivery (%.2f ms)", median(disk), median(delivered)).
		note("ours p99 with 1 stream: %s ms", figure(median(tails)))
	rows[2] = rows[2].note("from the writing of a request to the arrival of its event; baseline: p50 of fsync + p50 of an in-memory delivery of a line that the client sends").
		note("a request that changes nothing (holon/status) takes %.2f ms there and back at the same pace", median(asked))
	return rows, nil
}

// emitted runs a turn whose agent makes events at the pace, each with the time
// of its Emit, and returns for each delivery the milliseconds from then to its
// arrival.
func (r *run) emitted(ctx context.Context, s *server, streams int) ([]float64, error) {
	const before = 2 // turn/started and the turn's input
	n := r.sizes.paced
	st, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	w, err := watched(ctx, s.address, fmt.Sprintf("/rpc/stream?after_seq=%d", st.LatestSeq), streams, 1, before+n)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := s.startTurn(ctx, latencyThread, fmt.Sprintf("/clock %d %d", n, pace.Milliseconds())); err != nil {
		return nil, err
	}
	if err := w.wait(ctx); err != nil {
		return nil, err
	}
	sent, err := s.clockTimes(ctx, st.LatestSeq, before+n)
	if err != nil {
		return nil, err
	}
	times := w.times(sent)
	if len(times) != n*streams {
		return nil, fmt.Errorf("%d of %d events have the time of their Emit", len(times), n*streams)
	}
	// The next turn of the thread must not have to wait for this one.
	return times, s.idle(ctx)
}

// clockTimes reads the n events after a seq and returns when each was emitted;
// the zero time for events without it.
func (s *server) clockTimes(ctx context.Context, after int64, n int) ([]time.Time, error) {
	var page struct {
		Events []struct {
			Params struct {
				Content json.RawMessage `json:"content"`
			} `json:"params"`
		} `json:"events"`
	}
	var times []time.Time
	for len(times) < n {
		params := map[string]any{"after_seq": after + int64(len(times)), "limit": min(n-len(times), 1000)}
		if err := s.client.Call(ctx, "event/list", params, &page); err != nil {
			return nil, err
		}
		if len(page.Events) == 0 {
			return nil, fmt.Errorf("there are %d events after %d, not %d", len(times), after, n)
		}
		for _, e := range page.Events {
			var content struct {
				Type    string `json:"type"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			}
			at := time.Time{}
			if err := json.Unmarshal(e.Params.Content, &content); err == nil && content.Type == "agent_message" && len(content.Content) == 1 {
				ns, err := strconv.ParseInt(content.Content[0].Text, 10, 64)
				if err != nil {
					return nil, err
				}
				at = time.Unix(0, ns)
			}
			times = append(times, at)
		}
		page.Events = nil
	}
	return times, nil
}

// requested sends requests that make one event each at the pace, and returns
// for each the milliseconds from its writing to the arrival of its event. The
// request is thread/pause and thread/resume in turn.
func (r *run) requested(ctx context.Context, s *server) ([]float64, error) {
	st, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	// Without an id there is no answer: only the event comes back.
	pausing := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"thread/pause","params":{"thread_id":%q}}`+"\n", latencyThread)
	resuming := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"thread/resume","params":{"thread_id":%q}}`+"\n", latencyThread)
	times, err := r.paced(ctx, pacedOptions{
		address: s.address, stream: fmt.Sprintf("/rpc/stream?after_seq=%d", st.LatestSeq), opened: 1,
		// The sender's own subscription matches no event, because it is not read.
		send: "/rpc/stream?method=holon/paused",
		line: func(i int) []byte {
			if i%2 == 0 {
				return pausing
			}
			return resuming
		},
	})
	if err != nil {
		return nil, err
	}
	// The next turn finds the thread as it was.
	return times, s.client.Call(ctx, "thread/resume", map[string]any{"thread_id": latencyThread}, nil)
}

// lineBytes is about the length of the measured frames.
const lineBytes = 400

// produced makes the in-memory program write lines at the pace, and returns for
// each delivery the milliseconds from its making to its arrival.
func (r *run) produced(ctx context.Context, address string, streams int) ([]float64, error) {
	n := r.sizes.paced
	w, err := watched(ctx, address, "/stream", streams, 0, n)
	if err != nil {
		return nil, err
	}
	defer w.close()
	made, err := fanout.Produce(ctx, address, n, lineBytes, pace)
	if err != nil {
		return nil, err
	}
	if err := w.wait(ctx); err != nil {
		return nil, err
	}
	return w.times(made), nil
}

// published sends lines at the pace, and returns for each the milliseconds
// from its writing to its arrival.
func (r *run) published(ctx context.Context, address string) ([]float64, error) {
	line := append(slices.Repeat([]byte{'x'}, lineBytes-1), '\n')
	return r.paced(ctx, pacedOptions{
		address: address, stream: "/stream",
		send: "/publish", line: func(int) []byte { return line },
	})
}
