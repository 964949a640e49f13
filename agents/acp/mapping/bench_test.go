package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// BenchmarkTextChunk maps one piece of a message, the most frequent update.
func BenchmarkTextChunk(b *testing.B) {
	raw := jsontext.Value(`{"sessionUpdate":"agent_message_chunk","messageId":"0190c2a8-6f4e-7000-8000-000000000001","content":{"type":"text","text":"and so the next few words "}}`)
	for _, keepRaw := range []bool{false, true} {
		b.Run(fmt.Sprintf("keep_raw=%v", keepRaw), func(b *testing.B) {
			s := New(Options{KeepRaw: keepRaw})
			s.Begin(0)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				s.Update(raw)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

// BenchmarkOutputSentWhole maps the whole output of a command, sent again each
// time as it grows to 64 KiB.
func BenchmarkOutputSentWhole(b *testing.B) {
	var updates []jsontext.Value
	for n := 1; n <= 64; n++ {
		text := strings.Repeat(strings.Repeat("x", 63)+`\n`, 16*n)
		updates = append(updates, jsontext.Value(`{"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"`+text+`"}}]}`))
	}
	b.ReportAllocs()
	for b.Loop() {
		s := New(Options{})
		for _, u := range updates {
			s.Update(u)
		}
	}
	b.ReportMetric(float64(b.N*len(updates))/b.Elapsed().Seconds(), "updates/s")
}

// BenchmarkOutputStreamed maps a piece of a command's output.
func BenchmarkOutputStreamed(b *testing.B) {
	s := New(Options{})
	s.Update(jsontext.Value(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"make","kind":"execute","rawInput":{"command":"make"}}`))
	raw := jsontext.Value(`{"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output":{"terminal_id":"c","data":"cc -c -o a.o a.c\n"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		s.Update(raw)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
}
