package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/internal/host"
	"github.com/seed82539d15/holon/internal/test/hosttest"
)

// dataWithToken is a data directory of this user.
func dataWithToken(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "token"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAnotherUsersListenerGetsNoToken has another user listen on a former
// server's address: every kind of request must end before a byte is sent.
func TestAnotherUsersListenerGetsNoToken(t *testing.T) {
	requests := map[string]func(*Client) error{
		"Call":  func(c *Client) error { return c.Call(t.Context(), "holon/status", nil, nil) },
		"Ready": func(c *Client) error { return c.Ready(t.Context()) },
		"Dial": func(c *Client) error {
			s, err := c.Dial(t.Context(), SessionOptions{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
		"Subscribe": func(c *Client) error {
			return c.Subscribe(Options{}).Run(t.Context(), func(Event) error { return nil })
		},
		"Bridge": func(c *Client) error {
			body, err := c.Bridge(t.Context(), strings.NewReader("{}\n"), nil)
			if err == nil {
				err = body.Close()
			}
			return err
		},
		"DialContext": func(c *Client) error {
			endpoint, err := c.Endpoint()
			if err != nil {
				return err
			}
			conn, err := c.DialContext(t.Context(), "tcp", strings.TrimPrefix(endpoint.URL, "http://"))
			if err == nil {
				err = conn.Close()
			}
			return err
		},
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			spy, address := hosttest.StartSpy(t)
			data := dataWithToken(t)
			self := host.Self()
			writeServerRecord(t, data, ServerRecord{Process: self, URLs: []string{"http://" + address}, LogID: "log"})
			for _, resolve := range []Resolver{Discover(data), At("http://"+address, SourceGiven, data, false), At("http://"+address, SourceGiven, data, true)} {
				c := New(resolve)
				err := request(c)
				c.Close()
				var peer *PeerError
				if !errors.As(err, &peer) || peer.UID != hosttest.OtherUID || strings.Contains(err.Error(), secret) {
					t.Errorf("the request ends with %v", err)
				}
				if seen, err := spy.Line(); err != nil || seen != `""` {
					t.Errorf("the other user has seen %s (%v)", seen, err)
				}
			}
			// Without a token there is nothing to guard: a server of another
			// user may admit every client.
			c := New(At("http://"+address, SourceGiven, "", false))
			defer c.Close()
			if err := c.Ready(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnotherUsersUnixSocketGetsNoToken(t *testing.T) {
	hosttest.NeedRoot(t)
	dir, err := os.MkdirTemp("", "holon-client-") // where the other user may make a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	spy, err := hosttest.Start(t, hosttest.AsUser(hosttest.OtherUID), hosttest.SpyProgram, "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := spy.Line(); err != nil || said != path {
		t.Fatal(said, err)
	}
	c := New(At("unix:"+path, SourceGiven, dataWithToken(t), true))
	defer c.Close()
	var peer *PeerError
	if err := c.Ready(t.Context()); !errors.As(err, &peer) || peer.UID != hosttest.OtherUID {
		t.Errorf("the request ends with %v", err)
	}
	if seen, err := spy.Line(); err != nil || seen != `""` {
		t.Errorf("the other user has seen %s (%v)", seen, err)
	}
}

// TestServersThatMayReadTheTokenGetIt: the owner of the token's file, this
// user and root.
func TestServersThatMayReadTheTokenGetIt(t *testing.T) {
	t.Run("this user", func(t *testing.T) {
		var got string
		url := startHTTP(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
		c := New(At(url, SourceGiven, dataWithToken(t), true))
		defer c.Close()
		if err := c.Ready(t.Context()); err != nil || got != "Bearer "+secret {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("the owner of the token", func(t *testing.T) {
		spy, address := hosttest.StartSpy(t)
		data := dataWithToken(t)
		if err := os.Chown(filepath.Join(data, "token"), hosttest.OtherUID, hosttest.OtherUID); err != nil {
			t.Fatal(err)
		}
		c := New(At("http://"+address, SourceGiven, data, true))
		defer c.Close()
		if err := c.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		if seen, err := spy.Line(); err != nil || !strings.Contains(seen, secret) {
			t.Errorf("the owner has seen %s (%v)", seen, err)
		}
	})
	t.Run("root", func(t *testing.T) {
		hosttest.NeedRoot(t)
		var got string
		url := startHTTP(t, func(w http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") })
		child, err := hosttest.Start(t, hosttest.AsUser(hosttest.OtherUID), "ready", url)
		if err != nil {
			t.Fatal(err)
		}
		if said, err := child.Line(); err != nil || said != "ready" || got != "Bearer "+secret {
			t.Errorf("%q, %v; got %q", said, err, got)
		}
	})
}

func init() {
	programs[hosttest.SpyProgram] = hosttest.Spy
	programs["ready"] = askAsChild
}

// askAsChild calls a server with its own token.
func askAsChild(url string) error {
	c := New(func() (Endpoint, error) { return Endpoint{URL: url, Token: secret}, nil })
	defer c.Close()
	err := c.Ready(context.Background())
	if err == nil {
		fmt.Println("ready")
	}
	return err
}

// TestTheTokenWaitsUntilTheServerHasTakenTheConnection: before that the kernel
// does not say which user owns it.
func TestTheTokenWaitsUntilTheServerHasTakenTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	url := "http://" + l.Addr().String()
	data := dataWithToken(t)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c := New(At(url, SourceGiven, data, true))
	defer c.Close()
	if err := c.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody has taken the connection: %v", err)
	}
	ready := make(chan error, 1)
	go func() { ready <- c.Ready(t.Context()) }()
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go server.Serve(l)
	defer server.Close()
	if err := <-ready; err != nil {
		t.Error(err)
	}
}
