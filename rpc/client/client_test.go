package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/host"
)

func TestCallCarriesParamsAndResults(t *testing.T) {
	c := (&fakeLog{}).start(t)
	var result struct {
		Params json.RawMessage `json:"params"`
	}
	params := json.RawMessage(`{"n":12345678901234567890,"s":"<ä>"}`)
	if err := c.Call(t.Context(), "echo", params, &result); err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(result.Params, &got) != nil || json.Unmarshal(params, &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("params arrived as %s", result.Params)
	}
	var refused *Error
	if err := c.Call(t.Context(), "nope", nil, nil); !errors.As(err, &refused) || refused.Code != -32601 || refused.Kind != "method_not_found" {
		t.Errorf("got %v", err)
	}
}

func TestUnixSocketIsDialled(t *testing.T) {
	// A long path: its hex form spans several labels of the stand-in host name.
	path := filepath.Join(t.TempDir(), "a-socket-with-a-rather-long-name.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var host string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host = r.Host
		(&fakeLog{}).handler().ServeHTTP(w, r)
	})}
	go server.Serve(listener)
	defer server.Close()
	c := New(At("unix:"+path, SourceGiven, "", false))
	defer c.Close()
	if err := c.Call(t.Context(), "echo", json.RawMessage(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	if host != "localhost" {
		t.Errorf("Host %q", host)
	}
}

func TestTokenGoesOnlyWhereItBelongs(t *testing.T) {
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "token"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	writeRecord(t, data, os.Getpid(), "http://127.0.0.1:9999", "unix:/x", "https://127.0.0.1:9998")
	cases := []struct {
		name    string
		resolve Resolver
		want    string
	}{
		{"discovered", Discover(data), "s3cret"},
		{"its URL", At("http://127.0.0.1:9999/", SourceGiven, data, false), "s3cret"},
		{"its socket", At("unix:/x", SourceGiven, data, false), "s3cret"},
		{"its https", At("https://127.0.0.1:9998", SourceGiven, data, false), "s3cret"},
		{"another port, which may be a tunnel", At("http://127.0.0.1:9", SourceGiven, data, false), ""},
		{"another scheme", At("http://127.0.0.1:9998", SourceGiven, data, false), ""},
		{"another name", At("http://localhost:9999", SourceGiven, data, false), ""},
		{"another socket", At("unix:/y", SourceGiven, data, false), ""},
		{"another port, token meant for it", At("http://127.0.0.1:9", SourceGiven, data, true), "s3cret"},
		{"another host", At("http://example.test:9", SourceGiven, data, false), ""},
		{"another host, token meant for it", At("https://example.test", SourceGiven, data, true), "s3cret"},
		{"default address", DiscoverOrDefault(t.TempDir()), ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			endpoint, err := tc.resolve()
			if err != nil || endpoint.Token != tc.want {
				t.Errorf("token %q, error %v", endpoint.Token, err)
			}
		})
	}
	if err := New(At("http://127.0.0.1:1", SourceGiven, data, true)).Call(t.Context(), "echo", nil, nil); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

func TestRedirectDoesNotTakeTheTokenAlong(t *testing.T) {
	asked := false
	elsewhere := startHTTP(t, func(http.ResponseWriter, *http.Request) { asked = true })
	here := startHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	c := New(At(here, SourceGiven, "", false))
	defer c.Close()
	var refused *Error
	if err := c.Call(t.Context(), "echo", nil, nil); !errors.As(err, &refused) || refused.HTTPStatus != 307 || asked {
		t.Errorf("got %v, asked elsewhere: %v", err, asked)
	}
}

func TestDiscovery(t *testing.T) {
	cases := []struct {
		name       string
		pid        int
		urls       []string
		want       string
		wantSource string
	}{
		{"unix first", os.Getpid(), []string{"http://127.0.0.1:81", "unix:/a"}, "unix:/a", "server.json"},
		{"http", os.Getpid(), []string{"stdio", "http://127.0.0.1:81"}, "http://127.0.0.1:81", "server.json"},
		{"gone", 1 << 30, []string{"http://127.0.0.1:81"}, DefaultURL, "is gone"},
		{"no process", 0, []string{"http://127.0.0.1:81"}, DefaultURL, SourceDefault},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			data := t.TempDir()
			writeRecord(t, data, tc.pid, tc.urls...)
			endpoint, err := DiscoverOrDefault(data)()
			if err != nil || endpoint.URL != tc.want || !strings.Contains(endpoint.Source, tc.wantSource) {
				t.Errorf("%+v, %v", endpoint, err)
			}
		})
	}
	// The pid of the killed server now belongs to another process.
	reused := host.Self()
	reused.StartTicks--
	for _, record := range []ServerRecord{{}, {Process: reused}, {Process: host.Process{PID: 1 << 30}}} {
		data := t.TempDir()
		if record.PID != 0 {
			record.URLs = []string{"http://127.0.0.1:81"}
			writeServerRecord(t, data, record)
		}
		var none *NoServerError
		if _, err := Discover(data)(); !errors.As(err, &none) || none.DataDir != data || none.GonePID != record.PID {
			t.Errorf("%+v: %v", record, err)
		}
	}
	data := t.TempDir()
	writeRecord(t, data, os.Getpid(), "stdio")
	if _, err := Discover(data)(); err == nil {
		t.Error("a server without a reachable URL was accepted")
	}
	if err := os.WriteFile(ServerFile(data), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Discover(data)(); err == nil {
		t.Error("a torn server.json was accepted")
	}
}

func TestRefreshNeverFallsToTheDefaultAddress(t *testing.T) {
	data := t.TempDir()
	writeRecord(t, data, os.Getpid(), "http://127.0.0.1:81")
	c := New(DiscoverOrDefault(data))
	defer c.Close()
	wantURL := func(want string) {
		t.Helper()
		if endpoint, err := c.Endpoint(); err != nil || endpoint.URL != want {
			t.Errorf("%+v, %v, want %s", endpoint, err, want)
		}
	}
	wantURL("http://127.0.0.1:81")
	os.Remove(ServerFile(data))
	c.refresh()
	wantURL("http://127.0.0.1:81")
	writeRecord(t, data, os.Getpid(), "http://127.0.0.1:82")
	c.refresh()
	wantURL("http://127.0.0.1:82")
}

func TestSessionCallsAndEvents(t *testing.T) {
	c := (&fakeLog{}).start(t)
	var mu sync.Mutex
	var events []Event
	s, err := c.Dial(t.Context(), SessionOptions{OnEvent: func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var got struct {
				N int `json:"n"`
			}
			if err := s.Call(t.Context(), "echo", map[string]int{"n": i}, &got); err != nil || got.N != i {
				t.Errorf("call %d: %d, %v", i, got.N, err)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	if len(events) != 50 || string(events[0].Line) != eventLine(7) {
		t.Errorf("%d events", len(events))
	}
	mu.Unlock()
	var refused *Error
	if err := s.Call(t.Context(), "refuse", nil, nil); !errors.As(err, &refused) || refused.Kind != KindOverloaded || !refused.Retryable || refused.RetryAfter != 250*time.Millisecond {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Call(ctx, "hold", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Call(t.Context(), "echo", nil, nil); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestSessionCutInTheMiddleFailsItsCalls(t *testing.T) {
	c := (&fakeLog{}).start(t)
	s, err := c.Dial(t.Context(), SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Call(t.Context(), "cut", nil, nil); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("got %v", err)
	}
	<-s.Done()
	if s.Err() == nil {
		t.Error("the session does not say why it ended")
	}
}

func TestSessionRefusedByAForeignServer(t *testing.T) {
	url := startHTTP(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) })
	c := New(At(url, SourceGiven, "", false))
	defer c.Close()
	var refused *Error
	if _, err := c.Dial(t.Context(), SessionOptions{OpenTimeout: 50 * time.Millisecond}); !errors.As(err, &refused) || refused.HTTPStatus != 405 {
		t.Errorf("got %v", err)
	}
}

func TestBackoffGrowsToItsBound(t *testing.T) {
	b := Backoff{First: 100 * time.Millisecond, Max: time.Second}
	if b.wait(1, false) != 0 {
		t.Error("the first attempt waits")
	}
	for attempt, limit := range map[int]time.Duration{2: 100 * time.Millisecond, 3: 200 * time.Millisecond, 6: time.Second, 1000: time.Second} {
		for range 50 {
			if got := b.wait(attempt, true); got < limit/2 || got > limit*3/2 {
				t.Fatalf("attempt %d waits %v, want %v to %v", attempt, got, limit/2, limit*3/2)
			}
		}
	}
}

func startHTTP(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

func writeRecord(t *testing.T, data string, pid int, urls ...string) {
	t.Helper()
	writeServerRecord(t, data, ServerRecord{Process: host.Process{PID: pid}, URLs: urls, LogID: "log"})
}

func writeServerRecord(t *testing.T, data string, r ServerRecord) {
	t.Helper()
	record, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ServerFile(data), record, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A server on this machine is tried every second, one elsewhere less often: it may have
// thousands of clients.
func TestAServerNearbyIsTriedOften(t *testing.T) {
	for url, longest := range map[string]time.Duration{
		"http://127.0.0.1:1": time.Second, "unix:/run/holon.sock": time.Second, "https://holon.example.org": 5 * time.Second,
	} {
		c := New(At(url, SourceGiven, "", false))
		for range 100 {
			if got := (Backoff{}).wait(100, c.near()); got < longest/2 || got > longest*3/2 {
				t.Fatalf("%s is tried again after %v, want %v to %v", url, got, longest/2, longest*3/2)
			}
		}
		c.Close()
	}
}
