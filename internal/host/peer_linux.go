package host

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

// States of include/net/tcp_states.h. A peer that has shut down its sending half is in
// FIN_WAIT1 and then in FIN_WAIT2; our end is then in CLOSE_WAIT.
const (
	tcpEstablished = 1
	tcpFinWait1    = 4
	tcpFinWait2    = 5
	tcpCloseWait   = 8
)

func peerUID(c net.Conn) (uint32, error) {
	switch c := c.(type) {
	case *net.TCPConn:
		return tcpPeerUID(c)
	case *net.UnixConn:
		return unixPeerUID(c)
	}
	return 0, fmt.Errorf("connection of unknown type %T", c)
}

// tcpPeerUID asks the kernel for the one socket whose local address is our remote
// one, and the reverse. Then it checks that our own end is still connected. The
// check is needed: a peer can send a request, reset the connection and leave its
// port to another program, whose socket would be found instead. While our end is
// established, or waits for its close, no other socket can be connected with this
// pair of addresses: our end answers another program that tries, and that ends our end
// first.
func tcpPeerUID(c *net.TCPConn) (uint32, error) {
	local, okLocal := loopbackAddr(c.LocalAddr())
	remote, okRemote := loopbackAddr(c.RemoteAddr())
	if !okLocal || !okRemote {
		return 0, errors.New("not a connection within loopback")
	}
	found, err := findTCP(remote, local)
	if err != nil {
		return 0, err
	}
	uid, err := found.user()
	if err != nil {
		return 0, err
	}
	return uid, stillConnected(c)
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

// user returns the user of an entry of the kernel's table. A process that has shut down
// its sending half has its socket still, and waits for an answer; a socket that was
// closed has the same states and no inode. An entry without inode has no owner (its uid
// reads 0). Sockets in other states are not the peer of an open connection.
func (s tcpSocket) user() (uint32, error) {
	switch {
	case s.state == tcpEstablished && s.inode == 0:
		return 0, ErrNoUser
	case s.state == tcpEstablished:
	case (s.state == tcpFinWait1 || s.state == tcpFinWait2) && s.inode != 0:
	default:
		return 0, fmt.Errorf("the peer's socket is in state %d, inode %d", s.state, s.inode)
	}
	return knownUser(s.uid)
}

// knownUser refuses the overflow uid, which replaces every user that this user
// namespace cannot name.
func knownUser(uid uint32) (uint32, error) {
	overflow, err := overflowUID()
	if err != nil {
		return 0, err
	}
	if uid == overflow || uid == ^uint32(0) {
		return 0, errors.New("the peer is a user without a name here")
	}
	return uid, nil
}

// overflowUID returns the uid that the kernel reports for users it cannot name here.
// It is a setting, so it is read each time. If it cannot be read, no uid is
// certain.
func overflowUID() (uint32, error) {
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	return uint32(n), err
}

func stillConnected(c *net.TCPConn) error {
	var info *unix.TCPInfo
	err := onFD(c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	if err != nil {
		return err
	}
	if info.State != tcpEstablished && info.State != tcpCloseWait {
		return fmt.Errorf("our socket is in state %d", info.State)
	}
	return nil
}

// unixPeerUID reads the credentials that the kernel stored: those of the client
// when it connected, of the server when it began to listen. They do not change
// when a process closes the socket or passes it to another.
func unixPeerUID(c *net.UnixConn) (uint32, error) {
	var cred *unix.Ucred
	err := onFD(c, func(fd int) (err error) {
		cred, err = unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		return err
	})
	if err != nil {
		return 0, err
	}
	return knownUser(cred.Uid)
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
