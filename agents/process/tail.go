package process

import (
	"cmp"
	"strings"
	"sync"
)

// DefaultTail holds a long stack trace.
const DefaultTail = 16 << 10

// Tail keeps the newest bytes written to it, such as the stderr of a process.
// Make it with NewTail. Its methods may be called from many goroutines.
type Tail struct {
	max int

	mu  sync.Mutex
	buf []byte
	cut bool
}

// NewTail returns a Tail of max bytes; 0 = DefaultTail.
func NewTail(max int) *Tail {
	return &Tail{max: cmp.Or(max, DefaultTail)}
}

// Write takes all of b and never fails.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*t.max { // so that moving costs nothing per byte
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.max:]...)
		t.cut = true
	}
	return len(b), nil
}

// String returns the tail as text, without white space at its ends; "" = nothing was
// written. Invalid UTF-8 is replaced, and "…" marks text that was cut off at
// the front.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, cut := t.buf, t.cut
	if len(b) > t.max {
		b, cut = b[len(b)-t.max:], true
	}
	for n := 0; cut && n < 3 && len(b) > 0 && b[0]&0xc0 == 0x80; n++ {
		b = b[1:] // the rest of a code point that was cut
	}
	s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
	if cut && s != "" {
		s = "…" + s
	}
	return s
}
