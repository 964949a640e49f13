package sqlite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
)

// BenchmarkSummaryPages reads a log of ten threads in the pages of a stream of
// summaries: 100,000 events, of which 99 in 100 are item/delta. With one thread whole a
// tenth of them comes.
func BenchmarkSummaryPages(b *testing.B) {
	s := running(b, Options{Dir: b.TempDir(), Normal: true})
	makers := make([]*persisttest.Maker, 10)
	for i := range makers {
		makers[i] = persisttest.NewMaker(b, s, fmt.Sprintf("thread_0193a1b2-0000-7000-8000-%012d", i)).Start()
		makers[i].Commit()
	}
	for n := range 100 {
		for i, m := range makers {
			item := fmt.Sprintf("item_%d_%d", i, n)
			m.Create("", item, items.StatusInProgress, items.NewAgentMessage(""))
			for d := range 99 {
				m.Delta("", item, "a few words of text, as agents say them", 40*d)
			}
			m.Commit()
		}
	}
	for _, c := range []struct {
		name  string
		whole []string
	}{{"none whole", nil}, {"another whole", []string{"thread_none"}}, {"one whole", []string{"thread_0193a1b2-0000-7000-8000-000000000003"}}} {
		b.Run(c.name, func(b *testing.B) {
			events, began := 0, time.Now()
			for b.Loop() {
				events = 0
				for after, more := int64(0), true; more; {
					p, err := s.reader.Page(context.Background(), notify.Query{After: after, Summary: true, Whole: c.whole, MaxEvents: 1000, MaxBytes: 1 << 20})
					if err != nil {
						b.Fatal(err)
					}
					events += len(p.Events)
					after, more = p.Scanned, p.More
				}
			}
			b.ReportMetric(float64(time.Since(began).Milliseconds())/float64(b.N), "ms/log")
			b.ReportMetric(float64(events), "events")
		})
	}
}
