// Package ingest is what arrives for inboxes in measurements: items, webhooks,
// and floods of both, which run as a process of their own.
package ingest

import (
	"encoding/json"
	"strings"
)

// Item is an item of inbox/ingest.
type Item struct {
	Source   string         `json:"source"`
	NativeID string         `json:"native_id"`
	Summary  string         `json:"summary"`
	Payload  map[string]any `json:"payload"`
	Grouping *Grouping      `json:"grouping,omitempty"`
}

// Grouping says which digest takes an item.
type Grouping struct {
	ResourceRef string `json:"resource_ref"`
	EventFamily string `json:"event_family"`
	Flush       string `json:"flush,omitempty"`
}

// NewItem makes an item with so many bytes of text. It is grouped if ref is not
// empty.
func NewItem(native, ref string, size int) Item {
	it := Item{
		Source: "bench", NativeID: native, Summary: "a comment by ann",
		Payload: map[string]any{"sender": map[string]any{"login": "ann"}, "text": strings.Repeat("x", size)},
	}
	if ref != "" {
		it.Grouping = &Grouping{ResourceRef: ref, EventFamily: "review_comments"}
	}
	return it
}

// AnswersOnly is the target of a two-way stream of which only answers are wanted:
// the filter leaves out the events of inboxes.
const AnswersOnly = "/rpc/stream?method=holon/paused"

// Line encodes a request as a line, whose id is that of its connection.
func Line(id int, method string, params any) ([]byte, error) {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return append(raw, '\n'), err
}
