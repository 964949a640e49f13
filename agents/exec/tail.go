package exec

import "strings"

// tail keeps the newest bytes of what is written to it. One goroutine writes,
// then one reads.
type tail struct {
	max int
	buf []byte
	cut bool
}

func (t *tail) Write(b []byte) (int, error) {
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*t.max { // so that moving costs nothing per byte
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.max:]...)
		t.cut = true
	}
	return len(b), nil
}

// String is the tail as text, without white space at its ends; "" = nothing
// was said.
func (t *tail) String() string {
	b, cut := t.buf, t.cut
	if len(b) > t.max {
		b, cut = b[len(b)-t.max:], true
	}
	for n := 0; cut && n < 3 && len(b) > 0 && b[0]&0xc0 == 0x80; n++ {
		b = b[1:] // the rest of a code point whose beginning is gone
	}
	s := strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
	if cut && s != "" {
		s = "…" + s
	}
	return s
}
