package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
)

// measureChildren measures how long it takes until an agent is told of work that it has left in
// the background, alone and for many agents at once.
func measureChildren(ctx context.Context, r *run) (rows []Row, err error) {
	parts := []func(context.Context, *run) ([]Row, error){measureWake}
	for _, w := range windows {
		parts = append(parts, w.measureMany, w.measureSettled)
	}
	for _, part := range append(parts, measureJobs) {
		more, err := part(ctx, r)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// window is how long new entries wait for more before they wake an owner.
type window struct {
	suffix string // of the names of rows
	words  string // of their texts
	policy map[string]any
}

var (
	noWindow      = window{"", "", map[string]any{"wake": "idle", "wake_window_ms": 0}}
	defaultWindow = window{"-window", ", with the default window", map[string]any{"wake": "idle"}}
	windows       = []window{noWindow, defaultWindow}
)

// usualWindow is the default of wake_window_ms, in milliseconds.
const usualWindow = 1000

// measureWake measures the time from the arrival of a child turn's end to that of the start
// of the turn that tells its owner, both on one stream. Between the two are a commit of the
// owner's inbox and the commit of the wake. The baseline is a commit of the same server:
// from the writing of a request that makes one event to the arrival of that event. With the
// default window the last child of a turn wakes its owner as soon; one of no turn is waited
// for as long as the window.
func measureWake(ctx context.Context, r *run) ([]Row, error) {
	s, err := r.serve(ctx, r.newDir("wake"))
	if err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": latencyThread}, nil); err != nil {
		return nil, err
	}
	n := 0
	times := func(ctx context.Context, count int, w window, ofTurn bool) (float64, error) {
		times := make([]float64, 0, count)
		for range count {
			n++
			ms, err := s.wakeTime(ctx, n, w, ofTurn)
			if err != nil {
				return 0, err
			}
			times = append(times, ms)
		}
		return median(times), nil
	}
	pairs, err := r.interleave(ctx,
		func(ctx context.Context, i int) ([]float64, error) {
			alone, err := times(ctx, r.sizes.paced/2, noWindow, false)
			if err != nil {
				return nil, err
			}
			profiled := r.profile(ctx, s, fmt.Sprintf("children-wake-%d", i))
			last, err := times(ctx, r.sizes.paced/2, defaultWindow, true)
			return []float64{alone, last}, errors.Join(err, profiled())
		},
		func(ctx context.Context, _ int) ([]float64, error) {
			if err := s.rests(ctx); err != nil { // what the last wake still writes
				return nil, err
			}
			times, err := r.requested(ctx, s)
			return []float64{median(times), median(times)}, err
		})
	if err != nil {
		return nil, err
	}
	waited, err := times(ctx, 5, defaultWindow, false)
	if err != nil {
		return nil, err
	}
	const commit = "baseline: one commit of the same server, from a request to the arrival of its event, p50"
	return []Row{
		newRow("children-wake", "end of a child turn to the start of its owner's wake, without a window, p50", "ms", pairs[0]).atMost(3).note(commit),
		newRow("children-wake-last", "… of the last child turn of a turn"+defaultWindow.words+", p50", "ms", pairs[1]).atMost(3).note(commit + "; what the turn has started is looked for, too"),
		newRow("children-wake-window", "… of a child turn of no turn"+defaultWindow.words+", p50 of 5", "ms", []Pair{{waited, usualWindow}}).atMost(1.1).
			note("once; baseline: the window"),
	}, s.stop()
}

// startOwner starts a thread that new entries wake, and its child threads.
func (s *server) startOwner(ctx context.Context, owner string, children int, w window) error {
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": owner}, nil); err != nil {
		return err
	}
	if err := s.client.Call(ctx, "inbox/configure", map[string]any{"thread_id": owner, "policy": w.policy}, nil); err != nil {
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

// childTurn returns the params that start a child turn in the background.
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
// its owner is woken. ofTurn says that the child works for a turn of the owner, which has ended.
func (s *server) wakeTime(ctx context.Context, n int, w window, ofTurn bool) (float64, error) {
	owner := fmt.Sprintf("owner_%d", n)
	if err := s.startOwner(ctx, owner, 1, w); err != nil {
		return 0, err
	}
	child := childTurn(owner, 0)
	if ofTurn {
		turnID, err := s.ownersTurn(ctx, owner)
		if err != nil {
			return 0, err
		}
		child["parent"] = map[string]any{"thread_id": owner, "turn_id": turnID}
		if err := s.rests(ctx); err != nil {
			return 0, err
		}
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
			if err := s.client.Call(ctx, "turn/start", child, nil); err != nil {
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

// ownersTurn starts a turn of an owner, which ends at once.
func (s *server) ownersTurn(ctx context.Context, owner string) (string, error) {
	var turn struct {
		TurnID string `json:"turn_id"`
	}
	err := s.client.Call(ctx, "turn/start", plainTurn(owner), &turn)
	return turn.TurnID, err
}

// measureMany measures how many owners, whose child turns have all ended while the owners
// were paused, are told at once. Each must be woken once and be told all. The baselines are
// as many plain turns in the same threads.
func (w window) measureMany(ctx context.Context, r *run) ([]Row, error) {
	const each = 10
	owners := r.sizes.owners
	s, err := r.serve(ctx, r.newDir("wakes"+w.suffix))
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
		add(&policies, "inbox/configure", map[string]any{"thread_id": owner, "policy": w.policy})
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
	profiled := r.profile(ctx, s, "children-told"+w.suffix)
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
		newRow("children-taken"+w.suffix, fmt.Sprintf("%d child turns of %d owners, from their start until each inbox has its ends%s", owners*each, owners, w.words), "s",
			[]Pair{{taken.Seconds(), turnsOf.Seconds()}}).shown().note("once; baseline: as many plain turns in the same threads"),
		newRow("children-told"+w.suffix, fmt.Sprintf("%d owners are woken, once each, and told %d ends each%s", owners, each, w.words), "s",
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

// rests waits until no turn is queued or active. It asks often: what a server does after a sleep of
// 20 ms takes a quarter longer, also the commit that is the baseline, and that has no such sleep before it.
func (s *server) rests(ctx context.Context) error {
	tick := time.Tick(time.Millisecond)
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
