package rpc

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/persisttest"
)

// unread opens streams from the beginning of a log of 20 MB, in events of a size,
// and reads none of them. It returns by how many bytes the process has grown once
// none of them writes any more. The client's half adds little: one socket per stream.
func unread(t testing.TB, streams, size int) (grown int64) {
	r, store := stored(t, 1)
	r.server.limits.WriteTimeoutSeconds = 3600
	m := persisttest.NewMaker(t, store, "thread_a").Start()
	m.Attempt("turn_a")
	for range 20 {
		m.Messages("turn_a", 1_000_000/size, size)
		m.Commit()
	}
	dial := r.unix()
	before := bytesInUse()
	for range streams {
		replay(t, dial())
	}
	begun := 0
	for last, still, deadline := "", 0, time.Now().Add(5*time.Minute); still < 20; time.Sleep(50 * time.Millisecond) {
		n, at := 0, int64(0)
		r.server.streams.each(func(o *outlet) { n, at = n+1, at+o.at.Load() })
		begun = max(begun, n)
		if now := fmt.Sprint(n, at, r.server.chunks.Used()); now != last || begun < streams {
			last, still = now, 0
		} else {
			still++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d streams have begun", begun, streams)
		}
	}
	return bytesInUse() - before
}

// unix serves the rig on a unix socket too, whose buffers are small. It returns a
// function that connects to it.
func (r *rig) unix() (dial func() net.Conn) {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		r.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = r.http.Serve(l) }()
	r.t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return func() net.Conn {
		c, err := net.Dial("unix", path)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = c.Close() })
		return c
	}
}

// replay asks for the whole log.
func replay(t testing.TB, c net.Conn) {
	t.Helper()
	if _, err := io.WriteString(c, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
}

// bytesInUse is the size of the heap and all stacks.
func bytesInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestStreamsThatDoNotReadShareABudget(t *testing.T) {
	const streams, each = 300, 96 << 10
	grown := unread(t, streams, 2000)
	if most := int64(32<<20 + streams*each); grown > most {
		t.Fatalf("%d streams that do not read take %d KiB, at most %d KiB are wanted", streams, grown>>10, most>>10)
	}
}

// BenchmarkStreamsThatDoNotRead measures the memory of 5,000 of them, and of
// 1,000 over events of 500 kB.
func BenchmarkStreamsThatDoNotRead(b *testing.B) {
	for _, c := range []struct {
		name          string
		streams, size int
	}{{"usual", 5000, 2000}, {"large", 1000, 500_000}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(unread(b, c.streams, c.size))/(1<<20), "MiB")
			}
		})
	}
}
