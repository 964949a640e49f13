package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/certtest"
	"github.com/seed82539d15/holon/rpc/client"
)

// ofLibraries is what only the libraries of Go, JSON, SQLite and TLS say.
var ofLibraries = []string{
	"strconv.", "parsing \"", "invalid syntax", "time: ", "json:", "jsontext", "unmarshal", "Go value", "Go struct",
	"tls: ", "x509: ", "net/http", "dial tcp", "dial unix", "disk I/O", "lookup ", "malformed HTTP", "sqlite", "SQL logic", "toml: ", "int64", "listen tcp", "reflect.", "pflag", "%!",
}

// What a person or a program gives that is wrong is refused in our words, which repeat it,
// at every door of the program.
func TestNoErrorSpeaksOfLibraries(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	toml := func(text string) string { return file("settings", text) }
	tlsPort, mutePort, closedPort := listenTLS(t), listenMute(t, "SSH-2.0-OpenSSH\r\n"), listenMute(t, "")
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "server.json"), []byte(`{"url`), 0o600); err != nil {
		t.Fatal(err)
	}
	noLog := t.TempDir()
	if err := os.WriteFile(filepath.Join(noLog, "holon.db"), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	call := func(method, params string) []string { return []string{"call", method, params} }
	for _, c := range []struct {
		door  string
		args  []string
		env   string
		input string
		out   bool // it says so on stdout
		says  []string
	}{
		{door: "flag", args: []string{"watch", "--limit", "x1"}, says: []string{`--limit: give a whole number, not "x1"`}},
		{door: "flag", args: []string{"watch", "--limit=" + strings.Repeat("9", 30)}, says: []string{"--limit", "999", "is too large"}},
		{door: "flag", args: []string{"run", "--timeout", "3x", "hi"}, says: []string{`--timeout: give a duration such as 90s, 10m or 1h30m, not "3x"`}},
		{door: "flag", args: []string{"run", "--detach=maybe", "hi"}, says: []string{`--detach: give true or false, not "maybe"`}},
		{door: "flag", args: []string{"notify", "main", "--on", `a"b`}, says: []string{"--on: give words", `a\"b`}},
		{door: "flag", args: []string{"run", "--agnet", "x", "hi"}, says: []string{"there is no flag --agnet in holon run; did you mean --agent?"}},
		{door: "flag", args: []string{"run", "-timeout", "3s", "hi"}, says: []string{"did you mean --timeout?"}},
		{door: "flag", args: []string{"run", "--title"}, says: []string{"--title needs a value: the title of a new thread"}},
		{door: "flag", args: []string{"threads", "--=x"}, says: []string{`"--=x" is no flag`}},
		{door: "flag", args: []string{"inbox", "--thread", "main"}, says: []string{"there is no flag --thread", "holon inbox main"}},
		{door: "flag", args: []string{"serve", "--max-queue", "many"}, says: []string{"--max-queue", "many"}},
		{door: "flag", args: []string{"--token-file", "x", "threads", "--bogus"}, says: []string{"--bogus"}},
		{door: "word", args: []string{"runn"}, says: []string{`"runn"; did you mean run?`}},
		{door: "word", args: []string{"help", "runn"}, says: []string{`"runn"; did you mean run?`}},
		{door: "word", args: []string{"completion", "bsh"}, says: []string{`"completion bsh"; did you mean bash?`}},
		{door: "word", args: []string{"threads", "-o", "jsn"}, says: []string{"-o jsn", "did you mean json?"}},
		{door: "word", args: []string{"watch", "--superseded=hid"}, says: []string{`"hid"`, "did you mean hide?"}},
		{door: "word", args: []string{"watch", "--content=sumary"}, says: []string{"sumary: give summary"}},
		{door: "word", args: []string{"watch", "--after", "1x"}, says: []string{"1x", "give a seq"}},
		{door: "word", args: []string{"token", "create", "x", "--role=opreate"}, says: []string{`"opreate"`, "did you mean operate?"}},
		{door: "word", args: []string{"token", "create", "x", "--role=read", "--expires=3q"}, says: []string{"3q"}},
		{door: "word", args: []string{"remind", "main", "in x", "hi"}, says: []string{`"in x"`}},
		{door: "word", args: []string{"schema", "opnrpc"}, says: []string{`"opnrpc"`, "did you mean openrpc?"}},
		{door: "word", args: []string{"deliveries", "--state=ded"}, says: []string{`"ded"`, "did you mean dead?"}},
		{door: "word", args: []string{"inbox", "policy", "main", "--reset=windw"}, says: []string{`"windw"`, "did you mean window?"}},
		{door: "word", args: []string{"inbox", "policy", "main", "--wake=idel"}, says: []string{`"idel"`, "did you mean idle?"}},
		{door: "word", args: []string{"bench", "--only=laency"}, says: []string{`"laency"`, "did you mean latency?"}},
		{door: "word", args: []string{"run", "--agent=ehco", "hi"}, says: []string{`there is no agent "ehco"; did you mean echo?`}},
		{door: "word", args: []string{"agents", "ehco"}, says: []string{`there is no agent "ehco"; did you mean echo?`}},
		{door: "word", args: []string{"threads", "--agent=ehco"}, says: []string{`there is no agent "ehco"; did you mean echo?`}},
		{door: "word", args: []string{"serve", "--agent=claud"}, says: []string{`"claud"`, "did you mean claude?"}},
		{door: "word", args: []string{"run", "--on-busy=quue", "hi"}, says: []string{`"quue"`, "did you mean queue?"}},
		{door: "word", args: []string{"run", "--review=allways", "hi"}, says: []string{`"allways"`, "did you mean always?"}},
		{door: "word", args: []string{"threads", "--state=runing"}, says: []string{`"runing"`, "did you mean running?"}},
		{door: "word", args: []string{"items", "--type=agent_mesage"}, says: []string{`"agent_mesage"`, "did you mean agent_message?"}},
		{door: "word", args: []string{"bridge", "rm", "hok"}, says: []string{`"hok": no such bridge`}},
		{door: "word", args: []string{"token", "revoke", "nam"}, says: []string{`"nam": no such token`}},
		{door: "word", args: []string{"remind", "rm", "main", "noon"}, says: []string{`"noon": no such timer`}},
		{door: "word", args: []string{"delivery", "notif:x:1"}, says: []string{`"notif:x:1": no such delivery`}},
		{door: "config", args: []string{"config", "--config", toml("foo")}, says: []string{"settings"}},
		{door: "config", args: []string{"config", "--config", toml("listn = []")}, says: []string{"listn", "did you mean listen?"}},
		{door: "config", args: []string{"config", "--config", toml("max_queue = \"x\"")}, says: []string{"max_queue", `"x"`}},
		{door: "config", args: []string{"config", "--config", toml("max_queue = 99999999999999999999")}, says: []string{"99999999999999999999 is out of range"}},
		{door: "config", args: []string{"serve", "--config", toml("auth = \"atuo\"")}, says: []string{`"atuo"`, "did you mean auto?"}},
		{door: "config", args: []string{"config", "--config", filepath.Join(noLog, "nowhere")}, says: []string{"nowhere"}},
		{door: "environment", env: "HOLON_MAX_QUEUE=many", args: []string{"config"}, says: []string{"HOLON_MAX_QUEUE", "many"}},
		{door: "environment", env: "HOLON_LISTN=many", args: []string{"config"}, says: []string{"did you mean HOLON_LISTEN?"}},
		{door: "environment", env: "HOLON_URL=fo:o", args: []string{"threads"}, says: []string{"HOLON_URL"}},
		{door: "params", args: call("thread/strat", `{}`), says: []string{`"thread/strat"; did you mean thread/start?`}},
		{door: "params", args: call("thread/start", `{`), says: []string{"is not JSON"}},
		{door: "params", args: call("thread/start", `{"cwdd":"x"}`), says: []string{"cwdd", "did you mean cwd?"}},
		{door: "params", args: call("thread/start", `{"cwd":1}`), says: []string{"cwd: it must be a string"}},
		{door: "params", args: call("thread/list", `{"limit":1e30}`), says: []string{"limit: it must be an integer"}},
		{door: "params", args: call("thread/list", `{"cursor":"x"}`), says: []string{"the cursor is malformed"}},
		{door: "params", args: call("thread/list", `[1]`), says: []string{"params are named"}},
		{door: "params", args: call("turn/start", `{"thread_id":"main","input":[{"type":"mesage"}]}`), says: []string{"input[0].type"}},
		{door: "params", args: call("turn/await", `{"turn_ids":["turn_1"],"wait_for":"eny"}`), says: []string{`"eny"`, "did you mean any?"}},
		{door: "stdin", args: []string{"ingest", "main", "--source=ci"}, input: "{bad\n", says: []string{"line 1"}},
		{door: "answer", args: []string{"respond", "x", "--answer", "{"}, says: []string{"--answer is not JSON"}},
		{door: "address", args: []string{"threads", "--url", "http://127.0.0.1:%zz"}, says: []string{"server URL"}},
		{door: "address", args: []string{"threads", "--url", "http://127.0.0.1:99999999"}, says: []string{"no server at", "invalid port"}},
		{door: "address", args: []string{"threads", "--url", "http://127.0.0.1:1"}, says: []string{"no server at", "connection refused"}},
		{door: "address", args: []string{"threads", "--url", "unix:" + filepath.Join(noLog, "none")}, says: []string{"no server at"}},
		{door: "TLS", args: []string{"threads", "--url", "http://127.0.0.1:" + tlsPort}, says: []string{"answers in https", "https://127.0.0.1:" + tlsPort}},
		{door: "TLS", args: []string{"threads", "--url", "https://127.0.0.1:" + tlsPort}, says: []string{"the certificate of", "is not trusted"}},
		{door: "TLS", args: []string{"threads", "--url", "https://127.0.0.1:" + mutePort}, says: []string{"does not speak TLS"}},
		{door: "TLS", args: []string{"threads", "--url", "https://127.0.0.1:" + closedPort}, says: []string{"the connection ended before an answer came"}},
		{door: "TLS", args: []string{"threads", "--ca", file("ca.pem", "x")}, says: []string{"there is no certificate"}},
		{door: "HTTP", args: []string{"threads", "--url", "http://127.0.0.1:" + mutePort}, says: []string{"does not speak HTTP"}},
		{door: "file", args: []string{"backup", filepath.Join(noLog, "none", "x")}, says: []string{"there is no directory " + filepath.Join(noLog, "none")}},
		{door: "file", args: []string{"serve", "--data", t.TempDir(), "--listen=127.0.0.1:0", "--tls-cert", file("cert.pem", "x"), "--tls-key", file("key.pem", "x")}, says: []string{"cert.pem (--tls-cert) has no certificate in the form of PEM"}},
		{door: "number", args: []string{"export", "--after=99999999"}, says: []string{"--after 99999999: the log ends at "}},
		{door: "number", args: []string{"serve", "--max-queue=0"}, says: []string{"--max-queue: give a number from 1 to ", ", not 0"}},
		{door: "address", args: []string{"serve", "--data", t.TempDir(), "--listen=127.0.0.1:99999"}, says: []string{`"99999" is not a port`}},
		{door: "word", args: []string{"doctor", "--agent=claud", "--skip-bridges"}, out: true, says: []string{`error    agent claud`, `there is no agent "claud"`, "did you mean claude?"}},
		{door: "word", args: []string{"run", "--agent=claud", "x"}, says: []string{`there is no agent "claud"`, "holon serve --agent claude adds this one"}},
		{door: "file", args: []string{"threads", "--data", broken}, says: []string{"server.json is damaged"}},
		{door: "file", args: []string{"threads", "--token-file", file("token", "a b")}, says: []string{"a token is made of"}},
		{door: "file", args: []string{"export", "--data", noLog}, says: []string{"file is not a database", "That file is damaged"}},
		{door: "file", args: []string{"restore", file("backup", strings.Repeat("no database ", 100)), "--data", filepath.Join(noLog, "new")}, says: []string{"file is not a database"}},
		{door: "file", args: []string{"restore", noLog, "--data", filepath.Join(noLog, "new")}, says: []string{"restore " + noLog + ": it is a directory"}},
		{door: "address", args: []string{"serve", "--data", t.TempDir(), "--listen=127.0.0.1:htp"}, says: []string{`--listen: "127.0.0.1:htp": "htp" is not a port`}},
		{door: "file", args: []string{"serve", "--data", noLog}, says: []string{"file is not a database", "That file is damaged"}},
	} {
		name := c.door + ": " + c.env + " holon " + strings.Join(c.args, " ")
		p := &user{t: t, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + noLog, c.env}}
		r := p.types(c.input, c.args...)
		said := r.err
		if c.out {
			said = r.out
		}
		if c.args[0] == "serve" { // in JSON
			said = strings.ReplaceAll(said, `\"`, `"`)
		}
		for _, want := range c.says {
			if !strings.Contains(said, want) {
				t.Errorf("%s: no %q in\n%s", name, want, said)
			}
		}
		speaksOfNoLibrary(t, name, said)
	}
	for _, body := range []string{`{"jsonrpc":"2.0","id":1,"method":"thread/list","params":{"limit":`, `{"a" "b"}`, "{\"jsonrpc\":\"\xff\"}", `nothing`} {
		speaksOfNoLibrary(t, body, s.answer(t, "/rpc", body))
	}
}

func speaksOfNoLibrary(t *testing.T, what, said string) {
	t.Helper()
	if strings.Contains(said, "invalid character") && !strings.Contains(said, "not JSON") {
		t.Errorf("%s: what the library for JSON says is not explained in\n%s", what, said)
	}
	for _, word := range ofLibraries {
		if strings.Contains(said, word) {
			t.Errorf("%s: %q, of a library, in\n%s", what, word, said)
		}
	}
}

// answer sends a body to the server and returns the answer.
func (s *server) answer(t *testing.T, path, body string) string {
	t.Helper()
	record, err := client.ReadServerFile(s.data)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, record.URLs[0]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d: %s", response.StatusCode, answer)
}

// listenTLS is the port of a server of https whose authority nobody knows.
func listenTLS(t *testing.T) string {
	t.Helper()
	authority := certtest.New(t, "Nobody's authority")
	certFile, keyFile := certtest.Files(t, authority.Issue(0, "127.0.0.1"))
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return watchRequests(t, &certificate, anyAnswer).port()
}

// listenMute is the port of a program that says one thing to everybody, and hangs up.
func listenMute(t *testing.T, says string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096)) // what it asks does not matter
			_, _ = io.WriteString(conn, says)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
