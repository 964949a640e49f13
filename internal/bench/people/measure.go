package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed82539d15/holon/internal/bench/process"
	"github.com/seed82539d15/holon/rpc/client"
)

type options struct {
	holon   string
	threads int
	idle    time.Duration
}

// The bounds: a person sees a delay above 50 ms; what does nothing should cost nothing;
// more than 30 frames a second nobody sees.
const (
	keysPressed  = 300
	mostKeyMs    = 50
	mostIdle     = 1
	mostFrames   = 30
	floodThreads = 7 // each says somewhat less than 1,000 deltas a second
	floodFor     = 10 * time.Second
)

func measure(ctx context.Context, o options) (figures []figure, err error) {
	holon, err := filepath.Abs(o.holon)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "people-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	server, err := process.Start(process.Command{
		Name: "serve", Path: holon, Dir: dir, Env: process.Environ(dir), Term: process.Terminate,
		Args: []string{"serve", "--listen", "127.0.0.1:0", "--data", data, "--log-level", "error"},
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Stop() }()
	c := client.New(client.Discover(data))
	defer c.Close()
	for c.Ready(ctx) != nil {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
	if err := fill(ctx, c, o.threads); err != nil {
		return nil, fmt.Errorf("make the threads: %w", err)
	}
	env := append(process.Environ(dir), "TERM=xterm-256color", "LANG=C.UTF-8", "HOLON_DATA="+data)
	t, err := open(ctx, 120, 40, dir, env, holon, "top")
	if err != nil {
		return nil, err
	}
	defer t.close()
	for _, part := range []func(context.Context, options, *client.Client, *terminal) ([]figure, error){keys, idle, flood} {
		f, err := part(ctx, o, c, t)
		figures = append(figures, f...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// fill makes threads; every tenth has had a turn, and one asks.
func fill(ctx context.Context, c *client.Client, n int) error {
	for i := range n {
		id := fmt.Sprintf("t%04d", i)
		if err := c.Call(ctx, "thread/start", map[string]any{"thread_id": id, "title": fmt.Sprintf("task number %d of many", i)}, nil); err != nil {
			return err
		}
		if i%10 == 0 {
			text := "hello"
			if i == 0 {
				text = "/ask May I?"
			}
			if err := start(ctx, c, id, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func start(ctx context.Context, c *client.Client, thread, text string) error {
	return c.Call(ctx, "turn/start", map[string]any{"thread_id": thread, "input": []any{map[string]any{
		"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}},
	}}}, nil)
}

// keys presses keys that move the selection, at the pace of a person in a hurry.
func keys(ctx context.Context, o options, _ *client.Client, t *terminal) ([]figure, error) {
	ready, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := t.has(ready, "task number"); err != nil {
		return nil, err
	}
	if err := t.quiet(ctx, time.Second); err != nil {
		return nil, err
	}
	var took []time.Duration
	for i := range keysPressed {
		key := "\x1b[B" // down
		if i%20 >= 10 {
			key = "\x1b[A" // up
		}
		d, err := t.key(ctx, key)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
		if err := pause(ctx, 40*time.Millisecond); err != nil {
			return nil, err
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	name := fmt.Sprintf("a key is answered, %d threads, ", o.threads)
	return []figure{{name + "p50", "ms", ms(percentile(took, 0.5)), mostKeyMs}, {name + "p99", "ms", ms(percentile(took, 0.99)), mostKeyMs}}, nil
}

// idle measures what the dashboard costs while nothing happens.
func idle(ctx context.Context, o options, _ *client.Client, t *terminal) ([]figure, error) {
	if err := pause(ctx, 3*time.Second); err != nil { // it settles after a key
		return nil, err
	}
	f, err := cost(ctx, t, o.idle)
	return []figure{{"processor time while nothing happens", "%", f.cpu, mostIdle}}, err
}

// load is what the dashboard did in some time.
type load struct{ cpu, frames float64 }

func cost(ctx context.Context, t *terminal, long time.Duration) (load, error) {
	before, err := t.used()
	if err != nil {
		return load{}, err
	}
	frames, _ := t.drawn()
	began := time.Now()
	if err := pause(ctx, long); err != nil {
		return load{}, err
	}
	after, err := t.used()
	took := time.Since(began).Seconds()
	framesAfter, _ := t.drawn()
	return load{100 * (after - before).Seconds() / took, float64(framesAfter-frames) / took}, err
}

// flood lets agents say a thousand words a second each, first with the overview
// on the screen, then with one of them.
func flood(ctx context.Context, _ options, c *client.Client, t *terminal) (figures []figure, err error) {
	for i := range floodThreads {
		text := fmt.Sprintf("/deltas %d 8 1", 3*int(floodFor.Milliseconds()))
		if err := start(ctx, c, fmt.Sprintf("t%04d", 1+i), text); err != nil {
			return nil, err
		}
	}
	if err := pause(ctx, time.Second); err != nil {
		return nil, err
	}
	rate, err := deltaRate(ctx, c)
	if err != nil {
		return nil, err
	}
	over, err := cost(ctx, t, floodFor)
	if err != nil {
		return nil, err
	}
	figures = append(figures,
		figure{fmt.Sprintf("frames while %.0f events/s come, overview", rate), "/s", over.frames, mostFrames},
		figure{"processor time at that", "%", over.cpu, 100})
	for _, key := range []string{"\x1b", "/task number 1 ", "\r", "\r"} { // its conversation
		if _, err := t.key(ctx, key); err != nil {
			return figures, err
		}
		if err := pause(ctx, 700*time.Millisecond); err != nil {
			return figures, err
		}
	}
	in, err := cost(ctx, t, floodFor)
	return append(figures,
		figure{"frames while its agent says 1,000 deltas/s, one thread", "/s", in.frames, mostFrames},
		figure{"processor time at that", "%", in.cpu, 100}), err
}

// deltaRate returns how fast the log grows.
func deltaRate(ctx context.Context, c *client.Client) (float64, error) {
	var before, after struct {
		Latest int64 `json:"latest_seq"`
	}
	if err := c.Call(ctx, "holon/status", nil, &before); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause(ctx, 2*time.Second); err != nil {
		return 0, err
	}
	if err := c.Call(ctx, "holon/status", nil, &after); err != nil {
		return 0, err
	}
	return float64(after.Latest-before.Latest) / time.Since(began).Seconds(), nil
}
