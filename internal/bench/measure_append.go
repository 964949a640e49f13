package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed82539d15/holon/internal/bench/baseline/sqlite"
)

// measureAppend measures how many events a second become durable on the whole path,
// from the request to rows in the log. The baseline only writes the same rows.
func measureAppend(ctx context.Context, r *run) ([]Row, error) {
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			s, err := r.serve(ctx, r.newDir("append"))
			if err != nil {
				return nil, err
			}
			if err := s.startThreads(ctx); err != nil {
				return nil, err
			}
			profiled := r.profile(ctx, s, fmt.Sprintf("append-%d", i))
			l, err := s.load(ctx, r.sizes.appendItems)
			if err := errors.Join(err, profiled(), s.stop()); err != nil {
				return nil, err
			}
			return []float64{l.rate()}, nil
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			b, err := resultOf[sqlite.Result](ctx, r, "sqlite", "--dir", r.newDir("sqlite"), "--threads", fmt.Sprint(loadThreads),
				"--items", fmt.Sprint(r.sizes.appendItems), "--size", fmt.Sprint(itemSize))
			if err != nil {
				return nil, err
			}
			return []float64{float64(b.Events) / b.Seconds}, nil
		})
	if err != nil {
		return nil, err
	}
	row := newRow("append", "durable events through the whole path, 64 threads", "events/s", pairs[0]).atLeast(0.4).
		note("%d events of %d bytes of text; baseline: the same rows into the same schema, groups of 256, synchronous=FULL", loadThreads*r.sizes.appendItems, itemSize)
	return []Row{row}, nil
}
