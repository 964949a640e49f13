package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed82539d15/holon/internal/bench/process"
	store "github.com/seed82539d15/holon/persist/sqlite"
)

// backupWrites is how many commands are timed before a backup, and at least how
// many beside it.
const backupWrites = 200

// backedUp measures once how long a backup of a log takes, against a plain copy
// of its file, and how long commands take beside it, against before.
func (r *run) backedUp(ctx context.Context, dir string) (took, writes Pair, err error) {
	s, err := r.serve(ctx, dir)
	if err != nil {
		return took, writes, err
	}
	before, err := s.pauses(ctx, nil)
	if err != nil {
		return took, writes, err
	}
	file := r.newDir("backup") + ".db"
	began := time.Now()
	p, err := process.Start(process.Command{
		Name: "backup", Path: r.o.Executable, Dir: r.dir, Env: process.Environ(r.dir), Term: process.Terminate,
		Args: []string{"backup", "--data", dir, file},
	})
	if err != nil {
		return took, writes, err
	}
	r.children = append(r.children, p)
	done := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		_, err := p.Line(ctx)
		took.Ours = time.Since(began).Seconds()
		done <- errors.Join(err, p.Stop())
		close(over)
	}()
	beside, err := s.pauses(ctx, over)
	if err := errors.Join(err, <-done, s.stop(), os.Remove(file)); err != nil {
		return took, writes, err
	}
	writes = Pair{Ours: percentile(beside, 0.99), Baseline: percentile(before, 0.99)}
	began = time.Now()
	err = errors.Join(copyFile(filepath.Join(dir, store.FileName), file), syncFile(file))
	took.Baseline = time.Since(began).Seconds()
	return took, writes, errors.Join(err, os.Remove(file))
}

// pauses times commands that write one event each, in milliseconds:
// backupWrites of them, and more until over is closed.
func (s *server) pauses(ctx context.Context, over <-chan struct{}) (times []float64, err error) {
	for i := 0; ; i++ {
		if i >= backupWrites {
			select {
			case <-over:
				return times, nil
			default:
			}
			if over == nil {
				return times, nil
			}
		}
		method := [2]string{"thread/pause", "thread/resume"}[i%2]
		began := time.Now()
		if err := s.client.Call(ctx, method, map[string]any{"thread_id": "bench_0"}, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		times = append(times, float64(time.Since(began))/float64(time.Millisecond))
	}
}

// syncFile waits until a file is on the disk: a backup does.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// readTimes is how often each read is timed.
const readTimes = 7

// slowestRead returns the median, in milliseconds, of the slowest list or read, and
// its name.
func (s *server) slowestRead(ctx context.Context) (slowest float64, name string, err error) {
	var turns struct {
		Turns []struct {
			TurnID string `json:"turn_id"`
		} `json:"turns"`
	}
	var items struct {
		Items []struct {
			ItemID string `json:"item_id"`
		} `json:"items"`
	}
	thread := map[string]any{"thread_id": "bench_1"}
	if err := errors.Join(s.client.Call(ctx, "turn/list", thread, &turns), s.client.Call(ctx, "item/list", thread, &items)); err != nil {
		return 0, "", err
	}
	st, err := s.status(ctx)
	if err != nil {
		return 0, "", err
	}
	if len(turns.Turns) == 0 || len(items.Items) == 0 {
		return 0, "", errors.New("the log has no turns or items to read")
	}
	turn := turns.Turns[0].TurnID
	for _, read := range []struct {
		method string
		params map[string]any
	}{
		{"thread/list", map[string]any{}},
		{"thread/read", thread},
		{"turn/list", map[string]any{"order": "desc"}},
		{"turn/list", thread},
		{"turn/read", map[string]any{"turn_id": turn}},
		{"item/list", map[string]any{"order": "desc"}},
		{"item/list", map[string]any{"thread_id": "bench_1", "order": "desc"}},
		{"item/list", map[string]any{"turn_id": turn}},
		{"item/read", map[string]any{"item_id": items.Items[0].ItemID}},
		{"event/list", map[string]any{"after_seq": st.LatestSeq / 2}},
		{"event/list", map[string]any{"after_seq": 0, "thread_id": "bench_1"}},
	} {
		var times []float64
		for range readTimes {
			began := time.Now()
			if err := s.client.Call(ctx, read.method, read.params, nil); err != nil {
				return 0, "", fmt.Errorf("%s of %v: %w", read.method, read.params, err)
			}
			times = append(times, float64(time.Since(began))/float64(time.Millisecond))
		}
		if took := median(times); took > slowest {
			slowest, name = took, fmt.Sprintf("%s of %v", read.method, read.params)
		}
	}
	return slowest, name, nil
}
