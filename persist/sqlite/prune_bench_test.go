package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
)

// pruneWrites is how often the client of BenchmarkPrune writes: it leaves the
// appender idle most of the time, as clients do.
const pruneWrites = 4 * time.Millisecond

// The log that prune is measured on: 64 threads whose events are interleaved,
// as those of busy threads are; every fourth event makes an item and the three
// after it are its deltas. An event has 600 bytes, an item 500.
const (
	pruneEvents = 1_000_000
	pruneLog    = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO events (seq, thread_seq, thread_id, item_id, method, time, params)
		SELECT i, i / 64 + 1, printf('thread_0193a1b2-0000-7000-8000-%012d', i / 4 % 64),
			CASE i % 4 WHEN 0 THEN NULL ELSE printf('item_0193a1b2-0000-7000-8000-%012d', i / 4) END,
			CASE i % 4 WHEN 0 THEN 'item/created' ELSE 'item/delta' END, i, zeroblob(600) FROM n`
)

// pruneItems makes the items of the log.
var pruneItems = `INSERT INTO items (` + strings.Join(items.Table.Columns, ", ") + `)
		SELECT seq, printf('item_0193a1b2-0000-7000-8000-%012d', seq / 4), thread_id, 'turn_' || seq / 4000, 1, 'agent_message', 'completed',
			0, 500, time, time, seq + 3, zeroblob(500), 0 FROM events WHERE method = 'item/created'`

// largeLog is a store with so many events.
func largeLog(b *testing.B, events int64) *Store {
	b.Helper()
	dir := b.TempDir()
	s, err := Open(Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	must(b, s.w.conn, pruneLog, events)
	must(b, s.w.conn, pruneItems)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return running(b, Options{Dir: dir})
}

// BenchmarkPrune removes nine tenths of a log while one client writes. It reports
// the latencies of the client's writes during the prune and, measured before,
// without it.
func BenchmarkPrune(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := largeLog(b, pruneEvents)
		m := persisttest.NewMaker(b, s, "thread_writer")
		m.Start().Commit()
		write := func(enough func(n int) bool) (took []time.Duration) {
			tick := time.NewTicker(pruneWrites)
			defer tick.Stop()
			for !enough(len(took)) {
				<-tick.C
				m.Messages("", 1, benchSize)
				began := time.Now()
				m.Commit()
				took = append(took, time.Since(began))
			}
			return took
		}
		alone := write(func(n int) bool { return n == 2000 })
		b.StartTimer()
		began := time.Now()
		pruned := make(chan time.Duration)
		go func() {
			p, err := s.Prune(context.Background(), pruneEvents*9/10)
			if err != nil || p.Removed != pruneEvents*9/10-1 {
				b.Errorf("pruned %+v, %v", p, err)
			}
			pruned <- time.Since(began)
		}()
		var whole time.Duration
		beside := write(func(int) bool {
			select {
			case whole = <-pruned:
				return true
			default:
				return false
			}
		})
		b.ReportMetric(float64(fileSize(s.reader.path+"-wal")>>20), "wal-MiB")
		b.ReportMetric(pruneEvents*9/10/whole.Seconds(), "events/s")
		b.ReportMetric(float64(len(beside))/whole.Seconds(), "writes/s")
		for name, list := range map[string][]time.Duration{"alone": alone, "beside": beside} {
			slices.Sort(list)
			b.ReportMetric(ms(list[len(list)/2]), "p50-"+name+"-ms")
			b.ReportMetric(ms(list[len(list)*99/100]), "p99-"+name+"-ms")
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
