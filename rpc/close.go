package rpc

import (
	"context"
	"time"
)

// Closing is the content of stream/closing, which the server sends when it ends
// a stream in order.
type Closing struct {
	Code       string // one of the Close constants
	Reason     string // a sentence for people
	Reconnect  bool   // whether reconnecting is useful
	RetryAfter time.Duration
}

// closeGrace is how long streams may take to reach the head before
// stream/closing is sent: a reader that keeps up needs milliseconds.
const closeGrace = time.Second

// closeWrite is how long a stream/closing may take to be written after that.
const closeWrite = 500 * time.Millisecond

// lastBuffer is the send buffer of a stream that ends before its client has
// read everything: sendBuffer plus the largest frame, the end of which may
// still be under way. The kernel's own bound (Linux: net.core.wmem_max, 208 KiB
// by default) leaves room for a chunk. A TCP socket accepts more data when a
// third of its buffer is free, a unix socket only when three quarters are, so a
// unix socket begins with a smaller buffer. A variable for tests.
var lastBuffer = sendBuffer + 4<<20

// Close ends every stream. Streams that keep up get all events first, the
// others the events they read in time. Each then gets stream/closing with the
// seq it reached, which a slow reader still finds in its socket after the
// server has exited. Close returns when all streams have ended, or with ctx's
// error; it cuts the connections of streams that did not take their last line.
// Requests on POST /rpc are still answered: the caller closes that listener.
// Further calls wait for the same end.
func (s *Server) Close(ctx context.Context, c Closing) error {
	gone := s.streams.shutDown()
	s.closeOnce.Do(func() {
		s.notice = c
		s.lastHead = s.cfg.Tail.Head()
		s.until = time.Now().Add(closeGrace)
		if d, ok := ctx.Deadline(); ok {
			// Half of what is left, so that the last line still gets out.
			if half := time.Now().Add(time.Until(d) / 2); half.Before(s.until) {
				s.until = half
			}
		}
		close(s.closing)
		s.api.Close()
	})
	last := s.until.Add(closeWrite)
	s.streams.each(func(o *outlet) { o.limitWrite(last) })

	for _, step := range []struct {
		at time.Time
		do func(*outlet)
	}{
		{s.until, (*outlet).makeRoom},
		{last.Add(closeWrite), func(o *outlet) { o.limitWrite(time.Now()) }},
	} {
		timer := time.NewTimer(time.Until(step.at))
		select {
		case <-gone:
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		s.streams.each(step.do)
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// limitWrite sets the deadline of a write that may be under way.
func (o *outlet) limitWrite(by time.Time) {
	if o.control != nil {
		_ = o.control.SetWriteDeadline(by) // without deadlines the write cannot be cut
	}
}

// makeRoom lets the kernel take a write that waits for its client: only the
// last line comes after it.
func (o *outlet) makeRoom() {
	if o.kernel != nil {
		_ = o.kernel.SetWriteBuffer(lastBuffer) // if it cannot be, the deadline cuts the write
	}
}

// finish brings the stream to target, writes pending answers, and then
// stream/closing. It returns the code.
func (o *outlet) finish(ctx context.Context, c Closing, target int64, until time.Time) string {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	if o.duplex != nil {
		o.finishing.Store(true)
	}
	for {
		ready, done, err := o.finishStep(ctx, c, target, until)
		if err != nil {
			o.mu.Lock()
			defer o.mu.Unlock()
			return o.broken(ctx, err)
		}
		if done {
			return c.Code
		}
		select {
		case <-ready:
		case <-o.woken():
		case <-timer.C:
		case <-ctx.Done():
			return whyLeft
		}
	}
}

// finishStep writes what can be written towards the end of the stream. done
// says that stream/closing is written; otherwise ready says when to try again.
func (o *outlet) finishStep(ctx context.Context, c Closing, target int64, until time.Time) (ready <-chan struct{}, done bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = until.Add(time.Hour) // limitWrite has set the last one
	o.limitWrite(until.Add(closeWrite))
	// Before the answers are taken: the answer of a request that ends after that is
	// still in the queue, and the end of that request wakes the writer again.
	idle := o.idle()
	if err := o.pump(ctx, until); err != nil {
		return nil, false, err
	}
	reached := (o.cursor == nil || o.cursor.After() >= target) && idle
	if reached || !time.Now().Before(until) {
		o.writeClosing(c)
		return nil, true, o.failed
	}
	return mayWrite(o), false, nil
}
