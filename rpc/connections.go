package rpc

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed82539d15/holon/api"
)

// unadmittedGrace is how long the accept loop waits, when
// max_unadmitted_connections is reached, for one of them to be admitted or
// closed. When thousands of clients reconnect together, one is admitted every
// few milliseconds, however busy the machine is.
const unadmittedGrace = 250 * time.Millisecond

// arrivals are the connections of one listener on which no request has been
// admitted yet, those among them that are refused because max_connections is reached.
// They have their own bound, so that a stranger cannot use up max_connections, and that
// a server that is full still answers. When it is reached, no further connection is
// accepted until one is admitted or closed. If that takes longer than unadmittedGrace,
// all connections older than that are closed.
type arrivals struct {
	server *Server

	mu      sync.Mutex
	open    map[net.Conn]*arrival // all of the listener, admitted ones included
	waiting list.List             // of *arrival: not admitted, the oldest first
	room    chan struct{}         // holds one signal: waiting has become shorter
}

// arrival is one connection. The mutex of all guards its fields.
type arrival struct {
	all      *arrivals
	conn     net.Conn
	since    time.Time
	element  *list.Element // in waiting; nil: admitted, or closed
	admitted bool          // counted in max_connections
	token    string        // in whose share it is counted; "": in none
}

func (s *Server) newArrivals() *arrivals {
	return &arrivals{server: s, open: make(map[net.Conn]*arrival), room: make(chan struct{}, 1)}
}

// enter adds a connection. The listener's accept loop calls it for one
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

// add adds the arrival if the bound allows it.
func (l *arrivals) add(a *arrival) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len() >= l.server.limits.MaxUnadmitted {
		return false
	}
	a.since = time.Now()
	a.element = l.waiting.PushBack(a)
	l.open[a.conn] = a
	l.server.metrics.Unadmitted(1)
	return true
}

// displace closes the connections that have waited for unadmittedGrace.
func (l *arrivals) displace() {
	l.mu.Lock()
	var old []net.Conn
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		a := e.Value.(*arrival)
		if time.Since(a.since) < unadmittedGrace {
			break
		}
		l.leave(a)
		old = append(old, a.conn)
	}
	l.mu.Unlock()
	for _, c := range old {
		l.server.metrics.ConnectionDisplaced()
		_ = bare(c).Close() // without TLS's close_notify, which could block
	}
}

// leave removes an arrival from waiting; the caller holds mu.
func (l *arrivals) leave(a *arrival) {
	if a.element == nil {
		return
	}
	l.waiting.Remove(a.element)
	a.element = nil
	l.server.metrics.Unadmitted(-1)
	select {
	case l.room <- struct{}{}:
	default:
	}
}

// admit counts the connection in max_connections, once, and in the share of the token
// of its newest request. It returns an error if one of these bounds is reached; a later
// request on the connection may try again.
func (a *arrival) admit(token string) *api.Error {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.element == nil && !a.admitted {
		return nil // closed
	}
	s := a.all.server
	if a.token != token && !s.shares.add(token, 1) {
		return usedUp("token %s has %d connections, the most of one token (max_connections_per_token): close some of them", token, s.limits.MaxTokenConnections)
	}
	if !a.admitted && s.connections.Add(1) > int64(s.limits.MaxConnections) {
		s.connections.Add(-1)
		s.shares.remove(token, 1)
		return usedUp("the server has %d connections, the most that it takes (max_connections): close some of them", s.limits.MaxConnections)
	}
	if a.token != token {
		s.shares.remove(a.token, 1)
		a.token = token
	}
	a.admitted = true
	a.all.leave(a)
	return nil
}

// usedUp returns the error of a request for whose connection there is no room.
func usedUp(format string, args ...any) *api.Error {
	e := api.Errorf(api.KindOverloaded, format, args...)
	e.Data.RetryAfterMs = api.RetryAfterMs
	return e
}

// counted reports whether the connection has a slot of max_connections.
func (a *arrival) counted() bool {
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	return a.admitted
}

// closed removes a connection that has ended.
func (l *arrivals) closed(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.open[c]
	if a == nil {
		return
	}
	delete(l.open, c)
	l.leave(a)
	if a.admitted {
		a.admitted = false
		l.server.connections.Add(-1)
		l.server.shares.remove(a.token, 1)
	}
	l.server.metrics.ConnectionClosed()
}

type arrivalKey struct{}

// admit counts the connection of an admitted request. It returns an error if it has no
// room; such a connection ends with the answer. Probes are answered without room: they
// say how a server is that has none. A request that came on no listener of arrivals is
// not counted.
func admit(w http.ResponseWriter, r *http.Request) *api.Error {
	a, ok := r.Context().Value(arrivalKey{}).(*arrival)
	if !ok || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" { // any client may read the health: that admits no connection
		return nil
	}
	full := a.admit(api.ShareOf(r.Context()))
	if full != nil && !a.counted() {
		w.Header().Set("Connection", "close")
	}
	if r.URL.Path == "/metrics" {
		return nil
	}
	return full
}

// connected adds a new connection and returns its context.
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
	_ = b.SetWriteBuffer(size) // if it fails, the kernel's own size is good enough
	return context.WithValue(ctx, bufferedKey{}, b)
}

// bare returns the connection below TLS.
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
