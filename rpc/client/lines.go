package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// maxLineBytes bounds one line from a server. A server's frames end at its own
// max_frame_bytes (4 MiB unless configured larger).
const maxLineBytes = 64 << 20

// lineReader reads the lines of a stream.
type lineReader struct {
	r *bufio.Reader
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next line that is not empty, without its end, in memory of
// its own. A last line without an end is cut off by whatever broke the
// connection and is reported as io.ErrUnexpectedEOF: the cursor brings the
// whole event again.
func (l *lineReader) next() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := l.r.ReadSlice('\n')
			line = append(line, part...)
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
			if len(line) > maxLineBytes {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxLineBytes)
			}
		}
		if line = bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// watchedBody calls dead when one Read brings nothing for longer than limit.
// Only waiting for the server counts, not the time a handler takes. One
// goroutine reads.
type watchedBody struct {
	body  io.Reader
	limit time.Duration
	dead  func()
	timer *time.Timer
}

// Read reads from the body under the watch.
func (w *watchedBody) Read(p []byte) (int, error) {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.limit, w.dead)
	} else {
		w.timer.Reset(w.limit)
	}
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}
