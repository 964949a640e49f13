package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/tokens"
)

// dial opens a raw connection that is closed at the end of the test.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	c, err := net.Dial("tcp", r.url[len("http://"):])
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func TestBodyThatNeverComesIsAnsweredAndItsConnectionClosed(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })
	})
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/rpc/stream", "/events"} {
		for name, head := range map[string]string{"a length": "Content-Length: 10", "chunks": "Transfer-Encoding: chunked"} {
			t.Run(path+" with "+name, func(t *testing.T) {
				t.Parallel()
				c := r.dial()
				_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", path, head)
				br := bufio.NewReader(c)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					t.Fatal(err)
				}
				if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 400 || !resp.Close || kindOf(t, string(body)) != api.KindInvalidRequest {
					t.Fatalf("%d %s, %v", resp.StatusCode, body, err)
				}
				if _, err := br.ReadByte(); !errors.Is(err, io.EOF) {
					t.Fatalf("the connection is still there: %v", err)
				}
			})
		}
	}
}

func TestBodyWhereNoneIsTakenIsIgnored(t *testing.T) {
	r := newRig(t)
	c := r.dial()
	br := bufio.NewReader(c)
	for range 2 { // on one connection
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}")
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || resp.Close {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
}

// deadlines is a response writer that records its read deadline.
type deadlines struct {
	http.ResponseWriter
	read []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.read = append(d.read, t); return nil }

func TestEveryBodyHasADeadline(t *testing.T) {
	for length, want := range map[int64]int{0: 0, 10: 1, -1: 1} {
		d := &deadlines{}
		r, _ := http.NewRequest(http.MethodGet, "/", http.NoBody)
		r.ContentLength = length
		withBodyDeadline(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(d, r)
		if len(d.read) != want || want > 0 && time.Until(d.read[0]) > api.RequestTimeout {
			t.Errorf("a body of %d: deadlines %v", length, d.read)
		}
	}
}

// Strangers are clients that a gate would refuse: here, requests for the
// health.
func TestStrangersHoldNoPlaceOfThoseWhoAreAdmitted(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxConnections, c.Limits.MaxUnadmitted = 2, 8 })
	for range 6 {
		c := r.dial()
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if _, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		r.open("GET", "/rpc/stream").expect("stream/opened")
	}
	resp, err := r.client.Get(r.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Fatalf("the health is not told when all places are taken: %d", resp.StatusCode)
	}
}

func TestStrangersGiveWayToWhoComesAfterThem(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxUnadmitted = 4 })
	first := r.open("POST", "/rpc/stream")
	first.expect("stream/opened")
	var silent []net.Conn
	for range 12 {
		silent = append(silent, r.dial())
	}
	last := r.open("GET", "/rpc/stream") // behind all of them
	last.expect("stream/opened")
	for i, c := range silent[:8] {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the silent connection %d: %v", i, err)
		}
	}
	first.send(request("1", "holon/status", `{}`))
	first.expect("#1")
}

func TestConnectionsThatComeTogetherAreAllServed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxUnadmitted = 4 })
	const n = 100
	served := make(chan error, n)
	for range n {
		go func() {
			transport := &http.Transport{DisableKeepAlives: true}
			req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, r.url+"/rpc/stream", http.NoBody)
			resp, err := transport.RoundTrip(req)
			if err == nil {
				_, err = bufio.NewReader(resp.Body).ReadString('\n')
				_ = resp.Body.Close()
			}
			served <- err
		}()
	}
	for range n {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func TestConnectionsAreCountedOutAgain(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxUnadmitted = 2 })
	arrivals := r.server.newArrivals()
	var ends []net.Conn
	enter := func() *arrival {
		a, b := net.Pipe()
		ends = append(ends, a, b)
		return arrivals.enter(a)
	}
	one, two := enter(), enter()
	if first, again := one.admit(""), one.admit(""); first != nil || again != nil || r.server.connections.Load() != 1 {
		t.Fatalf("%d are counted, want 1", r.server.connections.Load())
	}
	three, four := enter(), enter() // three takes the slot of one; no slot is free for four, so the oldest must leave
	if two.element != nil || four.element == nil {
		t.Fatal("the oldest has not given way")
	}
	if _, err := two.conn.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("the oldest is open: %v", err)
	}
	for _, a := range []*arrival{two, one, four, three, three} {
		arrivals.closed(a.conn)
	}
	if n := r.server.connections.Load(); n != 0 || arrivals.waiting.Len() != 0 || len(arrivals.open) != 0 {
		t.Fatalf("%d admitted, %d waiting, %d open", n, arrivals.waiting.Len(), len(arrivals.open))
	}
	for _, c := range ends {
		_ = c.Close()
	}
}

// A named token has a share of the connections, with its console tokens; the owner has
// all that is left. A connection counts for whom it served last.
func TestATokenHasAShareOfTheConnections(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxConnections = 24 })
	if n := r.server.limits.MaxTokenConnections; n != 3 {
		t.Fatalf("the share is %d", n)
	}
	of := map[string]api.Token{
		"phone": {Name: "phone", Role: tokens.RoleRead}, "console": {Name: "phone.console-a", Parent: "phone", Role: tokens.RoleRead},
		"ci": {Name: "ci", Role: tokens.RoleRead}, "own console": {Name: "owner.console-a", Parent: tokens.OwnerName, Role: tokens.RoleRead},
	}
	inner := r.http.Handler
	r.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if c, ok := of[req.Header.Get("As")]; ok {
			req = req.WithContext(api.WithToken(req.Context(), c))
		}
		inner.ServeHTTP(w, req)
	})
	ask := func(c net.Conn, as, path string) (status int, e *api.Error) {
		t.Helper()
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAs: "+as+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			body, err := io.ReadAll(resp.Body)
			m := parse(t, string(body))
			if err != nil || m.Error == nil {
				t.Fatal(string(body), err)
			}
			e = m.Error
		}
		return resp.StatusCode, e
	}
	stream := func(as string) (status int, e *api.Error) {
		t.Helper()
		return ask(r.dial(), as, "/rpc/stream")
	}
	for i, as := range []string{"phone", "console", "phone"} {
		if status, e := stream(as); status != 200 {
			t.Fatalf("%d: %d %v", i, status, e)
		}
	}
	for _, as := range []string{"phone", "console"} {
		status, e := stream(as)
		if status != 503 || e.Data.Kind != api.KindOverloaded || e.Data.RetryAfterMs == 0 || !strings.Contains(e.Message, "token phone has 3 connections") {
			t.Errorf("%s above the share: %d %+v", as, status, e)
		}
	}
	for _, as := range []string{"ci", "", "own console", "", "", "own console"} {
		if status, e := stream(as); status != 200 {
			t.Fatalf("%s beside the share of another: %d %v", as, status, e)
		}
	}
	// A connection that a proxy uses for several.
	shared := r.dial()
	for i, want := range []struct {
		as     string
		status int
	}{{"ci", 404}, {"", 404}, {"phone", 503}, {"own console", 404}, {"ci", 404}} {
		if status, e := ask(shared, want.as, "/nothing"); status != want.status {
			t.Errorf("%d, %s: %d %v", i, want.as, status, e)
		}
	}
	shares := func() string {
		r.server.shares.mu.Lock()
		defer r.server.shares.mu.Unlock()
		return fmt.Sprint(r.server.shares.of)
	}
	if got := shares(); got != "map[ci:2 phone:3]" || r.server.connections.Load() != 10 {
		t.Errorf("%s, %d connections", got, r.server.connections.Load())
	}
	_ = shared.Close()
	eventually(t, shares, func() bool { return shares() == "map[ci:1 phone:3]" })
}
