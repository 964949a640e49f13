package admission

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// serveStatic serves files behind a gate, without any credential.
func serveStatic(t *testing.T, p Policy) *guarded {
	t.Helper()
	p.Kind, p.Listen = LoopbackTCP, "127.0.0.1:0"
	return serveBehind(t, loopbackListener(t, "tcp", "127.0.0.1:0"), p, (*Gate).Static)
}

// link is what browsers send when a link on a page of another site is followed.
var link = []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}

// like returns lines with others in the place of those that have the same name; a name
// alone removes the line.
func like(lines []string, others ...string) []string {
	var out []string
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		keep := true
		for _, other := range others {
			otherName, _, _ := strings.Cut(other, ":")
			keep = keep && !strings.EqualFold(name, otherName)
		}
		if keep {
			out = append(out, line)
		}
	}
	for _, other := range others {
		if strings.Contains(other, ":") {
			out = append(out, other)
		}
	}
	return out
}

// staticAttacks ask for files.
func staticAttacks() []attack {
	ask := func(name, request string, status int, reason Reason, lines ...string) attack {
		return attack{name, request + " HTTP/1.1\n" + strings.Join(like([]string{"Host: localhost:PORT"}, lines...), "\n") + "\n\n", status, reason}
	}
	get := func(name string, status int, reason Reason, lines ...string) attack {
		return ask(name, "GET /console/x/app/main.js", status, reason, lines...)
	}
	linked := func(name string, status int, reason Reason, others ...string) attack {
		return get(name, status, reason, like(link, others...)...)
	}
	path := func(name, request string, others ...string) attack {
		return ask(name, request, 403, ReasonSecFetchSite, like(link, others...)...)
	}
	return []attack{
		get("no browser, no token", 200, ""),
		get("stale token", 200, "", "Authorization: Bearer wrong"),
		get("forwarded", 200, "", "X-Forwarded-For: 10.1.1.1", "Via: 1.1 x"),
		get("address bar", 200, "", "Sec-Fetch-Site: none", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
		get("the page's module", 200, "", "Origin: http://localhost:PORT", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: script"),
		ask("HEAD", "HEAD /", 200, ""),

		linked("link of another site", 200, ""),
		linked("link of another port", 200, "", "Sec-Fetch-Site: same-site"),
		linked("link of the console itself", 200, "", "Sec-Fetch-Site: same-origin"),
		ask("link to the page", "GET /", 200, "", link...),
		linked("link that a script opens", 200, "", "Sec-Fetch-User"),
		linked("link and a wrong token", 200, "", "Authorization: Bearer wrong"),

		linked("rebinding", 403, ReasonHost, "Host: evil.example:PORT"),
		linked("rebinding service", 403, ReasonHost, "Host: 127.0.0.1.nip.io:PORT"),
		linked("rebound same-origin page", 403, ReasonHost, "Host: evil.example:PORT", "Sec-Fetch-Site: same-origin"),
		get("rebinding without a browser's headers", 403, ReasonHost, "Host: evil.example"),
		linked("probe's rule for hosts", 403, ReasonHost, "Host: 10.0.0.9:PORT"),

		linked("another port's script", 403, ReasonOrigin, "Origin: http://localhost:1", "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"),
		linked("another port that claims to navigate", 403, ReasonOrigin, "Origin: http://localhost:1", "Sec-Fetch-Site: same-site"),
		linked("another site that claims to navigate", 403, ReasonOrigin, "Origin: https://evil.example"),
		linked("sandboxed page", 403, ReasonOrigin, "Origin: null"),
		linked("empty Origin", 403, ReasonOrigin, "Origin:"),
		linked("two Origins", 403, ReasonOrigin, "Origin: http://localhost:PORT", "Origin: https://evil.example"),
		linked("our Origin of another site", 403, ReasonSecFetchSite, "Origin: http://localhost:PORT"),

		linked("script of another site", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"),
		linked("image of another site", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"),
		linked("style of another port", 403, ReasonSecFetchSite, "Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: style"),
		linked("fetch of another site", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty"),
		linked("worker of another site", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: same-origin", "Sec-Fetch-Dest: worker"),
		linked("WebSocket", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: websocket", "Sec-Fetch-Dest: empty"),
		linked("unknown site", 403, ReasonSecFetchSite, "Sec-Fetch-Site: new-value"),
		linked("site in capitals", 403, ReasonSecFetchSite, "Sec-Fetch-Site: CROSS-SITE"),
		linked("empty site", 403, ReasonSecFetchSite, "Sec-Fetch-Site:"),
		linked("two sites", 403, ReasonSecFetchSite, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"),
		linked("the site twice", 403, ReasonSecFetchSite, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: cross-site"),
		linked("no mode", 403, ReasonSecFetchSite, "Sec-Fetch-Mode"),
		linked("the mode twice", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: navigate"),
		linked("two modes", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Mode: navigate"),
		linked("a list of modes", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: navigate, no-cors"),
		linked("mode in capitals", 403, ReasonSecFetchSite, "Sec-Fetch-Mode: Navigate"),
		linked("no destination", 403, ReasonSecFetchSite, "Sec-Fetch-Dest"),
		linked("the destination twice", 403, ReasonSecFetchSite, "Sec-Fetch-Dest: document", "Sec-Fetch-Dest: document"),
		linked("site alone", 403, ReasonSecFetchSite, "Sec-Fetch-Mode", "Sec-Fetch-Dest"),

		linked("iframe", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: iframe"),
		linked("frame", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: frame"),
		linked("embed", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: embed"),
		linked("object", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: object"),
		linked("object of an older browser", 403, ReasonSecFetchDest, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: object"),
		linked("fenced frame", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: fencedframe"),
		linked("frame of an older browser", 403, ReasonSecFetchDest, "Sec-Fetch-Mode: nested-navigate", "Sec-Fetch-Dest"),
		linked("frame of another port", 403, ReasonSecFetchDest, "Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe"),
		linked("frame of the console itself", 403, ReasonSecFetchDest, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: iframe"),
		linked("frame from an extension", 403, ReasonSecFetchDest, "Sec-Fetch-Site: none", "Sec-Fetch-Dest: iframe"),
		linked("frame that also claims to be a tab", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: document", "Sec-Fetch-Dest: iframe"),
		linked("navigation of a kind to come", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: new-value"),
		linked("destination in capitals", 403, ReasonSecFetchDest, "Sec-Fetch-Dest: DOCUMENT"),
		linked("empty destination", 403, ReasonSecFetchDest, "Sec-Fetch-Dest:"),

		path("form that posts, without its Origin", "POST /", "Content-Length: 0"),
		ask("form that posts", "POST /", 403, ReasonOrigin, like(link, "Content-Length: 0", "Origin: https://evil.example")...),
		ask("form of a sandbox that posts", "POST /", 403, ReasonOrigin, like(link, "Content-Length: 0", "Origin: null")...),
		ask("HEAD as a link", "HEAD /", 403, "", link...), // no body, no reason
		path("OPTIONS as a link", "OPTIONS /"),
		path("PUT as a link", "PUT /", "Content-Length: 0"),
		path("method in small letters", "get /"),
		path("GET with a body", "GET /", "Transfer-Encoding: chunked"),
		path("form that gets", "GET /?"),
		path("query", "GET /?x=1"),
		path("token in the query", "GET /?token="+testTokenText),
		path("two slashes", "GET /console//app/main.js"),
		path("dot", "GET /console/./app/main.js"),
		path("two dots", "GET /console/../rpc"),
		path("two dots, encoded", "GET /console/%2e%2e/rpc"),
		path("slash, encoded", "GET /console%2fapp/main.js"),
		path("letter, encoded", "GET /%63onsole/app/main.js"),
		path("NUL, encoded", "GET /console/x%00"),
		path("slash at the end", "GET /console/"),
		path("another authority", "GET //evil.example/"),
		ask("absolute target", "GET http://localhost:PORT/", 403, ReasonTarget, link...),
		ask("absolute target of another", "GET http://evil.example/", 403, ReasonTarget, link...),
		ask("CONNECT", "CONNECT localhost:PORT", 403, ReasonTarget, link...),
		ask("OPTIONS *", "OPTIONS *", 403, ReasonTarget, link...),
	}
}

func TestStaticMatrix(t *testing.T) {
	for _, mode := range []Mode{RequireToken, Auto, None} {
		t.Run(string(mode), func(t *testing.T) { runAttacks(t, serveStatic(t, Policy{Mode: mode}), staticAttacks()) })
	}
}

// The exception is that of files: where data and methods are, a link of another site
// stays outside, whatever it carries.
func TestLinksReachNoData(t *testing.T) {
	g := serveLoopback(t, Policy{Mode: None})
	for _, request := range []string{"GET /rpc", "POST /rpc", "GET /rpc/stream", "GET /events", "GET /metrics", "GET /", "GET /console/../rpc", "GET //rpc", "GET /healthz"} {
		for _, site := range []string{"cross-site", "same-site"} {
			lines := like(link, "Host: localhost:PORT", "Content-Length: 0", "Sec-Fetch-Site: "+site)
			runAttacks(t, g, []attack{{request + " of " + site, request + " HTTP/1.1\n" + strings.Join(lines, "\n") + "\n\n", 403, ReasonSecFetchSite}})
		}
	}
}

func TestAllowedOriginsAndHostsHoldForFiles(t *testing.T) {
	g := serveStatic(t, Policy{Mode: RequireToken, AllowOrigins: []string{"https://ui.example.org"}, AllowHosts: []string{"holon.example.org"}})
	ask := func(name string, status int, reason Reason, lines ...string) attack {
		return attack{name, "GET / HTTP/1.1\n" + strings.Join(lines, "\n") + "\n\n", status, reason}
	}
	runAttacks(t, g, []attack{
		ask("link by the allowed name", 200, "", like(link, "Host: holon.example.org")...),
		ask("link by another name", 403, ReasonHost, like(link, "Host: x.holon.example.org")...),
		ask("allowed page", 200, "", "Host: localhost", "Origin: https://ui.example.org", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"),
		ask("frame in the allowed page", 403, ReasonSecFetchDest, like(link, "Host: localhost", "Sec-Fetch-Dest: iframe")...),
	})
}

func TestRefusedFilesAreCounted(t *testing.T) {
	g, err := New(Policy{Mode: None, Kind: LoopbackTCP})
	if err != nil {
		t.Fatal(err)
	}
	var seen []Reason
	g = g.Observe(func(r Refusal) { seen = append(seen, r.Reason) })
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "localhost"
	r.Header.Set("Sec-Fetch-Dest", "iframe")
	w := httptest.NewRecorder()
	g.Static(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != 403 || len(seen) != 1 || seen[0] != ReasonSecFetchDest {
		t.Errorf("status %d, seen %v", w.Code, seen)
	}
}

// HTTP/2 carries the same headers in another form: names in small letters, the path in a
// pseudo-header.
func TestStaticRulesOverHTTP2(t *testing.T) {
	gate, err := New(Policy{Mode: RequireToken, Kind: LoopbackTCP, TLS: true, Token: testToken(t)})
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int64
	srv := httptest.NewUnstartedServer(gate.Static(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			in.Add(1)
		}
	})))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: srv.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs},
	}}
	t.Cleanup(client.CloseIdleConnections)
	for _, c := range []struct {
		name, method, opaque string
		status               int
		lines                []string
	}{
		{"link", "GET", "", 200, link},
		{"link of another port", "GET", "", 200, like(link, "Sec-Fetch-Site: same-site")},
		{"no browser", "GET", "", 200, nil},
		{"script", "GET", "", 403, like(link, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script")},
		{"frame", "GET", "", 403, like(link, "Sec-Fetch-Dest: iframe")},
		{"the mode twice", "GET", "", 403, like(link, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: navigate")},
		{"no destination", "GET", "", 403, like(link, "Sec-Fetch-Dest")},
		{"another port's Origin", "GET", "", 403, like(link, "Origin: https://localhost:1")},
		{"form", "POST", "", 403, link},
		{"query", "GET", "/?x", 403, link},
		{"two slashes", "GET", "/console//x", 403, link},
		{"two dots", "GET", "/console/../rpc", 403, link},
		{"encoded", "GET", "/console%2f..%2frpc", 403, link},
		{"rebinding", "GET", "", 403, like(link, "Host: evil.example")},
	} {
		r, err := http.NewRequest(c.method, srv.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.opaque != "" {
			r.URL = &url.URL{Scheme: "https", Host: r.URL.Host, Opaque: c.opaque}
		}
		for _, line := range c.lines {
			name, value, _ := strings.Cut(line, ": ")
			if strings.EqualFold(name, "Host") {
				r.Host = value
				continue
			}
			r.Header.Add(name, value)
		}
		before := in.Load()
		got, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_ = got.Body.Close()
		if got.StatusCode != c.status || (in.Load() != before) != (c.status == 200) {
			t.Errorf("%s: status %d over %s, want %d", c.name, got.StatusCode, got.Proto, c.status)
		}
	}
}
