package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Once a process and its group are dead all that is left is what the pipe
// holds (64 KiB, 1 MiB if enlarged). Only one that left the group can go on
// writing: it is read until it has sent drainMax, or was waited for drainWait
// in all. Time in which nobody reads does not count.
const (
	drainWait = time.Second
	drainMax  = 1 << 20
)

// Pipe is the reading end of an output. One goroutine reads it; Drain and
// Close may be called from any.
type Pipe struct {
	f        *os.File
	draining atomic.Bool
	drained  int           // bytes read while draining
	waited   time.Duration // for them
}

// Read returns what is there, or waits. It ends with io.EOF, also when there
// is nothing more to wait for.
func (p *Pipe) Read(buf []byte) (int, error) {
	for {
		draining, began := p.draining.Load(), time.Now()
		if draining {
			if p.drained >= drainMax || p.waited >= drainWait {
				return 0, io.EOF
			}
			_ = p.f.SetReadDeadline(began.Add(drainWait - p.waited)) // a closed file says so when read
		}
		n, err := p.f.Read(buf)
		if draining {
			p.drained += n
			p.waited += time.Since(began)
		}
		if n > 0 {
			return n, nil
		}
		// Drain woke this read, which waited without bound: the next has one.
		if errors.Is(err, os.ErrDeadlineExceeded) && !draining {
			continue
		}
		return 0, io.EOF
	}
}

// Drain bounds what is read from now on to what a dead process has left: at
// most 1 MiB, and at most 1 s of waiting for it. It is called after End.
func (p *Pipe) Drain() {
	p.draining.Store(true)
	_ = p.f.SetReadDeadline(time.Now()) // wakes a read that waits
}

// Close ends a Read that waits and gives the descriptor back. A second call is
// refused with an error, which is no harm.
func (p *Pipe) Close() error { return p.f.Close() }
