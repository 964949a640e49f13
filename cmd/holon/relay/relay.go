package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/internal/limits"
	"github.com/seed82539d15/holon/internal/lines"
	"github.com/seed82539d15/holon/rpc/client"
)

const (
	// resumePatience bounds the wait for the server to say where its log is, and for a
	// stream to go on.
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
	Call(ctx context.Context, method string, params, result any) error
	Bridge(ctx context.Context, requests io.Reader, query url.Values) (io.ReadCloser, error)
	AwaitReconnect(ctx context.Context, attempt int, err error) error
}

// Run copies lines both ways until in has ended and the server has executed all of it, the
// server ends the stream in order, or it cannot be reached any more. The goroutine that
// reads in ends with in.
func Run(ctx context.Context, server Server, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	id := "holon-connect-" + uuid.NewString()
	r := &relay{server: server, out: out, requests: newRequests(), resuming: strconv.Quote(id), last: strconv.Quote(id + "-last")}
	defer r.requests.close()
	tooLong, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		if err := r.requests.read(in); err != nil {
			tooLong <- err
		}
	}()
	go func() { ended <- r.run(ctx) }()
	for {
		select {
		case err := <-tooLong:
			return err
		case err := <-ended:
			return err
		case <-r.requests.changed:
			if r.requests.done() {
				return r.requests.outcome()
			}
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

	// The ids of the relay's own requests: the one that makes the subscription go on, and
	// the one after the last line.
	resuming, last string
}

// finalError is an error after which no other connection is tried.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// run opens one connection after the other. If the first cannot be opened, that is the
// error: a wrong address is the likely reason.
func (r *relay) run(ctx context.Context) error {
	if err := r.locate(ctx); err != nil {
		return err
	}
	for attempt := 0; ; {
		began := time.Now()
		c, err := r.connect(ctx)
		lasted := time.Since(began) >= steadyAfter
		var final *finalError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case r.requests.done():
			return r.requests.outcome()
		case !r.requests.connected():
			return err
		case errors.As(err, &final) || !r.stream.resumable() || !r.requests.tracked():
			return lost(err)
		}
		if err := r.answerLost(c.answered, lasted); err != nil {
			return lost(err)
		}
		if r.requests.done() {
			return r.requests.outcome()
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
	}
}

// locate asks where the log is before anything is sent: a stream that is cut before it has
// said where it begins goes on from there. Nothing else can wait for stream/opened, as
// there are proxies that let an answer through only after the end of the requests.
func (r *relay) locate(parent context.Context) error {
	ctx, cancel := context.WithTimeoutCause(parent, resumePatience, &client.SilentError{Limit: resumePatience})
	defer cancel()
	var now streamParams
	if err := r.server.Call(ctx, "initialize", nil, &now); err != nil {
		return err
	}
	r.stream.locate(now.LatestSeq, now.LogID)
	return nil
}

func lost(err error) error { return fmt.Errorf("the connection to the server is lost: %w", err) }

// answerLost answers the requests that were sent and are not to be sent again.
func (r *relay) answerLost(answered, lasted bool) error {
	for _, x := range r.requests.cut(answered, lasted, &r.stream) {
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
	stream   *client.Stream
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

	c = &connection{resume: r.stream.resume(r.resuming), open: make(chan struct{}), resumed: make(chan struct{})}
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
	begin := url.Values{}
	if r.requests.connected() {
		begin = r.stream.begins()
	}
	c.stream, err = client.Watch(ctx, func(ctx context.Context) (io.ReadCloser, error) { return r.server.Bridge(ctx, body, begin) })
	if err != nil {
		return c, err
	}
	defer c.stream.Close()
	close(c.open)
	r.requests.connect()
	err = r.receive(c.stream, c, late)
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
			if r.requests.unconfirmed() {
				// Requests take effect in their order: after its answer all have.
				_, _ = w.Write(withEnd(encodeRequest(r.last, "initialize", nil))) // then it is cut
			}
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
