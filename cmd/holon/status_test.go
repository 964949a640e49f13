package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestStatusSaysThatTheServerCannotStore(t *testing.T) {
	ready := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(ready)
			return
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"state":"running"}}`)
	}))
	defer server.Close()
	p := newUser(t)
	if out := p.must("", "status", "--url", server.URL).out; !strings.Contains(out, "state    running\n") {
		t.Errorf("a server that is ready:\n%s", out)
	}
	ready = http.StatusServiceUnavailable
	contains(t, p.must("", "status", "--url", server.URL).out, "state    running, but it cannot store anything: holon doctor")
}
