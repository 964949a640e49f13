package kindstest

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Request is one that a target has received.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	Host   string
}

// Listener is a server on loopback that records its requests and fails them on
// demand. Its methods may be called from many goroutines.
type Listener struct {
	URL    string // without a slash at the end
	Server *httptest.Server

	handler http.Handler
	stop    chan struct{}

	mu       sync.Mutex
	requests []Request
	faults   []planned
	accepted int
}

// planned is a fault that the next request meets.
type planned struct {
	fault Fault
	busy  chan struct{}
}

// Listen starts a server. The test's end stops it.
func Listen(t testing.TB, h http.Handler) *Listener { return listen(t, h, false) }

// ListenTLS starts a server with a certificate that nobody trusts who does not have
// Server.Certificate.
func ListenTLS(t testing.TB, h http.Handler) *Listener { return listen(t, h, true) }

func listen(t testing.TB, h http.Handler, secure bool) *Listener {
	l := &Listener{handler: h, stop: make(chan struct{})}
	l.Server = httptest.NewUnstartedServer(l)
	l.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes fail on purpose
	l.Server.Listener = &resetting{Listener: l.Server.Listener, l: l}
	if secure {
		l.Server.StartTLS()
	} else {
		l.Server.Start()
	}
	l.URL = l.Server.URL
	t.Cleanup(func() {
		close(l.stop)
		l.Server.CloseClientConnections()
		l.Server.Close()
	})
	return l
}

// Addr returns the address at which the server listens.
func (l *Listener) Addr() netip.AddrPort {
	return l.Server.Listener.Addr().(*net.TCPAddr).AddrPort()
}

// Requests returns all requests so far.
func (l *Listener) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Accepted returns how many connections were made so far.
func (l *Listener) Accepted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.accepted
}

// Fail lets the next request fail that no earlier call is about; "" = it works. busy is closed when the fault has happened as
// far as it can without the other side: the request of a target that hangs has been
// read then.
func (l *Listener) Fail(f Fault) (busy <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := planned{f, make(chan struct{})}
	l.faults = append(l.faults, p)
	return p.busy
}

// Forgive ends what Fail has asked for.
func (l *Listener) Forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

// next takes the next fault if which is true for it.
func (l *Listener) next(which func(Fault) bool) (planned, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) == 0 || !which(l.faults[0].fault) {
		return planned{}, false
	}
	p := l.faults[0]
	l.faults = l.faults[1:]
	return p, true
}

// ServeHTTP records a request and answers it.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	l.mu.Lock()
	l.requests = append(l.requests, Request{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), body, r.Host})
	l.mu.Unlock()
	p, fails := l.next(func(f Fault) bool { return f != ResetsBeforeReading })
	if !fails || p.fault == "" {
		l.handler.ServeHTTP(w, r)
		return
	}
	l.fail(p, w, r, body)
}

// resetting resets connections before anything is read of them.
type resetting struct {
	net.Listener
	l *Listener
}

// Accept implements net.Listener.
func (r *resetting) Accept() (net.Conn, error) {
	for {
		c, err := r.Listener.Accept()
		if err != nil {
			return nil, err
		}
		r.l.mu.Lock()
		r.l.accepted++
		r.l.mu.Unlock()
		p, reset := r.l.next(func(f Fault) bool { return f == ResetsBeforeReading })
		if !reset {
			return c, nil
		}
		go func() {
			awaitBytes(c)
			hardClose(c)
			close(p.busy)
		}()
	}
}

// awaitBytes returns when the other side has sent something, and reads none of it:
// a connection that is reset earlier may look to the other side as if it had never
// been made.
func awaitBytes(c net.Conn) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return err != syscall.EAGAIN
	})
}

// hardClose closes a connection with a reset.
func hardClose(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// token returns the token of a request.
func token(r *http.Request) string {
	value, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return value
}
