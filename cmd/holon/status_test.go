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

// The address is for programs such as curl, which cannot reach unix:PATH.
func TestTheAddressIsOneForOtherPrograms(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.listen = []string{"unix:" + s.socket()}
	s.start()
	if got, want := s.want("status", "--address"), s.address()+"\n"; got != want || !strings.HasPrefix(want, "http://") {
		t.Errorf("%q, want %q", got, want)
	}
	alone := &server{t: t, data: t.TempDir()}
	alone.only = []string{"unix:" + alone.socket()}
	alone.start()
	if got, want := alone.want("status", "--address"), alone.only[0]+"\n"; got != want {
		t.Errorf("with a socket alone %q, want %q", got, want)
	}
}
