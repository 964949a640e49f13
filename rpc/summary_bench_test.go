package rpc

import (
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// BenchmarkSummary is what streams cost beside 5,000 deltas a second, which come in a
// hundred commits, with 20 items of 4 KiB: processor time for each stream and second,
// without that of a server that has no stream. Clients read in the same process and
// look at nothing. The ratio is that of a stream with the query to a normal one.
func BenchmarkSummary(b *testing.B) {
	const streams, seconds = 50, 2
	r := newRigWith(b, newMemory(4<<20))
	r.family("thread_a", "")
	for b.Loop() {
		costs := map[string]time.Duration{}
		for _, query := range []string{"none", "", "content=summary", "content=summary&whole_thread_id=thread_b", "content=summary&whole_thread_id=thread_a", "thread_id=thread_a", "within_thread_id=thread_a", "within_thread_id=thread_a&content=summary"} {
			var open []net.Conn
			for range streams {
				if query != "none" {
					open = append(open, r.reader(b, "/rpc/stream?"+query))
				}
			}
			before := processorTime(b)
			for range seconds {
				r.secondOfDeltas()
			}
			costs[query] = processorTime(b) - before
			for _, c := range open {
				_ = c.Close()
			}
		}
		normal := costs[""] - costs["none"]
		for query, cost := range costs {
			if query != "none" {
				name := strings.NewReplacer("=", ":", "&", "+", "whole_thread_id=thread_b", "other_whole", "_thread_id=thread_a", "", "thread_id=thread_a", "thread").Replace("/" + query)
				b.ReportMetric(float64(cost-costs["none"])/float64(time.Microsecond)/streams/seconds, "µs/stream/s"+name)
				b.ReportMetric(float64(cost-costs["none"])/float64(normal), "ratio"+name)
			}
		}
	}
}

// reader opens a stream and reads it until it is closed.
func (r *rig) reader(b *testing.B, path string) net.Conn {
	c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	go func() {
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
	}()
	return c
}

// secondOfDeltas publishes for a second.
func (r *rig) secondOfDeltas() {
	content, _ := items.Encode(items.ToolCall{Type: items.KindToolCall, Title: "Run the tests", Output: strings.Repeat("o", 4<<10)})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 100 {
		seq := r.memory.tail.Head()
		events := make([]notify.Event, 0, 51)
		add := func(method, body string) {
			seq++
			events = append(events, notify.Event{Seq: seq, ThreadID: "thread_a", Method: method, Params: fmt.Appendf(nil,
				`{"seq":%d,"thread_seq":%d,"thread_id":"thread_a","turn_id":"turn_a","attempt":1,"step":"","epoch":1,"lineage":[{"step":"","epoch":1}],"timestamp":"2026-11-23T10:00:00.000Z","item_id":"item_a",%s}`, seq, seq, body)})
		}
		for range 50 {
			add(notify.ItemDelta, `"type":"delta","delta":{"text":"`+strings.Repeat("x", 40)+`"},"offset":100`)
		}
		if i%5 == 0 {
			add(notify.ItemUpdated, `"type":"updated","status":"completed","content":`+string(content))
		}
		r.memory.tail.Publish(events)
		<-tick.C
	}
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
