package rpc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/turns"
)

// BenchmarkCollapse replays a thread of 100,000 events, half of them
// superseded, with collapse and without, in five interleaved pairs. Both count
// the scanned events: the whole log.
func BenchmarkCollapse(b *testing.B) {
	const events, pairs = 100_000, 5
	for _, where := range []struct {
		name  string
		tail  int
		query string
	}{{"log", 1, ""}, {"thread", 1, "&thread_id=thread_a"}, {"tail", 1 << 30, ""}} {
		b.Run(where.name, func(b *testing.B) {
			r, store := stored(b, where.tail)
			m := persisttest.NewMaker(b, store, "thread_a").Start()
			const turn = "turn_a"
			for range 2 {
				if m.Turns[turn] != nil {
					m.Rewind(turn, "", turns.CauseCrash)
					m.Commit()
				}
				m.Attempt(turn)
				m.Begin(turn, "setup")
				m.Begin(turn, "setup/clone")
				for range 20 {
					m.Messages(turn, events/40, 100)
					m.Commit()
				}
			}
			m.Create("", items.NewID(), items.StatusCompleted, items.NewAgentMessage("the end of it"))
			head := m.Commit().Last
			replay := func(collapse string) time.Duration {
				began := time.Now()
				readUntil(b, strings.TrimPrefix(r.url, "http://"), "/rpc/stream?after_seq=0"+where.query+collapse, fmt.Sprintf(`{"seq":%d,`, head))
				return time.Since(began)
			}
			replay("")
			var ratios, rates, plains []float64
			for b.Loop() {
				for range pairs {
					plain, collapsed := replay(""), replay("&collapse=superseded")
					ratios = append(ratios, plain.Seconds()/collapsed.Seconds())
					rates = append(rates, float64(head)/collapsed.Seconds())
					plains = append(plains, float64(head)/plain.Seconds())
				}
			}
			b.ReportMetric(median(rates), "scanned/s")
			b.ReportMetric(median(plains), "plain/s")
			b.ReportMetric(median(ratios), "ratio")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// readUntil reads a stream by hand up to the line that has the mark.
func readUntil(b *testing.B, address, path, mark string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		b.Fatal(err)
	}
	br := bufio.NewReaderSize(c, 256<<10)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewReaderSize(resp.Body, 256<<10); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if strings.Contains(string(line[:min(len(line), 120)]), mark) {
			return
		}
	}
}
