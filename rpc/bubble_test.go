package rpc

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
)

// inBubble runs a test with virtual time, in which no machine is slow. Its rig serves on
// pipes, which hold nothing: a write ends when the other end has read it.
func inBubble(t *testing.T, test func(t *testing.T, r *rig), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{arrived: make(chan net.Conn), closed: make(chan struct{})}
		r := newRigOn(t, l, newMemory(0), change...)
		r.pipes = l
		r.client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) { return l.dial() }
		test(t, r)
	})
}

// pipe is a connection to the rig of a bubble, on which something is written.
func (r *rig) pipe(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := r.pipes.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pipes is a listener in memory.
type pipes struct {
	arrived   chan net.Conn
	closed    chan struct{}
	closeOnce sync.Once
}

func (p *pipes) dial() (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.arrived <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.arrived:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.closeOnce.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
