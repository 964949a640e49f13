package exec

import "bytes"

// maxLine is the longest event line, as long as the longest frame of the
// wire. A longer one is skipped without being held in memory.
const maxLine = 4 << 20

// lines cuts what is read into lines. It holds at most one line.
type lines struct {
	max  int
	buf  []byte
	skip bool // the present line is too long
}

// feed calls each with every line that ends in chunk, without its line feed,
// and with long set (and no line) for one that was too long. The line is
// valid until each returns. It stops at the first error.
func (l *lines) feed(chunk []byte, each func(line []byte, long bool) error) error {
	for len(chunk) > 0 {
		i := bytes.IndexByte(chunk, '\n')
		if i < 0 {
			l.hold(chunk)
			return nil
		}
		part := chunk[:i]
		chunk = chunk[i+1:]
		if len(l.buf) > 0 || l.skip || len(part) > l.max {
			l.hold(part)
			part = l.buf
		}
		if err := l.end(part, each); err != nil {
			return err
		}
	}
	return nil
}

// flush ends a last line that has no line feed.
func (l *lines) flush(each func(line []byte, long bool) error) error {
	if len(l.buf) == 0 && !l.skip {
		return nil
	}
	return l.end(l.buf, each)
}

func (l *lines) hold(part []byte) {
	if l.skip || len(l.buf)+len(part) > l.max {
		l.skip, l.buf = true, nil
		return
	}
	l.buf = append(l.buf, part...)
}

func (l *lines) end(line []byte, each func([]byte, bool) error) error {
	long := l.skip
	if long {
		line = nil
	}
	err := each(line, long)
	l.skip = false
	if cap(l.buf) > 64<<10 {
		l.buf = nil // one long line must not cost its memory for the whole prompt
	}
	l.buf = l.buf[:0]
	return err
}
