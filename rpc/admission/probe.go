package admission

import (
	"fmt"
	"net"
	"time"
)

// PeersAreKnown reports whether a server on this system can find out which user
// owns the other end of a loopback connection: nil, or why all clients need the
// token on TCP here. It tries a connection to itself, for the log at start and
// for doctor. Admission never depends on the result.
func PeersAreKnown() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("try a loopback connection: %w", err)
	}
	defer func() { _ = l.Close() }()
	client, err := net.DialTimeout("tcp", l.Addr().String(), 2*time.Second)
	if err != nil {
		return fmt.Errorf("try a loopback connection: %w", err)
	}
	defer func() { _ = client.Close() }()
	server, err := l.Accept()
	if err != nil {
		return fmt.Errorf("try a loopback connection: %w", err)
	}
	defer func() { _ = server.Close() }()
	if server.RemoteAddr().String() != client.LocalAddr().String() {
		return fmt.Errorf("try a loopback connection: another client came first; try again")
	}
	return peerIsServerUser(server)
}
