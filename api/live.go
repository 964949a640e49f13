package api

import "github.com/seed82539d15/holon/notify"

// The notifications of one connection, which are not in the log.

// StreamOpened is the body of stream/opened, the first thing on a stream.
// AsOfSeq is as in StreamSubscribeResult.
type StreamOpened struct {
	LogID            string   `json:"log_id"`
	AfterSeq         int64    `json:"after_seq"`
	LatestSeq        int64    `json:"latest_seq"`
	FirstSeq         int64    `json:"first_seq"`
	ProtocolVersion  string   `json:"protocol_version"`
	Server           PeerInfo `json:"server"`
	HeartbeatSeconds float64  `json:"heartbeat_seconds"`
	AsOfSeq          *int64   `json:"as_of_seq,omitzero"`
}

// StreamHeartbeat is the body of stream/heartbeat. Seq is a valid cursor.
type StreamHeartbeat struct {
	Seq int64 `json:"seq"`
}

// StreamClosing is the body of stream/closing, the last thing on a stream.
type StreamClosing struct {
	Code         string `json:"code"`
	Reason       string `json:"reason"`
	Reconnect    bool   `json:"reconnect"`
	RetryAfterMs int64  `json:"retry_after_ms"`
	Seq          int64  `json:"seq"`
}

// HolonLog is the body of holon/log: one line for a holon/logStream with
// follow. Positions that are missing were lost: the reader was slower than the
// log.
type HolonLog struct {
	StreamID string      `json:"stream_id"`
	Position int64       `json:"position"`
	Level    string      `json:"level"`
	Time     notify.Time `json:"time"`
	Message  string      `json:"message"`
}

// The codes of stream/closing.
const (
	CloseStopping   = "server_stopping"
	CloseInputEnded = "input_ended"
	CloseExpired    = "cursor_expired"
	CloseInternal   = "internal"
)
