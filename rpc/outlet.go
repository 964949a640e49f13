package rpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// format is how frames are put on the wire.
type format int

const (
	ndjson format = iota
	sse
)

// outlet is what one client reads: the place of its subscription in the log
// and, on a two-way connection, the answers to its requests. run is its
// writer; on a two-way connection the reader writes an answer itself when the
// writer has nothing to do, which saves a change of goroutine.
//
// mu guards everything but at and subscribed, and is held while a write is
// under way: whoever cannot wait uses TryLock.
type outlet struct {
	server    *Server
	w         io.Writer
	control   *http.ResponseController // nil on stdio
	kernel    buffered                 // nil if its size cannot be set
	format    format
	transport string

	at         atomic.Int64 // the cursor's seq, for metrics
	subscribed atomic.Bool

	mu       sync.Mutex
	cursor   *notify.Cursor // nil: not subscribed
	written  time.Time      // when something was written last
	deadline time.Time      // when the write deadline was renewed last
	dirty    bool           // written and not flushed
	failed   error          // the first write that failed
	buf      []byte         // of server-sent events

	*duplex // nil on a one-way stream
}

// deadlineSlack is how often the write deadline is renewed: asking the
// runtime for a timer at each small write would cost more than the write.
const deadlineSlack = time.Second

// open tells a new stream where it stands.
func (o *outlet) open(ctx context.Context, at *api.StreamStart, now api.Position) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cursor = o.server.cursor(at)
	o.moved()
	o.notifyAt(notify.StreamOpened, api.StreamOpened{
		LogID: now.LogID, AfterSeq: at.After, LatestSeq: now.Latest, FirstSeq: now.First,
		ProtocolVersion: api.ProtocolVersion, Server: o.server.api.Info(),
		HeartbeatSeconds: o.server.limits.HeartbeatSeconds, AsOfSeq: at.AsOfSeq(),
	}, at.After)
	if !at.Given {
		o.announce(ctx, at)
	}
	o.flush()
	return o.failed
}

// run writes until the client leaves, the server closes or ctx ends. It
// returns why, as the metric names it.
func (o *outlet) run(ctx context.Context) string {
	heartbeat := o.server.limits.Heartbeat()
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	// A stream that lags is always ready, so that the select alone would
	// choose at random between the close and the next chunk: each chunk takes
	// some of the room that the last line needs.
	for !o.server.isClosing() {
		ready, logs, why := o.turn(ctx)
		if why != "" {
			return why
		}
		select {
		case <-ready:
		case <-o.woken():
		case <-logs:
		case <-timer.C:
			timer.Reset(o.untilHeartbeat(heartbeat))
		case <-o.server.closing:
		case notice := <-o.ended():
			o.answerAll(ctx)
			return o.finish(ctx, notice, o.server.cfg.Tail.Head(), time.Now().Add(closeGrace))
		case <-ctx.Done():
			return whyLeft
		}
	}
	return o.finish(ctx, o.server.notice, o.server.lastHead, o.server.until)
}

const (
	whyLeft    = "left"
	whyStalled = "stalled"
)

// turn writes everything there is to write, and says what to wait for.
func (o *outlet) turn(ctx context.Context) (ready, logs <-chan struct{}, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.pump(ctx, time.Time{}); err != nil {
		return nil, nil, o.broken(ctx, err)
	}
	if o.beat(); o.failed != nil {
		return nil, nil, o.broken(ctx, o.failed)
	}
	if cap(o.buf) > idleBuffer {
		o.buf = nil
	}
	if o.cursor != nil {
		ready = o.cursor.Wait()
	}
	return ready, o.logsReady(), ""
}

// idleBuffer is what a waiting stream may keep: thousands wait at once.
const idleBuffer = 4 << 10

// beat writes a heartbeat if the stream has been silent for long enough.
func (o *outlet) beat() {
	if time.Since(o.written) >= o.server.limits.Heartbeat() {
		o.heartbeat()
		o.flush()
	}
}

func (o *outlet) untilHeartbeat(heartbeat time.Duration) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(time.Millisecond, heartbeat-time.Since(o.written))
}

// pump writes answers and events until there are none, or until a time that
// is not zero, then flushes once. Answers go before further events, so that a
// long replay delays none.
func (o *outlet) pump(ctx context.Context, until time.Time) error {
	for o.failed == nil {
		answered := o.drain(ctx)
		wrote, moved, err := o.events(ctx, 0)
		if err != nil {
			o.flush()
			return err
		}
		if !answered && !wrote && !moved {
			break
		}
		if !wrote {
			// A filter may pass over the whole log before the next event: what
			// is written must not wait for that, nor a heartbeat.
			o.flush()
			o.beat()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if until.IsZero() {
			if o.server.isClosing() {
				break
			}
		} else if time.Now().After(until) {
			break
		}
	}
	o.flush()
	return o.failed
}

// events writes one chunk of events, none above upTo (0 = no bound), and says
// whether there were any and whether the cursor moved.
func (o *outlet) events(ctx context.Context, upTo int64) (wrote, moved bool, err error) {
	if o.cursor == nil {
		return false, false, nil
	}
	before := o.cursor.After()
	chunk, err := o.cursor.Next(ctx, upTo)
	if err != nil {
		return false, false, err
	}
	if chunk.Len() > 0 {
		if o.format == ndjson {
			o.write(chunk.Data)
		} else {
			o.writeSSE(chunk)
		}
	}
	o.moved()
	return chunk.Len() > 0, o.cursor.After() != before, o.failed
}

// advance brings the subscription up to a seq, if it is near enough for that
// to be done before something else is written.
func (o *outlet) advance(ctx context.Context, upTo int64) {
	if o.cursor == nil || o.cursor.After() >= upTo || !o.cursor.CaughtUp() {
		return
	}
	for o.cursor.After() < upTo {
		// An error shows again when the writer comes to this place.
		if _, moved, err := o.events(ctx, upTo); err != nil || !moved {
			return
		}
	}
}

// drop ends the subscription, if there is one.
func (o *outlet) drop() {
	if o.cursor != nil {
		o.cursor.Close()
		o.cursor = nil
	}
	o.moved()
}

// moved publishes the cursor's place for metrics and heartbeats.
func (o *outlet) moved() {
	o.subscribed.Store(o.cursor != nil)
	if o.cursor != nil {
		o.at.Store(o.cursor.After())
	}
}

// write writes b in pieces that each get the whole write timeout: a reader is
// cut for standing still, never for being slow.
func (o *outlet) write(b []byte) {
	for len(b) > 0 && o.failed == nil {
		piece := b
		if len(piece) > notify.ChunkBytes {
			piece = piece[:notify.ChunkBytes]
		}
		o.renew()
		n, err := o.w.Write(piece)
		o.server.metrics.Sent(n)
		o.dirty = true
		if err != nil {
			o.failed = err
		}
		b = b[len(piece):]
	}
}

// renew pushes the write deadline ahead.
func (o *outlet) renew() {
	now := time.Now()
	o.written = now
	if o.control == nil || now.Sub(o.deadline) < deadlineSlack {
		return
	}
	o.deadline = now
	// Not every writer has deadlines (a recorder in a test has none).
	_ = o.control.SetWriteDeadline(now.Add(o.server.limits.WriteTimeout() + deadlineSlack))
}

// flush hands what was written to the connection.
func (o *outlet) flush() {
	if !o.dirty || o.failed != nil {
		return
	}
	o.dirty = false
	if o.control != nil {
		o.renew()
		if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
			o.failed = err
		}
	}
}

// writeSSE writes the frames of a chunk as server-sent events.
func (o *outlet) writeSSE(chunk notify.Chunk) {
	o.buf = o.buf[:0]
	chunk.Each(func(seq int64, frame []byte) {
		if len(o.buf) > 0 && len(o.buf)+len(frame) > notify.ChunkBytes {
			o.write(o.buf)
			o.buf = o.buf[:0]
		}
		o.buf = o.appendSSE(o.buf, seq, frame)
	})
	o.write(o.buf)
}

// noSeq is the position of what has none of its own.
const noSeq = -1

// appendSSE appends one event. A frame has one line feed, its last byte. noSeq
// leaves the id out, so that a browser keeps the one it has.
func (o *outlet) appendSSE(b []byte, seq int64, frame []byte) []byte {
	if seq != noSeq {
		b = append(b, "id: "...)
		b = append(b, o.server.cfg.LogID...)
		b = append(b, ':')
		b = strconv.AppendInt(b, seq, 10)
		b = append(b, '\n')
	}
	b = append(b, "data: "...)
	b = append(b, frame...)
	return append(b, '\n')
}

// broken names why a stream ends that cannot go on, and tells the client if
// it still can be told.
func (o *outlet) broken(ctx context.Context, err error) string {
	var expired *notify.ExpiredError
	switch {
	case o.failed != nil && errors.Is(o.failed, os.ErrDeadlineExceeded):
		return whyStalled
	case o.failed != nil || ctx.Err() != nil:
		return whyLeft
	case errors.As(err, &expired):
		return o.sayClosing(Closing{Code: api.CloseExpired, Reason: expired.Error()})
	}
	o.server.log.Error("stream cannot read the log", zapError(err))
	return o.sayClosing(Closing{Code: api.CloseInternal, Reason: "the log cannot be read", Reconnect: true, RetryAfter: time.Second})
}
