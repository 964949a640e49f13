//go:build !unix

package admission

import (
	"errors"
	"net"
)

// ListenUnix returns an error: it is not offered on this system: the permissions that guard the
// socket cannot be relied on here.
func ListenUnix(string) (net.Listener, error) {
	return nil, errors.New("unix sockets are not offered on this system; listen on 127.0.0.1")
}
