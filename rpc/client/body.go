package client

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed82539d15/holon/internal/lines"
)

// maxLineBytes bounds one line from a server. A server's frames end at its own
// max_frame_bytes (4 MiB unless configured larger).
const maxLineBytes = 64 << 20

// newLines reads the lines of a stream. A last line without an end was cut off
// when the connection broke: resuming from the cursor brings the whole event.
func newLines(r io.Reader) *lines.Reader {
	return lines.New(r, lines.Config{Max: maxLineBytes, Buffer: 64 << 10, NeedsEnd: true})
}

// Defaults of the watch over a silent connection.
const (
	// heartbeatsMissed: a heartbeat may come late once, not twice.
	heartbeatsMissed = 2.5
	// beforeOpened bounds the silence before stream/opened, which has the
	// server's heartbeat interval.
	beforeOpened = 30 * time.Second
)

// Stream is the body of a stream under watch: a connection from which nothing comes, not
// even a heartbeat, is dead although nobody has closed it, as when a machine slept or an
// address translation was forgotten. One goroutine uses it.
type Stream struct {
	body   io.ReadCloser
	limit  time.Duration
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelCauseFunc
}

var errSilent = errors.New("silent")

// Watch opens a stream and returns it under watch. open gets a context that ends with ctx,
// with the silence, and with Close, and must then return, as must reads of what it has
// returned. The error is that of open or a *SilentError.
func Watch(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) (*Stream, error) {
	s := &Stream{limit: beforeOpened}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(s.limit, func() { s.cancel(errSilent) })
	body, err := open(s.ctx)
	s.timer.Stop()
	if err != nil {
		err = s.reason(err)
		s.cancel(nil)
		return nil, err
	}
	s.body = body
	return s, nil
}

// ExpectHeartbeats sets the silence after which the connection counts as dead, from the
// heartbeat_seconds of stream/opened. Of a server that does not say it, 30 s.
func (s *Stream) ExpectHeartbeats(seconds float64) {
	if seconds > 0 {
		s.limit = time.Duration(seconds * heartbeatsMissed * float64(time.Second))
	}
}

// Read implements io.Reader. Only waiting for the server counts as silence, not the time
// between two calls. The error is a *SilentError after that.
func (s *Stream) Read(p []byte) (int, error) {
	s.timer.Reset(s.limit)
	n, err := s.body.Read(p)
	s.timer.Stop()
	return n, s.reason(err)
}

// reason returns why err came.
func (s *Stream) reason(err error) error {
	if err != nil && context.Cause(s.ctx) == errSilent {
		return &SilentError{Limit: s.limit}
	}
	return err
}

// Close ends the exchange.
func (s *Stream) Close() error {
	s.timer.Stop()
	s.cancel(nil)
	return s.body.Close()
}
