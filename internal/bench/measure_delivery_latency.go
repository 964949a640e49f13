package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/baseline/post"
	"github.com/seed82539d15/holon/internal/bench/receiver"
)

// endWarmUp is how many turns of deliverEnds do not count: what happened before them
// differs, the idle time and whatever a measure has changed.
const endWarmUp = 10

// endThreads is how many threads end turns in turn, each with a subscription: an end
// does not have to wait for the receipt of the one before.
const endThreads = 16

// measureDeliveryLatency measures the time from the arrival of a turn's accepted end
// on a stream to the arrival of its delivery. The receiver is in this process, so that
// one clock counts. Both leave the server after the same commit, and the delivery can
// be the first: then the time is below zero. The baseline is a commit of the same
// server, from the writing of a request to the arrival of its event, plus a post of
// the same bytes to the same receiver.
func measureDeliveryLatency(ctx context.Context, r *run) ([]Row, error) {
	t, err := newTarget()
	if err != nil {
		return nil, err
	}
	defer t.stop()
	s, err := r.serveBridges(ctx, r.newDir("delivery-latency"), map[string]string{"bridge": t.hook()})
	if err != nil {
		return nil, err
	}
	if err := s.subscribeEnds(ctx, "bridge"); err != nil {
		return nil, err
	}
	if err := s.server.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return nil, err
	}
	delivered := 0
	var committed, posted, tails []float64
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			profiled := r.profile(ctx, s.server, fmt.Sprintf("delivery-latency-%d", i))
			_, times, err := s.deliverEnds(ctx, t, r.sizes.paced)
			delivered += len(times) + endWarmUp
			if err := errors.Join(err, profiled()); err != nil {
				return nil, err
			}
			tails = append(tails, percentile(times, 0.99))
			return []float64{median(times)}, s.settled(ctx, delivered)
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			commits, err := r.requested(ctx, s.server)
			if err != nil {
				return nil, err
			}
			posts, err := t.posted(ctx, r.sizes.paced)
			committed, posted = append(committed, median(commits)), append(posted, median(posts))
			return []float64{median(commits) + median(posts)}, err
		})
	if err != nil {
		return nil, err
	}
	return []Row{
		newRow("delivery-latency", "accepted end to the arrival of its delivery, p50", "ms", pairs[0]).atMost(3).
			note("baseline: p50 of a commit of the same server (%s ms) + p50 of a post to the same receiver (%s ms)", figure(median(committed)), figure(median(posted))).
			note("ours p99: %s ms", figure(median(tails))),
	}, s.server.stop()
}

// target is a receiver in this process. One goroutine owns it.
type target struct {
	address string
	stop    func()
	arrived chan arrival
	first   *receiver.Request
}

type arrival struct {
	at      time.Time
	request receiver.Request
}

func newTarget() (*target, error) {
	// Room for what comes in a block of any measure: the receiver must not wait for
	// the one who counts.
	t := &target{arrived: make(chan arrival, 1024)}
	var err error
	t.address, t.stop, err = serveHere(receiver.New(func(at time.Time, r receiver.Request) { t.arrived <- arrival{at, r} }))
	return t, err
}

func (t *target) hook() string { return "http://" + t.address + "/hook" }

// next returns the next webhook.
func (t *target) next(ctx context.Context) (arrival, error) {
	select {
	case a := <-t.arrived:
		if t.first == nil {
			t.first = &a.request
		}
		return a, nil
	case <-ctx.Done():
		return arrival{}, ctx.Err()
	}
}

// posted posts a webhook that has come n times at the pace, and returns for each the
// milliseconds until it arrived.
func (t *target) posted(ctx context.Context, n int) ([]float64, error) {
	client := post.NewClient(1)
	defer client.CloseIdleConnections()
	var times []float64
	tick := time.Tick(pace)
	for i := range n {
		select {
		case <-tick:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		began := time.Now()
		if err := post.Send(ctx, client, t.hook(), *t.first, i); err != nil {
			return nil, err
		}
		a, err := t.next(ctx)
		if err != nil {
			return nil, err
		}
		times = append(times, milliseconds(a.at.Sub(began)))
	}
	return times, nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func endThread(i int) string { return fmt.Sprintf("ends_%d", i%endThreads) }

// subscribeEnds makes the threads of deliverEnds, with a subscription each.
func (s sender) subscribeEnds(ctx context.Context, bridge string) error {
	for i := range endThreads {
		if err := s.subscribe(ctx, fmt.Sprintf("ends_%d", i), bridge, endThread(i)); err != nil {
			return err
		}
	}
	return nil
}

// deliverEnds starts n short turns after some that do not count, at most at the pace and
// each after the delivery of the one before. It returns for each the milliseconds until
// its start was answered, and those from the arrival of its end on a stream to that of
// its delivery, which are below zero where the delivery was faster.
func (s sender) deliverEnds(ctx context.Context, t *target, n int) (starts, deliveries []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryLimit)
	defer cancel()
	n += endWarmUp
	st, err := s.server.status(ctx)
	if err != nil {
		return nil, nil, err
	}
	w, err := watched(ctx, s.server.address, fmt.Sprintf("/rpc/stream?after_seq=%d&method=turn/completed", st.LatestSeq), 1, 1, n)
	if err != nil {
		return nil, nil, err
	}
	defer w.close()
	var came []time.Time
	tick := time.Tick(pace)
	for i := range n {
		select {
		case <-tick:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		var turn struct {
			TurnID string `json:"turn_id"`
		}
		began := time.Now()
		if err := s.server.client.Call(ctx, "turn/start", plainTurn(endThread(i)), &turn); err != nil {
			return nil, nil, err
		}
		starts = append(starts, milliseconds(time.Since(began)))
		a, err := t.next(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("wait for delivery %d of %d: %w", i+1, n, err)
		}
		if of, err := turnOf(a.request); err != nil || of != turn.TurnID {
			return nil, nil, errors.Join(fmt.Errorf("a delivery of turn %q came, not of %q", of, turn.TurnID), err)
		}
		came = append(came, a.at)
	}
	if err := w.wait(ctx); err != nil {
		return nil, nil, err
	}
	for i, at := range came { // one turn after the other has ended
		deliveries = append(deliveries, milliseconds(at.Sub(w.arrived[0][i])))
	}
	return starts[endWarmUp:], deliveries[endWarmUp:], nil
}

// turnOf reads which turn a webhook is about.
func turnOf(r receiver.Request) (string, error) {
	var envelope struct {
		Data struct {
			TurnID string `json:"turn_id"`
		} `json:"data"`
	}
	err := json.Unmarshal(r.Body, &envelope)
	return envelope.Data.TurnID, err
}
