package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/limits"
	"github.com/seed82539d15/holon/lines"
	"github.com/seed82539d15/holon/rpc/client"
)

const (
	// answerPatience bounds the wait for answers after the end of input, counted from
	// the last received line: a server that is silent for so long has lost the request.
	answerPatience = 30 * time.Second
	// resumePatience bounds the wait for a stream to open again and to go on.
	resumePatience = 30 * time.Second
	// knockEvery is how often an empty line is sent before a connection has answered.
	knockEvery = 500 * time.Millisecond
	// maxAttempts in a row without a line from the server end the command: a minute for
	// a server on this machine, five for one elsewhere (client.AwaitReconnect).
	maxAttempts = 60
	// steadyAfter is how long a connection must last before its loss counts as a new one.
	steadyAfter = 5 * time.Second
)

// Server opens streams; *client.Client is one.
type Server interface {
	Bridge(ctx context.Context, requests io.Reader, query url.Values) (io.ReadCloser, error)
	AwaitReconnect(ctx context.Context, attempt int, err error) error
}

// Run copies lines both ways until in has ended and all requests are answered, the server
// ends the stream in order, or it cannot be reached any more. The goroutine that reads in
// ends with in.
func Run(ctx context.Context, server Server, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &relay{server: server, out: out, requests: newRequests(), own: `"holon-connect-` + uuid.NewString() + `"`}
	defer r.requests.close()
	tooLong, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		if err := r.requests.read(in); err != nil {
			tooLong <- err
		}
	}()
	go func() { ended <- r.run(ctx) }()
	patience := time.NewTimer(answerPatience)
	defer patience.Stop()
	for {
		select {
		case err := <-tooLong:
			return err
		case err := <-ended:
			return err
		case <-r.requests.changed:
			if r.requests.done() {
				return nil
			}
			patience.Reset(answerPatience)
		case <-patience.C:
			if r.requests.atEnd() {
				return fmt.Errorf("the last request got no answer within %s", answerPatience)
			}
			patience.Reset(answerPatience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// relay is what outlives a connection. The goroutine of run owns stream, and alone writes
// to out.
type relay struct {
	server   Server
	out      io.Writer
	requests *requests
	stream   subscription
	own      string // the id of the requests that are the relay's own
}

// finalError is an error after which no other connection is tried.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// run opens one connection after the other. If the first cannot be opened, that is the
// error: a wrong address is the likely reason.
func (r *relay) run(ctx context.Context) error {
	for attempt := 0; ; {
		began := time.Now()
		c, err := r.connect(ctx)
		lasted := time.Since(began) >= steadyAfter
		var final *finalError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.requests.done():
			return nil
		case !r.requests.connected():
			return err
		case errors.As(err, &final) || !r.stream.resumable() || !r.requests.tracked():
			return lost(err)
		}
		if err := r.settle(c.answered, lasted); err != nil {
			return lost(err)
		}
		if c.passed || lasted {
			attempt = 0
		}
		if attempt++; attempt > maxAttempts {
			return lost(err)
		}
		if err := r.server.AwaitReconnect(ctx, attempt, err); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return lost(err)
		}
		r.requests.touch() // as long as there are attempts, an answer may come
	}
}

func lost(err error) error { return fmt.Errorf("the connection to the server is lost: %w", err) }

// settle answers the requests that were sent and are not to be sent again.
func (r *relay) settle(answered, lasted bool) error {
	for _, x := range r.requests.cut(answered, lasted) {
		if x.answered() {
			if err := r.pass(x.outcomeUnknown()); err != nil {
				return err
			}
		}
		r.requests.remove(x)
	}
	return nil
}

// connection is one exchange with the server.
type connection struct {
	resume   []byte        // the line that makes the subscription go on, nil if there is none
	open     chan struct{} // closed when the server has answered
	resumed  chan struct{} // closed when the subscription goes on
	passed   bool          // a line was passed on
	answered bool          // the answer to a request was
}

// is reports whether one of the channels of a connection is closed.
func is(state <-chan struct{}) bool {
	select {
	case <-state:
		return true
	default:
		return false
	}
}

// connect serves one connection to its end.
func (r *relay) connect(parent context.Context) (c *connection, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	body, requests := io.Pipe()
	stop := context.AfterFunc(ctx, func() { body.CloseWithError(context.Cause(ctx)) })
	var feeding sync.WaitGroup
	defer func() { cancel(nil); stop(); body.Close(); feeding.Wait() }()

	c = &connection{resume: r.stream.resume(r.own), open: make(chan struct{}), resumed: make(chan struct{})}
	if c.resume == nil {
		close(c.resumed)
	}
	feeding.Go(func() { r.feed(ctx, requests, c) })
	late := time.AfterFunc(resumePatience, func() {
		if !is(c.resumed) {
			cancel(&client.SilentError{Limit: resumePatience})
		}
	})
	defer late.Stop()
	response, err := r.server.Bridge(ctx, body, nil)
	if err != nil {
		return c, err
	}
	defer response.Close()
	close(c.open)
	r.requests.connect()
	err = r.receive(response, c, late)
	var silent *client.SilentError
	if errors.As(context.Cause(ctx), &silent) {
		err = silent
	}
	return c, err
}

// feed writes the lines for the server, until the connection ends or there will be no
// further ones. It does not wait for the server to open the stream, which may wait for some
// requests first; but requests are sent only after the subscription goes on, so that an
// attempt that fails has sent none.
func (r *relay) feed(ctx context.Context, w *io.PipeWriter, c *connection) {
	if c.resume != nil {
		if _, err := w.Write(withEnd(c.resume)); err != nil || !c.await(ctx, w, c.resumed) {
			return
		}
	}
	for {
		x, ended := r.requests.next()
		switch {
		case x != nil:
			n, err := w.Write(withEnd(x.line))
			r.requests.wrote(x, n)
			if err != nil {
				return
			}
		case ended:
			w.Close()
			return
		case !c.await(ctx, w, r.requests.more):
			return
		}
	}
}

// await waits for what, and reports whether it has come. Before the server has answered it
// writes an empty line now and then: the HTTP client of Go notices only by a write that
// such a connection has ended.
func (c *connection) await(ctx context.Context, w io.Writer, what <-chan struct{}) bool {
	knock := time.NewTicker(knockEvery)
	defer knock.Stop()
	for {
		ticks := knock.C
		if is(c.open) {
			ticks = nil
		}
		select {
		case <-what:
			return true
		case <-ctx.Done():
			return false
		case <-ticks:
			if _, err := w.Write([]byte("\n")); err != nil {
				return false
			}
		}
	}
}

// pass writes a line for the client and its end in one call, so that a client never reads
// half of it.
func (r *relay) pass(line []byte) error {
	if _, err := r.out.Write(withEnd(line)); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

func withEnd(line []byte) []byte { return append(line[:len(line):len(line)], '\n') }

// linesOf reads the lines of one direction. No server takes or sends longer ones. A last
// line without an end counts if the client has written it, not if a connection broke in it.
func linesOf(r io.Reader, needsEnd bool) *lines.Reader {
	return lines.New(r, lines.Config{Max: limits.FrameBytes.Most, Buffer: 64 << 10, NeedsEnd: needsEnd})
}
