package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxResponseBytes bounds the body of one answer to POST /rpc. A server's page
// ends at 1 MiB and its frames at max_frame_bytes, 4 MiB unless configured
// larger; 64 MiB leaves room for that and still refuses a runaway peer.
const maxResponseBytes = 64 << 20

// Client talks to one server. All methods may be called from any number of
// goroutines. Close it when done.
type Client struct {
	resolve Resolver
	// Connections whose peer was checked before they carried a token are pooled
	// apart from the others.
	guarded, plain *http.Client

	mu       sync.Mutex // guards what follows, and plain
	endpoint *Endpoint
	retried  chan struct{} // closed and replaced by RetryNow
	ca       []byte        // what plain trusts besides the system's authorities
}

// New returns a client of the server that resolve names. It does not connect.
func New(resolve Resolver) *Client {
	c := &Client{resolve: resolve, plain: httpClient(dial, nil), retried: make(chan struct{})}
	c.guarded = httpClient(c.dialGuarded, nil)
	return c
}

// httpClient makes a client; certificates may be nil.
func httpClient(dial func(ctx context.Context, network, address string) (net.Conn, error), certificates *tls.Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:     certificates,
			Proxy:               proxyFor,
			DialContext:         dial,
			TLSHandshakeTimeout: 10 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			MaxIdleConnsPerHost: 16,
			ForceAttemptHTTP2:   true,
			// The server writes events as they happen; gzip would hold them back.
			DisableCompression: true,
		},
		// A redirect would carry the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Close closes idle connections. Running calls, sessions and subscriptions
// continue until their contexts end.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.guarded.CloseIdleConnections()
	c.plain.CloseIdleConnections()
}

// clientFor returns the HTTP client for requests to an endpoint.
func (c *Client) clientFor(endpoint Endpoint) (*http.Client, error) {
	if endpoint.guarded() {
		return c.guarded, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !bytes.Equal(c.ca, endpoint.CA) {
		certificates, err := endpoint.TLSConfig()
		if err != nil {
			return nil, err
		}
		c.plain.CloseIdleConnections()
		c.plain, c.ca = httpClient(dial, certificates), endpoint.CA
	}
	return c.plain, nil
}

// Endpoint returns where the client connects to, resolving it if that has not
// happened yet.
func (c *Client) Endpoint() (Endpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endpoint == nil {
		endpoint, err := c.resolveChecked()
		if err != nil {
			return Endpoint{}, err
		}
		c.endpoint = &endpoint
	}
	return *c.endpoint, nil
}

// resolveChecked resolves the endpoint, and refuses one that must not get its token.
func (c *Client) resolveChecked() (Endpoint, error) {
	endpoint, err := c.resolve()
	if err == nil {
		err = endpoint.check()
	}
	return endpoint, err
}

// refresh resolves the endpoint again after a connection was lost. If only the
// default address is left, it keeps the known endpoint: another server may
// listen at the default, and this one may come back soon.
func (c *Client) refresh() {
	endpoint, err := c.resolveChecked()
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.endpoint != nil && strings.HasPrefix(endpoint.Source, SourceDefault) {
		return
	}
	c.endpoint = &endpoint
}

// Call sends one request over POST /rpc and decodes its result into result (a
// pointer, or nil to ignore it; a *json.RawMessage keeps the bytes). params may
// be nil, a json.RawMessage or anything that encodes to an object. Text in them that is not
// UTF-8 becomes U+FFFD, and NaN and the infinities null; a directory, a title, a name or an
// id that is not UTF-8 is an error, and nothing is sent. The error is
// an *Error if the server refused, an *UnreachableError if no server answered, a
// *CertificateError if it is not known to be the right one, a *SchemeError if it
// speaks https instead of http or the reverse, a *PeerError or a *ClearTextError if
// the token would have gone to others.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encodeParams(params)
	if err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	request := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{"2.0", 1, method, raw}
	// Escapes for HTML would make params larger than their caller knows.
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(request); err != nil {
		return fmt.Errorf("encode params of %s: %w", method, err)
	}
	response, err := c.do(ctx, http.MethodPost, "/rpc", nil, &body, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes+1))
	if err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, err)
	}
	if len(data) > maxResponseBytes {
		return fmt.Errorf("the answer to %s is larger than %d bytes", method, maxResponseBytes)
	}
	return decodeAnswer(method, response.StatusCode, data, result)
}

// Ready asks GET /readyz and returns nil once the server says it is ready. The Reason of
// the *Error is the kind of error that commands get, such as storage_full, if the server
// says it.
func (c *Client) Ready(ctx context.Context) error {
	response, err := c.do(ctx, http.MethodGet, "/readyz", nil, nil, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("read readyz: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		refused := statusError(response.StatusCode, body)
		if kind, ok := strings.CutPrefix(string(body), "unable to commit: "); ok {
			refused.Reason = strings.TrimSpace(kind)
		}
		return refused
	}
	return nil
}

// decodeAnswer reads one JSON-RPC response.
func decodeAnswer(method string, status int, data []byte, result any) error {
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *errorBody      `json:"error"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		if status != http.StatusOK {
			return statusError(status, data)
		}
		return fmt.Errorf("the answer to %s is not JSON-RPC: %w", method, err)
	}
	switch {
	case answer.Error != nil:
		return answer.Error.typed(status)
	case status != http.StatusOK:
		return statusError(status, data)
	case answer.Result == nil:
		return fmt.Errorf("the answer to %s has neither result nor error", method)
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("decode the result of %s: %w", method, err)
	}
	return nil
}

// do sends one HTTP request to the endpoint. query and header may be nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body io.Reader, header http.Header) (*http.Response, error) {
	endpoint, err := c.Endpoint()
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(endpoint.URL, "/")
	if socket, ok := strings.CutPrefix(endpoint.URL, "unix:"); ok {
		// The transport pools connections by host: the path in hex makes one.
		base = "http://" + unixHost(socket)
	}
	target := base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	maps.Copy(request.Header, header)
	if strings.HasPrefix(endpoint.URL, "unix:") {
		request.Host = "localhost"
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if endpoint.Token != "" {
		request.Header.Set("Authorization", "Bearer "+endpoint.Token)
	}
	transport, err := c.clientFor(endpoint)
	if err != nil {
		return nil, err
	}
	response, err := transport.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, notSent(endpoint, err)
	}
	if wantsTLS(endpoint, response) {
		response.Body.Close()
		return nil, &SchemeError{URL: endpoint.URL}
	}
	return response, nil
}

// unixSuffix marks host names that encode the path of a unix socket.
const unixSuffix = ".unix-socket.invalid"

// unixHost encodes a socket's path as a host name, labels of at most 63 bytes
// as host names want them.
func unixHost(path string) string {
	encoded := fmt.Sprintf("%x", path)
	var labels []string
	for len(encoded) > 60 {
		labels, encoded = append(labels, encoded[:60]), encoded[60:]
	}
	return strings.Join(append(labels, encoded), ".") + unixSuffix
}

const dialTimeout = 10 * time.Second

// dial connects over TCP, or to a unix socket for a host name of unixHost.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	host, _, err := net.SplitHostPort(address)
	if err == nil && strings.HasSuffix(host, unixSuffix) {
		var path []byte
		encoded := strings.ReplaceAll(strings.TrimSuffix(host, unixSuffix), ".", "")
		if _, err := fmt.Sscanf(encoded, "%x", &path); err != nil {
			return nil, fmt.Errorf("socket path: %w", err)
		}
		return dialer.DialContext(ctx, "unix", string(path))
	}
	return dialer.DialContext(ctx, network, address)
}

// proxyFor uses the environment's proxy for other machines only.
func proxyFor(request *http.Request) (*url.URL, error) {
	if strings.HasSuffix(request.URL.Hostname(), unixSuffix) || isLocal(request.URL.String()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(request)
}
