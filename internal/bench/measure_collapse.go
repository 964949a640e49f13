package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/wire"
)

// measureCollapse measures a thread with half of its events superseded, from disk, to a
// stream that leaves them out. The figure is the number of scanned events, sent
// or not; the baseline is the same thread in full.
func measureCollapse(ctx context.Context, r *run) ([]Row, error) {
	const thread = "bench_0"
	dir, items := r.newDir("collapse"), r.sizes.collapsed/2
	s, err := r.serve(ctx, dir)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("/step setup/clone\n/items %d %d\n/again setup\n/step setup/clone\n/items %d %d", items, itemSize, items, itemSize)
	if err := errors.Join(s.client.Call(ctx, "thread/start", map[string]any{"thread_id": thread}, nil),
		s.startTurn(ctx, thread, text), s.idle(ctx), s.stop()); err != nil {
		return nil, err
	}
	// A server that has just started has nothing in its tail.
	if s, err = r.serve(ctx, dir); err != nil {
		return nil, err
	}
	st, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	live, err := s.liveEvents(ctx, thread)
	if err != nil {
		return nil, err
	}
	if half := st.LatestSeq / 2; live < half || live > half+half/50+20 {
		return nil, fmt.Errorf("%d of %d events are live, not half", live, st.LatestSeq)
	}
	replayed := func(target string, lines int64) side {
		return func(ctx context.Context, _ int) ([]float64, error) {
			rate, _, err := several(ctx, func(ctx context.Context) (time.Duration, int64, error) {
				return timed(ctx, s.address, func(stream *wire.Stream) error {
					if err := errors.Join(stream.Request("GET", target), stream.Header()); err != nil {
						return err
					}
					return stream.Until(lines + 1) // with stream/opened; the last event is live
				})
			}, st.LatestSeq)
			return []float64{rate}, err
		}
	}
	whole := "/rpc/stream?after_seq=0&thread_id=" + thread
	collapsed, plain := replayed(whole+"&collapse=superseded", live), replayed(whole, st.LatestSeq)
	for _, warm := range []side{collapsed, plain} {
		if _, err := warm(ctx, -1); err != nil {
			return nil, err
		}
	}
	pairs, err := r.interleave(ctx, collapsed, plain)
	if err != nil {
		return nil, err
	}
	row := newRow("collapse", fmt.Sprintf("a thread of %d events, half of them superseded, collapsed, from disk", st.LatestSeq), "events scanned/s", pairs[0]).
		atLeast(0.8).note("baseline: the same thread without collapse")
	return []Row{row}, nil
}

// liveEvents counts the events of a thread that collapse keeps.
func (s *server) liveEvents(ctx context.Context, thread string) (n int64, err error) {
	var page struct {
		Events []struct{} `json:"events"`
		Next   int64      `json:"next_after_seq"`
		More   bool       `json:"has_more"`
	}
	for page.More = true; page.More; {
		params := map[string]any{"thread_id": thread, "collapse": "superseded", "after_seq": page.Next, "limit": 1000}
		page.Events = nil
		if err := s.client.Call(ctx, "event/list", params, &page); err != nil {
			return 0, err
		}
		n += int64(len(page.Events))
	}
	return n, nil
}
