package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// commandsInFlight is how many commands one connection has in flight: what a server takes by
// default before it stops reading.
const commandsInFlight = 64

// measureCommands measures whether the stream of a connection with commands in flight is later than
// others, because it lets each answer go before what follows its commit. Ours is the time
// from an agent's emitting of an event to its arrival there, the baseline that of the same
// events on a connection that sends nothing.
func measureCommands(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("commands"))
	if err != nil {
		return nil, err
	}
	for i := range commandsInFlight {
		if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": flightThread(i)}, nil); err != nil {
			return nil, err
		}
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return nil, err
	}
	pairs := make([][]Pair, 2)
	var rates []float64
	for i := range r.pairs {
		profiled := r.profile(ctx, s, fmt.Sprintf("commands-%d", i))
		busy, quiet, rate, err := r.besideCommands(ctx, s)
		if err := errors.Join(err, profiled()); err != nil {
			return nil, err
		}
		for j, part := range []float64{0.5, 0.99} {
			pairs[j] = append(pairs[j], Pair{Ours: percentile(busy, part), Baseline: percentile(quiet, part)})
		}
		rates = append(rates, rate)
		r.say("pair %d of %d: %.0f commands/s; with them and without, p50 %.2f, %.2f ms; p99 %.2f, %.2f ms",
			i+1, r.pairs, rate, pairs[0][i].Ours, pairs[0][i].Baseline, pairs[1][i].Ours, pairs[1][i].Baseline)
	}
	what := fmt.Sprintf("append to receipt on a connection with %d turn/start in flight, ", commandsInFlight)
	return []Row{
		newRow("commands-p50", what+"p50", "ms", pairs[0]).atMost(1.2).
			note("baseline: the same events on a connection that sends nothing, at the same time; %.0f turns/s", median(rates)),
		newRow("commands-p99", what+"p99", "ms", pairs[1]).atMost(1.2),
	}, s.stop()
}

func flightThread(i int) string { return fmt.Sprintf("bench_flight_%d", i) }

// besideCommands runs a turn whose agent emits events at the pace, and returns the
// milliseconds until each has arrived on a connection that starts turns meanwhile and on one
// that does not, and how many turns it has started in a second.
func (r *run) besideCommands(ctx context.Context, s *server) (busy, quiet []float64, rate float64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	streams := make([]*flight, 2)
	for i := range streams {
		if streams[i], err = openFlight(ctx, s); err != nil {
			return nil, nil, 0, err
		}
		defer streams[i].close()
	}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(nil)
	for _, f := range streams {
		group.Go(func() { cancel(f.read(r.sizes.paced)) })
	}
	began := time.Now()
	group.Go(func() {
		if err := streams[0].commands(ctx); err != nil {
			cancel(err)
		}
	})
	if err := s.startTurn(ctx, latencyThread, fmt.Sprintf("/clock %d %d", r.sizes.paced, pace.Milliseconds())); err != nil {
		return nil, nil, 0, err
	}
	for _, f := range streams {
		select {
		case <-f.complete:
		case <-ctx.Done():
			return nil, nil, 0, context.Cause(ctx)
		}
	}
	rate = float64(streams[0].answered.Load()) / time.Since(began).Seconds()
	busy, quiet = streams[0].times, streams[1].times
	cancel(nil)
	// The next turn of the thread must not have to wait for these.
	return busy, quiet, rate, s.idle(context.WithoutCancel(ctx))
}

// flight is a two-way connection that is subscribed to the events of latencyThread.
type flight struct {
	body     *http.Response
	requests *io.PipeWriter
	slots    chan struct{} // one for each command in flight
	answered atomic.Int64
	times    []float64 // of read; complete is closed then
	complete chan struct{}
}

func openFlight(ctx context.Context, s *server) (*flight, error) {
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+s.address+"/rpc/stream?method=item/created&thread_id="+latencyThread, in)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return &flight{body: resp, requests: out, slots: make(chan struct{}, commandsInFlight), complete: make(chan struct{})}, nil
}

func (f *flight) close() {
	_ = f.requests.Close()
	_ = f.body.Body.Close()
}

var emittedAt = regexp.MustCompile(`"type":"agent_message".*"text":"(\d{19})"`)

// read notes how long each of n events took, and that commands are answered, until the
// connection is cut.
func (f *flight) read(n int) error {
	lines := bufio.NewReaderSize(f.body.Body, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		now := time.Now()
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
			if !bytes.Contains(line, []byte(`"result"`)) {
				return fmt.Errorf("a command got %.200s", line)
			}
			f.answered.Add(1)
			<-f.slots
			continue
		}
		match := emittedAt.FindSubmatch(line)
		if match == nil {
			continue
		}
		ns, err := strconv.ParseInt(string(match[1]), 10, 64)
		if err != nil {
			return err
		}
		if f.times = append(f.times, float64(now.Sub(time.Unix(0, ns)))/float64(time.Millisecond)); len(f.times) == n {
			close(f.complete)
		}
	}
}

// commands keeps commands in flight until ctx ends.
func (f *flight) commands(ctx context.Context) error {
	for i := 0; ; i++ {
		select {
		case f.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		_, err := fmt.Fprintf(f.requests, `{"jsonrpc":"2.0","id":%d,"method":"turn/start","params":{"thread_id":%q,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}}`+"\n",
			i, flightThread(i%commandsInFlight))
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}
