package tools

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// writeTimeout is how long a client may take to read what is written to it.
const writeTimeout = 30 * time.Second

// exchange is one POST with one message: its answer, and what follows once that is
// written. It is nil for a call that came another way; its methods then do nothing.
type exchange struct {
	w       http.ResponseWriter
	control *http.ResponseController
	awaited context.Context // ends when the client has left, or cancels the call
	cancel  context.CancelFunc

	mu        sync.Mutex
	sent      []func(ok bool)
	answering bool // the next that is written is the answer
	spoiled   bool // it is an error, or nobody waits for it
	written   bool
	cancelled bool // before the answer was written: nothing more is
	delivered bool
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// AfterSent calls f after the answer of the call whose context this is: ok says
// that its bytes were written to the client's connection, that it is no error, and
// that the client had not cancelled the call. It returns false, and f is not
// called, if the call did not come over HTTP.
func AfterSent(ctx context.Context, f func(ok bool)) bool {
	x := exchangeOf(ctx)
	if x == nil {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = append(x.sent, f)
	return true
}

// whileAwaited returns a context that also ends when nobody waits for the answer.
func (x *exchange) whileAwaited(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if x == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(x.awaited, cancel)
	return ctx, func() { stop(); cancel() }
}

// answers records that the tool is done: what is written next is its answer.
func (x *exchange) answers(good bool) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answering = true
	x.spoiled = x.spoiled || !good
}

// giveUp ends the waiting of the call. An answer that is written already stays one.
func (x *exchange) giveUp() {
	x.mu.Lock()
	if !x.written {
		x.spoiled, x.cancelled = true, true
	}
	x.mu.Unlock()
	x.cancel()
}

// finish calls what follows the answer.
func (x *exchange) finish() {
	x.mu.Lock()
	sent, ok := x.sent, x.delivered && !x.spoiled
	x.sent = nil
	x.mu.Unlock()
	for _, f := range sent {
		f(ok)
	}
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) { x.w.WriteHeader(status) }

// Write implements http.ResponseWriter. The library writes whole events.
func (x *exchange) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancelled {
		return len(b), nil
	}
	x.written = x.written || x.answering
	return x.write(b)
}

func (x *exchange) write(b []byte) (int, error) {
	_ = x.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a recorder in a test has none
	n, err := x.w.Write(b)
	if err != nil {
		x.spoiled = true
	}
	return n, err
}

// FlushError implements what http.ResponseController looks for. Bytes in a buffer
// have not been written.
func (x *exchange) FlushError() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.control.Flush()
	x.delivered = x.delivered || x.written && err == nil
	return err
}

// comment writes a comment to a stream of events: it says nothing, but the
// connection is not silent.
func (x *exchange) comment() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.answering || x.cancelled || x.w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	if _, err := x.write([]byte(": waiting\n\n")); err == nil {
		_ = x.control.Flush() // the next write says what is wrong
	}
}
