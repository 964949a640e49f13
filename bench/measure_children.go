package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/bench/ingest"
)

// measureChildren: what it takes until an agent is told of work that it has left in
// the background, alone and for many agents at once.
func measureChildren(ctx context.Context, r *run) (rows []Row, err error) {
	for _, part := range []func(context.Context, *run) ([]Row, error){measureWake, measureManyWakes, measureSettled, measureJobs} {
		more, err := part(ctx, r)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// measureWake: from the arrival of a child turn's end to that of the start of the turn
// that tells its owner, both on one stream. Between the two are a commit of the owner's
// inbox and the commit of the wake. The baseline is a commit of the same server: from
// the writing of a request that makes one event to the arrival of that event.
func measureWake(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("wake"))
	if err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return nil, err
	}
	n := 0
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, _ int) ([]float64, error) {
			times := make([]float64, 0, r.sizes.paced/2)
			for range cap(times) {
				n++
				ms, err := s.wakeTime(ctx, n)
				if err != nil {
					return nil, err
				}
				times = append(times, ms)
			}
			return []float64{median(times)}, nil
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			if err := s.rests(ctx); err != nil { // what the last wake still writes
				return nil, err
			}
			times, err := r.requested(ctx, s)
			return []float64{median(times)}, err
		})
	if err != nil {
		return nil, err
	}
	return []Row{
		newRow("children-wake", "end of a child turn to the start of its owner's wake, p50", "ms", pairs[0]).atMost(3).
			note("baseline: one commit of the same server, from a request to the arrival of its event, p50"),
	}, s.stop()
}

// startOwner starts a thread that new entries wake, and its child threads.
func (s *server) startOwner(ctx context.Context, owner string, children int) error {
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": owner}, nil); err != nil {
		return err
	}
	if err := s.client.Call(ctx, "inbox/configure", map[string]any{"thread_id": owner, "policy": map[string]any{"wake": "idle"}}, nil); err != nil {
		return err
	}
	for i := range children {
		params := map[string]any{"thread_id": childOf(owner, i), "parent": map[string]any{"thread_id": owner}}
		if err := s.client.Call(ctx, "thread/start", params, nil); err != nil {
			return err
		}
	}
	return nil
}

func childOf(owner string, i int) string { return fmt.Sprintf("%s_%d", owner, i) }

// childTurn are the params that start a child turn in the background.
func childTurn(owner string, i int) map[string]any {
	params := plainTurn(childOf(owner, i))
	params["parent"], params["background"] = map[string]any{"thread_id": owner}, true
	return params
}

func plainTurn(thread string) map[string]any {
	text := map[string]any{"type": "input_text", "text": "done"}
	return map[string]any{"thread_id": thread, "input": []any{map[string]any{"type": "message", "role": "user", "content": []any{text}}}}
}

// wakeTime lets a child turn of an idle owner end, and returns the milliseconds until
// its owner is woken.
func (s *server) wakeTime(ctx context.Context, n int) (float64, error) {
	owner := fmt.Sprintf("owner_%d", n)
	if err := s.startOwner(ctx, owner, 1); err != nil {
		return 0, err
	}
	st, err := s.status(ctx)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	target := fmt.Sprintf("http://%s/rpc/stream?after_seq=%d&thread_id=%s&thread_id=%s&method=turn/completed&method=turn/started", s.address, st.LatestSeq, owner, childOf(owner, 0))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	started := false
	var ended time.Time
	for lines.Scan() {
		at := time.Now()
		if !started { // the stream's first line: it is there
			started = true
			if err := s.client.Call(ctx, "turn/start", childTurn(owner, 0), nil); err != nil {
				return 0, err
			}
			continue
		}
		var e struct {
			Method string `json:"method"`
			Params struct {
				ThreadID string `json:"thread_id"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return 0, err
		}
		switch {
		case e.Method == "turn/completed" && e.Params.ThreadID == childOf(owner, 0):
			ended = at
		case e.Method == "turn/started" && e.Params.ThreadID == owner:
			return float64(at.Sub(ended)) / float64(time.Millisecond), nil
		}
	}
	return 0, errors.Join(fmt.Errorf("%s was not woken", owner), lines.Err())
}

// measureManyWakes: many owners, whose child turns have all ended while the owners were
// paused, are told at once. Each must be woken once and be told all. The baselines are
// as many plain turns in the same threads.
func measureManyWakes(ctx context.Context, r *run) ([]Row, error) {
	const each = 10
	owners := r.sizes.owners
	s, err := r.serve(ctx, r.newDir("wakes"))
	if err != nil {
		return nil, err
	}
	var starts, policies, children, pauses, turns, resumes, plain, plainOwners [][]byte
	for i := range owners {
		owner := fmt.Sprintf("owner_%d", i)
		add := func(list *[][]byte, method string, params map[string]any) {
			line, failed := ingest.Line(len(*list), method, params)
			err = errors.Join(err, failed)
			*list = append(*list, line)
		}
		add(&starts, "thread/start", map[string]any{"thread_id": owner})
		add(&policies, "inbox/configure", map[string]any{"thread_id": owner, "policy": map[string]any{"wake": "idle"}})
		add(&pauses, "thread/pause", map[string]any{"thread_id": owner})
		add(&resumes, "thread/resume", map[string]any{"thread_id": owner})
		add(&plainOwners, "turn/start", plainTurn(owner))
		for j := range each {
			add(&children, "thread/start", map[string]any{"thread_id": childOf(owner, j), "parent": map[string]any{"thread_id": owner}})
			add(&turns, "turn/start", childTurn(owner, j))
			add(&plain, "turn/start", plainTurn(childOf(owner, j)))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, lines := range [][][]byte{starts, policies, children, pauses} {
		if _, err := s.sendAll(ctx, lines); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	if _, err := s.sendAll(ctx, turns); err != nil {
		return nil, err
	}
	if err := s.counted(ctx, "holon_inbox_received_total", float64(owners*each)); err != nil {
		return nil, err
	}
	taken := time.Since(began)
	profiled := r.profile(ctx, s, "children-told")
	began = time.Now()
	if _, err := s.sendAll(ctx, resumes); err != nil {
		return nil, err
	}
	if err := s.counted(ctx, "holon_inbox_unacked_items", 0); err != nil {
		return nil, err
	}
	told := time.Since(began)
	if err := profiled(); err != nil {
		return nil, err
	}
	wakes, err := s.metric(ctx, "holon_inbox_wakes_total")
	if err == nil && wakes != float64(owners) {
		err = fmt.Errorf("%v wakes of %d owners", wakes, owners)
	}
	if err != nil {
		return nil, err
	}
	turnsOf, err := s.ran(ctx, plain)
	if err != nil {
		return nil, err
	}
	turnsOfOwners, err := s.ran(ctx, plainOwners)
	if err != nil {
		return nil, err
	}
	return []Row{
		newRow("children-taken", fmt.Sprintf("%d child turns of %d owners, from their start until each inbox has its ends", owners*each, owners), "s",
			[]Pair{{taken.Seconds(), turnsOf.Seconds()}}).shown().note("once; baseline: as many plain turns in the same threads"),
		newRow("children-told", fmt.Sprintf("%d owners are woken, once each, and told %d ends each", owners, each), "s",
			[]Pair{{told.Seconds(), turnsOfOwners.Seconds()}}).shown().note("once; baseline: a plain turn of each owner"),
	}, s.stop()
}

// ran starts turns and waits until they have ended.
func (s *server) ran(ctx context.Context, turns [][]byte) (time.Duration, error) {
	began := time.Now()
	if _, err := s.sendAll(ctx, turns); err != nil {
		return 0, err
	}
	err := s.rests(ctx)
	return time.Since(began), err
}

// rests waits until no turn is queued or active.
func (s *server) rests(ctx context.Context) error {
	tick := time.Tick(20 * time.Millisecond)
	for {
		st, err := s.status(ctx)
		if err != nil || st.Turns.Queued+st.Turns.Active == 0 {
			return err
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// counted waits until a metric has a value.
func (s *server) counted(ctx context.Context, metric string, want float64) error {
	tick := time.Tick(20 * time.Millisecond)
	for {
		n, err := s.metric(ctx, metric)
		if n == want || err != nil {
			return err
		}
		select {
		case <-tick:
		case <-s.Running():
			return errors.Join(errors.New("the server has ended"), s.Stop())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
