package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

// measureSettled lets the background children of many idle owners end in any order. Each owner must
// be woken once, when the last of its own has ended. The baseline is as many plain turns in the
// same threads, and one in each owner.
func (w window) measureSettled(ctx context.Context, r *run) ([]Row, error) {
	const each = 10
	owners := r.sizes.owners
	s, err := r.serve(ctx, r.newDir("settled"+w.suffix))
	if err != nil {
		return nil, err
	}
	var children, plain [][]byte
	add := func(list *[][]byte, params map[string]any) {
		line, failed := ingest.Line(len(*list), "turn/start", params)
		if err == nil {
			err = failed
		}
		*list = append(*list, line)
	}
	for i := range owners {
		owner := fmt.Sprintf("owner_%d", i)
		if err := s.startOwner(ctx, owner, each, w); err != nil {
			return nil, err
		}
		turnID, err := s.ownersTurn(ctx, owner)
		if err != nil {
			return nil, err
		}
		for j := range each {
			params := childTurn(owner, j)
			params["parent"] = map[string]any{"thread_id": owner, "turn_id": turnID}
			add(&children, params)
			add(&plain, plainTurn(childOf(owner, j)))
		}
		add(&plain, plainTurn(owner))
	}
	if err != nil {
		return nil, err
	}
	if err := s.rests(ctx); err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "holon/pause", map[string]any{}, nil); err != nil {
		return nil, err
	}
	if _, err := s.sendAll(ctx, children); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.client.Call(ctx, "holon/resume", map[string]any{}, nil); err != nil {
		return nil, err
	}
	if err := s.counted(ctx, "holon_inbox_received_total", float64(owners*each)); err != nil {
		return nil, err
	}
	if err := s.counted(ctx, "holon_inbox_unacked_items", 0); err != nil {
		return nil, err
	}
	took := time.Since(began)
	wakes, err := s.metric(ctx, "holon_inbox_wakes_total")
	if err == nil && wakes != float64(owners) {
		err = fmt.Errorf("%v wakes of %d owners", wakes, owners)
	}
	if err != nil {
		return nil, err
	}
	turns, err := s.ran(ctx, plain)
	if err != nil {
		return nil, err
	}
	return []Row{
		newRow("children-settled"+w.suffix, fmt.Sprintf("%d queued child turns of %d idle owners end, and each owner is woken once, by all %d%s", owners*each, owners, each, w.words), "s",
			[]Pair{{took.Seconds(), turns.Seconds()}}).shown().note("once; baseline: as many plain turns, and one of each owner"),
	}, s.stop()
}
