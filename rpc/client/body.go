package client

import (
	"io"
	"time"

	"github.com/seed82539d15/holon/lines"
)

// maxLineBytes bounds one line from a server. A server's frames end at its own
// max_frame_bytes (4 MiB unless configured larger).
const maxLineBytes = 64 << 20

// newLines reads the lines of a stream. A last line without an end was cut off
// when the connection broke: resuming from the cursor brings the whole event.
func newLines(r io.Reader) *lines.Reader {
	return lines.New(r, lines.Config{Max: maxLineBytes, Buffer: 64 << 10, NeedsEnd: true})
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
