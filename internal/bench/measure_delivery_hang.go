package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

const (
	hungSlots   = 8  // that one bridge has
	hungThreads = 64 // with work for the bridge that hangs
	hungBridge  = "hangs"
)

// measureDeliveryHang measures whether a target that accepts requests and answers none delays
// commands, or the deliveries of another bridge. Ours is beside attempts that hang in
// all slots of a bridge, the baseline the same server while that bridge is paused; they
// alternate in short blocks, and each pair has the p99 of all its blocks.
func measureDeliveryHang(ctx context.Context, r *run) ([]Row, error) {
	t, err := newTarget()
	if err != nil {
		return nil, err
	}
	defer t.stop()
	h := newHanging()
	address, stop, err := serveHere(h)
	if err != nil {
		return nil, err
	}
	defer stop()
	defer h.release()
	s, err := r.serveBridges(ctx, r.newDir("delivery-hang"), map[string]string{"bridge": t.hook(), hungBridge: "http://" + address + "/hook"})
	if err != nil {
		return nil, err
	}
	if err := s.subscribeEnds(ctx, "bridge"); err != nil {
		return nil, err
	}
	if err := s.backlogOfHung(ctx, r.pairs*r.sizes.hangBlocks); err != nil {
		return nil, err
	}
	pairs := make([][]Pair, 2)
	for i := range r.pairs {
		var starts, deliveries [2][]float64
		profiled := r.profile(ctx, s.server, fmt.Sprintf("delivery-hang-%d", i))
		for block := range r.sizes.hangBlocks {
			for k := range 2 {
				side := (block + k) % 2 // each is the first of two as often
				run := s.besideHung
				if side == 1 {
					run = s.besidePaused
				}
				a, b, err := run(ctx, t, h, r.sizes.hangTurns)
				if err != nil {
					return nil, err
				}
				starts[side], deliveries[side] = append(starts[side], a...), append(deliveries[side], b...)
			}
		}
		if err := profiled(); err != nil {
			return nil, err
		}
		for j, times := range [][2][]float64{starts, deliveries} {
			pairs[j] = append(pairs[j], Pair{Ours: percentile(times[0], 0.99), Baseline: percentile(times[1], 0.99)})
		}
		r.say("pair %d of %d, p99 beside the bridge that hangs and while it is paused: turn/start %.2f, %.2f ms; end to delivery %.2f, %.2f ms; medians %.2f, %.2f; %.2f, %.2f", i+1, r.pairs,
			pairs[0][i].Ours, pairs[0][i].Baseline, pairs[1][i].Ours, pairs[1][i].Baseline, median(starts[0]), median(starts[1]), median(deliveries[0]), median(deliveries[1]))
	}
	if err := s.server.stop(); err != nil {
		return nil, err
	}
	const beside = " beside a bridge that hangs in all its places, p99"
	return []Row{
		newRow("delivery-hang-start", "turn/start"+beside, "ms", pairs[0]).atMost(1.3).
			note("baseline: the same server while that bridge is paused; %d and %d turns in a pair, in blocks of %d that alternate", r.sizes.hangBlocks*r.sizes.hangTurns, r.sizes.hangBlocks*r.sizes.hangTurns, r.sizes.hangTurns),
		newRow("delivery-hang-latency", "accepted end to the arrival of its delivery,"+beside, "ms", pairs[1]).atMost(1.3),
	}, nil
}

// backlogOfHung pauses the bridge that hangs, and makes work for it that lasts so many
// blocks: each takes what its slots hold.
func (s sender) backlogOfHung(ctx context.Context, blocks int) error {
	var threads []string
	for i := range hungThreads {
		threads = append(threads, fmt.Sprintf("hung_%d", i))
		if err := s.subscribe(ctx, threads[i], hungBridge, threads[i]); err != nil {
			return err
		}
	}
	if err := s.setBridges(ctx, "bridge/pause", hungBridge); err != nil {
		return err
	}
	each := blocks*hungSlots/hungThreads + 3 // there is always more than what hangs
	return s.makeEnds(ctx, threads, each, each*hungThreads)
}

// besideHung runs deliverEnds while the bridge hangs. Afterwards it is paused again.
func (s sender) besideHung(ctx context.Context, t *target, h *hanging, n int) (starts, deliveries []float64, err error) {
	limited, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	full := h.hold()
	if err := s.setBridges(ctx, "bridge/resume", hungBridge); err != nil {
		return nil, nil, err
	}
	select {
	case <-full:
	case <-limited.Done():
		return nil, nil, fmt.Errorf("wait until %d attempts hang: %w", hungSlots, limited.Err())
	}
	if starts, deliveries, err = s.deliverEnds(ctx, t, n); err != nil {
		return nil, nil, err
	}
	// An attempt that ends makes room for another one.
	if come, held := h.counts(); come != hungSlots || held != hungSlots {
		return nil, nil, fmt.Errorf("%d attempts came and %d hang, not %d: the block took longer than an attempt may take", come, held, hungSlots)
	}
	if err := s.setBridges(ctx, "bridge/pause", hungBridge); err != nil {
		return nil, nil, err
	}
	h.release()
	return starts, deliveries, s.server.counted(limited, "holon_delivery_in_flight", 0)
}

// besidePaused runs deliverEnds while the bridge is paused.
func (s sender) besidePaused(ctx context.Context, t *target, _ *hanging, n int) (starts, deliveries []float64, err error) {
	return s.deliverEnds(ctx, t, n)
}

// hanging is a target that answers only once it is released. Attempts that it lets go
// are delivered: so the bridge never counts as one that fails, and has all its slots
// in the next block too.
type hanging struct {
	mu         sync.Mutex
	come, held int
	full       chan struct{} // closed when hungSlots requests hang
	released   chan struct{}
	once       *sync.Once
}

func newHanging() *hanging {
	h := &hanging{}
	h.hold()
	return h
}

// hold lets requests hang from now on. The channel is closed when all slots do.
func (h *hanging) hold() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.come, h.held = 0, 0
	h.full, h.released, h.once = make(chan struct{}), make(chan struct{}), &sync.Once{}
	return h.full
}

// release answers what hangs.
func (h *hanging) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.once.Do(func() { close(h.released) })
}

func (h *hanging) counts() (come, held int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.come, h.held
}

// ServeHTTP implements http.Handler.
func (h *hanging) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body) // only then does the context see that the connection is cut
	h.mu.Lock()
	h.come++
	h.held++
	if h.come == hungSlots {
		close(h.full)
	}
	released := h.released
	h.mu.Unlock()
	select {
	case <-released:
		w.WriteHeader(http.StatusNoContent)
	case <-req.Context().Done(): // the attempt's time is over
		h.mu.Lock()
		h.held--
		h.mu.Unlock()
	}
}
