package acp

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/seed82539d15/holon/internal/limits"
)

// errStuck says that an agent does not read its input.
var errStuck = errors.New("the agent does not read its input")

// writer writes whole lines to a process's stdin. It never blocks its caller: a
// goroutine writes, in order, what the pipe does not take at once. It may be
// used by many goroutines.
type writer struct {
	f   *os.File
	raw syscall.RawConn // nil: everything goes through the goroutine

	mu      sync.Mutex
	queue   [][]byte
	bytes   int
	writing bool // the goroutine runs
	err     error
	done    sync.WaitGroup
}

func newWriter(f *os.File) *writer {
	raw, err := f.SyscallConn()
	if err != nil {
		raw = nil
	}
	return &writer{f: f, raw: raw}
}

// send writes or queues a line with its line feed. The caller must not change
// it afterwards.
func (w *writer) send(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.writing && w.bytes+len(line) > limits.AgentInputBytes:
		return errStuck
	case !w.writing:
		n := w.try(line)
		if n == len(line) {
			return nil
		}
		line = line[n:]
		w.writing = true
		w.done.Go(w.run)
	}
	w.queue = append(w.queue, line)
	w.bytes += len(line)
	return nil
}

// try writes as much as the pipe takes without waiting. It saves a switch of
// goroutines, which is a large part of the cost of sending a prompt.
func (w *writer) try(line []byte) (n int) {
	if w.raw == nil {
		return 0
	}
	_ = w.raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), line) // an error comes again when run writes
		return true
	})
	return max(n, 0)
}

func (w *writer) run() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 || w.err != nil {
			w.writing, w.queue, w.bytes = false, nil, 0
			w.mu.Unlock()
			return
		}
		line := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.mu.Unlock()
		_, err := w.f.Write(line) // ends when the file is closed
		w.mu.Lock()
		w.bytes -= len(line)
		if err != nil && w.err == nil { // nobody reads the pipe any more
			w.err = fmt.Errorf("%w: %w", errGone, err)
		}
		w.mu.Unlock()
	}
}

// close makes every send fail. The code that ends the process closes the file;
// wait returns after that.
func (w *writer) close(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) wait() { w.done.Wait() }
