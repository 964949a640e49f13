//go:build linux

package faults

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"testing"
	"time"
)

// view is what one client has received of the log: the lines after a seq, byte
// for byte. It may be read while follow adds to it.
type view struct {
	mu      sync.Mutex
	after   int64    // where it began
	sums    []uint64 // of each line
	lines   []string // nil if only the sums are kept: many views of a long log take much memory
	brief   bool
	closing string // the last stream/closing
	err     error  // a gap or a duplicate: the stream broke its promise
}

func newView(after int64) *view { return &view{after: after} }

// newBriefView returns a view that keeps sums of lines only.
func newBriefView(after int64) *view { return &view{after: after, brief: true} }

var sumSeed = maphash.MakeSeed()

func sum(line string) uint64 { return maphash.String(sumSeed, line) }

// cursor is where the client would resume.
func (v *view) cursor() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.after + int64(len(v.sums))
}

func (v *view) broken() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

func (v *view) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lines[:len(v.lines):len(v.lines)]
}

// add takes a line that came whole.
func (v *view) add(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	seq, next := seqOf(line), v.after+int64(len(v.sums))+1
	switch {
	case methodOf(line) == "stream/closing":
		v.closing = line
	case seq == 0:
	case seq == next:
		v.sums = append(v.sums, sum(line))
		if !v.brief {
			v.lines = append(v.lines, line)
		}
	case v.err == nil:
		v.err = fmt.Errorf("got seq %d where %d was next: %.200s", seq, next, line)
	}
}

// follow reads a stream of the server from the view's cursor on until it
// ends. A line that was cut off does not count: the client has not got it.
func (v *view) follow(s *server) error {
	st, err := s.open(v.cursor())
	if err != nil {
		return err
	}
	defer st.close()
	for v.broken() == nil {
		line, err := st.next()
		if err != nil {
			return err
		}
		v.add(line)
	}
	return v.broken()
}

// waitFor waits until the view has reached a seq.
func (v *view) waitFor(seq int64, within time.Duration) error {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if err := v.broken(); err != nil {
			return err
		}
		if v.cursor() >= seq {
			return nil
		}
	}
	return fmt.Errorf("the view has reached %d, not %d", v.cursor(), seq)
}

// waitLine waits for a line after a seq that has all the parts.
func (v *view) waitLine(within time.Duration, after int64, parts ...string) (string, error) {
	for deadline := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		lines := v.all()
		for i := max(0, after-v.after); i < int64(len(lines)); i++ {
			if containsAll(lines[i], parts) {
				return lines[i], nil
			}
		}
		if err := v.broken(); err != nil {
			return "", err
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("no line with %q after %d", parts, after)
		}
	}
}

func containsAll(line string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(line, p) {
			return false
		}
	}
	return true
}

// log reads the whole log up to its newest event.
func (s *server) log(t testing.TB) (log []string) {
	t.Helper()
	s.replay(t, func(line string) { log = append(log, line) })
	return log
}

// replay calls f with each line of the log up to its newest event.
func (s *server) replay(t testing.TB, f func(line string)) {
	t.Helper()
	latest := s.latest(t)
	st, err := s.open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer st.close()
	timer := time.AfterFunc(10*time.Minute, st.close)
	defer timer.Stop()
	for next := int64(1); next <= latest; {
		line, err := st.next()
		if err != nil {
			t.Fatalf("read the log at %d: %v", next, err)
		}
		switch seqOf(line) {
		case 0:
		case next:
			f(line)
			next++
		default:
			t.Fatalf("seq %d was next: %.200s", next, line)
		}
	}
}

// within checks that the view is a part of the log, byte for byte.
func (v *view) within(log []string) error {
	sums := make([]uint64, len(log))
	for i, line := range log {
		sums[i] = sum(line)
	}
	seq, err := v.differs(sums)
	if seq == 0 {
		return err
	}
	line := "(not kept)"
	if !v.brief {
		line = v.all()[seq-v.after-1]
	}
	return fmt.Errorf("%w: it was\n%s\nit is\n%s", err, line, log[seq-1])
}

// differs compares the view with the sums of a whole log; seq is the first
// one that is another, if that is the error.
func (v *view) differs(sums []uint64) (seq int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	if end := v.after + int64(len(v.sums)); end > int64(len(sums)) {
		return 0, fmt.Errorf("the view has seq %d, the log ends at %d", end, len(sums))
	}
	for i, had := range v.sums {
		if at := v.after + int64(i); had != sums[at] {
			return at + 1, fmt.Errorf("seq %d is not what was streamed", at+1)
		}
	}
	return 0, nil
}

// exactly checks that the view is the whole rest of the log.
func (v *view) exactly(log []string) error {
	if got, want := v.cursor(), int64(len(log)); got != want {
		return errors.Join(v.broken(), fmt.Errorf("the view ends at %d, the log at %d", got, want))
	}
	return v.within(log)
}
