package acp

import (
	"bytes"
	"io"
)

// maxLine is the longest message an agent may send: what is longer is skipped
// without being held. Real agents send files and images whole, some MiB each.
const maxLine = 64 << 20

const (
	firstBuffer = 64 << 10 // what a pipe holds
	keepBuffer  = 1 << 20  // a larger one is given back after its line
)

// lineReader cuts a stream into lines. One goroutine uses it.
type lineReader struct {
	r    io.Reader
	max  int
	buf  []byte
	from int // the first byte that was not handed out
	to   int // the end of what was read
	seen int // in buf[from:to] there is no line feed before from+seen
	err  error
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: r, max: max, buf: make([]byte, firstBuffer)}
}

// next returns the next line without its end; it is valid until the following
// call. A line longer than max is not returned: skipped is its length then.
// A last line without a line feed counts. err is io.EOF at the end.
func (l *lineReader) next() (line []byte, skipped int64, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.from+l.seen:l.to], '\n'); i >= 0 {
			line = l.buf[l.from : l.from+l.seen+i]
			l.from += l.seen + i + 1
			l.seen = 0
			if skipped > 0 || len(line) > l.max {
				return nil, skipped + int64(len(line)), nil
			}
			return bytes.TrimSuffix(line, []byte{'\r'}), 0, nil
		}
		l.seen = l.to - l.from
		if l.seen > l.max || skipped > 0 { // too long: forget what is here
			skipped += int64(l.seen)
			l.from, l.to, l.seen = 0, 0, 0
		}
		if l.err != nil {
			rest := l.buf[l.from:l.to]
			l.from, l.to, l.seen = 0, 0, 0
			if len(rest) > 0 || skipped > 0 {
				if skipped > 0 {
					rest = nil
				}
				return rest, skipped, nil
			}
			return nil, 0, l.err
		}
		l.fill()
	}
}

// fill reads once, behind what is kept.
func (l *lineReader) fill() {
	switch kept := l.to - l.from; {
	case kept == 0 && len(l.buf) > keepBuffer:
		l.buf, l.from, l.to = make([]byte, firstBuffer), 0, 0
	case l.from > 0 && (kept == 0 || l.to == len(l.buf)):
		copy(l.buf, l.buf[l.from:l.to])
		l.from, l.to = 0, kept
	}
	if l.to == len(l.buf) {
		larger := make([]byte, 2*len(l.buf))
		copy(larger, l.buf[:l.to])
		l.buf = larger
	}
	var n int
	n, l.err = l.r.Read(l.buf[l.to:])
	l.to += n
}
