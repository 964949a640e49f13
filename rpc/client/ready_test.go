package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// A server that cannot commit says why, if it is one that says it.
func TestReadySaysWhyNothingIsStored(t *testing.T) {
	for body, want := range map[string]string{
		"unable to commit: storage_full\n": "storage_full", "unable to commit\n": "", "draining\n": "", "": "",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
		}))
		c := New(At(server.URL, SourceGiven, "", false))
		var refused *Error
		if err := c.Ready(t.Context()); !errors.As(err, &refused) || refused.Reason != want || refused.Kind != KindUnavailable {
			t.Errorf("for %q the error is %+v, want the reason %q", body, refused, want)
		}
		c.Close()
		server.Close()
	}
}
