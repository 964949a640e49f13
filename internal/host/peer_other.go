//go:build !linux

package host

import (
	"errors"
	"fmt"
	"net"
)

// peerUID fails always: this system has no exact way to find the user of the
// socket at the other end.
func peerUID(net.Conn) (uint32, error) {
	return 0, fmt.Errorf("peers are not known on this system: %w", errors.ErrUnsupported)
}
