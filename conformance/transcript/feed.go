package transcript

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// feed holds all lines of a connection; its own goroutine fills it.
type feed struct {
	mu    sync.Mutex
	lines []*line
	err   error // why the feed has ended
	wake  chan struct{}
	gone  chan struct{}
}

func newFeed(r io.Reader) *feed {
	f := &feed{wake: make(chan struct{}), gone: make(chan struct{})}
	go f.read(r)
	return f
}

func (f *feed) read(r io.Reader) {
	defer close(f.gone)
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		raw, err := buffered.ReadBytes('\n')
		var l *line
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			var bad error
			if l, bad = readLine(raw); bad != nil && err == nil {
				err = fmt.Errorf("a line that is no message: %q: %w", raw, bad)
			}
		}
		f.mu.Lock()
		if l != nil {
			l.at = len(f.lines)
			f.lines = append(f.lines, l)
		}
		if err != nil {
			f.err = err
		}
		close(f.wake)
		f.wake = make(chan struct{})
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (f *feed) wait() { <-f.gone }

func (f *feed) len() int { return len(f.since(0)) }

func (f *feed) since(at int) []*line {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines[at:len(f.lines):len(f.lines)]
}

// find waits for the first wanted line from a position on.
func (f *feed) find(ctx context.Context, from int, want func(*line) bool) (*line, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for at := from; ; {
		f.mu.Lock()
		lines, err, wake := f.lines, f.err, f.wake
		f.mu.Unlock()
		for ; at < len(lines); at++ {
			if want(lines[at]) {
				return lines[at], nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the connection ended: %w", err)
		}
		select {
		case <-wake:
		case <-timer.C:
			return nil, fmt.Errorf("nothing came within %s", patience)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ended waits until the server has closed the connection.
func (f *feed) ended(ctx context.Context) error {
	select {
	case <-f.gone:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the connection is still open %s after the server's end", patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}
