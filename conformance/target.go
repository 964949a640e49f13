package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Target is the server under test.
type Target struct {
	// URL is the base: http://host:port, https://host:port or unix:PATH.
	URL string
	// Token is sent as a bearer token if it is not empty.
	Token string
	// HTTPClient, when set, makes all requests; it must not limit their time,
	// since streams stay open, nor follow redirects. The caller closes it. For
	// unix:PATH the suite always makes its own.
	HTTPClient *http.Client
	// Dial makes the connections of the suite's own client; nil means a
	// net.Dialer. It can refuse a listener that must not get the token.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is how the suite's own client checks the certificate of an https server;
	// nil means by the authorities of the system.
	TLS *tls.Config
}

// endpoint is a prepared target: a base that net/http accepts, and a client.
type endpoint struct {
	base   string
	host   string
	token  string
	unix   bool
	client *http.Client
	// owned is closed at the end of the run; it is nil for a caller's client.
	owned *http.Transport
}

// open checks the target and prepares its client. It sends nothing.
func (t Target) open() (*endpoint, error) {
	e := &endpoint{token: t.Token, client: t.HTTPClient}
	dial := t.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	transport := &http.Transport{
		DialContext:     dial,
		TLSClientConfig: t.TLS,
		// The bytes are the evidence: no transparent decompression.
		DisableCompression:  true,
		MaxIdleConnsPerHost: 4,
	}
	if path, ok := strings.CutPrefix(t.URL, "unix:"); ok {
		path = strings.TrimPrefix(path, "//")
		if path == "" {
			return nil, fmt.Errorf("target %q: a unix target needs a path", t.URL)
		}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, "unix", path)
		}
		e.unix, e.base, e.host, e.client = true, "http://localhost", "localhost", nil
	} else {
		u, err := url.Parse(t.URL)
		if err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("target %q: want http://host:port, https://host:port or unix:PATH", t.URL)
		}
		e.base, e.host = strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), u.Host
	}
	if e.client == nil {
		e.owned = transport
		e.client = &http.Client{
			Transport: transport,
			// A redirect is reported as an answer and not followed.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return e, nil
}

// close closes idle connections that the suite opened.
func (e *endpoint) close() {
	if e.owned != nil {
		e.owned.CloseIdleConnections()
	}
}
