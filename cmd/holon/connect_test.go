package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/seed82539d15/holon/rpc/client"
	"github.com/seed82539d15/holon/rpc/frame"
)

func TestConnectEndsWhenAllIsAnswered(t *testing.T) {
	s := startServer(t)
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"thread/start","params":{"thread_id":"t"}}`,
		`{"jsonrpc":"2.0","id":"two","method":"turn/start","params":{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"/sleep 60000"}]}]}}`,
		``,
		`no json`,
		`{"jsonrpc":"2.0","method":"holon/status"}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`[{"jsonrpc":"2.0","id":5,"method":"holon/status"},{"jsonrpc":"2.0","method":"holon/status"}]`,
		`[{"jsonrpc":"2.0","method":"holon/status"}]`,
		`{"id":7,"method":"holon/status"}`,
		`{"jsonrpc":"2.0","id":8,"method":"nope"}`,
		`{"jsonrpc":"2.0","method":"thread/start","params":{"thread_id":"last"}}`,
	}, "\n") // the last line without its end counts too
	r := holon(t, s.data, input, "connect")
	if r.code != exitOK || r.err != "" {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	for _, want := range []string{`"id":1,"result"`, `"id":"two","result"`, `"id":null,"error"`, `[{"jsonrpc":"2.0","id":5`, `"id":7,"error"`, `"id":8,"error"`, `"method":"thread/started"`, `"method":"stream/opened"`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %s in:\n%s", want, r.out)
		}
	}
	if read := s.want("call", "thread/read", `{"thread_id":"last"}`); !strings.Contains(read, `"running"`) {
		t.Errorf("the notification before the end was lost: %s", read)
	}
	if r := holon(t, s.data, "", "connect", "-o", "json"); r.code != exitUsage {
		t.Errorf("-o json: %+v", r)
	}
}

func TestConnectTellsWhyTheServerLeft(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/rpc" {
			fmt.Fprintln(w, `{"jsonrpc":"2.0","id":1,"result":{"log_id":"L","latest_seq":0}}`)
			return
		}
		control := http.NewResponseController(w)
		if err := control.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		fmt.Fprintln(w, `{"jsonrpc":"2.0","method":"stream/closing","params":{"code":"draining","reason":"server stopping","reconnect":true}}`)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	r := holon(t, t.TempDir(), `{"jsonrpc":"2.0","id":1,"method":"x"}`, "connect", "--url", server.URL)
	if r.code != exitFailed || !strings.Contains(r.err, "server stopping [draining]") {
		t.Errorf("%+v", r)
	}
}

// Every library for LSP begins a message with a header.
func TestConnectSaysWhatIsSpokenToAClientOfLSP(t *testing.T) {
	s := startServer(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
	message := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	r := holon(t, s.data, message+message, "connect")
	if strings.Count(r.err, frame.NotFramed) != 1 || strings.Count(r.out, frame.NotFramed) != 1 {
		t.Errorf("stderr %q, stdout %q", r.err, r.out)
	}
	for _, tc := range []struct {
		in    string
		notes int
	}{{message, 1}, {"content-length:5\n", 1}, {body + "\n" + message, 0}, {"Content", 0}, {"", 0}} {
		notes := 0
		f := &framingNotice{in: iotest.OneByteReader(strings.NewReader(tc.in)), note: func(string, ...any) { notes++ }}
		if read, err := io.ReadAll(f); err != nil || string(read) != tc.in || notes != tc.notes {
			t.Errorf("%q: %q, %v, %d notes, want %d", tc.in, read, err, notes, tc.notes)
		}
	}
}

// cutter passes connections on to a server and cuts them.
type cutter struct {
	net.Listener
	to string

	mu    sync.Mutex
	shut  bool // connections are closed at once
	conns []net.Conn
}

// cutting returns a cutter before the server, until the test ends.
func (s *server) cutting() *cutter {
	s.t.Helper()
	known := client.New(client.Discover(s.data))
	defer known.Close()
	endpoint, err := known.Endpoint()
	if err != nil {
		s.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	c := &cutter{Listener: l, to: strings.TrimPrefix(endpoint.URL, "http://")}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { c.pass(near) })
		}
	})
	s.t.Cleanup(func() { l.Close(); c.cut(); passing.Wait() })
	return c
}

func (c *cutter) pass(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer far.Close()
	c.mu.Lock()
	if c.shut {
		c.mu.Unlock()
		return
	}
	c.conns = append(c.conns, near, far)
	c.mu.Unlock()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() { _, _ = io.Copy(way[0], way[1]); done <- struct{}{} }()
	}
	<-done
	near.Close()
	far.Close()
	<-done
}

// cut cuts all connections, and lets none through until open.
func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

func (c *cutter) open() { c.mu.Lock(); c.shut = false; c.mu.Unlock() }

// A client of holon connect gets every event once, and every answer, over a connection
// that is cut: what happened meanwhile, too.
func TestConnectGoesOnAfterACut(t *testing.T) {
	s := startServer(t)
	c := s.cutting()
	var out buffer
	in, stdin := io.Pipe()
	g := &globals{console: console{in: in, out: &out, err: io.Discard, environ: []string{"XDG_CONFIG_HOME=" + t.TempDir()}}}
	ended := make(chan int, 1)
	go func() { ended <- execute(t.Context(), g, []string{"connect", "--url", "http://" + c.Addr().String()}) }()
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(stdin, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(text string) {
		t.Helper()
		eventually(t, text, func() bool { return strings.Contains(out.String(), text) })
	}
	write(`{"jsonrpc":"2.0","id":1,"method":"stream/subscribe","params":{"after_seq":0,"thread_ids":["a","b"]}}`)
	shows(`"id":1,"result"`)
	for i, thread := range []string{"a", "b"} {
		c.cut()
		s.want("call", "thread/start", fmt.Sprintf(`{"thread_id":%q}`, thread))
		s.want("call", "thread/start", `{"thread_id":"other"}`)
		write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"k%d","method":"thread/pause","params":{"thread_id":%q,"idempotency_key":%[2]q}}`, i, thread))
		c.open()
		shows(fmt.Sprintf(`"id":"k%d","result"`, i))
		shows(fmt.Sprintf(`"seq":%d`, s.events()[len(s.events())-1].Seq))
	}
	stdin.Close()
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d", code)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if event, err := client.ParseEvent([]byte(line)); err == nil && !strings.HasPrefix(event.Method, "stream/") {
			got = append(got, event.ThreadID+" "+event.Method)
		}
	}
	if want := []string{"a thread/started", "a thread/paused", "b thread/started", "b thread/paused"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if n := strings.Count(out.String(), `"result"`); n != 3 {
		t.Errorf("%d answers:\n%s", n, out.String())
	}
}
