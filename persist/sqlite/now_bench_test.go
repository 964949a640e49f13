package sqlite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// BenchmarkNow reads the summaries of 50 threads, each of which has written 2,000 deltas
// of a message: while nothing happens, and while they all write, 5,000 deltas a second in
// all.
func BenchmarkNow(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	var ids []string
	var makers []*persisttest.Maker
	say := func(i, n int) {
		for range n {
			makers[i].Delta(fmt.Sprint("turn_", i), fmt.Sprint("item_", i), "a few words ", 0)
		}
		makers[i].Commit()
	}
	for i := range 50 {
		ids = append(ids, fmt.Sprintf("thread_0193a1b2-0000-7000-8000-%012d", i))
		makers = append(makers, persisttest.NewMaker(b, s, ids[i]).Start())
		makers[i].Attempt(fmt.Sprint("turn_", i))
		makers[i].Create(fmt.Sprint("turn_", i), fmt.Sprint("item_", i), items.StatusInProgress, items.NewAgentMessage(""))
		say(i, 2000)
	}
	read := func(b *testing.B) (took []time.Duration) {
		for b.Loop() {
			began := time.Now()
			l, err := s.reader.Summaries(context.Background(), turns.SummaryQuery{Query: threads.Query{IDs: ids}})
			if err != nil || len(l.Rows) != 50 || len(l.Rows[7].Summary.Text) < turns.MaxSummaryText {
				b.Fatalf("%d rows, %v", len(l.Rows), err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		return took
	}
	b.Run("quiet", func(b *testing.B) { read(b) })
	b.Run("busy", func(b *testing.B) {
		stop, done, wrote := make(chan struct{}), make(chan struct{}), 0
		go func() {
			defer close(done)
			tick := time.NewTicker(10 * time.Millisecond) // 50 deltas
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-tick.C:
					say(i%50, 50)
					wrote += 50
				}
			}
		}()
		began := time.Now()
		read(b)
		close(stop)
		<-done
		b.ReportMetric(float64(wrote)/time.Since(began).Seconds(), "deltas/s")
	})
}
