package daemon

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Bounds of what waits to be written to stderr.
const (
	stderrBytes = 1 << 20     // some 5,000 lines of the log
	stderrChunk = 64 << 10    // of one write: what a pipe holds
	stderrGrace = time.Second // of Close
)

// Stderr is the stderr of a server. Nobody in the server waits for its reader, who may
// have stopped reading: a pipe is full, or somebody has pressed Ctrl-S. Lines wait, at most
// stderrBytes of them. When these are used up, the oldest line below a warning is dropped,
// and if there is none, the oldest warning; what was dropped is counted, and the reader is
// told when it reads again.
//
// OpenStderr starts its goroutine, which is the only writer, and Close ends it. All
// methods may be called from many goroutines.
type Stderr struct {
	to   io.Writer
	done chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex
	changed  sync.Cond // something waits, or it is closed
	info     lineQueue // below a warning
	warnings lineQueue // and what is said to people
	bytes    int       // of both
	number   int64     // of the newest line
	untold   Dropped
	dropped  Dropped
	closed   bool
	notice   func(Dropped) []byte // the line that tells of them
}

// Dropped counts the lines that were dropped because stderr was not read.
type Dropped struct{ Info, Warnings int }

// OpenStderr writes to w from now on, until Close.
func OpenStderr(w io.Writer) *Stderr {
	s := &Stderr{to: w, done: make(chan struct{}), notice: func(d Dropped) []byte {
		return fmt.Appendf(nil, "%d lines and %d warnings were dropped, because stderr was not read\n", d.Info, d.Warnings)
	}}
	s.changed.L = &s.mu
	go s.write()
	return s
}

// Write adds lines of at least the level of a warning, or for people. It never waits and
// returns no error.
func (s *Stderr) Write(text []byte) (int, error) {
	s.add(text, &s.warnings)
	return len(text), nil
}

// infoLines is the writer of lines below a warning.
type infoLines struct{ *Stderr }

func (i infoLines) Write(text []byte) (int, error) {
	i.add(text, &i.info)
	return len(text), nil
}

// Close ends the writing once everything is written, at most after stderrGrace. What is
// added from now on is dropped. A write that does not return ends with the process.
func (s *Stderr) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.changed.Signal()
	timer := time.NewTimer(stderrGrace)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	}
}

// Dropped returns what was dropped since the start.
func (s *Stderr) Dropped() Dropped {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// tellBy sets how the reader is told of what was dropped. notice must not use s.
func (s *Stderr) tellBy(notice func(Dropped) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notice = notice
}

func (s *Stderr) add(text []byte, to *lineQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.number++
	*to = append(*to, stderrLine{s.number, string(text)})
	s.bytes += len(text)
	for s.bytes > stderrBytes {
		if len(s.info) > 0 {
			s.bytes -= len(s.info.pop().text)
			s.untold.Info++
			s.dropped.Info++
		} else {
			s.bytes -= len(s.warnings.pop().text)
			s.untold.Warnings++
			s.dropped.Warnings++
		}
	}
	s.changed.Signal()
}

// write runs the goroutine of s.
func (s *Stderr) write() {
	defer close(s.done)
	chunk := make([]byte, 0, stderrChunk)
	for {
		if chunk = s.next(chunk[:0]); len(chunk) == 0 {
			return
		}
		_, _ = s.to.Write(chunk) // if stderr is closed, nobody can be told
	}
}

// next waits for something to write and appends it to chunk: nothing if s is closed and
// all is written.
func (s *Stderr) next(chunk []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes == 0 && s.untold == (Dropped{}) && !s.closed {
		s.changed.Wait()
	}
	if s.untold != (Dropped{}) {
		chunk = append(chunk, s.notice(s.untold)...)
		s.untold = Dropped{}
	}
	for s.bytes > 0 {
		oldest := &s.info
		if len(s.info) == 0 || len(s.warnings) > 0 && s.warnings[0].number < s.info[0].number {
			oldest = &s.warnings
		}
		if text := (*oldest)[0].text; len(chunk) > 0 && len(chunk)+len(text) > stderrChunk {
			break
		}
		text := oldest.pop().text
		s.bytes -= len(text)
		chunk = append(chunk, text...)
	}
	return chunk
}

// lineQueue is a queue of lines, the oldest first.
type lineQueue []stderrLine

// stderrLine is a line and its place among all.
type stderrLine struct {
	number int64
	text   string
}

func (q *lineQueue) pop() stderrLine {
	l := (*q)[0]
	(*q)[0].text = "" // the array is kept until it is full
	*q = (*q)[1:]
	return l
}
