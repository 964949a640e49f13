package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline/post"
)

const (
	rateBridges  = 8
	rateInFlight = 64 // as many as the server has in all, eight to a bridge
)

// measureDeliveryRate measures how many deliveries a second reach a receiver, from the resume
// of paused bridges until the receiver has every end of their subscriptions, each once.
// The baseline posts the same bytes to the same receiver, and stores nothing.
func measureDeliveryRate(ctx context.Context, r *run) ([]Row, error) {
	_, address, err := r.listening(ctx, "receiver")
	if err != nil {
		return nil, err
	}
	to := remote{address}
	n := loadThreads * r.sizes.deliveries
	var each, busy, connections []float64
	request := r.newDir("webhook")
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			d, err := r.delivered(ctx, to, i)
			if err != nil {
				return nil, err
			}
			first, err := to.first(ctx)
			if err != nil {
				return nil, err
			}
			encoded, err := json.Marshal(first)
			if err != nil {
				return nil, err
			}
			each, busy = append(each, d.commits.count/float64(n)), append(busy, 100*d.commits.seconds/d.took.Seconds())
			connections = append(connections, float64(d.connections))
			return []float64{float64(n) / d.took.Seconds()}, os.WriteFile(request, encoded, 0o600)
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			if err := to.reset(ctx); err != nil {
				return nil, err
			}
			p, err := resultOf[post.Result](ctx, r, "post", "--url", to.hook(), "--request", request, "--count", fmt.Sprint(n), "--in-flight", fmt.Sprint(rateInFlight))
			if err != nil {
				return nil, err
			}
			counts, err := to.until(ctx, n)
			return []float64{float64(p.Requests) / p.Seconds}, errors.Join(err, once(counts, n))
		})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("deliveries of %d subscriptions through %d bridges to one receiver", loadThreads, rateBridges)
	return []Row{
		newRow("delivery-rate", what, "/s", pairs[0]).atLeast(0.5).
			note("%d deliveries that waited while the bridges were paused, each received once; baseline: the same bytes from a net/http client with %d requests in flight", n, rateInFlight).
			note("%s transactions for each delivery, in which the server spent %s %% of the time; %s connections", figure(median(each)), figure(median(busy)), figure(median(connections))),
	}, nil
}

// deliveredAll is a backlog that was delivered.
type deliveredAll struct {
	took        time.Duration // from before the first resume to the last arrival
	commits     transactions  // of the server meanwhile
	connections int           // that carried it
}

// delivered makes a backlog in a new server, and lets it be delivered.
func (r *run) delivered(ctx context.Context, to remote, round int) (d deliveredAll, err error) {
	if err := to.reset(ctx); err != nil {
		return d, err
	}
	urls := map[string]string{}
	for i := range rateBridges {
		urls[fmt.Sprintf("bridge_%d", i)] = to.hook()
	}
	s, err := r.serveBridges(ctx, r.newDir("delivery"), urls)
	if err != nil {
		return d, err
	}
	names := slices.Sorted(maps.Keys(urls))
	var threads []string
	for i := range loadThreads {
		threads = append(threads, fmt.Sprintf("bench_%d", i))
		if err := s.subscribe(ctx, fmt.Sprintf("sub_%d", i), names[i%rateBridges], threads[i]); err != nil {
			return d, err
		}
	}
	if err := s.setBridges(ctx, "bridge/pause", names...); err != nil {
		return d, err
	}
	n := loadThreads * r.sizes.deliveries
	if err := s.makeEnds(ctx, threads, r.sizes.deliveries, n); err != nil {
		return d, err
	}
	before, err := s.transactions(ctx)
	if err != nil {
		return d, err
	}
	profiled := r.profile(ctx, s.server, fmt.Sprintf("delivery-rate-%d", round))
	began := time.Now()
	if err := s.setBridges(ctx, "bridge/resume", names...); err != nil {
		return d, err
	}
	counts, err := to.until(ctx, n)
	if err != nil {
		return d, err
	}
	d.took = counts.LastNew.Sub(began)
	if err := errors.Join(s.settled(ctx, n), profiled()); err != nil {
		return d, err
	}
	after, err := s.transactions(ctx)
	if err != nil {
		return d, err
	}
	// What was sent twice would have come by now.
	if counts, err = to.until(ctx, n); err != nil {
		return d, err
	}
	d.commits = transactions{after.count - before.count, after.seconds - before.seconds}
	d.connections = counts.Connections
	return d, errors.Join(once(counts, n), s.server.stop())
}
