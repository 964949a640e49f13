package rpc

import (
	"context"
	"io"
	"time"

	"github.com/seed82539d15/holon/api"
)

// stdioReaderWait is how long the end waits for a read of the input that cannot
// be interrupted, such as a read from a terminal.
const stdioReaderWait = 100 * time.Millisecond

// ServeStdio serves one client as on POST /rpc/stream and blocks until it is
// done. inputEnded is called once at the end of input; the stream then
// continues until Close, so that the client still sees a drain. With a nil
// inputEnded the stream ends by itself once everything pending is answered and
// the events up to then are written. The caller owns in and out and closes
// them.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, inputEnded func()) error {
	at := &api.StreamStart{}
	now, err := s.api.ResolveStart(ctx, at)
	if err != nil {
		return err
	}
	o := &outlet{server: s, w: out, format: ndjson, transport: "stdio"}
	session := newSession(s, in, o)
	connected, disconnect := context.WithCancel(ctx)
	defer disconnect()
	if session.inputEnded = inputEnded; inputEnded == nil {
		session.inputEnded = disconnect
	}
	if !s.enter(o) {
		return api.Errorf(api.KindUnavailable, "the server is stopping")
	}
	why := whyLeft
	defer func() { s.leave(o, why) }()
	if err := o.open(ctx, at, now); err != nil {
		return err
	}
	why = session.serve(ctx, connected, func() {
		if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Now()) == nil {
			return
		}
		// A read that cannot be interrupted is abandoned: the process is about
		// to end, or the caller closes the input.
		select {
		case <-session.readerDone:
		case <-time.After(stdioReaderWait):
			session.abandon()
		}
	})
	return o.failed
}
