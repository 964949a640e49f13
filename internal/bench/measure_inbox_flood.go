package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/internal/bench/ingest"
	"github.com/seed82539d15/holon/internal/bench/process"
)

const (
	floodedThread = "flooded"
	webhookSecret = "bench" // of all sources
)

// flood is one way to flood the inbox of floodedThread.
type flood struct {
	key, what string
	sources   int     // of webhooks; 0: inbox/ingest
	goal      float64 // of p99; 0: it is only shown
}

// floods lists the ways. A source takes 200 webhooks at once, and 20/s then. The
// second has so many sources that the processors are busy; the third fills the
// intake of the thread, which is bounded in bytes.
func (r *run) floods() []flood {
	many := r.sizes.floodSources
	return []flood{
		{"inbox-webhooks", "by webhooks at the bound of their source", 1, 3},
		{"inbox-sources", fmt.Sprintf("by webhooks at the bounds of %d sources", many), many, 0},
		{"inbox-flood", "by inbox/ingest up to the bound of its intake", 0, 0},
	}
}

// measureFlood measures whether a flood of a thread's inbox delays the commands of the
// same thread. Ours is turn/start of short turns beside the flood, the baseline the
// same alone. Who floods is a process of the lowest priority, because senders are
// elsewhere.
func measureFlood(ctx context.Context, r *run) (rows []Row, err error) {
	for _, kind := range r.floods() {
		more, err := r.measureFloodOf(ctx, kind)
		if rows = append(rows, more...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func (r *run) measureFloodOf(ctx context.Context, kind flood) ([]Row, error) {
	dir := r.newDir(kind.key)
	sources, settings, err := writeSources(dir, kind.sources)
	if err != nil {
		return nil, err
	}
	s, err := r.serveQuietly(ctx, dir, "--config", settings, "--max-unacked-items", "2000000", "--max-pending-items", "2000000", "--max-unacked-bytes", "34359738368")
	if err != nil {
		return nil, err
	}
	if err := s.client.Call(ctx, "thread/start", map[string]any{"thread_id": floodedThread}, nil); err != nil {
		return nil, err
	}
	for _, name := range sources {
		if err := s.client.Call(ctx, "inbox/subscribe", map[string]any{"thread_id": floodedThread, "source": name}, nil); err != nil {
			return nil, err
		}
	}
	pairs := make([][]Pair, 3)
	for i := range r.pairs {
		alone, _, err := r.shortTurns(ctx, s)
		if err != nil {
			return nil, err
		}
		f, err := r.flood(ctx, ingest.Flood{Address: s.address, ThreadID: floodedThread, Sources: sources, Secret: webhookSecret, Round: fmt.Sprint(i)})
		if err != nil {
			return nil, err
		}
		profiled := r.profile(ctx, s, fmt.Sprintf("%s-%d", kind.key, i))
		before, err := s.metric(ctx, "holon_inbox_received_total")
		if err != nil {
			return nil, err
		}
		began := time.Now()
		beside, health, err := r.shortTurns(ctx, s)
		took := time.Since(began)
		if err != nil {
			return nil, err
		}
		stored, err := s.metric(ctx, "holon_inbox_received_total")
		if err := errors.Join(err, f.Stop(), profiled()); err != nil {
			return nil, err
		}
		for j, part := range []float64{0.5, 0.99} {
			pairs[j] = append(pairs[j], Pair{Ours: percentile(beside, part), Baseline: percentile(alone, part)})
		}
		busy := percentile(health, 0.99)
		pairs[2] = append(pairs[2], Pair{Ours: pairs[1][i].Ours, Baseline: pairs[1][i].Baseline + busy})
		r.say("pair %d of %d, turn/start alone and flooded %s: p50 %.2f, %.2f ms; p99 %.2f, %.2f ms; p99 of /healthz beside %.2f ms (%.0f items in %.1f s)", i+1, r.pairs, kind.what,
			pairs[0][i].Baseline, pairs[0][i].Ours, pairs[1][i].Baseline, pairs[1][i].Ours, busy, stored-before, took.Seconds())
	}
	what := "turn/start of a thread whose inbox is flooded " + kind.what + ", "
	p99 := newRow(kind.key+"-p99", what+"p99", "ms", pairs[1])
	if kind.goal > 0 {
		p99 = p99.atMost(kind.goal)
	} else {
		p99 = p99.shown()
	}
	return []Row{
		newRow(kind.key+"-p50", what+"p50", "ms", pairs[0]).shown().note("baseline: the same thread without the flood"),
		p99,
		newRow(kind.key+"-busy", what+"p99", "ms", pairs[2]).shown().
			note("baseline: the p99 of it alone, plus that of GET /healthz beside the flood, which shows how busy the processors are"),
	}, s.stop()
}

// writeSources writes a configuration with so many sources of webhooks, and
// returns their names and its file.
func writeSources(dir string, n int) (names []string, file string, err error) {
	var b strings.Builder
	for i := range n {
		names = append(names, fmt.Sprintf("source%d", i))
		fmt.Fprintf(&b, "[sources.%s]\nkind = \"github\"\nsecret = %q\n", names[i], webhookSecret)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	file = filepath.Join(dir, "sources.toml")
	return names, file, os.WriteFile(file, []byte(b.String()), 0o600)
}

// flood starts a flood, and returns when its bound is reached.
func (r *run) flood(ctx context.Context, f ingest.Flood) (*process.Process, error) {
	encoded, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	p, err := r.startNice("flood", "--flood", string(encoded))
	if err != nil {
		return nil, err
	}
	line, err := p.Line(ctx)
	if err != nil {
		return nil, err
	}
	var got ingest.Flooding
	if err := json.Unmarshal(line, &got); err != nil || !got.Refused {
		return nil, fmt.Errorf("the flood printed %.100q: %w", line, err)
	}
	return p, nil
}

// shortTurns starts turns one after the other, and returns the milliseconds until
// each start was answered, and those of GET /healthz in between.
func (r *run) shortTurns(ctx context.Context, s *server) (times, health []float64, err error) {
	plain := &http.Client{Transport: &http.Transport{}}
	defer plain.CloseIdleConnections()
	since := func(began time.Time) float64 { return float64(time.Since(began)) / float64(time.Millisecond) }
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "/say hello"}}}}
	for range r.sizes.floodCommands {
		var turn struct {
			TurnID string `json:"turn_id"`
		}
		began := time.Now()
		if err := s.client.Call(ctx, "turn/start", map[string]any{"thread_id": floodedThread, "input": input}, &turn); err != nil {
			return nil, nil, err
		}
		times = append(times, since(began))
		if err := s.ended(ctx, turn.TurnID); err != nil {
			return nil, nil, err
		}
		began = time.Now()
		if err := get(ctx, plain, "http://"+s.address+"/healthz", io.Discard); err != nil {
			return nil, nil, err
		}
		health = append(health, since(began))
	}
	return times, health, nil
}

// ended waits until a turn has ended.
func (s *server) ended(ctx context.Context, turnID string) error {
	tick := time.Tick(2 * time.Millisecond)
	for {
		var got struct {
			Turn struct {
				State string `json:"state"`
			} `json:"turn"`
		}
		if err := s.client.Call(ctx, "turn/read", map[string]any{"turn_id": turnID}, &got); err != nil {
			return err
		}
		switch got.Turn.State {
		case "queued", "active":
		case "completed":
			return nil
		default:
			return fmt.Errorf("turn %s is %s", turnID, got.Turn.State)
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
