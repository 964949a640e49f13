package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
	"github.com/seed82539d15/holon/notify"
)

// threadLog writes a log in which the events of so many threads alternate.
func threadLog(b testing.TB, s *Store, threads, events int) (ids []string) {
	makers := make([]*persisttest.Maker, threads)
	for i := range makers {
		ids = append(ids, fmt.Sprintf("thread_0193a1b2-0000-7000-8000-%012d", i))
		makers[i] = persisttest.NewMaker(b, s, ids[i]).Start()
		makers[i].Commit()
	}
	for range events / threads / 10 {
		for _, m := range makers {
			m.Messages("", 10, benchSize)
			m.Commit()
		}
	}
	return ids
}

// replayAll reads the log with a cursor as a stream does, and returns the CPU
// that it took.
func replayAll(b testing.TB, s *Store, f notify.Filter) (cpu time.Duration, frames int) {
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	c := notify.NewCursor(notify.NewTail(1, s.Tail().Head()), s.reader, f, 0)
	for c.After() < s.Tail().Head() {
		chunk, err := c.Next(context.Background(), 0)
		if err != nil {
			b.Fatal(err)
		}
		frames += bytes.Count(chunk, []byte{'\n'})
	}
	return used() - began, frames
}

// BenchmarkReplayOfThreads compares the CPU of a stream over 100 threads with
// that of one over the whole log, in pairs: where these are all threads of the
// log, half of them, and one in twenty.
func BenchmarkReplayOfThreads(b *testing.B) {
	for _, of := range []int{100, 200, 2000} {
		b.Run(fmt.Sprintf("of %d", of), func(b *testing.B) {
			s := running(b, Options{Dir: b.TempDir(), Normal: true})
			ids := threadLog(b, s, of, 100_000)[:100]
			var ratio float64
			rounds := 0
			for b.Loop() {
				all, n := replayAll(b, s, notify.Filter{})
				some, m := replayAll(b, s, notify.Filter{ThreadIDs: ids})
				ratio += (some.Seconds() / float64(m)) / (all.Seconds() / float64(n))
				rounds++
			}
			b.ReportMetric(ratio/float64(rounds), "ratio/event")
		})
	}
}
