package notify

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkDraftEncode is the cost of encoding an event whose content is made:
// without a lineage, and with lineages of one and of three tries.
func BenchmarkDraftEncode(b *testing.B) {
	root := NewSpan("turn_01a1fd6b-63f8-7f1c-8c86-4e982f287184", "", 1, nil)
	clone := NewSpan(root.TurnID, "setup/clone", 2, NewSpan(root.TurnID, "setup", 1, root))
	b.Run("plain", func(b *testing.B) { benchEncode(b, nil) })
	b.Run("turn", func(b *testing.B) { benchEncode(b, root) })
	b.Run("step", func(b *testing.B) { benchEncode(b, clone) })
}

func benchEncode(b *testing.B, span *Span) {
	b.ReportAllocs()
	body := struct {
		ItemID  string         `json:"item_id"`
		Type    string         `json:"type"`
		Status  string         `json:"status"`
		Content jsontext.Value `json:"content"`
	}{
		"item_01a1fd6b-6409-7731-bcc8-0f5d69c21b43", "created", "completed",
		jsontext.Value(`{"type":"agent_message","role":"assistant","content":[{"type":"output_text","text":"a word or two"}]}`),
	}
	d := Draft{
		Method: ItemCreated, Body: &body,
		Header: Header{ThreadID: "thread_01a1fd6b-63f8-7f1c-8c86-4e982f287184", TurnID: "turn_01a1fd6b-63f8-7f1c-8c86-4e982f287184", Attempt: 1, Timestamp: TimeOf(time.Now())},
	}
	if span != nil {
		d.In(span)
	}
	for b.Loop() {
		if err := d.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
