package follow

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
)

func benchWorld(b *testing.B, idle int) *world {
	w := newWorld(b, b.TempDir(), 0)
	b.Cleanup(w.close)
	for i := range idle {
		interest := Interest{Threads: []string{fmt.Sprint("thread_01a1fd6b-63f8-7f1c-8c86-", i)}, Methods: []string{notify.TurnCompleted, notify.TurnFailed}}
		if i%2 == 0 {
			interest = Interest{All: true, Methods: []string{"holon/*"}}
		}
		if _, err := w.d.Add(context.Background(), Follower{Name: fmt.Sprint(i), Interest: interest, Handle: (&seen{}).handle}); err != nil {
			b.Fatal(err)
		}
	}
	w.run()
	return w
}

// BenchmarkIdleFollowers holds what an event costs from its commit until the
// dispatcher has passed it, compared with that with 10,000 followers that do not want
// it. Both take turns, so that what else the machine does is the same for both.
// ratio is the rate with them by the rate without.
func BenchmarkIdleFollowers(b *testing.B) {
	const unit, turn = 10, 1000
	var worlds [2]*world
	var makers [2]*persisttest.Maker
	var used [2][]float64 // per event, in each turn
	for i, idle := range [...]int{0, 10_000} {
		worlds[i] = benchWorld(b, idle)
		makers[i] = persisttest.NewMaker(b, worlds[i].store, "busy").Start()
		makers[i].Commit()
	}
	b.ResetTimer()
	for n := 0; n < b.N; n += turn {
		for k := range worlds {
			i := (k + n/turn) % 2
			began := cpu()
			for range turn / unit {
				makers[i].Messages("", unit, 100)
				makers[i].Commit()
			}
			worlds[i].passed(b)
			used[i] = append(used[i], float64(cpu()-began)/turn)
		}
	}
	median := func(list []float64) float64 { slices.Sort(list); return list[len(list)/2] }
	alone, beside := median(used[0]), median(used[1])
	b.ReportMetric(alone, "cpu-ns/event-alone")
	b.ReportMetric(beside, "cpu-ns/event-beside")
	b.ReportMetric(alone/beside, "ratio")
}

// cpu is the processor time that this process has used.
func cpu() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for wrong arguments only
	return u.Utime.Nano() + u.Stime.Nano()
}

// passed waits until the dispatcher is at the head.
func (w *world) passed(b *testing.B) {
	head := w.store.Tail().Head()
	for {
		w.d.mu.Lock()
		at := w.d.at
		w.d.mu.Unlock()
		if at >= head {
			return
		}
		runtime.Gosched()
	}
}

// BenchmarkDispatch is the dispatcher's part of that alone.
func BenchmarkDispatch(b *testing.B) {
	for _, idle := range []int{1, 10_000} {
		b.Run(fmt.Sprint("idle=", idle), func(b *testing.B) {
			b.ReportAllocs()
			w := benchWorld(b, idle)
			b.ResetTimer()
			for b.Loop() {
				w.d.event(1, "thread_01a1fd6b-63f8-7f1c-8c86-4e982f287184", notify.ItemDelta)
			}
		})
	}
}
