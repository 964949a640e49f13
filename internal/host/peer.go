package host

import (
	"errors"
	"net"
)

// ErrNoUser says that no process has the socket at the other end: it has not
// been accepted yet, or it is closed already.
var ErrNoUser = errors.New("the peer's socket has no owner")

// PeerUID returns the user whose socket is at the other end of a TCP
// connection within loopback, or of a unix socket. c may be wrapped, as by
// *tls.Conn, if the wrapper has a NetConn method.
//
// The result is valid for the life of the connection. It is the user of the
// process that made or accepted the connection, even if that process has passed
// the socket to another. The error wraps ErrNoUser for a connection that the
// other end has not accepted, and errors.ErrUnsupported on a system that cannot
// say. Any error means that the user is not known.
func PeerUID(c net.Conn) (uint32, error) { return peerUID(bareConn(c)) }

// bareConn unwraps a connection from wrappers such as *tls.Conn. Wrappers of this
// module have the same NetConn method. It returns nil if there are too many.
func bareConn(c net.Conn) net.Conn {
	for range 8 { // deeper than any real stack of wrappers
		w, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = w.NetConn()
	}
	return nil
}
