package dispatch

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/bridges"
)

// BenchmarkIdleSubscriptions is what 10,000 subscriptions of all threads cost that choose
// none of the events: their creation, a start of the server, and a marker, which
// followers see whatever they choose.
func BenchmarkIdleSubscriptions(b *testing.B) {
	const idle = 10_000
	w := newWorld(b, b.TempDir())
	defer w.close()
	w.bridge("b")
	began := time.Now()
	for i := range idle {
		w.subscribe(fmt.Sprint("s", i), "b", "", bridges.OnInbox)
	}
	created := time.Since(began)
	w.stop()
	began = time.Now()
	w.open()
	opened := time.Since(began)
	m := w.thread("a")
	turn(m, "t")
	all := w.s.known.all()
	b.ResetTimer()
	used := cpuTime()
	for range b.N {
		seq := retry(m, "t")
		for _, l := range all { // each has passed it
			for l.follower.Status().Position < seq {
				runtime.Gosched()
			}
		}
	}
	b.ReportMetric(float64(cpuTime()-used)/float64(b.N)/1e6, "cpu-ms/marker")
	b.ReportMetric(float64(created.Microseconds())/idle, "µs/creation")
	b.ReportMetric(float64(opened.Milliseconds()), "ms/start")
}

// cpuTime is the processor time that this process has used.
func cpuTime() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments only
	return u.Utime.Nano() + u.Stime.Nano()
}
