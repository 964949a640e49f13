package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// Once a process and its group are dead, only the content of the pipe is left
// (64 KiB, 1 MiB if enlarged). Only a process that has left the group can still
// write: its output is read up to drainMax bytes or drainWait of waiting in
// all. Time in which the caller does not read does not count.
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
	waited   time.Duration // time spent waiting while draining
}

// Read returns available bytes, or waits for some. It ends with io.EOF, also
// when a drain is over.
func (p *Pipe) Read(buf []byte) (int, error) {
	for {
		draining, began := p.draining.Load(), time.Now()
		if draining {
			if p.drained >= drainMax || p.waited >= drainWait {
				return 0, io.EOF
			}
			_ = p.f.SetReadDeadline(began.Add(drainWait - p.waited)) // the read reports a closed file
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

// Drain bounds later reads to the remaining output of a dead process: at most 1
// MiB, and at most 1 s of waiting. Call it after End.
func (p *Pipe) Drain() {
	p.draining.Store(true)
	_ = p.f.SetReadDeadline(time.Now()) // wakes a read that waits
}

// Close ends a waiting Read and closes the descriptor. A second call returns an
// error, which is harmless.
func (p *Pipe) Close() error { return p.f.Close() }
