package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed82539d15/holon/api/logring"
	"github.com/seed82539d15/holon/notify"
)

// HolonLogStreamParams are the params of holon/logStream. MaxLines is 100 if
// absent.
type HolonLogStreamParams struct {
	MaxLines     *int   `json:"max_lines,omitzero"`
	FromPosition *int64 `json:"from_position,omitzero"`
	Follow       bool   `json:"follow,omitzero"`
	Extra
}

// HolonLogStreamResult answers holon/logStream.
type HolonLogStreamResult struct {
	StreamID     string    `json:"stream_id"`
	Logs         []LogLine `json:"logs"`
	NextPosition int64     `json:"next_position"`
}

// LogLine is one line of the server's log.
type LogLine struct {
	Level   string      `json:"level"`
	Time    notify.Time `json:"time"`
	Message string      `json:"message"`
}

// HolonLogStream answers holon/logStream.
func (h *Handlers) HolonLogStream(ctx context.Context, p HolonLogStreamParams) (HolonLogStreamResult, error) {
	n := defaultLogLines
	if p.MaxLines != nil {
		if n = *p.MaxLines; n < 1 || n > maxLogLines {
			return HolonLogStreamResult{}, Invalid("max_lines", "out_of_range", "it must be 1 to %d", maxLogLines)
		}
	}
	if p.FromPosition != nil && *p.FromPosition < 0 {
		return HolonLogStreamResult{}, Invalid("from_position", "out_of_range", "a position is not negative")
	}
	conn := connOf(ctx)
	if p.Follow && conn == nil {
		return HolonLogStreamResult{}, Errorf(KindInvalidRequest, "holon/logStream with follow works only on a streaming connection: send it on POST /rpc/stream")
	}
	ring := h.api.Logs
	from := max(1, ring.Next()-int64(n))
	if p.FromPosition != nil {
		from = *p.FromPosition
	}
	r := HolonLogStreamResult{StreamID: "log_" + uuid.NewString(), Logs: []LogLine{}}
	lines, next := ring.From(from, n)
	bytes := 0
	for i, l := range lines {
		if bytes += len(l.Message) + 80; bytes > maxPageBytes {
			next = lines[i].Position
			break
		}
		r.Logs = append(r.Logs, logLine(l))
	}
	r.NextPosition = next
	if p.Follow {
		return r, conn.Follow(r.StreamID, next)
	}
	return r, nil
}

func logLine(l logring.Line) LogLine {
	return LogLine{Level: l.Level, Time: notify.TimeOf(l.Time), Message: l.Message}
}

// HolonLogStreamStopParams are the params of holon/logStream/stop.
type HolonLogStreamStopParams struct {
	StreamID string `json:"stream_id"`
	Extra
}

// HolonLogStreamStopResult answers holon/logStream/stop. Stopped is false if
// nothing followed under this id on the connection.
type HolonLogStreamStopResult struct {
	Stopped bool `json:"stopped"`
}

// HolonLogStreamStop answers holon/logStream/stop.
func (h *Handlers) HolonLogStreamStop(ctx context.Context, p HolonLogStreamStopParams) (HolonLogStreamStopResult, error) {
	conn := connOf(ctx)
	return HolonLogStreamStopResult{Stopped: conn != nil && conn.Unfollow(p.StreamID)}, nil
}
