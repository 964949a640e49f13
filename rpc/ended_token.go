package rpc

import (
	"context"
	"time"
)

// cutGrace is how long a write may take that is under way when the token of a stream
// ends: its streams end within a second.
const cutGrace = 500 * time.Millisecond

// cutWith bounds the write of o that is under way when alive ends: o.run cannot end the
// stream before that, and a client that does not read would keep it for the write timeout.
// alive may be nil. The caller must call stop before the connection is used again.
func cutWith(o *outlet, alive context.Context) (stop func()) {
	if alive == nil || o.control == nil {
		return func() {}
	}
	done := make(chan struct{})
	end := context.AfterFunc(alive, func() {
		defer close(done)
		o.cut.Store(true) // first: renew looks at it after it has set its own
		_ = o.control.SetWriteDeadline(time.Now().Add(cutGrace))
	})
	return func() {
		if !end() {
			<-done
		}
	}
}
