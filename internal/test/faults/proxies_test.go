//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/certtest"
	"github.com/seed82539d15/holon/internal/test/hosttest"
	"github.com/seed82539d15/holon/rpc/client"
)

// proxyPage is the document that has the configurations.
const proxyPage = "../../../docs/security.md"

// The name and the server's address that the configurations have.
const (
	proxiedName = "holon.example.com"
	proxiedTo   = "127.0.0.1:8080"
)

// silence is longer than what proxies grant a client by default, which is 60 s.
const silence = 90 * time.Second

// blocks returns the code blocks of a language in the document, and further ones that
// begin like it.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	page, err := os.ReadFile(proxyPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		found = append(found, m[1])
	}
	return found
}

// only is what replaces all that must be once in a text.
type only map[string]string

func (o only) in(t *testing.T, text string) string {
	t.Helper()
	for old, replacement := range o {
		if n := strings.Count(text, old); n != 1 {
			t.Fatalf("the document has %q %d times in:\n%s", old, n, text)
		}
		text = strings.Replace(text, old, replacement, 1)
	}
	return text
}

// place is where a proxy of a test is.
type place struct {
	dir, cert, key string
	port           string // on which it listens
	server         string // the address of the server
}

// nginxFile is the configuration of the document, at another place.
func nginxFile(t *testing.T, block string, p place) string {
	t.Helper()
	block = only{
		"listen 443 ssl;":    "listen 127.0.0.1:" + p.port + " ssl;",
		"/etc/ssl/holon.pem": p.cert, "/etc/ssl/holon.key": p.key, proxiedTo: p.server,
	}.in(t, block)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;\n" // else its workers cannot read the test's directory
	}
	temp := ""
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(p.dir, kind))
	}
	return user + "daemon off;\npid " + filepath.Join(p.dir, "pid") + ";\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + temp + block + "}\n"
}

// caddyFile is the configuration of the document, at another place, with a global block
// of the document or none.
func caddyFile(t *testing.T, global, block string, p place) string {
	t.Helper()
	options, is := strings.CutPrefix(global, "{\n")
	if !is && global != "" {
		t.Fatalf("this is no global block:\n%s", global)
	}
	if global == "" {
		options = "}\n"
	}
	head := "{\nadmin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\nhttp_port " + freePort(t) + "\nhttps_port " + p.port + "\n"
	return head + options + only{proxiedName + " {\n": proxiedName + " {\ntls " + p.cert + " " + p.key + "\n", proxiedTo: p.server}.in(t, block)
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// The configurations that the documents print carry everything: the real programs run
// them in front of a real server, which is started as the documents say.
func TestProxiesOfTheDocuments(t *testing.T) {
	nginx, caddy := blocks(t, "nginx"), blocks(t, "caddy")
	if len(nginx) != 1 || len(caddy) != 2 {
		t.Fatalf("%s has %d configurations of nginx and %d of Caddy", proxyPage, len(nginx), len(caddy))
	}
	serve := regexp.MustCompile(`(?m)^holon serve (.*--behind-proxy.*)$`).FindAllStringSubmatch(strings.Join(blocks(t, "sh"), "\n"), -1)
	if len(serve) != 1 {
		t.Fatalf("%s has %d commands for a server behind a proxy", proxyPage, len(serve))
	}
	args := strings.Fields(only{proxiedTo: "127.0.0.1:0"}.in(t, serve[0][1]))
	places := place{cert: "c", key: "k", port: "1", server: "s"}
	nginxFile(t, nginx[0], places) // they are what the test expects, also where nothing runs
	caddyFile(t, caddy[1], caddy[0], places)
	if os.Getenv("PROXIES") == "" {
		t.Skip("NOT TESTED: the proxies themselves: make proxies")
	}

	bed := newTestbed(t)
	s := bed.start(t, args...)
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	address := ""
	for _, url := range record.URLs {
		if to, is := strings.CutPrefix(url, "http://"); is {
			address = to
		}
	}
	authority := certtest.New(t, "proxies")
	for _, kind := range []struct {
		name string
		file func(t *testing.T, p place) string
		args func(file, dir string) []string
		h2   []bool
	}{
		{"nginx", func(t *testing.T, p place) string { return nginxFile(t, nginx[0], p) }, nginxArgs, []bool{false}},
		{"caddy", func(t *testing.T, p place) string { return caddyFile(t, "", caddy[0], p) }, caddyArgs, []bool{true}},
		{"caddy full duplex", func(t *testing.T, p place) string { return caddyFile(t, caddy[1], caddy[0], p) }, caddyArgs, []bool{false, true}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			program, _, _ := strings.Cut(kind.name, " ")
			path, err := exec.LookPath(program)
			if err != nil {
				hosttest.Need(t, "there is no "+program+" in PATH")
			}
			p := place{dir: t.TempDir(), port: freePort(t), server: address}
			p.cert, p.key = certtest.Files(t, authority.Issue(0, proxiedName))
			file := filepath.Join(p.dir, "Caddyfile")
			if err := os.WriteFile(file, []byte(kind.file(t, p)), 0o600); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(kind.name, "full duplex") && !knows(path, file, p.dir) {
				t.Skip("NOT TESTED: this Caddy has no enable_full_duplex")
			}
			startProxy(t, p, path, kind.args(file, p.dir)...)
			for _, h2 := range kind.h2 {
				proto := "HTTP/1.1"
				if h2 {
					proto = "HTTP/2.0"
				}
				t.Run(proto, func(t *testing.T) {
					t.Parallel()
					v := &visitor{client: visiting(t, authority.PEM, p.port, h2), token: strings.TrimSpace(string(token)), proto: proto}
					for name, what := range map[string]func(*testing.T){"page": v.page, "sse": v.sse, "two-way stream": v.stream} {
						t.Run(name, func(t *testing.T) { t.Parallel(); what(t) })
					}
				})
			}
		})
	}
}

func nginxArgs(file, dir string) []string { return []string{"-e", "stderr", "-p", dir, "-c", file} }

func caddyArgs(file, _ string) []string {
	return []string{"run", "--adapter", "caddyfile", "--config", file}
}

// knows reports whether a Caddy has the option enable_full_duplex of a configuration.
func knows(path, file, dir string) bool {
	cmd := exec.Command(path, "adapt", "--adapter", "caddyfile", "--config", file)
	cmd.Env = proxyEnv(dir)
	text, err := cmd.CombinedOutput()
	return err == nil || !bytes.Contains(text, []byte("enable_full_duplex"))
}

func proxyEnv(dir string) []string {
	return []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
}

// startProxy starts a proxy until the test ends, and waits until it listens.
func startProxy(t *testing.T, p place, path string, args ...string) {
	t.Helper()
	cmd := exec.Command(path, args...)
	out := &output{}
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, proxyEnv(p.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("the proxy said:\n%s", out.tail())
		}
	})
	for deadline := time.Now().Add(startWithin); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+p.port)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("the proxy has ended:\n%s", out.tail())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the proxy does not listen: %v\n%s", err, out.tail())
		}
	}
}

// visiting is a client that knows the proxy by its name.
func visiting(t *testing.T, ca []byte, port string, h2 bool) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}
	if !h2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// visitor uses a server through a proxy.
type visitor struct {
	client *http.Client
	token  string
	proto  string
}

// do sends a request; the test ends it after the silence and what may come then.
func (v *visitor) do(t *testing.T, method, path string, body io.Reader) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), silence+time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "https://"+proxiedName+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	if method == http.MethodPost {
		r.Header.Set("Origin", "https://"+proxiedName) // as the page's
	}
	answer, err := v.client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	t.Cleanup(func() { cancel(); answer.Body.Close() })
	if answer.StatusCode != http.StatusOK || answer.Proto != v.proto {
		t.Fatalf("%s %s: %s %s", method, path, answer.Proto, answer.Status)
	}
	return answer
}

// call makes a request of the page.
func (v *visitor) call(t *testing.T, method, params string) {
	t.Helper()
	answer := v.do(t, http.MethodPost, "/rpc", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	if text, err := io.ReadAll(answer.Body); err != nil || !bytes.Contains(text, []byte(`"result"`)) {
		t.Fatalf("%s: %v %s", method, err, text)
	}
}

func (v *visitor) page(t *testing.T) {
	text, err := io.ReadAll(v.do(t, http.MethodGet, "/", nil).Body)
	if err != nil || !bytes.Contains(text, []byte("<html")) {
		t.Fatalf("the page: %v %.200s", err, text)
	}
	v.call(t, "holon/status", "{}")
}

// sse is open as long as the two-way stream, and gets an event at its end.
func (v *visitor) sse(t *testing.T) {
	events := scan(v.do(t, http.MethodGet, "/events", nil).Body)
	events.find(t, "stream/opened")
	for start := time.Now(); time.Since(start) < silence; {
		events.find(t, "stream/heartbeat") // each as it happens
	}
	thread := "sse-" + freePort(t) // one of its own
	v.call(t, "thread/start", fmt.Sprintf(`{"thread_id":%q}`, thread))
	events.find(t, thread)
}

// stream is silent for longer than proxies allow by default, and then sends more than they
// allow by default.
func (v *visitor) stream(t *testing.T) {
	requests, w := io.Pipe()
	defer w.Close()
	lines := scan(v.do(t, http.MethodPost, "/rpc/stream", requests).Body)
	lines.find(t, "stream/opened")
	for start := time.Now(); time.Since(start) < silence; {
		lines.find(t, "stream/heartbeat")
	}
	const size, count = 64 << 10, 48 // 3 MiB
	for i := range count {
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"r%d","method":"holon/status","params":{"_meta":{"text":%q}}}`+"\n", i, strings.Repeat("x", size))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		lines.find(t, fmt.Sprintf(`"id":"r%d","result"`, i))
	}
}

// scanned are the lines of a stream.
type scanned struct{ *bufio.Scanner }

func scan(r io.Reader) scanned {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 8<<20)
	return scanned{s}
}

// find reads up to the next line that has text.
func (s scanned) find(t *testing.T, text string) {
	t.Helper()
	for s.Scan() {
		if strings.Contains(s.Text(), text) {
			return
		}
	}
	t.Fatalf("the stream ended before %q: %v", text, s.Err())
}
