package rpc

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/seed82539d15/holon/persist/persisttest"
)

// unread opens streams from the beginning of a log of 20 MiB and reads none of
// them. It returns by how many bytes the process has grown once none of them
// writes any more. The client's half adds little: one socket per stream.
func unread(t testing.TB, streams int) (grown int64) {
	r, store := stored(t, 1)
	r.server.limits.WriteTimeoutSeconds = 3600
	m := persisttest.NewMaker(t, store, "thread_a").Start()
	m.Attempt("turn_a")
	for range 20 {
		m.Messages("turn_a", 500, 2000)
		m.Commit()
	}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = r.http.Serve(l) }()
	before := bytesInUse()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
		_ = l.Close()
		<-done
	}()
	for range streams {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		if _, err := io.WriteString(c, "GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	for last, still, deadline := "", 0, time.Now().Add(5*time.Minute); still < 20; time.Sleep(50 * time.Millisecond) {
		n, at := 0, int64(0)
		r.server.streams.each(func(o *outlet) { n, at = n+1, at+o.at.Load() })
		if now := fmt.Sprint(n, at, r.server.pages.Used()); now != last || n < streams {
			last, still = now, 0
		} else {
			still++
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d streams have begun", n, streams)
		}
	}
	return bytesInUse() - before
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
	grown := unread(t, streams)
	if most := int64(32<<20 + streams*each); grown > most {
		t.Fatalf("%d streams that do not read take %d KiB, at most %d KiB are wanted", streams, grown>>10, most>>10)
	}
}

// BenchmarkStreamsThatDoNotRead measures the memory of 5,000 of them.
func BenchmarkStreamsThatDoNotRead(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(unread(b, 5000))/(1<<20), "MiB")
	}
}
