package frame

import (
	"bytes"
	"errors"
	"io"
)

// ErrTooLong says that a line is longer than the bound. It is returned once,
// as soon as the bound is passed; the rest of the line is skipped.
var ErrTooLong = errors.New("the line is longer than a frame may be")

// firstBuffer is what a connection costs that says little: most requests fit.
const firstBuffer = 4 << 10

// keepBuffer is what a connection may keep after a long line.
const keepBuffer = 64 << 10

// Lines reads lines of at most max bytes. It belongs to one goroutine.
type Lines struct {
	r          io.Reader
	max        int
	buf        []byte
	start, end int  // what is read and not returned yet
	scanned    int  // no LF before this index
	skipping   bool // in the rest of a line that was too long
	err        error
}

// NewLines reads from r lines of at most max bytes, the line's end not
// counted.
func NewLines(r io.Reader, max int) *Lines { return &Lines{r: r, max: max} }

// Next returns the next line that is not empty, without its line feed. The
// line is valid until the next call. At the end of input, a last line without
// a line feed counts; then the error is io.EOF or the reader's. ErrTooLong
// says that a line was too long: Next may be called again.
func (l *Lines) Next() ([]byte, error) {
	l.shrink()
	for {
		if i := bytes.IndexByte(l.buf[l.scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.scanned+i]
			l.start = l.scanned + i + 1
			l.scanned = l.start
			if l.skipping {
				l.skipping = false
				continue
			}
			if len(line) > l.max {
				return nil, ErrTooLong
			}
			if line = trim(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		l.scanned = l.end
		if l.skipping {
			l.start, l.end, l.scanned = 0, 0, 0
		} else if l.end-l.start > l.max+1 { // one more for the CR of a line of max bytes
			l.skipping = true
			l.buf, l.start, l.end, l.scanned = nil, 0, 0, 0
			return nil, ErrTooLong
		}
		if l.err != nil {
			line := trim(l.buf[l.start:l.end])
			l.start, l.end, l.scanned = 0, 0, 0
			if len(line) > l.max {
				return nil, ErrTooLong
			}
			if len(line) > 0 {
				return line, nil
			}
			return nil, l.err
		}
		l.fill()
	}
}

// Buffered reports whether a whole further line has been read already, so that
// Next would return without waiting for the other side.
func (l *Lines) Buffered() bool {
	return !l.skipping && bytes.IndexByte(l.buf[l.start:l.end], '\n') >= 0
}

// fill reads once, into a buffer that grows in large steps: the sum of all
// buffers that one long line takes stays well below twice the bound.
func (l *Lines) fill() {
	if l.end == len(l.buf) {
		switch {
		case l.start > 0:
			l.end = copy(l.buf, l.buf[l.start:l.end])
			l.scanned -= l.start
			l.start = 0
		case len(l.buf) == 0:
			l.buf = make([]byte, firstBuffer)
		default:
			size := min(len(l.buf)*16, l.max+firstBuffer)
			if size <= len(l.buf) {
				size = len(l.buf) + firstBuffer
			}
			grown := make([]byte, size)
			copy(grown, l.buf[:l.end])
			l.buf = grown
		}
	}
	for range 100 { // as bufio: a reader that returns nothing for ever is broken
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// shrink gives a large buffer back once nothing is left in it, so that one
// long line is not paid for until the connection ends.
func (l *Lines) shrink() {
	if l.start == l.end {
		l.start, l.end, l.scanned = 0, 0, 0
		if len(l.buf) > keepBuffer {
			l.buf = nil
		}
	}
}

// trim takes JSON white space off both ends, the CR before a line feed
// included.
func trim(b []byte) []byte {
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
