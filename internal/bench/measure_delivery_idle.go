package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

// measureDeliveryIdle measures whether subscriptions that have nothing to send delay appends.
// Ours is a server with many subscriptions of an idle thread, the baseline one without
// any, which otherwise is the same; both run all the time.
func measureDeliveryIdle(ctx context.Context, r *run) ([]Row, error) {
	ours, err := r.serveIdleBridge(ctx)
	if err != nil {
		return nil, err
	}
	if err := ours.manySubscriptions(ctx, r.sizes.idleSubscriptions); err != nil {
		return nil, err
	}
	bare, err := r.serveIdleBridge(ctx)
	if err != nil {
		return nil, err
	}
	sides := []*server{ours.server, bare.server}
	for _, s := range sides { // the first turns of a thread take longer
		if _, err := s.load(ctx, r.sizes.idleItems); err != nil {
			return nil, err
		}
	}
	var rates, cpu []Pair
	for i := range r.pairs {
		// Of both, to be compared: a profile costs something too.
		profiled := r.profile(ctx, ours.server, fmt.Sprintf("delivery-idle-%d", i))
		bareProfiled := r.profile(ctx, bare.server, fmt.Sprintf("delivery-idle-bare-%d", i))
		var total [2]appended
		for block := range r.sizes.idleBlocks {
			for k := range sides {
				side := (block + k) % 2 // each is the first of two as often
				if err := total[side].add(ctx, sides[side], r.sizes.idleItems); err != nil {
					return nil, err
				}
			}
		}
		if err := errors.Join(profiled(), bareProfiled()); err != nil {
			return nil, err
		}
		rates = append(rates, Pair{total[0].rate(), total[1].rate()})
		cpu = append(cpu, Pair{total[0].cpuOfEach(), total[1].cpuOfEach()})
		r.say("pair %d of %d: %s and %s events/s = %.3f; %s and %s µs of processor for each", i+1, r.pairs, figure(rates[i].Ours), figure(rates[i].Baseline), rates[i].ratio(), figure(cpu[i].Ours), figure(cpu[i].Baseline))
	}
	subscriptions, err := ours.server.metric(ctx, "holon_delivery_subscriptions")
	if err == nil && subscriptions != float64(r.sizes.idleSubscriptions) {
		err = fmt.Errorf("there are %v subscriptions, not %d", subscriptions, r.sizes.idleSubscriptions)
	}
	if err := errors.Join(err, ours.nothingSettled(ctx), ours.server.stop(), bare.server.stop()); err != nil {
		return nil, err
	}
	with := fmt.Sprintf("%d idle subscriptions", r.sizes.idleSubscriptions)
	return []Row{
		newRow("delivery-idle", "appends with "+with+", 64 threads", "events/s", rates).atLeast(0.97).
			note("baseline: a server without subscriptions; both run, and %d loads of each alternate in a pair, of which the median counts", r.sizes.idleBlocks),
		newRow("delivery-idle-cpu", "processor time of an appended event with "+with, "µs", cpu).shown(),
	}, nil
}

// idleThread is the thread of the idle subscriptions: nothing happens on it.
const idleThread = "idle"

// serveIdleBridge starts a server with a bridge that has nothing to send, and the
// threads of a load.
func (r *run) serveIdleBridge(ctx context.Context) (sender, error) {
	// Nothing listens there, and nothing is sent there.
	s, err := r.serveBridges(ctx, r.newDir("delivery-idle"), map[string]string{"idle": "http://127.0.0.1:9/hook"})
	if err != nil {
		return s, err
	}
	if err := s.server.client.Call(ctx, "thread/start", map[string]any{"thread_id": idleThread}, nil); err != nil {
		return s, err
	}
	return s, s.server.startThreads(ctx)
}

func (s sender) manySubscriptions(ctx context.Context, n int) error {
	lines := make([][]byte, 0, n)
	for i := range n {
		line, err := ingest.Line(i, "subscription/create", subscriptionOf(fmt.Sprintf("idle_%d", i), "idle", idleThread))
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	_, err := s.server.sendAll(ctx, lines)
	return err
}

// nothingSettled returns an error if the server has anything to send.
func (s sender) nothingSettled(ctx context.Context) error {
	var page struct {
		Deliveries []struct{} `json:"deliveries"`
	}
	err := s.server.client.Call(ctx, "delivery/list", nil, &page)
	if err == nil && len(page.Deliveries) > 0 {
		err = errors.New("an idle subscription has deliveries")
	}
	return err
}

// appended is what the loads of one server in a pair come to.
type appended struct {
	rates  []float64
	events int64
	cpu    time.Duration
}

func (a *appended) add(ctx context.Context, s *server, items int) error {
	// Not from the metrics: to make these costs as much as many events.
	before, err := s.CPU()
	if err != nil {
		return err
	}
	l, err := s.load(ctx, items)
	if err != nil {
		return err
	}
	after, err := s.CPU()
	a.rates, a.events, a.cpu = append(a.rates, l.rate()), a.events+l.events, a.cpu+after-before
	return err
}

// rate returns the median of the loads: a single one may meet something else that the
// machine does.
func (a *appended) rate() float64 { return median(a.rates) }

// cpuOfEach returns the time in microseconds. A short load may take less than a tick of the clock.
func (a *appended) cpuOfEach() float64 {
	return float64(max(a.cpu, 10*time.Millisecond).Microseconds()) / float64(a.events)
}
