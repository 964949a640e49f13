package fold

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/notify"
)

// BenchmarkParseAndApply is the cost of one delta from its bytes to the view.
// B/op is what the view keeps of it plus what parsing takes.
func BenchmarkParseAndApply(b *testing.B) {
	v := New(Options{})
	open := Event{Seq: 1, Method: notify.ItemCreated, TurnID: "turn", ItemID: "item", Lineage: []Ref{{Step: "", Epoch: 1}},
		Body: Body{Status: "in_progress", Content: jsontext.Value(`{"type":"reasoning","text":""}`)}}
	v.Apply(&open)
	b.ReportAllocs()
	for seq := int64(2); b.Loop(); seq++ {
		e, err := Parse(notify.ItemDelta, fmt.Appendf(nil, `{"seq":%d,"thread_seq":%d,"thread_id":"thread","turn_id":"turn","attempt":1,"step":"","epoch":1,"lineage":[{"step":"","epoch":1}],"timestamp":"2026-11-21T10:00:00.000Z","item_id":"item","type":"delta","delta":{"text":"word "},"offset":%d}`, seq, seq, 5*(seq-2)))
		if err != nil {
			b.Fatal(err)
		}
		if v.Apply(&e).Kind != Joined {
			b.Fatal("it has not joined")
		}
	}
}

// BenchmarkRewind is the cost of one marker that supersedes 100,000 events.
func BenchmarkRewind(b *testing.B) {
	const n = 100_000
	v := New(Options{})
	seq := int64(0)
	for epoch := 1; b.Loop(); epoch++ {
		b.StopTimer()
		v.Forget("turn")
		refs := []Ref{{Step: "", Epoch: epoch}}
		for range n {
			seq++
			v.Apply(&Event{Seq: seq, Method: notify.TurnProgress, TurnID: "turn", Lineage: refs})
		}
		seq++
		b.StartTimer()
		if c := v.Apply(&Event{Seq: seq, Method: notify.StreamRewind, TurnID: "turn", Body: Body{NewEpoch: epoch + 1}}); len(c.Superseded) != n {
			b.Fatalf("%d events are superseded", len(c.Superseded))
		}
	}
}
