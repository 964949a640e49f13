package client

import (
	"encoding/json"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Event is one notification of a stream. Line and Params are the received bytes
// and belong to the receiver.
type Event struct {
	Method string
	// Seq is the position in the log; 0 for a notification that is not in the
	// log (holon/log, the announcement of a default thread).
	Seq int64
	// ThreadSeq is the position within the thread; 0 for events of no thread.
	ThreadSeq int64
	ThreadID  string
	TurnID    string
	ItemID    string
	// Time is params.timestamp, zero if absent.
	Time   time.Time
	Params json.RawMessage
	// Line is the whole notification as received, without the line's end.
	Line []byte
}

// message is any line a server may send on a stream.
type message struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Error  jsontext.Value `json:"error"`
}

// eventHead is what the client reads of an event's params.
type eventHead struct {
	Seq       int64  `json:"seq"`
	ThreadSeq int64  `json:"thread_seq"`
	ThreadID  string `json:"thread_id"`
	TurnID    string `json:"turn_id"`
	ItemID    string `json:"item_id"`
	Timestamp string `json:"timestamp"`
}

// lenient matches keys exactly, but accepts duplicates and invalid bytes: they
// are no reason to lose an event of a foreign server.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// ParseEvent reads one notification line. The Event refers to line's bytes.
func ParseEvent(line []byte) (Event, error) {
	var m message
	if err := jsonv2.Unmarshal(line, &m, lenient); err != nil {
		return Event{}, fmt.Errorf("read notification: %w", err)
	}
	if m.Method == "" {
		return Event{}, fmt.Errorf("read notification: %.80q has no method", line)
	}
	return newEvent(m, line)
}

// newEvent reads the head of a notification's params. The Event refers to
// line's bytes.
func newEvent(m message, line []byte) (Event, error) {
	var head eventHead
	if len(m.Params) > 0 {
		if err := jsonv2.Unmarshal(m.Params, &head, lenient); err != nil {
			return Event{}, fmt.Errorf("read params of %s: %w", m.Method, err)
		}
	}
	event := Event{
		Method: m.Method, Seq: head.Seq, ThreadSeq: head.ThreadSeq, ThreadID: head.ThreadID,
		TurnID: head.TurnID, ItemID: head.ItemID, Params: json.RawMessage(m.Params), Line: line,
	}
	if at, err := time.Parse(time.RFC3339, head.Timestamp); err == nil {
		event.Time = at
	}
	return event, nil
}
