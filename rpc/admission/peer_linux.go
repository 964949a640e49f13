package admission

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpEstablished is TCP_ESTABLISHED of include/net/tcp_states.h.
const tcpEstablished = 1

// peerIsServerUser returns nil if the other end of the connection is a socket
// of the user this process acts as, else why that is not certain.
func peerIsServerUser(c net.Conn) error {
	switch c := c.(type) {
	case *net.TCPConn:
		return tcpPeerIsServerUser(c)
	case *net.UnixConn:
		return unixPeerIsServerUser(c)
	}
	return fmt.Errorf("connection of unknown type %T", c)
}

// tcpPeerIsServerUser asks the kernel for the one socket whose local address
// is our remote one and the reverse, then makes sure that our own end is still
// established. The second step matters: a peer can send a request, reset the
// connection and leave its port to the next program, whose socket would then
// be found instead. As long as our end is established no other socket can have
// become the peer of this pair of addresses.
func tcpPeerIsServerUser(c *net.TCPConn) error {
	local, okLocal := loopbackAddr(c.LocalAddr())
	remote, okRemote := loopbackAddr(c.RemoteAddr())
	if !okLocal || !okRemote {
		return errors.New("not a connection within loopback")
	}
	found, err := findTCP(remote, local)
	if err != nil {
		return err
	}
	if err := found.belongsTo(os.Geteuid()); err != nil {
		return err
	}
	return stillEstablished(c)
}

func loopbackAddr(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	ap := tcp.AddrPort()
	ip := ap.Addr().Unmap()
	return netip.AddrPortFrom(ip, ap.Port()), ip.IsLoopback() && ip.Zone() == ""
}

// belongsTo is the rule for an entry of the kernel's table. Listening and
// half-closed sockets are not the peer of a living connection, an entry
// without inode has no owner any more (its uid reads 0), and the overflow uid
// stands for every user that this user namespace cannot name.
func (s tcpSocket) belongsTo(euid int) error {
	switch {
	case s.state != tcpEstablished:
		return fmt.Errorf("the peer's socket is in state %d", s.state)
	case s.inode == 0:
		return errors.New("the peer's socket has no owner")
	}
	return sameUser(s.uid, euid)
}

func sameUser(uid uint32, euid int) error {
	overflow, err := overflowUID()
	if err != nil {
		return err
	}
	if uid == overflow || int64(uid) != int64(euid) {
		return errors.New("the peer is another user")
	}
	return nil
}

// overflowUID is what the kernel reports for users it cannot name here. It is
// a setting, so it is read each time; without it every uid is in doubt.
func overflowUID() (uint32, error) {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	return uint32(n), err
}

func stillEstablished(c *net.TCPConn) error {
	var info *unix.TCPInfo
	err := onFD(c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	if err != nil {
		return err
	}
	if info.State != tcpEstablished {
		return fmt.Errorf("our socket is in state %d", info.State)
	}
	return nil
}

// unixPeerIsServerUser compares the credentials the kernel stored when the
// peer connected; they do not change when it closes or hands the socket on.
func unixPeerIsServerUser(c *net.UnixConn) error {
	var cred *unix.Ucred
	err := onFD(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return err
	}
	return sameUser(cred.Uid, os.Geteuid())
}

func onFD(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
