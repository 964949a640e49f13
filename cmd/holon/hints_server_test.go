package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Who listens where a server was expected: another program, a server that wants a token, and
// one of an older version, which does not know what the command asks.
func TestWhoAnswersInPlaceOfTheServerIsSaid(t *testing.T) {
	alone := &user{t: t, environ: []string{"HOLON_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusNotImplemented) }))
	defer other.Close()
	alone.fails(exitFailed, "", []string{"threads", "--url", other.URL}, "HTTP 501 Not Implemented", other.URL+" is another program than Holon", "holon serve --listen 127.0.0.1:0")

	s := startServer(t)
	r := alone.holon("status", "--url", s.address(), "--token-file", secretFile(t, "wrong-0123456789-0123456789"))
	if r.code != exitFailed || !strings.Contains(r.err, "is not valid there") {
		t.Errorf("a wrong token: %+v", r)
	}
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		var asked struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal(body, &asked)
		w.Header().Set("Content-Type", "application/json")
		says := `"error":{"code":-32602,"message":"view: there is no such member","data":{"kind":"invalid_params","field":"view","reason":"unknown_field"}}`
		if asked.Method == "initialize" {
			says = `"result":{}`
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(asked.ID)+`,`+says+`}`+"\n")
	}))
	defer older.Close()
	const hint = "The server is older than this command. Restart it with this program: holon stop, then holon serve."
	alone.fails(exitFailed, "", []string{"threads", "--url", older.URL}, "view: there is no such member", hint)
	if r := alone.holon("call", "thread/list", `{"viw":1}`, "--url", older.URL); strings.Contains(r.err, hint) {
		t.Errorf("what somebody has typed is not the server's age: %s", r.err)
	}
}
