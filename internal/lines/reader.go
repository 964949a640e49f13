package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong says that a line is longer than the bound. It is returned once, with
// the bound and the beginning of the line, as soon as the bound is passed. The rest of
// the line is skipped.
var ErrTooLong = errors.New("too long")

const (
	// firstBuffer is the memory of a connection with short lines: most requests
	// fit.
	firstBuffer = 4 << 10
	// growth is the factor by which a full buffer grows. It is large, so that all
	// buffers of one long line together stay well below twice the bound.
	growth = 4
	// keep is how many times the first buffer may be kept after a long line, so
	// that a stream of slightly longer lines does not allocate for each.
	keep = 16
	// beginning is how much of a line that is too long is returned.
	beginning = 1 << 10
)

// Config says which lines a Reader accepts.
type Config struct {
	// Max is the most bytes a line may have, its line feed not counted.
	Max int
	// Buffer is the size of the first buffer, and so the most that one read
	// takes while lines are short. 0 means 4 KiB, for connections that are mostly
	// idle.
	Buffer int
	// NeedsEnd says that a last line without a line feed is incomplete. It is not
	// returned, and an io.EOF after it becomes io.ErrUnexpectedEOF.
	NeedsEnd bool
}

// Reader cuts a stream into lines. It belongs to one goroutine.
type Reader struct {
	r          io.Reader
	config     Config
	buf        []byte
	start, end int // the part of buf that is read and not returned yet
	scanned    int // there is no line feed before this index
	number     int
	skipping   bool // the rest of a line that was too long
	err        error
}

// New returns a Reader of r's lines. It reads nothing yet.
func New(r io.Reader, config Config) *Reader {
	if config.Buffer <= 0 {
		config.Buffer = firstBuffer
	}
	return &Reader{r: r, config: config}
}

// Next returns the next line that is not empty, without its line feed and
// without the white space of JSON around it. The line is valid until the next
// call. After ErrTooLong Next may be called again. Every other error is the
// reader's, io.EOF at the end, and is final.
func (l *Reader) Next() ([]byte, error) {
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
			l.number++
			if len(line) > l.config.Max {
				return trim(line[:min(len(line), beginning)]), l.tooLong()
			}
			if line = trim(line); len(line) > 0 {
				return line, nil
			}
			continue
		}
		l.scanned = l.end
		if l.skipping {
			l.start, l.end, l.scanned = 0, 0, 0
		} else if l.end-l.start > l.config.Max {
			l.skipping = true
			l.number++
			line := bytes.Clone(trim(l.buf[l.start:min(l.end, l.start+beginning)]))
			l.buf, l.start, l.end, l.scanned = nil, 0, 0, 0
			return line, l.tooLong()
		}
		if l.err != nil {
			return l.last()
		}
		l.fill()
	}
}

func (l *Reader) tooLong() error {
	return fmt.Errorf("the line is %w: longer than %d bytes", ErrTooLong, l.config.Max)
}

// last returns what follows the last line feed, then the reader's error.
func (l *Reader) last() ([]byte, error) {
	line := trim(l.buf[l.start:l.end])
	l.start, l.end, l.scanned = 0, 0, 0
	if len(line) == 0 {
		return nil, l.err
	}
	l.number++
	if !l.config.NeedsEnd {
		return line, nil
	}
	if errors.Is(l.err, io.EOF) {
		l.err = io.ErrUnexpectedEOF
	}
	return nil, l.err
}

// Number returns the number of the last line that Next returned or refused,
// from 1. Empty lines count.
func (l *Reader) Number() int { return l.number }

// Buffered reports whether another whole line has been read already, so that
// Next would return without waiting for the other side.
func (l *Reader) Buffered() bool {
	if l.skipping {
		return false
	}
	for rest := l.buf[l.start:l.end]; ; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole || len(trim(line)) > 0 {
			return whole
		}
		rest = after
	}
}

// fill reads once, after the bytes that are kept.
func (l *Reader) fill() {
	if l.end == len(l.buf) {
		switch {
		case l.start > 0:
			l.end = copy(l.buf, l.buf[l.start:l.end])
			l.scanned -= l.start
			l.start = 0
		case len(l.buf) == 0:
			l.buf = make([]byte, l.config.Buffer)
		default:
			size := len(l.buf) * growth
			if size > l.config.Max/2 {
				size = l.config.Max + l.config.Buffer // the largest
			}
			grown := make([]byte, size)
			copy(grown, l.buf)
			l.buf = grown
		}
	}
	for range 100 { // as bufio: a reader that always returns nothing is broken
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

// shrink drops a large buffer once it is empty, so that one long line does not
// take its memory until the connection ends.
func (l *Reader) shrink() {
	if l.start == l.end {
		l.start, l.end, l.scanned = 0, 0, 0
		if len(l.buf) > keep*l.config.Buffer {
			l.buf = nil
		}
	}
}

// trim removes the white space of JSON at both ends, also the CR before a line
// feed.
func trim(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }
