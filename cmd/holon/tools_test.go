package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// toolServer answers POST /rpc as a server does to the token of an agent, and keeps
// what was asked.
type toolServer struct {
	mu    sync.Mutex
	asked []string
}

func (s *toolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	s.asked = append(s.asked, m.Method+" "+string(m.Params))
	s.mu.Unlock()
	answer := `"error":{"code":-32006,"message":"no","data":{"kind":"forbidden","retryable":false,"reason":"agent_token"}}`
	switch token := r.Header.Get("Authorization"); {
	case token == "Bearer wide" && m.Method == "initialize":
		answer = `"result":{"protocol_version":"x"}`
	case token != "Bearer narrow":
		answer = `"error":{"code":-32006,"message":"no","data":{"kind":"unauthorized","retryable":false}}`
	case m.Method == "initialize":
		answer = `"result":{"protocol_version":"x","agent":{"thread_id":"own","turn_id":"turn_1","attempt":2}}`
	case m.Method == "inbox/ack":
		answer = `"result":{"acked_entries":1,"acked_items":2,"remainder_entry_ids":[],"seq":3}`
	}
	_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,`+answer+"}\n")
}

func serveTools(t *testing.T, url, token string, more []string, lines ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	environ := []string{"HOLON_URL=" + url, "HOLON_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}
	if token != "" {
		environ = append(environ, "HOLON_TOKEN="+token)
	}
	// The end of the input comes once everything is answered: what is open then is
	// given up.
	in, w := io.Pipe()
	g := &globals{console: console{in: in, out: &answers{to: &o, left: count(lines), done: w}, err: &e, environ: environ}}
	go func() {
		for _, l := range lines {
			if _, err := io.WriteString(w, l+"\n"); err != nil {
				return
			}
		}
	}()
	code = execute(t.Context(), g, append([]string{"tools"}, more...))
	_ = in.Close()
	return code, o.String(), e.String()
}

func count(lines []string) (n int) {
	for _, l := range lines {
		if strings.Contains(l, `"id"`) {
			n++
		}
	}
	return n
}

// answers closes the input after the last answer.
type answers struct {
	to   *bytes.Buffer
	left int
	done *io.PipeWriter
}

func (a *answers) Write(b []byte) (int, error) {
	n, err := a.to.Write(b)
	if a.left -= bytes.Count(b, []byte("\n")); a.left <= 0 {
		_ = a.done.Close()
	}
	return n, err
}

func TestToolsOnStdioCallTheServerWithTheTokenOfTheAgent(t *testing.T) {
	s := &toolServer{}
	h := httptest.NewServer(s)
	defer h.Close()
	code, out, errs := serveTools(t, h.URL, "narrow", nil,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"inbox_ack","arguments":{"entry_ids":["ent_1"]}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"work_stop","arguments":{"turn_id":"turn_9"}}}`,
	)
	if code != exitOK || !strings.Contains(out, "Acknowledged: 2 items") || !strings.Contains(out, "Error (forbidden): no") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range []string{`inbox/ack {"thread_id":"own","entry_ids":["ent_1"]}`, `turn/interrupt {"turn_id":"turn_9"}`} {
		if !strings.Contains(strings.Join(s.asked, "\n"), want) {
			t.Errorf("%s was not asked: %q", want, s.asked)
		}
	}
}

func TestToolsNeedTheTokenOfAnAgent(t *testing.T) {
	s := &toolServer{}
	h := httptest.NewServer(s)
	defer h.Close()
	for _, c := range []struct {
		token string
		more  []string
		code  int
		want  string
	}{
		{"", nil, exitUsage, "HOLON_TOKEN is not set"},
		{"wide", nil, exitFailed, "not the token of an agent"},
		{"wrong", nil, exitFailed, "no"},
		{"narrow", []string{"--url", strings.Replace(h.URL, "127.0.0.1", "localhost", 1)}, exitFailed, "no"}, // the token is not sent elsewhere
	} {
		if code, out, errs := serveTools(t, h.URL, c.token, c.more); code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q %v: %d %s %s, want %d %s", c.token, c.more, code, out, errs, c.code, c.want)
		}
	}
}
