package kinds

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// attemptTime bounds one attempt in all, whatever it is made of.
	attemptTime = 20 * time.Second
	// maxAnswer is how much of an answer is read.
	maxAnswer = 64 << 10
	// maxConnections to one host: as many as there are deliveries in flight, so
	// that bridges to one host do not wait for each other.
	maxConnections = 64
	dialTime       = 10 * time.Second
	idleTime       = time.Minute
)

// via says that a request comes from a server like this one. Its admission treats
// such a request like one through a proxy: it is not that of a local user.
const via = "1.1 holon"

// ClientConfig says how a Client connects. The zero value is right for a server.
type ClientConfig struct {
	Resolver *net.Resolver  // nil = the system's
	RootCAs  *x509.CertPool // nil = the system's
}

// Client sends the HTTP requests of all bridges. It follows no redirect, uses no
// proxy, and connects only where the bridge may. Make it with NewClient. Its
// methods may be called from many goroutines.
//
// It speaks HTTP/1.1: then a connection carries one delivery at a time, and a slow
// one delays no other.
type Client struct {
	own atomic.Pointer[[]netip.AddrPort]
	// Two sets of connections: one that was made for a bridge with allow_private
	// must not serve one without.
	public, private *http.Transport

	// send replaces the transports, for tests.
	send func(*http.Request) (*http.Response, error)
}

// NewClient makes a Client. The caller calls Close.
func NewClient(config ClientConfig) *Client {
	c := &Client{}
	transport := func(allowPrivate bool) *http.Transport {
		dialer := &net.Dialer{Timeout: dialTime, Resolver: config.Resolver, ControlContext: c.guard(allowPrivate)}
		return &http.Transport{
			Proxy:                  nil, // also none of the environment
			DialContext:            dialer.DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: config.RootCAs},
			MaxConnsPerHost:        maxConnections,
			MaxIdleConns:           256,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        idleTime,
			MaxResponseHeaderBytes: maxAnswer,
			DisableCompression:     true, // a small answer stays small
		}
	}
	c.public, c.private = transport(false), transport(true)
	return c
}

// SetOwn sets where this server listens: no bridge connects there. It may be called
// again when listeners change. A listener on all addresses has the unspecified one.
func (c *Client) SetOwn(listeners []netip.AddrPort) {
	listeners = append([]netip.AddrPort(nil), listeners...)
	c.own.Store(&listeners)
	c.Close() // connections from before
}

// Close closes the idle connections. Send still works.
func (c *Client) Close() {
	c.public.CloseIdleConnections()
	c.private.CloseIdleConnections()
}

// request is one HTTP request of an attempt.
type request struct {
	method string
	url    *url.URL
	header http.Header // it belongs to the request
	body   []byte
}

// answer is the result of a request.
type answer struct {
	status int // 0 = none
	header http.Header
	body   []byte // at most maxAnswer, and what came in time
	// failure is a short reason why there is no answer, without addresses; "" = there
	// is one.
	failure string
	// sent says that bytes of the request may have reached the target.
	sent bool
}

// do sends one request and reads its answer. It ends soon after ctx.
func (c *Client) do(ctx context.Context, allowPrivate bool, r request) answer {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return answer{failure: "request"}
	}
	req.Header = r.header
	req.Header.Set("User-Agent", "holon")
	req.Header.Set("Via", via)
	send := c.public.RoundTrip
	if allowPrivate {
		send = c.private.RoundTrip
	}
	if c.send != nil {
		send = c.send
	}
	// RoundTrip instead of a http.Client: it follows no redirect, and its errors
	// have no URL.
	resp, err := send(req)
	if err != nil {
		return answer{failure: failureOf(ctx, err), sent: connected.Load()}
	}
	// After 101 the transport no longer watches the context: closing the body is what
	// ends a read of it.
	stop := context.AfterFunc(ctx, func() { resp.Body.Close() })
	defer stop()
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header, sent: true}
	if resp.Body != http.NoBody && a.status >= 200 { // what follows a lower one is no answer
		a.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status has been said
	}
	return a
}

// failureOf returns a short reason for an error: never its text, which has addresses.
func failureOf(ctx context.Context, err error) string {
	var (
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
		waited net.Error
	)
	switch {
	case errors.Is(err, errOwn):
		return errOwn.Error()
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return "canceled"
	case errors.As(err, &dns):
		if dns.IsTimeout {
			return "timeout"
		}
		return "unknown_host"
	case errors.As(err, &cert):
		return "certificate"
	case errors.As(err, &record), errors.As(err, &alert):
		return "tls"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "unreachable"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection_reset"
	case errors.As(err, &waited) && waited.Timeout():
		return "timeout"
	}
	return "transport"
}
