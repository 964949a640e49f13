package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/seed82539d15/holon/internal/test/hosttest"
)

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
	if err := isOwn(server); err != nil {
		t.Error(err)
	}
}

// TestClientSocketOfFamilyIPv6ToAnIPv4Address has the kernel file an IPv4
// connection under an IPv6 socket on the client's side.
func TestClientSocketOfFamilyIPv6ToAnIPv4Address(t *testing.T) {
	l := listen(t, "tcp4", "127.0.0.1:0")
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
	if err := isOwn(server); err != nil {
		t.Error(err)
	}
}

// TestUsersThatCannotBeNamedAreUnknown runs a server as the overflow uid inside
// a user namespace. This process has no name there, so to the server it looks
// like the server's own user.
func TestUsersThatCannotBeNamedAreUnknown(t *testing.T) {
	hosttest.NeedRoot(t)
	overflow, err := overflowUID()
	if err != nil {
		t.Fatal(err)
	}
	id := int(overflow)
	attr := hosttest.AsUser(overflow)
	attr.Credential.NoSetGroups = true
	attr.Cloneflags = syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	verdict, err := dialChild(t, attr)
	if err != nil {
		hosttest.Need(t, "no server could be started in a user namespace: "+err.Error())
	}
	if want := fmt.Sprintf("server %d error the peer is a user without a name here", id); verdict != want {
		t.Errorf("%q, want %q", verdict, want)
	}
	verdict, err = dialChild(t, hosttest.AsUser(hosttest.OtherUID))
	if want := fmt.Sprintf("server %d peer 0", hosttest.OtherUID); err != nil || verdict != want {
		t.Errorf("root at another user's server: %q, want %q (%v)", verdict, want, err)
	}
}

// childAccept is a small server: it accepts one connection and prints what the
// kernel says about the peer.
func childAccept(string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	fmt.Println(l.Addr())
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(10 * time.Second))
	c, err := l.Accept()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	fmt.Print("server ", os.Geteuid(), " ")
	uid, err := PeerUID(c)
	if err == nil {
		fmt.Println("peer", uid)
	}
	return err
}

// dialChild connects to a child that runs childAccept and returns what it says.
func dialChild(t *testing.T, attr *syscall.SysProcAttr) (string, error) {
	t.Helper()
	child, err := hosttest.Start(t, attr, "accept", "")
	if err != nil {
		return "", err
	}
	addr, err := child.Line()
	if err != nil {
		return "", err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return "", errors.New(addr + err.Error())
	}
	defer func() { _ = c.Close() }()
	return child.Line()
}

func TestMain(m *testing.M) {
	hosttest.Main(map[string]func(string) error{"accept": childAccept})
	goleak.VerifyTestMain(m)
}

// isOwn returns nil if the other end is a socket of this user.
func isOwn(c net.Conn) error {
	uid, err := PeerUID(c)
	if err == nil && uid != uint32(os.Geteuid()) {
		err = fmt.Errorf("the peer is user %d", uid)
	}
	return err
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
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
		known bool
	}{
		{"a user", tcpSocket{state: tcpEstablished, uid: me, inode: 1}, true},
		{"root", tcpSocket{state: tcpEstablished, uid: 0, inode: 1}, true},
		{"no inode", tcpSocket{state: tcpEstablished, uid: me}, false},
		{"orphan that reads as root", tcpSocket{state: tcpEstablished, uid: 0}, false},
		{"overflow", tcpSocket{state: tcpEstablished, uid: overflow, inode: 1}, false},
		{"no uid", tcpSocket{state: tcpEstablished, uid: ^uint32(0), inode: 1}, false},
	}
	for state := range uint8(16) {
		open := state == tcpEstablished || state == tcpFinWait1 || state == tcpFinWait2
		for inode := range uint32(2) {
			cases = append(cases, struct {
				name  string
				s     tcpSocket
				known bool
			}{fmt.Sprint("state ", state, ", inode ", inode), tcpSocket{state: state, uid: me, inode: inode}, open && inode != 0})
		}
	}
	for _, c := range cases {
		if uid, err := c.s.user(); (err == nil) != c.known || err == nil && uid != c.s.uid {
			t.Errorf("%s: %d, %v, want known %v", c.name, uid, err, c.known)
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

// stateOf is the state of a socket of this process.
func stateOf(t *testing.T, c net.Conn) (state uint8) {
	t.Helper()
	if err := onFD(c.(*net.TCPConn), func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			state = info.State
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return state
}

func reset(c *net.TCPConn) error {
	_ = c.SetLinger(0)
	return c.Close()
}

func TestPeerThatHasGoneIsUnknown(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"closed": (*net.TCPConn).Close,
		"reset":  reset,
		"half closed, then closed": func(c *net.TCPConn) error {
			return errors.Join(c.CloseWrite(), c.Close())
		},
		"half closed, then reset": func(c *net.TCPConn) error {
			return errors.Join(c.CloseWrite(), reset(c))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := listen(t, "tcp", "127.0.0.1:0")
			defer func() { _ = l.Close() }()
			client, server := connect(t, l, &net.Dialer{}, l.Addr().String())
			defer func() { _, _ = client.Close(), server.Close() }()
			if err := isOwn(server); err != nil {
				t.Fatalf("while connected: %v", err)
			}
			if err := leave(client.(*net.TCPConn)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server's end has noticed", func() bool { return stateOf(t, server) != tcpEstablished })
			if isOwn(server) == nil {
				t.Error("known")
			}
		})
	}
}

// Programs such as nc -N send their requests, shut down their sending half and wait for
// the answers.
func TestPeerThatHasHalfClosedIsKnown(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	client, server := connect(t, l, &net.Dialer{}, l.Addr().String())
	defer func() { _, _ = client.Close(), server.Close() }()
	if err := client.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server's end has noticed", func() bool { return stateOf(t, server) == tcpCloseWait })
	if err := isOwn(server); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if isOwn(server) == nil {
		t.Error("it is known after its close")
	}
}

// TestPortThatChangedHandsIsUnknown is the race that a look-up alone loses: a
// client sends its request, leaves the connection, and a program of the
// server's user comes to use the same port before the server asks.
func TestPortThatChangedHandsIsUnknown(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"reset": reset,
		"half closed, then reset": func(c *net.TCPConn) error {
			return errors.Join(c.CloseWrite(), reset(c))
		},
		"closed, and forgotten by the kernel after a second": func(c *net.TCPConn) error {
			return errors.Join(onFD(c, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_LINGER2, 1) }), c.Close())
		},
	} {
		t.Run(name, func(t *testing.T) { portChangesHands(t, leave) })
	}
}

func portChangesHands(t *testing.T, leave func(*net.TCPConn) error) {
	l := listen(t, "tcp", "127.0.0.1:0")
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
		local, _ := loopbackAddr(first.LocalAddr())
		remote, _ := loopbackAddr(first.RemoteAddr())
		if err := leave(first.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the first socket is gone", func() bool {
			s, err := findTCP(local, remote)
			return err != nil || s.state != tcpFinWait1 && s.state != tcpFinWait2 && s.state != tcpEstablished
		})
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
	if s, err := findTCP(remote, local); err != nil || s.uid != uint32(os.Geteuid()) || s.state != tcpEstablished {
		t.Fatalf("the trap is not set: %+v, %v", s, err)
	}
	if isOwn(gone) == nil {
		t.Error("the connection that is gone is known under the new one's name")
	}
	if err := isOwn(here); err != nil {
		t.Errorf("the new connection: %v", err)
	}
}

func TestLookupIsExact(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
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

func TestUnknownConnectionsHaveNoUser(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	for _, c := range []net.Conn{a, nil, endlessWrapper{a}} {
		if _, err := PeerUID(c); err == nil {
			t.Errorf("%T is known", c)
		}
	}
}

// A client may look up a connection before its server has accepted it.
func TestConnectionThatIsNotAcceptedHasNoOwner(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if uid, err := PeerUID(client); !errors.Is(err, ErrNoUser) {
		t.Fatalf("user %d, %v", uid, err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	if err := isOwn(client); err != nil {
		t.Error(err)
	}
}

type endlessWrapper struct{ net.Conn }

func (w endlessWrapper) NetConn() net.Conn { return w }

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
		if err := isOwn(server); err != nil {
			b.Fatal(err)
		}
	}
}
