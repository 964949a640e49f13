package rpc

import (
	"errors"
	"net/http"
	"time"

	"github.com/seed82539d15/holon/notify"
)

// write writes b in pieces that each get the whole write timeout: a reader is
// cut if it stalls, never because it is slow.
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

// renew extends the write deadline.
func (o *outlet) renew() {
	now := time.Now()
	o.written = now
	if o.control == nil || now.Sub(o.deadline) < deadlineSlack {
		return
	}
	o.deadline = now
	// Not every writer supports deadlines (a recorder in a test does not).
	_ = o.control.SetWriteDeadline(now.Add(o.server.limits.WriteTimeout() + deadlineSlack))
	if o.cut.Load() {
		_ = o.control.SetWriteDeadline(now.Add(cutGrace))
	}
}

// flush passes the written bytes to the connection.
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
