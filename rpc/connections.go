package rpc

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// unadmittedGrace is how long the accept loop waits, when all places of
// connections that are not admitted are taken, for one of them to be admitted
// or closed. Where thousands of clients come back together one is admitted
// every few milliseconds, however busy the machine is.
const unadmittedGrace = 250 * time.Millisecond

// arrivals are the connections of one listener on which no request has been
// admitted yet. They have a bound of their own, so that a stranger cannot hold
// places of max_connections. When it is reached, nothing further is accepted
// until one is admitted or closed. If none is for a grace, those who have had
// as long are closed.
type arrivals struct {
	server *Server

	mu      sync.Mutex
	open    map[net.Conn]*arrival // all of the listener, the admitted ones too
	waiting list.List             // of *arrival: those not admitted, the oldest first
	room    chan struct{}         // one signal: waiting has become shorter
}

// arrival is one connection. Its fields are guarded by the mutex of all.
type arrival struct {
	all      *arrivals
	conn     net.Conn
	since    time.Time
	place    *list.Element // in waiting; nil: admitted, or closed
	admitted bool          // counted in max_connections
}

func (s *Server) newArrivals() *arrivals {
	return &arrivals{server: s, open: make(map[net.Conn]*arrival), room: make(chan struct{}, 1)}
}

// enter takes a connection in. The listener's accept loop calls it, one
// connection after the other.
func (l *arrivals) enter(c net.Conn) *arrival {
	a := &arrival{all: l, conn: c}
	for !l.add(a) {
		timer := time.NewTimer(unadmittedGrace)
		select {
		case <-l.room:
		case <-timer.C:
			l.displace()
		}
		timer.Stop()
	}
	l.server.metrics.ConnectionOpened()
	return a
}

// add takes the arrival in if there is room.
func (l *arrivals) add(a *arrival) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len() >= l.server.limits.MaxUnadmitted {
		return false
	}
	a.since = time.Now()
	a.place = l.waiting.PushBack(a)
	l.open[a.conn] = a
	l.server.metrics.Unadmitted(1)
	return true
}

// displace closes the connections that have had their grace.
func (l *arrivals) displace() {
	l.mu.Lock()
	var old []net.Conn
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		a := e.Value.(*arrival)
		if time.Since(a.since) < unadmittedGrace {
			break
		}
		l.settle(a)
		old = append(old, a.conn)
	}
	l.mu.Unlock()
	for _, c := range old {
		l.server.metrics.ConnectionDisplaced()
		_ = bare(c).Close() // without TLS's goodbye, which could block
	}
}

// settle removes an arrival from those that wait; the caller holds mu.
func (l *arrivals) settle(a *arrival) {
	if a.place == nil {
		return
	}
	l.waiting.Remove(a.place)
	a.place = nil
	l.server.metrics.Unadmitted(-1)
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// admit counts the connection into max_connections, once. It reports false if
// they are reached; a later request on the connection may try again.
func (a *arrival) admit() bool {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.place == nil {
		return true // admitted before, or closed
	}
	s := a.all.server
	if s.connections.Add(1) > int64(s.limits.MaxConnections) {
		s.connections.Add(-1)
		s.metrics.ConnectionRefused()
		return false
	}
	a.admitted = true
	a.all.settle(a)
	return true
}

// closed takes a connection out that has ended.
func (l *arrivals) closed(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.open[c]
	if a == nil {
		return
	}
	delete(l.open, c)
	l.settle(a)
	if a.admitted {
		l.server.connections.Add(-1)
	}
	l.server.metrics.ConnectionClosed()
}

type arrivalKey struct{}

// admitted reports whether the connection of an admitted request has a place
// in max_connections. What came without a listener of ours needs none.
func admitted(r *http.Request) bool {
	a, ok := r.Context().Value(arrivalKey{}).(*arrival)
	return !ok || a.admit()
}

// connected is what the context of a new connection carries.
func (l *arrivals) connected(ctx context.Context, c net.Conn) context.Context {
	ctx = context.WithValue(ctx, arrivalKey{}, l.enter(c))
	b, ok := bare(c).(buffered)
	if !ok {
		return ctx
	}
	size := sendBuffer
	if _, local := b.(*net.UnixConn); local {
		size = localBuffer
	}
	_ = b.SetWriteBuffer(size) // the kernel's own size does as well
	return context.WithValue(ctx, bufferedKey{}, b)
}

// bare takes TLS off a connection.
func bare(c net.Conn) net.Conn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return c
}

// buffered is a connection whose send buffer in the kernel has a size that can
// be set.
type buffered interface{ SetWriteBuffer(bytes int) error }

type bufferedKey struct{}
