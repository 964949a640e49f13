package dispatch

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
	"github.com/seed82539d15/holon/internal/test/persisttest"
)

// BenchmarkDeliver is what a delivery costs from the event to the receipt, with a
// target that takes no time: 64 subscriptions of 8 bridges, one thread each.
func BenchmarkDeliver(b *testing.B) {
	w := newWorld(b, b.TempDir())
	defer w.close()
	var got atomic.Int64
	done := make(chan struct{}, 1)
	w.target.answer = func(*bridges.Outgoing, int) bridges.Result {
		if got.Add(1) == int64(b.N/64*64) {
			done <- struct{}{}
		}
		return bridges.Result{Outcome: bridges.Delivered}
	}
	var makers []*persisttest.Maker
	for i := range 8 {
		w.bridge(fmt.Sprint("b", i))
	}
	for i := range 64 {
		m := w.thread(fmt.Sprint("t", i))
		makers = append(makers, m)
		w.subscribe(fmt.Sprint("s", i), fmt.Sprint("b", i%8), fmt.Sprint("t", i))
	}
	time.Sleep(time.Second)
	b.ResetTimer()
	for n := range b.N / 64 {
		for i, m := range makers {
			id := fmt.Sprint("turn", i, "/", n)
			m.Attempt(id)
			m.EndTurn(id)
		}
		if n%16 == 15 || n == b.N/64-1 {
			for _, m := range makers {
				m.Commit()
			}
		}
	}
	if b.N >= 64 {
		<-done
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
