package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpSocket is one entry of the kernel's TCP table.
type tcpSocket struct {
	state         uint8
	local, remote netip.AddrPort
	uid, inode    uint32
}

// Sizes and constants of include/uapi/linux/inet_diag.h and sock_diag.h.
const (
	sockDiagByFamily = 20
	sizeofInetDiagID = 48
	sizeofRequest    = 8 + sizeofInetDiagID      // struct inet_diag_req_v2
	sizeofReply      = 4 + sizeofInetDiagID + 20 // struct inet_diag_msg
	noCookie         = ^uint32(0)
)

// diagTimeout bounds a query; the kernel answers within microseconds.
var diagTimeout = unix.Timeval{Sec: 1}

var querying sync.Mutex

// findTCP asks the kernel for the one socket with exactly these addresses. It
// does not use a dump: a dump is filtered only by ports, takes longer the more
// sockets there are, and may be incomplete. If no connection matches, the kernel
// returns a listening socket, so callers check the state.
//
// Each query opens its own netlink socket. It lasts microseconds, happens once per
// connection, and leaves no answer behind that the next could read. One is open at a time,
// so that a burst of connections does not take the last descriptors of the process.
func findTCP(local, remote netip.AddrPort) (tcpSocket, error) {
	querying.Lock()
	defer querying.Unlock()
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return tcpSocket{}, fmt.Errorf("open sock_diag: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &diagTimeout); err != nil {
		return tcpSocket{}, fmt.Errorf("bound sock_diag: %w", err)
	}
	if err := unix.Sendto(fd, diagRequest(local, remote), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return tcpSocket{}, fmt.Errorf("ask sock_diag: %w", err)
	}
	buf := make([]byte, 4096) // the reply has about 100 bytes
	n, err := receive(fd, buf)
	if err != nil {
		return tcpSocket{}, fmt.Errorf("read sock_diag: %w", err)
	}
	found, err := parseDiagReply(buf[:n])
	if err != nil {
		return tcpSocket{}, err
	}
	if found.local != local || found.remote != remote {
		return tcpSocket{}, errors.New("sock_diag found another socket")
	}
	return found, nil
}

// receive reads one datagram and checks that the kernel sent it.
func receive(fd int, buf []byte) (int, error) {
	for {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		if nl, ok := from.(*unix.SockaddrNetlink); !ok || nl.Pid != 0 {
			return 0, errors.New("a message that is not from the kernel")
		}
		return n, nil
	}
}

// diagRequest encodes a netlink message with an inet_diag_req_v2. Both addresses
// have the same family. v4-mapped ones were unmapped before, because the kernel
// keeps such connections as IPv4.
func diagRequest(local, remote netip.AddrPort) []byte {
	family := byte(unix.AF_INET6)
	if local.Addr().Is4() {
		family = unix.AF_INET
	}
	native := binary.NativeEndian
	b := make([]byte, 0, unix.SizeofNlMsghdr+sizeofRequest)
	b = native.AppendUint32(b, unix.SizeofNlMsghdr+sizeofRequest)
	b = native.AppendUint16(b, sockDiagByFamily)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = native.AppendUint32(b, 1) // sequence number
	b = native.AppendUint32(b, 0) // port: the kernel fills in ours

	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, ^uint32(0)) // states: only dumps look at them
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	b = appendAddr(b, local.Addr())
	b = appendAddr(b, remote.Addr())
	b = native.AppendUint32(b, 0) // interface: sockets bound to one are not found
	b = native.AppendUint32(b, noCookie)
	return native.AppendUint32(b, noCookie)
}

// appendAddr writes an address into its field of 16 bytes.
func appendAddr(b []byte, a netip.Addr) []byte {
	var field [16]byte
	copy(field[:], a.AsSlice())
	return append(b, field[:]...)
}

// parseDiagReply decodes the one message that answers an exact query.
func parseDiagReply(b []byte) (tcpSocket, error) {
	msgs, err := syscall.ParseNetlinkMessage(b)
	if err != nil || len(msgs) != 1 {
		return tcpSocket{}, fmt.Errorf("sock_diag answered %d messages: %w", len(msgs), err)
	}
	m, native := msgs[0], binary.NativeEndian
	if m.Header.Type == unix.NLMSG_ERROR && len(m.Data) >= 4 {
		return tcpSocket{}, fmt.Errorf("sock_diag: %w", syscall.Errno(-int32(native.Uint32(m.Data))))
	}
	if m.Header.Type != sockDiagByFamily || len(m.Data) < sizeofReply {
		return tcpSocket{}, fmt.Errorf("sock_diag answered type %d with %d bytes", m.Header.Type, len(m.Data))
	}
	d := m.Data
	s := tcpSocket{
		state:  d[1],
		uid:    native.Uint32(d[64:]),
		inode:  native.Uint32(d[68:]),
		local:  netip.AddrPortFrom(readAddr(d[0], d[8:24]), binary.BigEndian.Uint16(d[4:])),
		remote: netip.AddrPortFrom(readAddr(d[0], d[24:40]), binary.BigEndian.Uint16(d[6:])),
	}
	return s, nil
}

// readAddr reads an address field. A socket of family IPv6 may hold v4-mapped
// addresses; they come back as IPv4, as everywhere in this package.
func readAddr(family byte, field []byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(field[:4]))
	}
	return netip.AddrFrom16([16]byte(field[:16])).Unmap()
}
