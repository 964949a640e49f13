package admission

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const bearer = "Authorization: Bearer " + testTokenText + "\n"

// recordRequest asks a gate without a connection.
func recordRequest(t *testing.T, g *Gate, method, path, host string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = host
	rec := httptest.NewRecorder()
	g.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })).ServeHTTP(rec, r)
	return rec
}

// attack is a request that carries the right token and is refused anyway, or,
// as a check of the matrix, one that is admitted.
type attack struct {
	name   string
	raw    string
	status int
	reason Reason
}

func runAttacks(t *testing.T, g *guarded, attacks []attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			before := g.in.Load()
			got := g.ask(t, a.raw)
			in := g.in.Load() != before
			if got.status != a.status || in != (a.status == 200) {
				t.Errorf("status %d, let in %v, want status %d: %s", got.status, in, a.status, got.body)
			}
			if a.reason != "" && !strings.Contains(got.body, `"reason":"`+string(a.reason)+`"`) {
				t.Errorf("want the reason %s: %s", a.reason, got.body)
			}
			// Requests that net/http refuses as malformed (400) never reach a
			// handler.
			if got.status != 400 {
				wantShielded(t, got.header)
			}
		})
	}
}

func wantShielded(t *testing.T, h http.Header) {
	t.Helper()
	if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("headers %v", h)
	}
}

func get(lines ...string) string {
	return "GET /rpc HTTP/1.1\n" + bearer + strings.Join(lines, "\n") + "\n\n"
}

func TestHostMatrix(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: RequireToken, AllowHosts: []string{"holon.example.org", "one.example.org:8443", "10.1.2.3"}})
	refused := func(name, host string) attack { return attack{name, get("Host: " + host), 403, ReasonHost} }
	admitted := func(name, host string) attack { return attack{name, get("Host: " + host), 200, ""} }
	runAttacks(t, g, []attack{
		admitted("localhost", "localhost:PORT"),
		admitted("localhost, another port (a tunnel)", "localhost:1234"),
		admitted("localhost without port", "localhost"),
		admitted("localhost in capitals", "LOCALHOST:PORT"),
		admitted("127.0.0.1", "127.0.0.1:PORT"),
		admitted("127.8.9.10", "127.8.9.10"),
		admitted("[::1]", "[::1]:PORT"),
		admitted("[::1] without port", "[::1]"),
		admitted("allowed name", "holon.example.org"),
		admitted("allowed name, any port", "Holon.Example.Org:9"),
		admitted("allowed name and port", "one.example.org:8443"),
		admitted("allowed address", "10.1.2.3:80"),

		refused("DNS rebinding", "evil.example:PORT"),
		refused("DNS rebinding, port 80", "evil.example"),
		refused("rebinding service", "127.0.0.1.nip.io:PORT"),
		refused("localhost as a label", "localhost.evil.example"),
		refused("localhost as the top", "evil.localhost"),
		refused("allowed name as a label", "holon.example.org.evil.example"),
		refused("below an allowed name", "x.holon.example.org"),
		refused("allowed name, other port", "one.example.org:8444"),
		refused("allowed name without its port", "one.example.org"),
		refused("trailing dot", "localhost."),
		refused("trailing dot and port", "localhost.:PORT"),
		refused("allowed name, trailing dot", "holon.example.org."),
		refused("address, trailing dot", "127.0.0.1.:PORT"),
		refused("all interfaces", "0.0.0.0:PORT"),
		refused("all interfaces, IPv6", "[::]:PORT"),
		refused("v4-mapped", "[::ffff:127.0.0.1]:PORT"),
		refused("IPv6 with a zone", "[::1%25lo]:PORT"),
		refused("IPv6 without brackets", "::1"),
		refused("link-local", "[fe80::1]:PORT"),
		refused("decimal address", "2130706433"),
		refused("octal address", "0177.0.0.1"),
		refused("hexadecimal address", "0x7f.0.0.1"),
		refused("short address", "127.1"),
		refused("empty", ""),
		refused("port alone", ":PORT"),
		refused("empty port", "localhost:"),
		refused("port 0", "localhost:0"),
		refused("port too high", "localhost:99999"),
		refused("two ports", "localhost:80:80"),
		refused("list", "localhost,evil.example"),

		{"two Hosts, ours first", get("Host: localhost:PORT", "Host: evil.example"), 400, ""},
		{"two Hosts, ours last", get("Host: evil.example", "Host: localhost:PORT"), 400, ""},
		{"the same Host twice", get("Host: localhost:PORT", "Host: localhost:PORT"), 400, ""},
		{"no Host", get("Accept: */*"), 400, ""},
		{"a space in Host", get("Host: localhost evil.example"), 400, ""},
		{"a slash in Host", get("Host: localhost/evil"), 400, ""},
		{"userinfo", get("Host: user@localhost:PORT"), 400, ""},
		{"userinfo that looks like us", get("Host: localhost:PORT@evil.example"), 400, ""},
		{"Host on two lines", get("Host: localhost\n evil.example"), 400, ""},
		{"HTTP/1.0 without Host", "GET /rpc HTTP/1.0\n" + bearer + "\n", 403, ReasonHost},
		{"HTTP/1.0 with ours", "GET /rpc HTTP/1.0\n" + bearer + "Host: localhost\n\n", 200, ""},
		{"absolute-form, foreign", "GET http://evil.example/rpc HTTP/1.1\n" + bearer + "Host: localhost:PORT\n\n", 403, ReasonTarget},
		{"absolute-form, ours, foreign Host", "GET http://localhost:PORT/rpc HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonTarget},
		{"absolute-form, both ours", "GET http://localhost:PORT/rpc HTTP/1.1\n" + bearer + "Host: localhost:PORT\n\n", 403, ReasonTarget},
		{"absolute-form with userinfo", "GET http://localhost@evil.example/rpc HTTP/1.1\n" + bearer + "Host: localhost\n\n", 403, ReasonTarget},
		{"scheme-less authority", "GET //evil.example/rpc HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonHost},
		{"CONNECT", "CONNECT localhost:PORT HTTP/1.1\n" + bearer + "Host: localhost:PORT\n\n", 403, ReasonTarget},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonTarget},
		{"probe by a foreign name", "GET /healthz HTTP/1.1\nHost: evil.example\n\n", 200, ""},
		{"readiness by a foreign name", "GET /readyz HTTP/1.1\nHost: 10.0.0.9:PORT\n\n", 200, ""},
		{"probe through an absolute target", "GET http://evil.example/healthz HTTP/1.1\nHost: localhost\n\n", 403, ReasonTarget},
		{"probe's name as a directory", "GET /healthz/../rpc HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonHost},
		{"probe's name, encoded tail", "GET /healthz%2f HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonHost},
		{"metrics by a foreign name", "GET /metrics HTTP/1.1\n" + bearer + "Host: evil.example\n\n", 403, ReasonHost},
	})
}

func TestOriginMatrix(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: RequireToken, AllowOrigins: []string{"https://ui.example.org", "http://localhost:3000", "vscode-webview://abc"}})
	from := func(name string, status int, reason Reason, lines ...string) attack {
		return attack{name, get(append([]string{"Host: localhost:PORT"}, lines...)...), status, reason}
	}
	runAttacks(t, g, []attack{
		from("no browser", 200, ""),
		from("own page", 200, "", "Origin: http://localhost:PORT", "Sec-Fetch-Site: same-origin"),
		from("own page, old browser", 200, "", "Origin: http://localhost:PORT"),
		from("typed into the address bar", 200, "", "Sec-Fetch-Site: none"),
		from("allowed page", 200, "", "Origin: https://ui.example.org", "Sec-Fetch-Site: cross-site"),
		from("allowed page, default port", 200, "", "Origin: https://ui.example.org:443"),
		from("allowed page of this machine", 200, "", "Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"),
		from("allowed editor", 200, "", "Origin: vscode-webview://abc"),

		from("foreign page", 403, ReasonOrigin, "Origin: https://evil.example"),
		from("null", 403, ReasonOrigin, "Origin: null"),
		from("empty", 403, ReasonOrigin, "Origin:"),
		from("another port", 403, ReasonOrigin, "Origin: http://localhost:1"),
		from("default port", 403, ReasonOrigin, "Origin: http://localhost"),
		from("another scheme", 403, ReasonOrigin, "Origin: https://localhost:PORT"),
		from("another name of ours", 403, ReasonOrigin, "Origin: http://127.0.0.1:PORT"),
		from("trailing dot", 403, ReasonOrigin, "Origin: http://localhost.:PORT"),
		from("trailing slash", 403, ReasonOrigin, "Origin: http://localhost:PORT/"),
		from("userinfo", 403, ReasonOrigin, "Origin: http://localhost:PORT@evil.example"),
		from("two Origins, ours first", 403, ReasonOrigin, "Origin: http://localhost:PORT", "Origin: https://evil.example"),
		from("two Origins, allowed first", 403, ReasonOrigin, "Origin: https://ui.example.org", "Origin: https://evil.example"),
		from("the own Origin twice", 403, ReasonOrigin, "Origin: http://localhost:PORT", "Origin: http://localhost:PORT"),
		from("a list of Origins", 403, ReasonOrigin, "Origin: http://localhost:PORT https://evil.example"),
		from("file", 403, ReasonOrigin, "Origin: file://"),
		from("allowed page, other scheme", 403, ReasonOrigin, "Origin: http://ui.example.org"),
		from("allowed page, other port", 403, ReasonOrigin, "Origin: https://ui.example.org:8443"),
		from("below an allowed page", 403, ReasonOrigin, "Origin: https://x.ui.example.org"),
		from("allowed page as a prefix", 403, ReasonOrigin, "Origin: https://ui.example.org.evil.example"),

		from("cross-site without Origin", 403, ReasonSecFetchSite, "Sec-Fetch-Site: cross-site"),
		from("same-site without Origin", 403, ReasonSecFetchSite, "Sec-Fetch-Site: same-site"),
		from("cross-site that claims our Origin", 403, ReasonSecFetchSite, "Origin: http://localhost:PORT", "Sec-Fetch-Site: cross-site"),
		from("unknown site", 403, ReasonSecFetchSite, "Sec-Fetch-Site: new-value"),
		from("site in capitals", 403, ReasonSecFetchSite, "Sec-Fetch-Site: NONE"),
		from("empty site", 403, ReasonSecFetchSite, "Sec-Fetch-Site:"),
		from("two sites", 403, ReasonSecFetchSite, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"),

		{"rebinding: own Origin of a foreign Host", get("Host: evil.example:PORT", "Origin: http://evil.example:PORT", "Sec-Fetch-Site: same-origin"), 403, ReasonHost},
		{"allowed Origin through a foreign Host", get("Host: evil.example:PORT", "Origin: https://ui.example.org"), 403, ReasonHost},
		{"foreign page at a probe", "GET /healthz HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\n\n", 403, ReasonOrigin},
		{"foreign preflight", "OPTIONS /rpc HTTP/1.1\nHost: localhost:PORT\nOrigin: https://evil.example\nAccess-Control-Request-Method: POST\n\n", 403, ReasonOrigin},
		{"own preflight needs the token", "OPTIONS /rpc HTTP/1.1\nHost: localhost:PORT\nOrigin: http://localhost:PORT\nAccess-Control-Request-Method: POST\n\n", 401, ReasonTokenMissing},
	})
}

func TestOwnOriginFollowsTheSchemeTheClientSees(t *testing.T) {
	for _, c := range []struct {
		p      Policy
		scheme string
	}{
		{Policy{Mode: RequireToken, Kind: LoopbackTCP}, "http"},
		{Policy{Mode: RequireToken, Kind: LoopbackTCP, TLS: true}, "https"},
		{Policy{Mode: RequireToken, Kind: LoopbackTCP, BehindProxy: true}, "https"},
		{Policy{Mode: RequireToken, Kind: Unix, TLS: true}, "http"},
	} {
		c.p.Token = testToken(t)
		g, err := New(c.p)
		if err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"http", "https"} {
			r := httptest.NewRequest("GET", "/rpc", nil)
			r.Host = "localhost:8080"
			r.Header.Set("Origin", scheme+"://localhost:8080")
			if _, refusal := g.checkBrowser(r, false); (refusal == nil) != (scheme == c.scheme) {
				t.Errorf("%+v: origin %s: %+v", c.p, scheme, refusal)
			}
		}
	}
}

func TestSecondHostHeaderOfHTTP2IsRefused(t *testing.T) {
	for kind, want := range map[Kind]Reason{LoopbackTCP: ReasonHost, Unix: ReasonOrigin} {
		g, err := New(Policy{Mode: RequireToken, Kind: kind, Token: testToken(t)})
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"localhost", "evil.example"} {
			r := httptest.NewRequest("GET", "/rpc", nil)
			r.Host = "localhost"
			r.Header["Host"] = []string{host} // beside :authority
			r.Header.Set("Origin", "http://localhost")
			_, refusal := g.checkBrowser(r, false)
			if host == "localhost" && refusal != nil || host != "localhost" && (refusal == nil || refusal.Reason != want) {
				t.Errorf("%s, %s: %+v", kind, host, refusal)
			}
		}
	}
}

func TestAllowedOriginCanUseTheServerFromABrowser(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: RequireToken, AllowOrigins: []string{"https://ui.example.org"}})
	const head = "Host: localhost:PORT\nOrigin: https://ui.example.org\nSec-Fetch-Site: cross-site\n"
	pre := g.ask(t, "OPTIONS /rpc HTTP/1.1\n"+head+"Access-Control-Request-Method: POST\nAccess-Control-Request-Headers: authorization\nAccess-Control-Request-Private-Network: true\n\n")
	want := map[string]string{
		"Access-Control-Allow-Origin":          "https://ui.example.org",
		"Access-Control-Allow-Methods":         "GET, POST",
		"Access-Control-Allow-Headers":         "Authorization, Content-Type, Last-Event-ID",
		"Access-Control-Allow-Private-Network": "true",
		"Access-Control-Allow-Credentials":     "",
		"Vary":                                 "Origin",
	}
	if pre.status != 204 || g.in.Load() != 0 {
		t.Errorf("preflight: status %d, %d let in", pre.status, g.in.Load())
	}
	for name, value := range want {
		if got := pre.header.Get(name); got != value {
			t.Errorf("preflight: %s is %q, want %q", name, got, value)
		}
	}
	wantShielded(t, pre.header)
	for status, auth := range map[int]string{200: bearer, 401: ""} {
		a := g.ask(t, "POST /rpc HTTP/1.1\n"+head+auth+"Content-Length: 0\n\n")
		if a.status != status || a.header.Get("Access-Control-Allow-Origin") != "https://ui.example.org" {
			t.Errorf("want %d, got %d with %v", status, a.status, a.header)
		}
	}
	plain := g.ask(t, get("Host: localhost:PORT"))
	if plain.header.Get("Access-Control-Allow-Origin") != "" || plain.header.Get("Vary") != "Origin" {
		t.Errorf("without Origin: %v", plain.header)
	}
}

func TestUnixSocketAsksForNoHost(t *testing.T) {
	g, err := New(Policy{Mode: None, Kind: Unix})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"", "anything", "localhost.", "evil.example"} {
		if rec := recordRequest(t, g, "GET", "/rpc", host); rec.Code != 200 {
			t.Errorf("%q: status %d", host, rec.Code)
		}
	}
	r := httptest.NewRequest("GET", "/rpc", nil)
	r.Host = ""
	r.Header.Set("Origin", "http://")
	if _, refusal := g.checkBrowser(r, false); refusal == nil {
		t.Error("a page without an origin of its own is let in")
	}
}

func TestModeNoneAsksNobodyButStillHoldsBrowsersOff(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: None})
	runAttacks(t, g, []attack{
		{"no token", "GET /rpc HTTP/1.1\nHost: localhost\n\n", 200, ""},
		{"any credential", "GET /rpc HTTP/1.1\nHost: localhost\nAuthorization: Basic eDp5\n\n", 200, ""},
		{"forwarded", "GET /rpc HTTP/1.1\nHost: localhost\nX-Forwarded-For: 1.2.3.4\n\n", 200, ""},
		{"rebinding", "GET /rpc HTTP/1.1\nHost: evil.example\n\n", 403, ReasonHost},
		{"foreign page", "GET /rpc HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\n\n", 403, ReasonOrigin},
	})
}

func TestRefusalDoesNotWaitForAnEndlessBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		serveGuarded(t, &oneConn{conn: far, closed: make(chan struct{})}, Policy{Mode: RequireToken, Kind: LoopbackTCP, Listen: "127.0.0.1:0"})
		start := time.Now()
		a := askOn(t, near, "POST /rpc/stream HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\n5\n{\"a\":\n")
		if d := time.Since(start); d != 0 {
			t.Errorf("answered after %v", d)
		}
		if a.status != 401 || a.header.Get("Connection") != "close" && !strings.Contains(strings.ToLower(a.raw), "connection: close") {
			t.Errorf("status %d with %v", a.status, a.header)
		}
		if _, err := io.Copy(io.Discard, near); err != nil {
			t.Errorf("the connection stays: %v", err)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func TestErrorBodyIsTheContractsFrame(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: RequireToken})
	a := g.ask(t, "POST /rpc HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n")
	prefix := `{"jsonrpc":"2.0","id":null,"error":{"code":-32006,"message":"`
	suffix := `","data":{"kind":"unauthorized","retryable":false,"reason":"token_missing"}}}` + "\n"
	if !strings.HasPrefix(a.body, prefix) || !strings.HasSuffix(a.body, suffix) {
		t.Errorf("body %s", a.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Www-Authenticate": `Bearer realm="holon"`, "Content-Length": fmt.Sprint(len(a.body))} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	f := g.ask(t, "POST /rpc HTTP/1.1\nHost: evil.example\nContent-Length: 0\n\n")
	if f.status != 403 || !strings.HasSuffix(f.body, `","data":{"kind":"forbidden","retryable":false,"reason":"host"}}}`+"\n") || f.header.Get("WWW-Authenticate") != "" {
		t.Errorf("status %d, %v: %s", f.status, f.header, f.body)
	}
	h := g.ask(t, "HEAD /rpc HTTP/1.1\nHost: localhost\nConnection: close\n\n")
	if h.status != 401 || strings.Contains(h.raw, "jsonrpc") {
		t.Errorf("HEAD: %q", h.raw)
	}
}
