package kinds

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheEndOfTheContextClosesTheBody: a transport that has handed its connection over
// no longer watches the context. What follows a status below 200 is not read at all.
func TestTheEndOfTheContextClosesTheBody(t *testing.T) {
	for status, want := range map[int]time.Duration{http.StatusSwitchingProtocols: 0, http.StatusOK: attemptTime} {
		synctest.Test(t, func(t *testing.T) {
			body, other := io.Pipe() // to which nothing is written
			defer other.Close()
			client := NewClient(ClientConfig{})
			client.send = func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: body}, nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), attemptTime)
			defer cancel()
			began := time.Now()
			got := client.do(ctx, false, request{method: http.MethodPost, url: mustURL("https://example.com"), header: http.Header{}})
			if took := time.Since(began); took != want || got.status != status || len(got.body) > 0 {
				t.Errorf("%d: after %v: %+v, want it after %v", status, took, got, want)
			}
			if _, err := body.Read(make([]byte, 1)); err != io.ErrClosedPipe {
				t.Errorf("%d: the body is open", status)
			}
		})
	}
}
