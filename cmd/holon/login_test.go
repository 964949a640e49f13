package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/test/certtest"
	"github.com/seed82539d15/holon/rpc/client"
)

// user is somebody with a configuration directory of their own, and without a server.
type user struct {
	t       *testing.T
	environ []string
	said    bytes.Buffer // all that the commands have printed
}

func newUser(t *testing.T) *user {
	t.Helper()
	return &user{t: t, environ: []string{"HOLON_DATA=" + freshDir(t), "XDG_CONFIG_HOME=" + t.TempDir()}}
}

// with is the same user with further variables.
func (p *user) with(environ ...string) *user {
	return &user{t: p.t, environ: append(p.environ[:len(p.environ):len(p.environ)], environ...)}
}

// types runs a command line with a text on stdin.
func (p *user) types(stdin string, args ...string) result {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 60*time.Second)
	defer cancel()
	var out, errs buffer
	g := &globals{console: console{in: strings.NewReader(stdin), out: &out, err: &errs, environ: p.environ}}
	r := result{code: execute(ctx, g, args), out: out.String(), err: errs.String()}
	p.said.WriteString(r.out + r.err)
	return r
}

func (p *user) holon(args ...string) result { p.t.Helper(); return p.types("", args...) }

// must runs a command line that must succeed.
func (p *user) must(stdin string, args ...string) result {
	p.t.Helper()
	r := p.types(stdin, args...)
	if r.code != exitOK {
		p.t.Errorf("holon %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r
}

// fails runs a command line that must end with a code and say some texts.
func (p *user) fails(code int, stdin string, args []string, texts ...string) {
	p.t.Helper()
	r := p.types(stdin, args...)
	if r.code != code {
		p.t.Errorf("holon %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	for _, text := range texts {
		if !strings.Contains(r.err, text) {
			p.t.Errorf("holon %s: no %q in\n%s", strings.Join(args, " "), text, r.err)
		}
	}
}

// secretFile is a file of mode 0600.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// remoteServer is a server with a certificate that wants its token from everybody.
type remoteServer struct {
	*server
	url, token string
	ca         string // file of the authority
	authority  *certtest.Authority
}

func startRemote(t *testing.T) *remoteServer {
	t.Helper()
	r := &remoteServer{server: &server{t: t, data: t.TempDir(), auth: "token"}, authority: certtest.New(t, "Our authority")}
	r.cert, r.key = certtest.Files(t, r.authority.Issue(0, "127.0.0.1"))
	r.listen = []string{"unix:" + r.socket()}
	r.ca = secretFile(t, string(r.authority.PEM))
	r.start()
	r.find()
	return r
}

// find reads where the server is, and its token.
func (r *remoteServer) find() {
	r.t.Helper()
	record, err := client.ReadServerFile(r.data)
	if err != nil || !strings.HasPrefix(record.URLs[0], "https://127.0.0.1:") {
		r.t.Fatal(record, err)
	}
	token, err := os.ReadFile(filepath.Join(r.data, "token"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.url, r.token = record.URLs[0], strings.TrimSpace(string(token))
}

// watcher is a server of nobody that keeps what it is asked with.
type watcher struct {
	*httptest.Server
	mu     sync.Mutex
	tokens []string // the Authorization of each request
}

// watchRequests serves http, or https with a certificate, and answers every request.
func watchRequests(t *testing.T, certificate *tls.Certificate, answer string) *watcher {
	t.Helper()
	w := &watcher{}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.tokens = append(w.tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		w.mu.Unlock()
		_, _ = io.WriteString(rw, strings.ReplaceAll(answer, "AUTHORIZATION", r.Header.Get("Authorization")))
	}))
	w.Config.ErrorLog = log.New(io.Discard, "", 0)
	if certificate == nil {
		w.Start()
	} else {
		w.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		w.StartTLS()
	}
	t.Cleanup(w.Close)
	return w
}

const anyAnswer = `{"jsonrpc":"2.0","id":1,"result":{"latest_seq":0}}`

// got returns the tokens of the requests since the last call.
func (w *watcher) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	tokens := w.tokens
	w.tokens = nil
	return tokens
}

func (w *watcher) port() string { return w.URL[strings.LastIndex(w.URL, ":")+1:] }

func TestALoginOpensItsServerUntilTheLogout(t *testing.T) {
	s, p := startRemote(t), newUser(t)
	status := []string{"status", "--url", s.url}
	p.fails(exitFailed, "", status, "is not trusted", "CN=Our authority", "--ca FILE")
	p.fails(exitFailed, "", append(status, "--ca", s.ca), "unauthorized", "holon login "+s.url, "--data DIR")
	p.fails(exitFailed, s.token, []string{"login", s.url}, "the certificate of "+s.url+" is not trusted", "--ca FILE")
	p.fails(exitFailed, strings.Repeat("wrong", 10), []string{"login", s.url, "--ca", s.ca}, "does not accept this token, so nothing was saved")
	if r := p.must("", "profiles"); r.out != "" || !strings.Contains(r.err, "No saved logins. To save a server's token: holon login URL") {
		t.Errorf("something was saved: %+v", r)
	}

	r := p.must(s.token+"\n", "login", strings.Replace(s.url, "https", "HTTPS", 1)+"/", "--ca", s.ca)
	end := s.token[len(s.token)-4:]
	contains(t, r.out, "logged in to "+s.url+", with the token that ends in "+end, "CN=Our authority until 20")
	contains(t, r.err, "holon --url "+s.url+" status")
	p.must("", status...)
	p.must("", "run", "--url", s.url+"/", "hello")
	p.with("HOLON_URL="+s.url).must("", "watch", "--after=0", "--limit=1")
	contains(t, p.must(`{"jsonrpc":"2.0","id":"mine","method":"holon/status"}`, "connect", "--url", s.url).out, `"id":"mine","result"`)
	p.must("", "conformance", "--url", s.url, "--filter", "envelope.*")
	contains(t, p.must("", "profiles").out, s.url, "…"+end, "CN=Our authority until 20")
	rows := oneObject(t, p.must("", "profiles", "-o", "json").out)["profiles"].([]any)
	if row := rows[0].(map[string]any); len(rows) != 1 || row["url"] != s.url || row["token_end"] != end || len(row["ca"].([]any)) != 1 {
		t.Errorf("%v", rows)
	}

	// Another token: the profile is named, and a login keeps the certificates.
	s.stop()
	if err := os.WriteFile(filepath.Join(s.data, "token"), []byte("the-next-token-0123456789-0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	port := s.url[strings.LastIndex(s.url, ":"):]
	s.only = []string{"127.0.0.1" + port}
	s.start()
	s.find()
	p.fails(exitFailed, "", status, "the profile of "+s.url+" is not valid there any more: holon login "+s.url)
	contains(t, p.must("", "login", s.url, "--token-file", secretFile(t, s.token), "-o", "jsonl").out, `"subject":"CN=Our authority"`, `"token_end":"6789"`)
	p.must("", status...)

	// Another certificate: somebody else may answer.
	s.stop()
	next, pem := certtest.SelfSigned(t, "127.0.0.1")
	s.cert, s.key = certtest.Files(t, next)
	s.start()
	p.fails(exitFailed, "", status, "it has signed itself", "Those that holon login has saved do not fit", "holon login "+s.url+" --ca FILE")
	p.fails(exitFailed, s.token, []string{"login", s.url}, "Those that holon login has saved do not fit")
	s.ca = secretFile(t, string(pem))
	contains(t, p.must(s.token, "login", s.url, "--ca", s.ca).out, "trusting CN=a server until 20")
	p.must("", status...)

	contains(t, p.must("", "logout", s.url+"/").out, "logged out of "+s.url)
	p.fails(exitFailed, "", []string{"logout", s.url}, "there is no profile of", "holon profiles")
	p.fails(exitFailed, "", append(status, "--ca", s.ca), "unauthorized", "holon login "+s.url)
	if said := p.said.String(); strings.Contains(said, s.token) {
		t.Errorf("the token was printed:\n%s", said)
	}
}

// A token goes to the URL that it was saved for, and to nothing that is like it.
func TestAProfileIsForNoOtherURL(t *testing.T) {
	const token = "s3cret-0123456789-0123456789-0123456789"
	authority := certtest.New(t, "Our authority")
	certificate := authority.Issue(0, "127.0.0.1", "localhost", "localhost.", "LOCALHOST")
	w, other := watchRequests(t, &certificate, anyAnswer), watchRequests(t, &certificate, anyAnswer)
	plain := watchRequests(t, nil, anyAnswer)
	ca := secretFile(t, string(authority.PEM))
	p := newUser(t)
	home := "https://localhost:" + w.port()
	p.must(token, "login", home, "--ca", ca)
	p.must(token, "login", home+"/team", "--ca", ca)
	if got := w.got(); len(got) != 4 || got[0] != "" || got[1] != token {
		t.Errorf("the logins sent %q", got)
	}
	p.must("", "logout", home+"/team")
	for url, sent := range map[string]bool{
		home: true, home + "/": true, "HTTPS://LocalHost:" + w.port(): true,
		w.URL: false, home + "/team": false, home + "/x/..": false, "https://localhost.:" + w.port(): false,
		other.URL: false, "https://localhost:" + other.port(): false, plain.URL: false, "http://localhost:" + plain.port(): false,
	} {
		r := p.holon("call", "holon/status", "--url", url, "--ca", ca)
		got := append(append(w.got(), other.got()...), plain.got()...)
		if strings.Contains(url, "localhost.:") && r.code != exitOK && len(got) == 0 {
			continue // this machine does not know the name
		}
		if r.code != exitOK || len(got) != 1 || (got[0] == token) != sent || !sent && got[0] != "" {
			t.Errorf("%s: %q came, want the token: %v; %+v", url, got, sent, r)
		}
	}
	for _, url := range []string{"https://me:x@localhost:" + w.port(), "https://localhost:" + w.port() + "?x", "localhost:" + w.port()} {
		p.fails(exitUsage, "", []string{"status", "--url", url}, "server URL", "Try: holon status --help")
	}
	if got := append(w.got(), other.got()...); len(got) != 0 {
		t.Errorf("%q came", got)
	}
}

func TestALoginThatCannotBeIsRefusedBeforeAnythingIsAsked(t *testing.T) {
	const token = "s3cret-0123456789-0123456789-0123456789"
	authority := certtest.New(t, "Our authority")
	expired, elsewhere := authority.Issue(-24*time.Hour, "127.0.0.1"), authority.Issue(0, "holon.example.com")
	good := authority.Issue(0, "127.0.0.1")
	old, named, secure := watchRequests(t, &expired, anyAnswer), watchRequests(t, &elsewhere, anyAnswer), watchRequests(t, &good, anyAnswer)
	plain, page := watchRequests(t, nil, anyAnswer), watchRequests(t, nil, "<html>hello</html>")
	agents := watchRequests(t, nil, `{"jsonrpc":"2.0","id":1,"result":{"protocol_version":"x","agent":{"thread_id":"a","turn_id":"b","attempt":1}}}`)
	moved := httptest.NewServer(http.RedirectHandler(plain.URL, http.StatusMovedPermanently))
	defer moved.Close()
	ca, file := secretFile(t, string(authority.PEM)), secretFile(t, token)
	open := secretFile(t, token)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	p := newUser(t)
	for _, c := range []struct {
		code  int
		stdin string
		args  []string
		texts []string
	}{
		{exitUsage, token, nil, []string{"Try: holon login --help"}},
		{exitUsage, token, []string{"holon.example.com"}, []string{"give http://HOST:PORT, https://HOST:PORT"}},
		{exitUsage, token, []string{"--url", plain.URL, plain.URL}, []string{"give the URL once"}},
		{exitFailed, token, []string{"http://holon.example.com"}, []string{"is plain http to another machine, so the token was not sent", "Use https, or a tunnel"}},
		{exitFailed, token, []string{"https://127.0.0.1:1"}, []string{"no server at https://127.0.0.1:1", "Check the address"}},
		{exitFailed, token, []string{old.URL, "--ca", ca}, []string{"has expired or is not valid yet", "Renew the certificate"}},
		{exitFailed, token, []string{named.URL, "--ca", ca}, []string{"is not for 127.0.0.1, but for holon.example.com", "Use a name that it is for"}},
		{exitFailed, token, []string{secure.URL}, []string{"is not trusted", "--ca FILE"}},
		{exitFailed, token, []string{secure.URL, "--ca", secretFile(t, string(certtest.New(t, "Others").PEM))}, []string{"is not trusted", "are not those of its authority"}},
		{exitFailed, token, []string{secure.URL, "--ca", "/nowhere"}, []string{"--ca: open /nowhere"}},
		{exitUsage, token, []string{secure.URL, "--ca", file}, []string{"there is no certificate in the form of PEM"}},
		{exitFailed, token, []string{strings.Replace(secure.URL, "https", "http", 1)}, []string{"answers in https: its address is " + secure.URL, "Use that address"}},
		{exitFailed, token, []string{strings.Replace(plain.URL, "http", "https", 1)}, []string{"answers in plain http: its address is " + plain.URL, "Use that address"}},
		{exitFailed, token, []string{moved.URL}, []string{"is not the address of a server of Holon: it answers HTTP 301"}},
		{exitUsage, "", []string{plain.URL}, []string{"which token? Give --token-file FILE"}},
		{exitUsage, "two words", []string{plain.URL}, []string{"the character at position 4"}},
		{exitUsage, "Authorization: Bearer " + token, []string{plain.URL}, []string{"the character at position 14"}},
		{exitFailed, "", []string{plain.URL, "--token-file", "/nowhere"}, []string{"--token-file: open /nowhere"}},
		{exitFailed, "", []string{plain.URL, "--token-file", open}, []string{"chmod 600"}},
		{exitFailed, token, []string{page.URL}, []string{"nothing was saved", "not JSON-RPC"}},
		{exitFailed, token, []string{agents.URL}, []string{"the token of an agent, so nothing was saved"}},
	} {
		p.fails(c.code, c.stdin, append([]string{"login"}, c.args...), c.texts...)
	}
	for _, w := range []*watcher{old, named, secure, plain} {
		for _, got := range w.got() {
			if got != "" {
				t.Errorf("%s got %q", w.URL, got)
			}
		}
	}
	if r := p.must("", "profiles", "-o", "json"); len(oneObject(t, r.out)["profiles"].([]any)) != 0 {
		t.Errorf("something was saved: %s", r.out)
	}
	if strings.Contains(p.said.String(), token) {
		t.Errorf("the token was printed:\n%s", p.said.String())
	}
}

func TestADamagedProfileIsNamedAndReplaced(t *testing.T) {
	const token = "s3cret-0123456789-0123456789-0123456789"
	w, p := watchRequests(t, nil, anyAnswer), newUser(t)
	p.must(token, "login", w.URL, "--token-file", "-")
	config := strings.TrimPrefix(p.environ[1], "XDG_CONFIG_HOME=")
	files, err := filepath.Glob(filepath.Join(config, "holon", "profiles", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte(`{"token":"`+token), 0o600); err != nil {
		t.Fatal(err)
	}
	w.got()
	p.fails(exitFailed, "", []string{"call", "holon/status", "--url", w.URL}, "is damaged", "holon login URL replaces it")
	if got := w.got(); len(got) != 0 {
		t.Errorf("%q came", got)
	}
	if r := p.must("", "profiles"); !strings.Contains(r.err, "is damaged") || strings.Contains(r.err, token) {
		t.Errorf("%+v", r)
	}
	p.must(token, "login", w.URL)
	p.must("", "call", "holon/status", "--url", w.URL)
}
