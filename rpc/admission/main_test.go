package admission

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// programs are the programs that the tests start as another user.
var programs = map[string]func(arg string) error{}

func TestMain(m *testing.M) {
	hosttest.Main(programs)
	// A connection that net/http cuts early lingers 500 ms, longer than goleak waits.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

const testTokenText = "test-token-0123456789abcdefghijklmnopqrstuv"

func testToken(t testing.TB) Token {
	t.Helper()
	tok, err := ParseToken(testTokenText)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// guarded is a real server behind a gate. Its handler counts admitted requests.
type guarded struct {
	gate *Gate
	addr net.Addr
	in   atomic.Int64
}

func serveGuarded(t *testing.T, l net.Listener, p Policy) *guarded {
	t.Helper()
	return serveBehind(t, l, p, (*Gate).Middleware)
}

// serveBehind serves behind one of the gate's middlewares.
func serveBehind(t *testing.T, l net.Listener, p Policy, middleware func(*Gate, http.Handler) http.Handler) *guarded {
	t.Helper()
	if p.Token.IsZero() {
		p.Token = testToken(t)
	}
	gate, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	g := &guarded{gate: gate, addr: l.Addr()}
	srv := &http.Server{
		Handler: middleware(gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.in.Add(1)
			_, _ = io.WriteString(w, "in")
		})),
		ConnContext:                  gate.ConnContext,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            10 * time.Second,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	return g
}

func loopbackListener(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serveLoopback(t *testing.T, p Policy) *guarded {
	t.Helper()
	p.Kind, p.Listen = LoopbackTCP, "127.0.0.1:0"
	return serveGuarded(t, loopbackListener(t, "tcp", "127.0.0.1:0"), p)
}

type answer struct {
	status int
	header http.Header
	body   string
	raw    string // everything that came, as it came
}

// ask sends raw bytes, in which a bare LF becomes CRLF and PORT the server's
// port, and reads one answer.
func (g *guarded) ask(t *testing.T, raw string) answer {
	t.Helper()
	c, err := net.Dial(g.addr.Network(), g.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	return askOn(t, c, raw)
}

func askOn(t *testing.T, c net.Conn, raw string) answer {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		raw = strings.ReplaceAll(raw, "PORT", fmt.Sprint(tcp.Port))
	}
	if _, err := io.WriteString(c, strings.ReplaceAll(raw, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(c, &seen)), &http.Request{Method: strings.Fields(raw)[0]})
	if err != nil {
		t.Fatalf("no answer to %q: %v", raw, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body), raw: seen.String()}
}
