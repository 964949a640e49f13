package admission

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

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

// TestListenerOfFamilyIPv6ForAnIPv4Address sees v4-mapped addresses, as a
// dual-stack listener does.
func TestListenerOfFamilyIPv6ForAnIPv4Address(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no IPv6 sockets here: %v", err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer func() { _ = f.Close() }()
	at := &unix.SockaddrInet6{Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0), unix.Bind(fd, at), unix.Listen(fd, 8)); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, server := connect(t, l, &net.Dialer{}, fmt.Sprint("127.0.0.1:", l.Addr().(*net.TCPAddr).Port))
	defer func() { _, _ = client.Close(), server.Close() }()
	if err := peerIsServerUser(server); err != nil {
		t.Error(err)
	}
}

// TestClientSocketOfFamilyIPv6ToAnIPv4Address has the kernel file an IPv4
// connection under an IPv6 socket on the client's side.
func TestClientSocketOfFamilyIPv6ToAnIPv4Address(t *testing.T) {
	l := loopbackListener(t, "tcp4", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("NOT TESTED: no IPv6 sockets here: %v", err)
	}
	defer func() { _ = unix.Close(fd) }()
	to := &unix.SockaddrInet6{Port: l.Addr().(*net.TCPAddr).Port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	if err := peerIsServerUser(server); err != nil {
		t.Error(err)
	}
}

func TestOtherUserOnTCPIsNotLetIn(t *testing.T) {
	needRoot(t)
	g := serveLoopback(t, Policy{Mode: Auto})
	if got := childAs(t, asUser(otherUID), "ask tcp "+g.addr.String()); got != "status 401" {
		t.Errorf("another user got %q", got)
	}
	if n := g.in.Load(); n != 0 {
		t.Errorf("%d let in", n)
	}
	// The same program as the server's own user: the test would notice a server that refuses all.
	if got := childAs(t, asUser(0), "ask tcp "+g.addr.String()); got != "status 200" {
		t.Errorf("the own user got %q", got)
	}
}

func TestOtherUserOnUnixSocketIsNotLetIn(t *testing.T) {
	needRoot(t)
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
	if got := childAs(t, asUser(otherUID), "ask unix "+path); !strings.Contains(got, "permission denied") {
		t.Errorf("another user got %q from a socket of mode 0600", got)
	}
	if got := childAs(t, asUser(0), "ask unix "+path); got != "status 200" {
		t.Errorf("the own user got %q", got)
	}
	// Even when the file's mode no longer keeps others away, their identity does.
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := childAs(t, asUser(otherUID), "ask unix "+path); got != "status 401" {
		t.Errorf("another user got %q from an open socket", got)
	}
	if n := g.in.Load(); n != 1 {
		t.Errorf("%d let in, want the own user's one", n)
	}
}

// TestUsersThatCannotBeNamedAreNobody runs a server as the overflow uid inside
// a user namespace: to it this process, which has no name in there, looks
// exactly like itself.
func TestUsersThatCannotBeNamedAreNobody(t *testing.T) {
	needRoot(t)
	overflow, err := overflowUID()
	if err != nil {
		t.Fatal(err)
	}
	id := int(overflow)
	attr := asUser(overflow)
	attr.Credential.NoSetGroups = true
	attr.Cloneflags = syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	verdict, err := dialChild(t, attr)
	if err != nil {
		needFault(t, "no server could be started in a user namespace: "+err.Error())
	}
	if want := fmt.Sprintf("peer %d server %d admitted false", id, id); verdict != want {
		t.Errorf("%q, want %q", verdict, want)
	}
	if got, want := mustDialChild(t, asUser(otherUID)), fmt.Sprintf("peer 0 server %d admitted false", otherUID); got != want {
		t.Errorf("root at another user's server: %q, want %q", got, want)
	}
}

func mustDialChild(t *testing.T, attr *syscall.SysProcAttr) string {
	t.Helper()
	verdict, err := dialChild(t, attr)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func TestRuleForTheKernelsEntry(t *testing.T) {
	overflow, err := overflowUID()
	if err != nil {
		t.Fatal(err)
	}
	const me = 1000
	cases := []struct {
		name  string
		s     tcpSocket
		euid  int
		admit bool
	}{
		{"own", tcpSocket{state: tcpEstablished, uid: me, inode: 1}, me, true},
		{"root's own", tcpSocket{state: tcpEstablished, uid: 0, inode: 1}, 0, true},
		{"another user", tcpSocket{state: tcpEstablished, uid: me + 1, inode: 1}, me, false},
		{"root is another user", tcpSocket{state: tcpEstablished, uid: 0, inode: 1}, me, false},
		{"no inode", tcpSocket{state: tcpEstablished, uid: me}, me, false},
		{"orphan that reads as root", tcpSocket{state: tcpEstablished, uid: 0}, 0, false},
		{"overflow", tcpSocket{state: tcpEstablished, uid: overflow, inode: 1}, int(overflow), false},
		{"no euid", tcpSocket{state: tcpEstablished, uid: ^uint32(0), inode: 1}, -1, false},
	}
	for state := range uint8(16) {
		if state != tcpEstablished {
			cases = append(cases, struct {
				name  string
				s     tcpSocket
				euid  int
				admit bool
			}{fmt.Sprint("state ", state), tcpSocket{state: state, uid: me, inode: 1}, me, false})
		}
	}
	for _, c := range cases {
		if err := c.s.belongsTo(c.euid); (err == nil) != c.admit {
			t.Errorf("%s: %v, want admitted %v", c.name, err, c.admit)
		}
	}
}

// connect makes one connection and returns both ends.
func connect(t *testing.T, l net.Listener, d *net.Dialer, addr string) (client, server net.Conn) {
	t.Helper()
	client, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestPeerThatIsLeavingIsNotLetIn(t *testing.T) {
	leave := map[string]func(*net.TCPConn) error{
		"half closed": (*net.TCPConn).CloseWrite,
		"closed":      (*net.TCPConn).Close,
		"reset": func(c *net.TCPConn) error {
			_ = c.SetLinger(0)
			return c.Close()
		},
	}
	for name, f := range leave {
		t.Run(name, func(t *testing.T) {
			l := loopbackListener(t, "tcp", "127.0.0.1:0")
			defer func() { _ = l.Close() }()
			client, server := connect(t, l, &net.Dialer{}, l.Addr().String())
			defer func() { _, _ = client.Close(), server.Close() }()
			if err := peerIsServerUser(server); err != nil {
				t.Fatalf("while connected: %v", err)
			}
			if err := f(client.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server's end has noticed", func() bool { return stillEstablished(server.(*net.TCPConn)) != nil })
			if peerIsServerUser(server) == nil {
				t.Error("let in")
			}
		})
	}
}

// TestPortThatChangedHandsIsNotLetIn is the race that a look-up alone loses: a
// client sends its request, resets the connection, and a program of the
// server's user comes to use the same port before the server asks.
func TestPortThatChangedHandsIsNotLetIn(t *testing.T) {
	l := loopbackListener(t, "tcp", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	reuse := func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
		})
	}
	var gone, second net.Conn
	for attempt := 1; second == nil; attempt++ {
		var first net.Conn
		first, gone = connect(t, l, &net.Dialer{Control: reuse}, l.Addr().String())
		_ = first.(*net.TCPConn).SetLinger(0)
		_ = first.Close()
		eventually(t, "the first connection is reset", func() bool { return stillEstablished(gone.(*net.TCPConn)) != nil })
		var err error
		second, err = (&net.Dialer{Control: reuse, LocalAddr: first.LocalAddr()}).Dial("tcp", l.Addr().String())
		if err != nil {
			// Another program of this machine was quicker to take the port.
			_ = gone.Close()
			if attempt == 20 {
				t.Fatal(err)
			}
		}
	}
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _, _ = gone.Close(), second.Close(), here.Close() }()

	local, _ := loopbackAddr(gone.LocalAddr())
	remote, _ := loopbackAddr(gone.RemoteAddr())
	if s, err := findTCP(remote, local); err != nil || s.belongsTo(os.Geteuid()) != nil {
		t.Fatalf("the trap is not set: %+v, %v", s, err)
	}
	if peerIsServerUser(gone) == nil {
		t.Error("the connection that is gone is let in under the new one's name")
	}
	if err := peerIsServerUser(here); err != nil {
		t.Errorf("the new connection: %v", err)
	}
}

func TestLookupIsExact(t *testing.T) {
	l := loopbackListener(t, "tcp", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	client, server := connect(t, l, &net.Dialer{}, l.Addr().String())
	defer func() { _, _ = client.Close(), server.Close() }()
	local, _ := loopbackAddr(client.LocalAddr())
	remote, _ := loopbackAddr(client.RemoteAddr())
	if s, err := findTCP(local, remote); err != nil || s.local != local || s.remote != remote || s.state != tcpEstablished || s.uid != uint32(os.Geteuid()) {
		t.Fatalf("%+v, %v", s, err)
	}
	// Same ports, other addresses: a dump filtered by ports would find it.
	elsewhere, ok := loopbackAddr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: int(local.Port())})
	if !ok {
		t.Fatal("127.0.0.2 is loopback")
	}
	if s, err := findTCP(elsewhere, remote); err == nil {
		t.Errorf("found %+v", s)
	}
	// A port on which somebody only listens: the kernel's fallback is not taken.
	if s, err := findTCP(remote, local); err != nil || s.state != tcpEstablished {
		t.Fatalf("%+v, %v", s, err)
	}
	if s, err := findTCP(remote, elsewhere); err == nil {
		t.Errorf("the listener was taken for a connection: %+v", s)
	}
}

func TestPeersAreKnownHere(t *testing.T) {
	if err := PeersAreKnown(); err != nil {
		t.Error(err)
	}
}

func TestUnknownConnectionsAreNobody(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	if peerIsServerUser(a) == nil || peerIsServerUser(nil) == nil {
		t.Error("let in")
	}
	if (&peer{conn: endlessWrapper{a}}).isServerUser() {
		t.Error("a connection that cannot be unwrapped is let in")
	}
}

type endlessWrapper struct{ net.Conn }

func (w endlessWrapper) NetConn() net.Conn { return w }

func TestServerWithoutTheHookAsksForTheToken(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: Auto})
	rec := recordRequest(t, g.gate, "GET", "/rpc", "localhost")
	if rec.Code != 401 {
		t.Errorf("status %d", rec.Code)
	}
}

func BenchmarkPeerLookup(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = client.Close(), server.Close() }()
	for b.Loop() {
		if err := peerIsServerUser(server); err != nil {
			b.Fatal(err)
		}
	}
}
