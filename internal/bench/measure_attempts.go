package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// measureAttempts measures the cost of epochs and lineages for an append. Ours writes
// in steps three deep that are retried, one by one and all at once; the
// baseline is the same number of messages of turns without steps, which have
// the shortest lineage.
func measureAttempts(ctx context.Context, r *run) ([]Row, error) {
	items := r.sizes.appendItems
	plain := fmt.Sprintf("/items %d %d", items, itemSize)
	var tried strings.Builder
	for i, step := range []string{"setup/clone/fetch", "setup/clone", "setup/clone/fetch", "setup"} {
		from, to := items*i/4, items*(i+1)/4
		if to == from {
			continue
		}
		fmt.Fprintf(&tried, "/step setup/clone/fetch\n/items %d %d\n/again %s\n", to-from, itemSize, step)
	}
	measured := func(text, profile string) side {
		return func(ctx context.Context, i int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("attempts"))
			if err != nil {
				return nil, err
			}
			if err := s.startThreads(ctx); err != nil {
				return nil, err
			}
			profiled := r.profile(ctx, s, fmt.Sprintf("%s-%d", profile, i))
			l, err := s.loadOf(ctx, text, items)
			if err := errors.Join(err, profiled(), s.stop()); err != nil {
				return nil, err
			}
			return []float64{l.rate()}, nil
		}
	}
	pairs, err := r.interleave(ctx, measured(tried.String(), "attempts"), measured(plain, "attempts-plain"))
	if err != nil {
		return nil, err
	}
	row := newRow("attempts", "appends in steps three deep that are retried, 64 threads", "events/s", pairs[0]).atLeast(0.8).
		note("baseline: the same messages without steps")
	return []Row{row}, nil
}
