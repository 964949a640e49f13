package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/turns"
)

// A server that may have few descriptors keeps some for what is no connection: it refuses
// further ones, and answers probes, runs agents and stops as ever.
func TestFewDescriptorsAreSharedOut(t *testing.T) {
	s := stopBed{&builds{server: &server{t: t, data: t.TempDir()}, binary: build(t, t.TempDir(), "./cmd/holon")}}
	s.process = startProcess(t, []string{"XDG_CONFIG_HOME=" + t.TempDir()}, "sh", "-c", `ulimit -n 64; exec "$0" "$@"`,
		s.binary, "serve", "--data", s.data, "--listen", "127.0.0.1:0", "--agent", "true=exec:true")
	c := client.New(client.Discover(s.data))
	defer c.Close()
	eventually(t, "the server is ready", func() bool { return c.Ready(t.Context()) == nil })
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	var conns []net.Conn
	get := func(path string) *http.Response {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(record.URLs[0], "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return resp
	}
	count := map[int]int{}
	for range 60 {
		resp := get("/rpc/stream")
		if count[resp.StatusCode]++; resp.StatusCode == http.StatusOK {
			continue
		}
		var body struct {
			Error struct{ Data struct{ Kind string } }
		}
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || resp.StatusCode != http.StatusServiceUnavailable || body.Error.Data.Kind != client.KindOverloaded || !resp.Close {
			t.Fatalf("%d %+v, %v", resp.StatusCode, body, err)
		}
	}
	if n := count[http.StatusOK]; n < 16 || n > 64-32 {
		t.Errorf("%v", count)
	}
	for _, probe := range []string{"/healthz", "/readyz", "/metrics"} {
		if resp := get(probe); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", probe, resp.StatusCode)
		}
	}
	// With one connection less a turn is started, beside all others.
	conns[0].Close()
	var turn string
	eventually(t, "there is room for a connection", func() bool {
		var r struct {
			TurnID string `json:"turn_id"`
		}
		if err := c.Call(t.Context(), "thread/start", map[string]any{"thread_id": "a", "agent": "true"}, nil); err != nil {
			return false
		}
		if err := c.Call(t.Context(), "turn/start", map[string]any{"thread_id": "a", "input": userInput("hello")}, &r); err != nil {
			t.Fatal(err)
		}
		turn = r.TurnID
		return true
	})
	var read struct {
		Turn *turns.Turn `json:"turn"`
	}
	eventually(t, "the turn ends", func() bool {
		if err := c.Call(t.Context(), "turn/read", map[string]any{"turn_id": turn}, &read); err != nil {
			t.Fatal(err)
		}
		return read.Turn.State.Ended()
	})
	if read.Turn.State != turns.Completed {
		t.Errorf("beside %d streams a turn ends %s: %v", count[http.StatusOK]-1, read.Turn.State, read.Turn.Error)
	}
	if err := s.process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exited(t, s.process)
	if code := s.process.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %v", s.process.cmd.ProcessState)
	}
}
