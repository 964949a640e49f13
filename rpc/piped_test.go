package rpc

import (
	"net"
	"net/http"
	"sync"
	"testing"
)

// piped serves one connection in memory and returns the client's half. In a bubble of
// testing/synctest the time of such a connection is virtual.
func piped(t *testing.T, s *http.Server) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	l := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conn <- server
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = client.Close()
		_ = s.Close()
		<-served
	})
	return client
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }
