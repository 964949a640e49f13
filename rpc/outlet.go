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

	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
)

// format is how frames are put on the wire.
type format int

const (
	ndjson format = iota
	sse
)

// outlet is the output of one client: the position of its subscription in the
// log and, on a two-way connection, the answers to its requests. run is its
// writer. On a two-way connection the reader writes an answer itself when the
// writer has nothing to do, which saves a switch of goroutines.
//
// mu guards everything but at and subscribed. It is held during a write: a
// caller that cannot wait uses TryLock.
type outlet struct {
	server    *Server
	w         io.Writer
	control   *http.ResponseController // nil on stdio
	kernel    buffered                 // nil if the size of the send buffer cannot be set
	format    format
	transport string

	at         atomic.Int64 // the cursor's seq, for metrics
	subscribed atomic.Bool
	cut        atomic.Bool // its token has ended: see cutWith

	mu       sync.Mutex
	cursor   *notify.Cursor // nil: not subscribed
	written  time.Time      // the time of the last write
	deadline time.Time      // when the write deadline was last renewed
	dirty    bool           // written and not flushed
	failed   error          // the first write that failed, or errTorn

	*duplex // nil on a one-way stream
}

// deadlineSlack is how often the write deadline is renewed: setting a timer at
// each small write would cost more than the write.
const deadlineSlack = time.Second

// open starts a stream at its position and writes stream/opened.
func (o *outlet) open(ctx context.Context, at *api.StreamStart, now api.Position) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cursor = newCursor(o.server, o, at)
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
	// A stream that lags is always ready, so the select alone would choose at
	// random between the close and the next chunk, and each chunk uses buffer
	// space that the last line needs.
	for !o.server.isClosing() {
		ready, logs, why := o.writeReady(ctx)
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
	whyTorn    = "torn"
)

// writeReady writes everything that is ready. It returns the channels to wait
// for, or why the stream ends.
func (o *outlet) writeReady(ctx context.Context) (ready, logs <-chan struct{}, why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.pump(ctx, time.Time{}); err != nil {
		return nil, nil, o.broken(ctx, err)
	}
	if o.beat(); o.failed != nil {
		return nil, nil, o.broken(ctx, o.failed)
	}
	return mayWrite(o), o.logsReady(), ""
}

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

// pump writes answers and events until there are none, or until the given time
// (zero: no limit), then flushes once. Answers go before further events, so
// that a long replay does not delay them.
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
			// A filter may skip the whole log before the next event: neither
			// written bytes nor a heartbeat must wait for that.
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

// errTorn says that the rest of a frame could not be read.
var errTorn = errors.New("the rest of a frame cannot be read")

// events writes one chunk of events, none above upTo (0 = no bound) and none that is held.
// Of a frame that is larger than a chunk it writes all chunks, because nothing else may come
// between. It reports whether there were any and whether the cursor moved.
func (o *outlet) events(ctx context.Context, upTo int64) (wrote, moved bool, err error) {
	if o.cursor == nil {
		return false, false, nil
	}
	if o.duplex != nil {
		to := mayReach(o)
		if to == 0 { // nothing is published yet; to the cursor 0 is no bound
			return false, false, nil
		}
		if upTo == 0 || to < upTo {
			upTo = to
		}
	}
	before := o.cursor.After()
	for {
		inside := o.cursor.Inside()
		chunk, err := o.cursor.Next(ctx, upTo)
		if err != nil {
			if inside {
				o.tear()
			}
			return false, false, err
		}
		o.write(chunk)
		wrote = wrote || len(chunk) > 0
		if o.failed != nil || !o.cursor.Inside() {
			break
		}
	}
	o.moved()
	return wrote, o.cursor.After() != before, o.failed
}

// tear ends a stream inside a frame: no line may follow, and the client must see that
// the connection broke, not that the stream ended.
func (o *outlet) tear() {
	o.failed = errTorn
	if o.control != nil {
		_ = o.control.SetWriteDeadline(time.Now()) // without deadlines the last line is cut off
	}
}

// advance brings the subscription up to a seq if it has caught up. One that
// lags stays where it is, so that nothing else waits for it.
func (o *outlet) advance(ctx context.Context, upTo int64) {
	if o.cursor == nil || o.cursor.After() >= upTo || !o.cursor.CaughtUp() {
		return
	}
	for o.cursor.After() < upTo {
		// The writer meets the same error again when it comes to this position.
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

// moved publishes the cursor's position for metrics and heartbeats.
func (o *outlet) moved() {
	if o.subscribed.Store(o.cursor != nil); o.cursor != nil {
		o.at.Store(o.cursor.After())
	}
}

// noSeq means that a frame has no position.
const noSeq = -1

// appendID appends what a server-sent event has before its frame. The frame has
// one line feed, its last byte; one more ends the event. For noSeq there is no
// id, so that a browser keeps its last one.
func (o *outlet) appendID(b []byte, seq int64) []byte {
	if seq != noSeq {
		b = append(b, "id: "...)
		b = append(b, o.server.cfg.LogID...)
		b = append(b, ':')
		b = strconv.AppendInt(b, seq, 10)
		b = append(b, '\n')
	}
	return append(b, "data: "...)
}

// broken returns why a stream that cannot continue ends, and sends
// stream/closing if the client can still receive it.
func (o *outlet) broken(ctx context.Context, err error) string {
	var expired *notify.ExpiredError
	switch {
	case o.failed != nil && errors.Is(o.failed, os.ErrDeadlineExceeded):
		return whyStalled
	case o.failed == errTorn && ctx.Err() == nil:
		o.server.log.Warn("stream ended inside an event", zap.Error(err))
		return whyTorn
	case o.failed != nil || ctx.Err() != nil:
		return whyLeft
	case errors.As(err, &expired):
		return o.writeClosing(Closing{Code: api.CloseExpired, Reason: expired.Error()})
	}
	o.server.log.Error("stream cannot read the log", zap.Error(err))
	return o.writeClosing(Closing{Code: api.CloseInternal, Reason: "the log cannot be read", Reconnect: true, RetryAfter: time.Second})
}
