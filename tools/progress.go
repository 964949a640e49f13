package tools

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// saysSo reports to the client now and then that the call still waits: as
// notifications/progress if it gave a token for these, else as a comment on the
// connection. It does so until the function that it returns is called, which waits
// for the end of it.
func (r *request) saysSo(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		began := time.Now()
		ticker := time.NewTicker(r.server.Progress)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			token := r.mcp.Params.GetProgressToken()
			if token == nil {
				exchangeOf(ctx).comment()
				continue
			}
			// If it cannot be written, neither can the answer.
			_ = r.mcp.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: float64(n), Message: fmt.Sprintf("still running after %d s", int(time.Since(began).Seconds())),
			})
		}
	})
	return func() { cancel(); running.Wait() }
}
