package rpc

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

// notify writes a notification that is not in the log.
func (o *outlet) notify(method string, params any) {
	o.notifyAt(method, params, noSeq)
}

// notifyAt works like notify, for a notification with a position: on /events the
// position is the id.
func (o *outlet) notifyAt(method string, params any, seq int64) {
	body, err := json.Marshal(params, api.WireOptions)
	if err != nil {
		o.server.log.Error("notification cannot be encoded", zap.String("method", method), zap.Error(err))
		return
	}
	frame := make([]byte, 0, len(body)+len(method)+48)
	frame = append(frame, `{"jsonrpc":"2.0","method":"`...)
	frame = append(frame, method...)
	frame = append(frame, `","params":`...)
	frame = append(frame, body...)
	o.writeFrame(append(frame, "}\n"...), seq)
}

func (o *outlet) writeFrame(frame []byte, seq int64) {
	if o.format == sse {
		frame = append(append(o.appendID(make([]byte, 0, len(frame)+80), seq), frame...), '\n')
	}
	o.write(frame)
}

// heartbeat writes stream/heartbeat, the smallest notification.
func (o *outlet) heartbeat() {
	frame := append(make([]byte, 0, 96), `{"jsonrpc":"2.0","method":"`+notify.StreamHeartbeat+`","params":{"seq":`...)
	frame = strconv.AppendInt(frame, o.at.Load(), 10)
	o.writeFrame(append(frame, "}}\n"...), o.at.Load())
}

// writeClosing writes stream/closing and returns its code.
func (o *outlet) writeClosing(c Closing) string {
	o.notify(notify.StreamClosing, api.StreamClosing{
		Code: c.Code, Reason: c.Reason, Reconnect: c.Reconnect,
		RetryAfterMs: int64(c.RetryAfter / time.Millisecond), Seq: o.at.Load(),
	})
	o.flush()
	return c.Code
}

// announcement is the body of a thread/started that is not in the log. It tells
// clients of the first holon serve which thread exists.
type announcement struct {
	ThreadID  string      `json:"thread_id"`
	Timestamp notify.Time `json:"timestamp"`
	threads.Changed
}

// announce announces the default thread to a stream without a cursor.
func (o *outlet) announce(ctx context.Context, at *api.StreamStart) {
	id := o.server.cfg.DefaultThread
	if id == "" || !at.Filter.Match(id, notify.ThreadStarted) {
		return
	}
	if in := at.Filter.Within; in != nil {
		if ok, err := in.Has(ctx, id); err != nil || !ok {
			return
		}
	}
	snapshot, err := o.server.cfg.Reader.ReadThread(ctx, id, 0)
	if err != nil || snapshot.Thread == nil {
		o.server.log.Warn("default thread cannot be announced", zap.String("thread_id", id), zap.Error(err))
		return
	}
	t := snapshot.Thread
	o.notify(notify.ThreadStarted, announcement{
		ThreadID: t.ThreadID, Timestamp: t.StartedAt,
		Changed: threads.Changed{Type: "started", State: t.State, StartedAt: t.StartedAt, SessionID: t.SessionID, Agent: t.Agent, Title: t.Title},
	})
}
