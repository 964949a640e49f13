//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// goroutines asks the profiles' socket how many there are.
func (s *server) goroutines(t testing.TB) (n int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.pprof)
		},
		DisableKeepAlives: true,
	}}
	res, err := client.Get("http://localhost/debug/pprof/goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := fmt.Fscanf(res.Body, "goroutine profile: total %d", &n); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return n
}

// Clients that connect, subscribe and are cut, thousands of times, on each
// kind of stream: nothing of them stays (I7).
func TestConnectAndCutLeavesNothing(t *testing.T) {
	cycles := either(500, 10_000)
	p := newTestbed(t)
	s := p.start(t)
	s.must(t, "thread/start", object{"thread_id": "a"})
	s.must(t, "turn/start", turn("a", "/items 200 500"))
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	requests := []string{
		"GET /rpc/stream HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /rpc/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /events?after_seq=0 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
		"POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n43\r\n" +
			`{"jsonrpc":"2.0","id":1,"method":"stream/subscribe","params":{}}` + "  \n\r\n",
		"POST /rpc/stream HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{", // cut in a frame
	}
	cut := func(n int) {
		var next atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := next.Add(1); i <= int64(n); i = next.Add(1) {
					if err := connectAndCut(p, requests[i%int64(len(requests))]); err != nil {
						t.Errorf("cycle %d: %v", i, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	cut(50) // what is made once
	s.client.CloseIdleConnections()
	// At rest there is the least of both.
	goroutines, fds := s.goroutines(t), s.fds()
	least := func() {
		goroutines, fds = min(goroutines, s.goroutines(t)), min(fds, s.fds())
	}
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		least()
	}
	before, fdsBefore := goroutines, fds
	began := time.Now()
	cut(cycles)
	took := time.Since(began)
	goroutines, fds = s.goroutines(t), s.fds()
	for deadline := time.Now().Add(startWithin); (goroutines > before || fds > fdsBefore) && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		least()
	}
	t.Logf("%d cycles in %v: goroutines %d to %d, descriptors %d to %d", cycles, took.Round(time.Millisecond), before, goroutines, fdsBefore, fds)
	if goroutines > before || fds > fdsBefore {
		t.Errorf("%d cycles left %d goroutines and %d descriptors", cycles, goroutines-before, fds-fdsBefore)
	}
	if streams := s.metric(t, "holon_connections"); streams > 2 {
		t.Errorf("%v connections are counted", streams)
	}
	s.stop(t)
}

func connectAndCut(p *testbed, request string) error {
	conn, err := net.Dial("unix", p.socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(callWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return err
	}
	head := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, head); err != nil {
		return err
	}
	if string(head) != "HTTP/1.1 200" {
		return fmt.Errorf("answered %q", head)
	}
	return nil
}
