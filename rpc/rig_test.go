package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/api/logring"
)

const testLogID = "log-1"

func TestMain(m *testing.M) {
	// A connection that net/http cuts early lingers 500 ms, longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// rig is a server on a socket, with a memory behind it.
type rig struct {
	t      testing.TB
	memory *memory
	engine *fakeEngine
	server *Server
	http   *http.Server
	url    string
	client *http.Client
	pipes  *pipes // in a bubble: see inBubble
}

func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	return newRigWith(t, newMemory(0), change...)
}

// newRigWith is newRig with the test's own memory.
func newRigWith(t testing.TB, m *memory, change ...func(*Config)) *rig {
	t.Helper()
	return newRigOn(t, loopback(t), m, change...)
}

func newRigOn(t testing.TB, l net.Listener, m *memory, change ...func(*Config)) *rig {
	t.Helper()
	e := &fakeEngine{t: t, memory: m}
	cfg := Config{Services: api.Services{Engine: e, Children: e, Reader: m, LogID: testLogID, Version: "test", Logs: logring.New(100)}, Tail: m.tail}
	for _, c := range change {
		c(&cfg)
	}
	cfg.Reader, cfg.Tail = m, m.tail
	r := serveOn(t, cfg, l)
	r.memory, r.engine = m, e
	return r
}

// serve is a server on a socket with the services of cfg.
func serve(t testing.TB, cfg Config) *rig {
	t.Helper()
	return serveOn(t, cfg, loopback(t))
}

func loopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serveOn(t testing.TB, cfg Config, l net.Listener) *rig {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, server: s, url: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{MaxIdleConns: 1000}}}
	r.http = s.HTTPServer(s.Handler(), nil)
	done := make(chan struct{})
	go func() { defer close(done); _ = r.http.Serve(s.Listener(l)) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = s.Close(ctx, Closing{Code: api.CloseStopping, Reason: "test over"})
		r.client.CloseIdleConnections()
		_ = r.http.Close()
		<-done
	})
	return r
}

// post sends one body to POST /rpc.
func (r *rig) post(body string) (status int, answer string) {
	r.t.Helper()
	resp, err := r.client.Post(r.url+"/rpc", "application/json", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSuffix(string(b), "\n")
}

// stream is a client of a stream.
type stream struct {
	t     testing.TB
	resp  *http.Response
	in    *io.PipeWriter
	lines chan string
	done  chan struct{}
}

// open opens a stream; method POST gives a two-way one.
func (r *rig) open(method, path string, header ...string) *stream {
	r.t.Helper()
	var body io.Reader
	st := &stream{t: r.t, lines: make(chan string, 100_000), done: make(chan struct{})}
	if method == http.MethodPost {
		var pr *io.PipeReader
		pr, st.in = io.Pipe()
		body = pr
	}
	req, err := http.NewRequest(method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	st.resp, err = r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(st.close)
	go func() {
		defer close(st.done)
		defer close(st.lines)
		br := bufio.NewReader(st.resp.Body)
		for {
			line, err := br.ReadString('\n')
			if line != "" {
				st.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return st
}

func (st *stream) close() {
	if st.in != nil {
		_ = st.in.Close()
	}
	_ = st.resp.Body.Close()
	<-st.done
}

func (st *stream) send(lines ...string) {
	st.t.Helper()
	if _, err := io.WriteString(st.in, strings.Join(lines, "\n")+"\n"); err != nil {
		st.t.Fatal(err)
	}
}

// next returns the next line, or "" at the end of the stream.
func (st *stream) next() string {
	st.t.Helper()
	select {
	case line := <-st.lines:
		return line
	case <-time.After(20 * time.Second):
		st.t.Fatal("nothing came")
		return ""
	}
}

// message is any line of a stream.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Seq      int64  `json:"seq"`
		ThreadID string `json:"thread_id"`
		AfterSeq int64  `json:"after_seq"`
		Code     string `json:"code"`
		Message  string `json:"message"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *api.Error      `json:"error"`
}

func parse(t testing.TB, line string) message {
	t.Helper()
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("line %.200q: %v", line, err)
	}
	return m
}

func (st *stream) message() message { st.t.Helper(); return parse(st.t, st.next()) }

// expect reads a line and compares its method or, for an answer, its id. On a
// slow machine a heartbeat may come between.
func (st *stream) expect(what string) message {
	st.t.Helper()
	line := st.next()
	m := parse(st.t, line)
	for m.Method == "stream/heartbeat" && what != m.Method {
		line = st.next()
		m = parse(st.t, line)
	}
	got := m.Method
	if got == "" {
		got = "#" + string(m.ID)
	}
	if got != what {
		st.t.Fatalf("got %s, want %s: %.300s", got, what, line)
	}
	return m
}

// quiet checks that nothing more comes for a while.
func (st *stream) quiet() {
	st.t.Helper()
	select {
	case line, ok := <-st.lines:
		if ok {
			st.t.Fatalf("unexpected %.300s", line)
		}
	case <-time.After(50 * time.Millisecond):
	}
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func kindOf(t testing.TB, answer string) api.Kind {
	t.Helper()
	m := parse(t, answer)
	if m.Error == nil {
		return ""
	}
	return m.Error.Data.Kind
}
