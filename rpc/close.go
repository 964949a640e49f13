package rpc

import (
	"context"
	"time"
)

// Closing is what a stream is told when the server ends it in order.
type Closing struct {
	Code       string // one of the Close constants
	Reason     string // a sentence for people
	Reconnect  bool   // whether it is worth coming back
	RetryAfter time.Duration
}

// closeGrace is how long streams may take to reach the head before they are
// told that they end: a reader that keeps up needs milliseconds.
const closeGrace = time.Second

// closeWrite is how long a stream/closing may take to be written after that.
const closeWrite = 500 * time.Millisecond

// lastBuffer is what the kernel is asked to hold for a stream that ends before
// its client has read everything: more than sendBuffer by the largest frame,
// the end of which may still be under way. The kernel's own bound (Linux:
// net.core.wmem_max, 208 KiB where nobody has set it) leaves room for a chunk: a
// TCP socket takes more when a third of its buffer is free, a unix socket only
// when three quarters are, so that it begins with less. A variable for tests.
var lastBuffer = sendBuffer + 4<<20

// Close ends every stream: those that keep up get all events first, the
// others what they took in time, and all of them stream/closing with the seq
// they reached, which a slow reader still finds in its socket when the server
// has gone. It returns when all have ended, or with ctx's error; the
// connections of streams that did not take their last line are cut. Requests
// on POST /rpc are still answered: that listener is the caller's to close.
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
	s.streams.each(func(o *outlet) { o.hurry(last) })

	for _, step := range []struct {
		at time.Time
		do func(*outlet)
	}{
		{s.until, (*outlet).makeRoom},
		{last.Add(closeWrite), func(o *outlet) { o.hurry(time.Now()) }},
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

// hurry bounds a write that may be under way.
func (o *outlet) hurry(by time.Time) {
	if o.control != nil {
		_ = o.control.SetWriteDeadline(by) // what has no deadline cannot be hurried
	}
}

// makeRoom lets the kernel take a write that its client keeps waiting: what
// comes after it is the last line.
func (o *outlet) makeRoom() {
	if o.kernel != nil {
		_ = o.kernel.SetWriteBuffer(lastBuffer) // if it cannot be, the deadline cuts the write
	}
}

// finish brings the stream to target, answers what is pending, and says
// goodbye. It returns the code.
func (o *outlet) finish(ctx context.Context, c Closing, target int64, until time.Time) string {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	if o.duplex != nil {
		o.finishing.Store(true)
	}
	for {
		ready, done, err := o.lastWords(ctx, c, target, until)
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

func (o *outlet) lastWords(ctx context.Context, c Closing, target int64, until time.Time) (ready <-chan struct{}, done bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = until.Add(time.Hour) // hurry has set the last one
	o.hurry(until.Add(closeWrite))
	if err := o.pump(ctx, until); err != nil {
		return nil, false, err
	}
	reached := (o.cursor == nil || o.cursor.After() >= target) && o.idle()
	if reached || !time.Now().Before(until) {
		o.sayClosing(c)
		return nil, true, o.failed
	}
	if o.cursor != nil {
		ready = o.cursor.Wait()
	}
	return ready, false, nil
}
