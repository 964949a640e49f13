package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within bounds waits for what must come; it is long, for busy machines.
const within = time.Minute

// rig is a relay between a test's client and a test's server.
type rig struct {
	t      *testing.T
	stdin  *io.PipeWriter
	stdout chan string
	ended  chan error
	conns  chan *conn
	stop   context.CancelFunc
	// gone is what an attempt to connect again gets, nil if it may connect.
	gone func(attempt int, err error) error
}

// conn is one connection as the server sees it.
type conn struct {
	rig      *rig
	requests *bufio.Scanner
	w        *io.PipeWriter
	after    string // where the URL says that the stream begins
	lines    chan string
	refuse   chan error
}

// Bridge implements Server: the test decides when it answers.
func (g *rig) Bridge(ctx context.Context, requests io.Reader, query url.Values) (io.ReadCloser, error) {
	body, w := io.Pipe()
	c := &conn{rig: g, after: query.Get("after_seq"), requests: bufio.NewScanner(requests), w: w, lines: make(chan string, 100), refuse: make(chan error)}
	c.requests.Buffer(nil, 128<<20)
	go func() {
		for c.requests.Scan() {
			if line := c.requests.Text(); line != "" { // a slow test is knocked at
				c.lines <- line
			}
		}
		close(c.lines)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	select {
	case g.conns <- c:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case err := <-c.refuse:
		if err != nil {
			return nil, err
		}
		return body, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Call implements Server: it says where the log is, before the first connection.
func (g *rig) Call(_ context.Context, method string, _, result any) error {
	if method != "initialize" {
		return fmt.Errorf("%s is asked for", method)
	}
	return json.Unmarshal([]byte(`{"log_id":"L","latest_seq":4}`), result)
}

// AwaitReconnect implements Server without waiting.
func (g *rig) AwaitReconnect(ctx context.Context, attempt int, err error) error {
	if g.gone != nil {
		if err := g.gone(attempt, err); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func start(t *testing.T) *rig {
	t.Helper()
	in, stdin := io.Pipe()
	out, stdout := io.Pipe()
	g := &rig{t: t, stdin: stdin, stdout: make(chan string, 1000), ended: make(chan error, 1), conns: make(chan *conn)}
	ctx, cancel := context.WithCancel(t.Context())
	g.stop = cancel
	go func() {
		defer close(g.stdout)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 128<<20)
		for lines.Scan() {
			g.stdout <- lines.Text()
		}
	}()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		err := Run(ctx, g, in, stdout)
		g.ended <- err
		stdout.Close()
	}()
	t.Cleanup(func() { cancel(); stdin.Close(); <-finished; out.Close() })
	return g
}

// write writes lines of the client.
func (g *rig) write(lines ...string) {
	g.t.Helper()
	if _, err := io.WriteString(g.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		g.t.Fatal(err)
	}
}

// reads expects the next lines of stdout.
func (g *rig) reads(want ...string) {
	g.t.Helper()
	for _, w := range want {
		if got := await(g.t, g.stdout, w); got != w {
			g.t.Fatalf("stdout has %q, want %q", got, w)
		}
	}
}

// accept answers the next connection.
func (g *rig) accept() *conn {
	g.t.Helper()
	c := await(g.t, g.conns, "a connection")
	c.refuse <- nil
	return c
}

// refuse refuses the next connection.
func (g *rig) refuse(err error) {
	g.t.Helper()
	await(g.t, g.conns, "a connection").refuse <- err
}

// ends expects the end of the command.
func (g *rig) ends(want string) {
	g.t.Helper()
	err := await(g.t, g.ended, "the end")
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		g.t.Fatalf("it ended with %v, want %q", err, want)
	}
}

// silent expects that nothing further was passed on; the command has ended.
func (g *rig) silent() {
	g.t.Helper()
	for line := range g.stdout {
		g.t.Errorf("further: %s", line)
	}
}

func await[T any](t *testing.T, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(within):
		t.Fatalf("never: %s", what)
	}
	return got
}

// gets expects the next lines of the client.
func (c *conn) gets(want ...string) {
	c.rig.t.Helper()
	for _, w := range want {
		if got := await(c.rig.t, c.lines, w); got != w {
			c.rig.t.Fatalf("the server got %q, want %q", got, w)
		}
	}
}

// getsOwn expects the relay's own request and returns its id. In want the id is ID.
func (c *conn) getsOwn(want string) (id string) {
	c.rig.t.Helper()
	line := await(c.rig.t, c.lines, want)
	var m struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.rig.t.Fatalf("%s: %v", line, err)
	}
	if got := strings.Replace(line, string(m.ID), "ID", 1); got != want {
		c.rig.t.Fatalf("the server got %q, want %q", got, want)
	}
	return string(m.ID)
}

// inputEnds expects the end of the requests.
func (c *conn) inputEnds() {
	c.rig.t.Helper()
	select {
	case line, more := <-c.lines:
		if more {
			c.rig.t.Fatalf("the server got %q, want the end", line)
		}
	case <-time.After(within):
		c.rig.t.Fatal("never: the end of the requests")
	}
}

// sends writes lines of the server.
func (c *conn) sends(lines ...string) {
	c.rig.t.Helper()
	if _, err := io.WriteString(c.w, strings.Join(lines, "\n")+"\n"); err != nil {
		c.rig.t.Fatal(err)
	}
}

// passes sends lines and expects them at the client.
func (c *conn) passes(lines ...string) {
	c.rig.t.Helper()
	c.sends(lines...)
	c.rig.reads(lines...)
}

// cut ends the connection as a proxy does, after a part of a line.
func (c *conn) cut(part string) {
	c.rig.t.Helper()
	_, _ = io.WriteString(c.w, part) // it may be cut already
	c.w.CloseWithError(errCut)
}

var errCut = errors.New("the connection was reset")

func opened(seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"stream/opened","params":{"log_id":"L","after_seq":%d,"latest_seq":%d}}`, seq, seq)
}

func event(seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"turn/started","params":{"seq":%d,"thread_id":"t"}}`, seq)
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func result(id, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func unknown(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the connection was lost before the answer came: the request may have taken effect or not","data":{"kind":"outcome_unknown","retryable":false,"method":%q}}}`, id, method)
}

// resumes accepts a connection that goes on after a seq, with further params of
// stream/subscribe, and answers.
func (g *rig) resumes(after int, more string) *conn {
	g.t.Helper()
	c := g.accept()
	c.sends(opened(99), event(100)) // it begins with events from now on, which are not wanted yet
	id := c.getsOwn(request("ID", subscribe, fmt.Sprintf(`{"after_seq":%d%s}`, after, more)))
	c.sends(event(101), result(id, `{"after_seq":0,"latest_seq":0}`))
	return c
}
