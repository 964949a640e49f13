package conformance

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// received holds everything a stream has sent so far, in order. A reader goroutine
// fills it. The check reads it and waits for further messages. Nothing is
// consumed: a second read finds the same messages.
type received struct {
	p    *probe
	name string
	// summaries says that events come cut, and fit no schema: those are of whole ones.
	summaries atomic.Bool

	mu    sync.Mutex
	kept  []*message
	ended error // io.EOF for an orderly end
	wake  chan struct{}
}

func newReceived(p *probe, name string) *received {
	in := &received{p: p, name: name, wake: make(chan struct{})}
	in.summaries.Store(strings.Contains(name, "content=summary"))
	return in
}

// push adds a message; line numbers are positions.
func (in *received) push(m *message) {
	in.mu.Lock()
	defer in.mu.Unlock()
	m.at = len(in.kept)
	in.kept = append(in.kept, m)
	close(in.wake)
	in.wake = make(chan struct{})
}

// finish records why the stream has ended. The first reason counts.
func (in *received) finish(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended == nil {
		in.ended = err
		close(in.wake)
		in.wake = make(chan struct{})
	}
}

// readLines takes NDJSON lines until the reader ends. One line is one message
// or a batch of responses, which is kept as an array.
func (in *received) readLines(r io.Reader, on func(line []byte)) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := buffered.ReadBytes('\n')
		// An incomplete line is no fault of the server if the suite has hung
		// up; it is one if the server has ended the stream.
		if len(line) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			on(line)
		}
		if err != nil {
			in.finish(err)
			return
		}
	}
}

// all returns the messages so far.
func (in *received) all() []*message {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.kept[:len(in.kept):len(in.kept)]
}

// find waits for the first message from a position on for which the predicate
// is true. It returns nil if the time is up or the stream has ended without
// one.
func (in *received) find(from int, within time.Duration, want func(*message) bool) *message {
	timer := time.NewTimer(within)
	defer timer.Stop()
	for at := from; ; {
		in.mu.Lock()
		kept, ended, wake := in.kept, in.ended, in.wake
		in.mu.Unlock()
		for ; at < len(kept); at++ {
			if want(kept[at]) {
				return kept[at]
			}
		}
		if ended != nil {
			return nil
		}
		select {
		case <-wake:
		case <-timer.C:
			return nil
		case <-in.p.ctx.Done():
			return nil
		}
	}
}

// await works like find, with the usual patience. It fails the check if no such message
// came.
func (in *received) await(what string, from int, want func(*message) bool) *message {
	m := in.find(from, in.p.opts.Patience, want)
	if m == nil {
		in.p.failf("%s: waited in vain for %s%s", in.name, what, in.state())
	}
	return m
}

// state reports whether the stream is still open.
func (in *received) state() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended == nil:
		return " (the stream is open)"
	case errors.Is(in.ended, io.EOF):
		return " (the stream has ended)"
	default:
		return " (the stream broke: " + in.ended.Error() + ")"
	}
}

// event waits for an event of the method for which the paths of params have
// the values: event("turn/completed", "turn_id", id).
func (in *received) event(method string, pairs ...string) *message {
	return in.eventFrom(0, method, pairs...)
}

// eventFrom works like event, from a position on.
func (in *received) eventFrom(from int, method string, pairs ...string) *message {
	return in.await(method+describe(pairs), from, func(m *message) bool { return matches(m, method, pairs) })
}

// matches reports whether the message is such a notification.
func matches(m *message, method string, pairs []string) bool {
	if !m.isNotification() || m.method != method {
		return false
	}
	args := m.args()
	for i := 0; i+1 < len(pairs); i += 2 {
		if args.str(pairs[i]) != pairs[i+1] {
			return false
		}
	}
	return true
}

func describe(pairs []string) string {
	out := ""
	for i := 0; i+1 < len(pairs); i += 2 {
		out += " " + pairs[i] + "=" + pairs[i+1]
	}
	return out
}

// events returns the events so far for which the predicate is true.
func (in *received) events(want func(*message) bool) []*message {
	var out []*message
	for _, m := range in.all() {
		if m.isEvent() && want(m) {
			out = append(out, m)
		}
	}
	return out
}

// upTo waits until the stream has sent an event with at least this seq.
func (in *received) upTo(seq int64) *message {
	return in.await("the event with seq "+itoa(seq), 0, func(m *message) bool {
		return m.isEvent() && m.seq() >= seq
	})
}

// opened waits for stream/opened, which must be the first line.
func (in *received) opened() object {
	first := in.await("stream/opened", 0, func(*message) bool { return true })
	if first.method != "stream/opened" {
		in.p.failf("%s: the first line is not stream/opened but %s", in.name, clip(first.raw, 200))
	}
	return first.args()
}
