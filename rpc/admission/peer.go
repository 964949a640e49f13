package admission

import (
	"net"
	"sync"
)

// peer is the other end of one connection. The answer is found once, by the
// first request that depends on it, while both ends are still connected, and
// holds for the life of the connection.
type peer struct {
	conn net.Conn

	once sync.Once
	own  bool
}

func (p *peer) isServerUser() bool {
	p.once.Do(func() {
		p.own = peerIsServerUser(bareConn(p.conn)) == nil
		p.conn = nil
	})
	return p.own
}

// bareConn takes wrappers such as *tls.Conn off a connection. Wrappers of this
// module have the same NetConn method. What cannot be unwrapped is unknown.
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
