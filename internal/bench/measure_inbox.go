package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

// ingestBatch is how many items one request of the load has: a quarter of what a
// request may have. The events of the baseline come in units of up to 512.
const ingestBatch = 64

// measureInbox measures the cost of inboxes, as they fill, as they grow, as many of them
// wait, and for the commands of a thread that is flooded.
func measureInbox(ctx context.Context, r *run) (rows []Row, err error) {
	for _, part := range []func(context.Context, *run) ([]Row, error){measureIngest, measureLargeInbox, measureWaiting, measureFlood} {
		more, err := part(ctx, r)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// measureIngest measures how many items a second become durable in 64 inboxes. The
// baseline is as many plain events of the same server, as in append.
func measureIngest(ctx context.Context, r *run) ([]Row, error) {
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) (rates []float64, err error) {
			for _, grouped := range []bool{true, false} {
				rate, err := r.ingested(ctx, grouped, i)
				if err != nil {
					return nil, err
				}
				rates = append(rates, rate)
			}
			return rates, nil
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("inbox-append"))
			if err != nil {
				return nil, err
			}
			if err := s.startThreads(ctx); err != nil {
				return nil, err
			}
			l, err := s.load(ctx, r.sizes.appendItems)
			return []float64{l.rate(), l.rate()}, errors.Join(err, s.stop())
		})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf(" items through %d inboxes, %d in a request", loadThreads, ingestBatch)
	return []Row{
		newRow("inbox-grouped", "grouped"+what, "items/s", pairs[0]).atLeast(0.5).
			note("baseline: as many plain events of the same server, as in append"),
		newRow("inbox-ungrouped", "ungrouped"+what, "items/s", pairs[1]).shown().
			note("each is two events, a raw item and its entry; the baseline counts single events"),
	}, nil
}

// ingested fills inboxes, in turn, and returns how many items a second that were.
func (r *run) ingested(ctx context.Context, grouped bool, i int) (float64, error) {
	batches := (r.sizes.appendItems + ingestBatch - 1) / ingestBatch
	var lines [][]byte
	for batch := range batches {
		for box := range loadThreads {
			items := make([]ingest.Item, ingestBatch)
			for j := range items {
				ref := ""
				if grouped {
					ref = fmt.Sprintf("pr:%d", (batch+j)%4)
				}
				items[j] = ingest.NewItem(fmt.Sprintf("n%d.%d", batch, j), ref, itemSize)
			}
			l, err := ingest.Line(len(lines), "inbox/ingest", map[string]any{"thread_id": fmt.Sprintf("bench_%d", box), "items": items})
			if err != nil {
				return 0, err
			}
			lines = append(lines, l)
		}
	}
	s, err := r.serveQuietly(ctx, r.newDir("ingest"))
	if err != nil {
		return 0, err
	}
	if err := s.startThreads(ctx); err != nil {
		return 0, err
	}
	profiled := r.profile(ctx, s, fmt.Sprintf("inbox-%v-%d", grouped, i))
	took, err := s.sendAll(ctx, lines)
	if err := errors.Join(err, profiled()); err != nil {
		return 0, err
	}
	n, err := s.metric(ctx, "holon_inbox_received_total")
	if want := float64(batches * ingestBatch * loadThreads); err == nil && n != want {
		err = fmt.Errorf("%v items were stored, not %v", n, want)
	}
	return n / took.Seconds(), errors.Join(err, s.stop())
}
