package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
	"github.com/seed82539d15/holon/rpc/client"
)

// url is the server's first address.
func (s *server) url() string {
	s.t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return record.URLs[0]
}

// raw sends bytes, in which a bare LF becomes CRLF and HOST the server's address, on a
// connection of its own, and returns the answer. At the server's first address, or at a
// unix socket.
func (s *server) raw(socket, request string) (status int, header http.Header, body string) {
	s.t.Helper()
	network, address, host := "unix", socket, "localhost"
	if socket == "" {
		network, address = "tcp", strings.TrimPrefix(s.url(), "http://")
		host = address
	}
	c, err := new(net.Dialer).DialContext(s.t.Context(), network, address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	stop := context.AfterFunc(s.t.Context(), func() { _ = c.Close() })
	defer stop()
	request = strings.ReplaceAll(strings.ReplaceAll(request, "HOST", host), "\n", "\r\n")
	if _, err := io.WriteString(c, request); err != nil {
		s.t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		s.t.Fatalf("no answer to %q: %v", request, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

const askForPage = "GET / HTTP/1.1\nHost: HOST\n\n"

func TestConsoleIsServedWhereBrowsersGet(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), auth: "token"}
	s.listen = []string{"127.0.0.1:0", "unix:" + s.socket()}
	pprof := s.socket() + ".pprof"
	s.change = func(c *config.Config) { c.Pprof = pprof }
	s.start()
	status, header, page := s.raw("", askForPage)
	if status != 200 || !strings.HasPrefix(page, "<!doctype html>") || !strings.Contains(header.Get("Content-Security-Policy"), "trusted-types 'none'") {
		t.Errorf("status %d, %v\n%s", status, header, page)
	}
	if got := header.Values("X-Content-Type-Options"); len(got) != 1 {
		t.Errorf("X-Content-Type-Options is sent %d times", len(got))
	}
	_, rest, _ := strings.Cut(page, `src="`)
	module, _, _ := strings.Cut(rest, `"`)
	if status, header, _ := s.raw("", "GET "+module+" HTTP/1.1\nHost: HOST\n\n"); status != 200 || header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("the module %s: status %d, %v", module, status, header)
	}
	if status, _, _ := s.raw("", "GET /rpc/stream HTTP/1.1\nHost: HOST\n\n"); status != 401 {
		t.Errorf("data without a token: status %d", status)
	}
	for socket, want := range map[string]int{s.socket(): 401, pprof: 404} {
		for _, path := range []string{"/", module} {
			if status, _, body := s.raw(socket, "GET "+path+" HTTP/1.1\nHost: HOST\n\n"); status != want || strings.Contains(body, "<!doctype") {
				t.Errorf("%s at %s: status %d, want %d", path, socket, status, want)
			}
		}
	}
	if urls := strings.Count(s.log.String(), `"message":"console: http://127.0.0.1:`); urls != 2 {
		t.Errorf("%d addresses of the console, want one for each listener that browsers reach:\n%s", urls, s.log.String())
	}
}

// imported finds what a module imports.
var imported = regexp.MustCompile(`\b(?:from|import)\s*["'](\.\.?/[^"']+)["']`)

func TestTheServerHasEveryModuleOfTheConsole(t *testing.T) {
	s := startServer(t)
	_, page := s.fetch("/")
	_, rest, _ := strings.Cut(page, `src="`)
	first, _, _ := strings.Cut(rest, `"`)
	seen := map[string]bool{}
	for todo := []string{first}; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		status, text := s.fetch(todo[0])
		if status != http.StatusOK {
			t.Errorf("%s: status %d", todo[0], status)
			continue
		}
		for _, found := range imported.FindAllStringSubmatch(text, -1) {
			todo = append(todo, path.Join(path.Dir(todo[0]), found[1]))
		}
	}
	if len(seen) < 2 {
		t.Errorf("only %v", seen)
	}
}

func TestConsoleCanBeTurnedOff(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), change: func(c *config.Config) { c.Console = false }}
	s.start()
	if status, _, body := s.raw("", askForPage); status != 404 || !strings.Contains(body, "there is nothing at this path") {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _, body := s.raw("", "GET / HTTP/1.1\nHost: HOST\n"+linkLines+"\n"); status != 403 {
		t.Errorf("a link of another site: status %d: %s", status, body)
	}
	if strings.Contains(s.log.String(), "console:") {
		t.Error(s.log.String())
	}
}

// linkLines are what browsers send when a link on a page of another site is followed.
const linkLines = "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document\n"

// Each request is what a page of another site could have the browser of the server's own
// user send, who needs no token here. None reaches data or changes anything.
func TestTheConsolesExceptionLeadsToNothingElse(t *testing.T) {
	s := startServer(t)
	const body = `{"jsonrpc":"2.0","id":1,"method":"thread/start","params":{"thread_id":"attacked"}}`
	post := fmt.Sprintf("Content-Type: text/plain\nContent-Length: %d\n\n%s", len(body), body)
	for request, want := range map[string]int{
		"GET /":                  200,
		"GET /console/nothing":   404,
		"GET /console":           404,
		"GET /rpc":               403,
		"GET /rpc/stream":        403,
		"GET /events":            403,
		"GET /metrics":           403,
		"GET /console/../rpc":    403,
		"GET /console/../events": 403,
		"GET /console/..%2frpc":  403,
		"GET /console%2f../rpc":  403,
		"GET /%2frpc":            403,
		"GET //rpc":              403,
		"GET //":                 403,
		"GET /?x":                403,
		"HEAD /":                 403,
		"POST /":                 403,
		"POST /rpc":              403,
		"POST /rpc/stream":       403,
		"POST /console":          403,
		"POST /console/":         403,
		"POST /console/rpc":      403,
		"POST /console/../rpc":   403,
		"OPTIONS /":              403,
	} {
		end := "\n"
		if strings.HasPrefix(request, "POST") {
			end = post
		}
		status, _, answer := s.raw("", request+" HTTP/1.1\nHost: HOST\n"+linkLines+end)
		if status != want || strings.Contains(answer, `"result"`) || strings.Contains(answer, "holon_") {
			t.Errorf("%s: status %d, want %d: %.200s", request, status, want, answer)
		}
	}
	// The same without the headers of a browser: no spelling leads from the console to a method.
	for _, path := range []string{"/", "/console/rpc", "/console/../rpc", "/console/..%2frpc", "/console"} {
		if status, _, answer := s.raw("", "POST "+path+" HTTP/1.1\nHost: HOST\n"+post); status/100 != 4 || strings.Contains(answer, `"result"`) {
			t.Errorf("POST %s: status %d: %.200s", path, status, answer)
		}
	}
	if events := s.events(); len(events) != 0 {
		t.Errorf("something was changed: %s", events[0].Params)
	}
}

// TestServeSaysThePublicAddressOfTheConsole, which is the only one that it knows behind a
// proxy.
func TestServeSaysThePublicAddressOfTheConsole(t *testing.T) {
	for _, c := range []struct {
		behind bool
		public string
		local  bool // it names the address of the listener too
	}{
		{false, "https://holon.example.com:8443/", true}, {true, "https://holon.example.com:8443/", false},
	} {
		s := &server{t: t, data: t.TempDir(), auth: "token", change: func(settings *config.Config) {
			settings.PublicURL, settings.BehindProxy, settings.AllowHost = c.public, c.behind, []string{"other.example.com"}
		}}
		s.start()
		text := s.log.String()
		contains(t, text, `"console: `+c.public+`"`)
		if strings.Contains(text, "console: "+s.url()) != c.local || strings.Contains(text, "other.example.com") {
			t.Errorf("behind a proxy %v:\n%s", c.behind, text)
		}
	}
}

// Through a proxy that ends TLS the console works if the proxy passes on the name in the
// browser's address line; whoever forgets that gets a refusal, not a console in which
// nothing works.
func TestConsoleBehindAProxy(t *testing.T) {
	s := &server{t: t, data: t.TempDir(), auth: "token", change: func(c *config.Config) {
		c.BehindProxy, c.AllowHost = true, []string{"holon.example.com"}
	}}
	s.start()
	contains(t, s.log.String(), `"console: https://holon.example.com/"`)
	target, err := url.Parse(s.url())
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, keepsName := range []bool{true, false} {
		proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if keepsName {
				r.Out.Host = r.In.Host
			}
			r.SetXForwarded()
		}})
		t.Cleanup(proxy.Close)
		ask := func(method, path, body string, headers ...string) int {
			r, err := http.NewRequestWithContext(t.Context(), method, proxy.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "holon.example.com"
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			resp, err := proxy.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			return resp.StatusCode
		}
		const status = `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
		own := []string{"Content-Type", "application/json", "Origin", "https://holon.example.com", "Sec-Fetch-Site", "same-origin"}
		if got := ask("GET", "/", ""); got != 200 {
			t.Errorf("the page: status %d", got)
		}
		if got := ask("GET", "/", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); got != 200 {
			t.Errorf("a link to the page: status %d", got)
		}
		want := map[bool]int{true: 401, false: 403}[keepsName]
		if got := ask("POST", "/rpc", status, own...); got != want {
			t.Errorf("without a token, name kept %v: status %d, want %d", keepsName, got, want)
		}
		want = map[bool]int{true: 200, false: 403}[keepsName]
		if got := ask("POST", "/rpc", status, append(own, "Authorization", "Bearer "+strings.TrimSpace(string(token)))...); got != want {
			t.Errorf("with the token, name kept %v: status %d, want %d", keepsName, got, want)
		}
	}
}

// A container's port that is published on the loopback of the host has no TLS in front,
// though the server was told so: then the browser's address is allowed by name.
func TestConsoleOfAContainerOnLoopback(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
	for allow, want := range map[string]int{"": 403, "http://localhost:8080": 200} {
		s := &server{t: t, data: t.TempDir(), auth: "token", change: func(c *config.Config) {
			c.BehindProxy = true
			if allow != "" {
				c.AllowOrigin = []string{allow}
			}
		}}
		s.start()
		token, err := os.ReadFile(filepath.Join(s.data, "curl-header"))
		if err != nil {
			t.Fatal(err)
		}
		const page = "Host: localhost:8080\nSec-Fetch-Site: same-origin\n"
		if status, _, _ := s.raw("", "GET / HTTP/1.1\n"+page+"\n"); status != 200 {
			t.Errorf("the page: status %d", status)
		}
		head := page + "Origin: http://localhost:8080\n" + strings.TrimSpace(string(token)) + "\n"
		request := fmt.Sprintf("POST /rpc HTTP/1.1\n%sContent-Type: application/json\nContent-Length: %d\n\n%s", head, len(body), body)
		if status, _, answer := s.raw("", request); status != want {
			t.Errorf("a method, allowing %q: status %d, want %d: %s", allow, status, want, answer)
		}
	}
}

// What a browser sends through ssh -L has the port of the tunnel in its names.
func TestConsoleThroughATunnel(t *testing.T) {
	s := startServer(t)
	const body = `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
	for host, want := range map[string]int{"localhost:1234": 200, "127.0.0.1:1234": 200, "box.example.com:1234": 403} {
		if status, _, _ := s.raw("", "GET / HTTP/1.1\nHost: "+host+"\n"+linkLines+"\n"); status != want {
			t.Errorf("the page by %s: status %d, want %d", host, status, want)
		}
		request := fmt.Sprintf("POST /rpc HTTP/1.1\nHost: %s\nOrigin: http://%s\nSec-Fetch-Site: same-origin\nContent-Type: application/json\nContent-Length: %d\n\n%s", host, host, len(body), body)
		if status, _, answer := s.raw("", request); status != want {
			t.Errorf("a method by %s: status %d, want %d: %s", host, status, want, answer)
		}
	}
}

// A stranger who asks for files is not counted as a client, whose places are few.
func TestFilesOfTheConsoleTakeNoPlaceOfClients(t *testing.T) {
	s := startServer(t)
	http1 := &http.Client{Transport: &http.Transport{}}
	defer http1.CloseIdleConnections()
	unadmitted := func(n string) bool {
		_, samples := s.fetch("/metrics")
		return strings.Contains(samples, "\nholon_connections_unadmitted "+n+"\n")
	}
	eventually(t, "the connections of the start are closed", func() bool { return unadmitted("0") })
	resp, err := http1.Get(s.url() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatal(resp.Status, err)
	}
	_ = resp.Body.Close()
	if !unadmitted("1") {
		t.Error("the connection is counted as that of a client")
	}
}
