package rpc

import (
	"errors"
	"net"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// acceptWarnings is the least time between two warnings about one listener: while the
// process has no descriptors, net/http tries to accept a connection every second.
const acceptWarnings = 10 * time.Second

// Listener returns l with its failures to accept in the log, as warnings, and in a metric:
// net/http tries again by itself and says nothing that people would see.
func (s *Server) Listener(l net.Listener) net.Listener { return &accepting{Listener: l, server: s} }

// accepting is a listener whose failures are told. The goroutine that accepts owns its
// other fields.
type accepting struct {
	net.Listener
	server *Server
	told   time.Time
	untold int // failures since then
}

// Accept implements net.Listener.
func (l *accepting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil || errors.Is(err, net.ErrClosed) {
		return c, err
	}
	l.server.metrics.AcceptFailed()
	l.untold++
	if now := time.Now(); now.Sub(l.told) >= acceptWarnings {
		l.server.log.Warn("a connection could not be accepted", zap.Stringer("listen", l.Addr()), zap.Int("times", l.untold), zap.Error(err))
		l.told, l.untold = now, 0
	}
	if errors.Is(err, syscall.ENOBUFS) || errors.Is(err, syscall.ENOMEM) {
		return nil, passing{err}
	}
	return nil, err
}

// passing is an error after which net/http goes on accepting, as it does by itself when
// descriptors are used up: memory that the kernel has not now is no reason to end the
// server.
type passing struct{ error }

// Unwrap returns the reason.
func (p passing) Unwrap() error { return p.error }

// Timeout implements net.Error.
func (passing) Timeout() bool { return false }

// Temporary implements net.Error.
func (passing) Temporary() bool { return true }
