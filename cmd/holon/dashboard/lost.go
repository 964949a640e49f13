package dashboard

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/overview"
	"github.com/seed82539d15/holon/cmd/holon/restarts"
	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// lostEvery is the least time between two reads of what has ended with a restart.
const lostEvery = time.Second

// noteLost marks that to be read again if the event may change it: the end of a turn with a
// restart, and, as long as there are such turns, whatever becomes of a thread. f.mu is held.
func (f *feed) noteLost(e client.Event) {
	if !f.lost {
		var end struct {
			Reason string `json:"reason"`
		}
		if e.Method != "turn/interrupted" && e.Method != "turn/failed" || json.Unmarshal(e.Params, &end) != nil ||
			end.Reason != turns.ServerStopping && end.Reason != turns.ServerRestarted {
			return
		}
	} else if !strings.HasPrefix(e.Method, "turn/") && !strings.HasPrefix(e.Method, "thread/") {
		return
	}
	f.wakeLost()
}

func (f *feed) wakeLost() {
	select {
	case f.lostWake <- struct{}{}:
	default:
	}
}

// followLost reads what has ended with a restart whenever that may have changed. What cannot
// be read is read with the next change, or when the connection is back.
func (f *feed) followLost(ctx context.Context) {
	pace := time.NewTicker(lostEvery)
	defer pace.Stop()
	for {
		select {
		case <-f.lostWake:
			f.readLost(ctx)
		case <-ctx.Done():
			return
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

// readLost reads what has ended with a restart.
func (f *feed) readLost(ctx context.Context) {
	lost, err := restarts.Read(ctx, caller{f}, f.consumer)
	if err != nil {
		return
	}
	f.mu.Lock()
	some := len(lost.Turns) > 0
	changed := some || f.lost
	f.lost = some
	f.mu.Unlock()
	if changed {
		f.send(overview.Lost{Lost: lost})
	}
}

// caller is the feed as restarts.Read needs it.
type caller struct{ *feed }

// Call implements restarts.Caller.
func (c caller) Call(ctx context.Context, method string, params, result any) error {
	return c.call(ctx, method, params, result)
}
