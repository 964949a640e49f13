//go:build !linux

package host

import (
	"errors"
	"fmt"
	"net"
)

// peerUID never knows on this system: there is no exact way here to ask whose
// socket the other end is.
func peerUID(net.Conn) (uint32, error) {
	return 0, fmt.Errorf("peers are not known on this system: %w", errors.ErrUnsupported)
}
