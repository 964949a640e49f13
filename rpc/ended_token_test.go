package rpc

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed82539d15/holon/api"
)

// deafWriter is the connection of a client that reads nothing: a write ends at its deadline.
type deafWriter struct {
	mu       sync.Mutex
	deadline time.Time
	moved    chan struct{} // closed when the deadline moves
	body     io.Closer
}

func (d *deafWriter) Header() http.Header     { return http.Header{} }
func (d *deafWriter) WriteHeader(int)         {}
func (d *deafWriter) Flush()                  {}
func (d *deafWriter) EnableFullDuplex() error { return nil }

func (d *deafWriter) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		return d.body.Close()
	}
	return nil
}

func (d *deafWriter) SetWriteDeadline(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = at
	if d.moved != nil {
		close(d.moved)
	}
	d.moved = make(chan struct{})
	return nil
}

func (d *deafWriter) Write([]byte) (int, error) {
	for {
		d.mu.Lock()
		left, moved := time.Until(d.deadline), d.moved
		d.mu.Unlock()
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		select {
		case <-moved:
		case <-time.After(left):
		}
	}
}

// A client that reads nothing does not keep the stream of a token that has ended.
func TestTheStreamOfATokenThatEndsIsCutThoughItsClientDoesNotRead(t *testing.T) {
	for _, request := range []struct{ method, path string }{
		{http.MethodGet, "/rpc/stream"}, {http.MethodGet, "/events"}, {http.MethodPost, "/rpc/stream"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(0)
			e := &fakeEngine{t: t, memory: m}
			cfg := Config{Services: api.Services{Engine: e, Children: e, Reader: m, LogID: testLogID, Version: "test"}, Tail: m.tail}
			cfg.Limits.WriteTimeoutSeconds = 3600
			s, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			alive, end := context.WithCancel(t.Context())
			body, _ := io.Pipe() // its half of a two-way stream stays open
			r := httptest.NewRequestWithContext(t.Context(), request.method, request.path+"?after_seq=0", nil)
			if request.method == http.MethodPost {
				r.Body = body
			}
			r = r.WithContext(api.WithToken(r.Context(), api.Token{Name: "phone", Role: "read", Alive: alive}))
			var ended time.Time
			go func() {
				s.Handler().ServeHTTP(&deafWriter{body: body}, r)
				ended = time.Now()
			}()
			time.Sleep(time.Minute)
			if synctest.Wait(); !ended.IsZero() {
				t.Fatal("it ended before its token")
			}
			began := time.Now()
			end()
			time.Sleep(3 * time.Hour)
			synctest.Wait()
			if took := ended.Sub(began); ended.IsZero() || took > time.Second {
				t.Errorf("%s %s ended after %v", request.method, request.path, took)
			}
		})
	}
}
