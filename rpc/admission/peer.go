package admission

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/seed82539d15/holon/internal/host"
)

// peer is the other end of one connection. Its user is looked up once, by the
// first request that depends on it, while both ends are still connected. The
// result is valid for the life of the connection.
type peer struct {
	mu   sync.Mutex
	conn net.Conn // nil once the user is known
	own  bool
}

// isServerUser fails if that cannot be known now, for lack of a file descriptor or of
// memory. The next request asks again.
func (p *peer) isServerUser() (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		err := peerIsServerUser(p.conn)
		if isLack(err) {
			return false, err
		}
		p.own, p.conn = err == nil, nil
	}
	return p.own, nil
}

func isLack(err error) bool {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
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
