package admission

import (
	"errors"
	"net"
	"os"
	"sync"

	"github.com/seed82539d15/holon/host"
)

// peer is the other end of one connection. Its user is looked up once, by the
// first request that depends on it, while both ends are still connected. The
// result is valid for the life of the connection.
type peer struct {
	conn net.Conn
	once sync.Once
	own  bool
}

func (p *peer) isServerUser() bool {
	p.once.Do(func() {
		p.own = peerIsServerUser(p.conn) == nil
		p.conn = nil
	})
	return p.own
}

// peerIsServerUser returns nil if the other end of the connection belongs to
// the user that this process acts as, else why that is not certain.
func peerIsServerUser(c net.Conn) error {
	uid, err := host.PeerUID(c)
	if err == nil && int64(uid) != int64(os.Geteuid()) {
		err = errors.New("the peer is another user")
	}
	return err
}
