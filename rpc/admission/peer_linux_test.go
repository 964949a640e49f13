package admission

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

func init() { programs["ask"] = childAsk }

// childAsk sends one request without a token and prints the status. A path may follow the
// address.
func childAsk(at string) error {
	network, addr, _ := strings.Cut(at, " ")
	addr, path, given := strings.Cut(addr, " ")
	if !given {
		path = "/rpc"
	}
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	fmt.Println("status", resp.StatusCode)
	return resp.Body.Close()
}

// childAs sends the request as another user and returns the output.
func childAs(t *testing.T, uid uint32, at string) string {
	t.Helper()
	out, err := hosttest.Command(hosttest.AsUser(uid), "ask", at).CombinedOutput()
	if err != nil {
		t.Fatalf("ask %s: %v: %s", at, err, out)
	}
	return strings.TrimSpace(string(out))
}

const plainRequest = "GET /rpc HTTP/1.1\nHost: localhost:PORT\n\n"

func TestOwnUserNeedsNoTokenOnLoopback(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "127.3.2.1:0", "[::1]:0"} {
		t.Run(listen, func(t *testing.T) {
			l, err := net.Listen("tcp", listen)
			if err != nil {
				t.Skipf("NOT TESTED: no such address here: %v", err)
			}
			g := serveGuarded(t, l, Policy{Mode: Auto, Kind: LoopbackTCP})
			if a := g.ask(t, plainRequest); a.status != 200 || g.in.Load() != 1 {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
}

// The whole request, and the end of the client's half, are there before the server
// accepts the connection.
func TestOwnUserThatHasHalfClosedNeedsNoToken(t *testing.T) {
	l := loopbackListener(t, "tcp", "127.0.0.1:0")
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /rpc HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	g := serveGuarded(t, l, Policy{Mode: Auto, Kind: LoopbackTCP})
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || g.in.Load() != 1 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Whose connection it is cannot be asked without a descriptor. A client that was told that
// its token is missing would not try again.
func TestOwnUserIsAskedToWaitWhileThereAreNoDescriptors(t *testing.T) {
	g := serveGuarded(t, loopbackListener(t, "tcp", "127.0.0.1:0"), Policy{Mode: Auto, Kind: LoopbackTCP})
	c, err := net.Dial("tcp", g.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	r := bufio.NewReader(c)
	ask := func(path string) (int, string) {
		t.Helper()
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, body := ask("/healthz"); status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	status, body := ask("/rpc")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if status != 503 || !strings.Contains(body, `"code":-32001`) || !strings.Contains(body, `"kind":"overloaded","retryable":true,"retry_after_ms":1000,"reason":"peer_unknown"`) {
		t.Errorf("status %d: %s", status, body)
	}
	if status, body := ask("/rpc"); status != 200 {
		t.Errorf("with descriptors again: status %d: %s", status, body)
	}
}

func TestOtherUserOnTCPIsNotLetIn(t *testing.T) {
	hosttest.NeedRoot(t)
	g := serveLoopback(t, Policy{Mode: Auto})
	if got := childAs(t, hosttest.OtherUID, "tcp "+g.addr.String()); got != "status 401" {
		t.Errorf("another user got %q", got)
	}
	if n := g.in.Load(); n != 0 {
		t.Errorf("%d let in", n)
	}
	// The same program as the server's own user: the test would notice a server that refuses all.
	if got := childAs(t, 0, "tcp "+g.addr.String()); got != "status 200" {
		t.Errorf("the own user got %q", got)
	}
}

// The files of the console are for everybody; what it asks for is not.
func TestOtherUserGetsFilesAndNoData(t *testing.T) {
	hosttest.NeedRoot(t)
	g := serveBehind(t, loopbackListener(t, "tcp", "127.0.0.1:0"), Policy{Mode: Auto, Kind: LoopbackTCP}, func(gate *Gate, next http.Handler) http.Handler {
		files, data := gate.Static(next), gate.Middleware(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				files.ServeHTTP(w, r)
				return
			}
			data.ServeHTTP(w, r)
		})
	})
	for path, want := range map[string]string{"/": "status 200", "/rpc": "status 401", "/../rpc": "status 401", "//": "status 401"} {
		if got := childAs(t, hosttest.OtherUID, "tcp "+g.addr.String()+" "+path); got != want {
			t.Errorf("another user got %q at %s, want %s", got, path, want)
		}
	}
	if n := g.in.Load(); n != 1 {
		t.Errorf("%d let in, want the one for the file", n)
	}
}

func TestOtherUserOnUnixSocketIsNotLetIn(t *testing.T) {
	hosttest.NeedRoot(t)
	dir, err := os.MkdirTemp("", "holon-admission-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	g := serveGuarded(t, l, Policy{Mode: Auto, Kind: Unix})
	if got := childAs(t, hosttest.OtherUID, "unix "+path); !strings.Contains(got, "permission denied") {
		t.Errorf("another user got %q from a socket of mode 0600", got)
	}
	if got := childAs(t, 0, "unix "+path); got != "status 200" {
		t.Errorf("the own user got %q", got)
	}
	// Even if the file's mode admits other users, the check of the peer refuses
	// them.
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := childAs(t, hosttest.OtherUID, "unix "+path); got != "status 401" {
		t.Errorf("another user got %q from an open socket", got)
	}
	if n := g.in.Load(); n != 1 {
		t.Errorf("%d let in, want the own user's one", n)
	}
}

func TestPeersAreKnownHere(t *testing.T) {
	if err := PeersAreKnown(); err != nil {
		t.Error(err)
	}
}

func TestServerWithoutTheHookAsksForTheToken(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: Auto})
	rec := recordRequest(t, g.gate, "GET", "/rpc", "localhost")
	if rec.Code != 401 {
		t.Errorf("status %d", rec.Code)
	}
}

func TestConnectionsThatCannotBeUnwrappedAreNobody(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	for _, c := range []net.Conn{endlessWrapper{a}, a} {
		if own, err := (&peer{conn: c}).isServerUser(); own || err != nil {
			t.Errorf("own user: %v, %v", own, err)
		}
	}
}

type endlessWrapper struct{ net.Conn }

func (w endlessWrapper) NetConn() net.Conn { return w }
