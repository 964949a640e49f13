package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// slowWay is a way to a server that holds each turn/start until it is released.
type slowWay struct {
	*httptest.Server
	arrived chan string // the body
	release chan struct{}
}

// hold makes later terminals use the way.
func (s *server) hold() *slowWay {
	s.t.Helper()
	there, err := url.Parse(s.url())
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	h := &slowWay{arrived: make(chan string, 8), release: make(chan struct{})}
	forward := httputil.NewSingleHostReverseProxy(there)
	forward.FlushInterval = -1
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"turn/start"`) {
			h.arrived <- string(body)
			select {
			case <-h.release:
			case <-r.Context().Done():
				return
			}
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), there.Host
		forward.ServeHTTP(w, r)
	}))
	s.t.Cleanup(h.Close)
	s.environ = []string{"HOLON_URL=" + h.URL, "HOLON_TOKEN=" + strings.TrimSpace(string(token)), "XDG_CONFIG_HOME=" + s.t.TempDir()}
	return h
}

// What was typed before Ctrl-D is sent, in its order, though the text before it has no
// answer yet.
func TestAChatInLinesSendsWhatWasTypedBeforeItsEnd(t *testing.T) {
	s := startServer(t)
	s.want("call", "thread/start", `{"thread_id":"mine"}`)
	h := s.hold()
	p := s.openTerminal("chat", "--plain", "mine")
	p.await("Each line goes to the agent")
	if _, err := p.master.WriteString("first\nsecond\nthird\n\x04"); err != nil {
		t.Fatal(err)
	}
	p.await("chat: your text is still being sent. Ctrl-C leaves at once.")
	for range 3 {
		h.release <- struct{}{}
	}
	if code := p.exit(); code != exitOK || strings.Contains(p.seen.String(), "not sent") {
		t.Errorf("exit %d:\n%s", code, p.seen.String())
	}
	for _, text := range []string{"first", "second", "third"} {
		if body := <-h.arrived; !strings.Contains(body, text) {
			t.Errorf("%q is not %s", body, text)
		}
	}
}

// A person who does not wait sees what the agent may not get, whether the input has ended
// or not.
func TestAChatInLinesSaysWhatItDidNotSend(t *testing.T) {
	held := make(chan os.Signal, 8)
	signal.Notify(held, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(held)
	s := startServer(t)
	s.want("call", "thread/start", `{"thread_id":"mine"}`)
	h := s.hold()
	for _, c := range []struct {
		end string
		sig syscall.Signal
	}{{"\x04", syscall.SIGINT}, {"", syscall.SIGTERM}} {
		p := s.openTerminal("chat", "--plain", "mine")
		p.await("Each line goes to the agent")
		if _, err := p.master.WriteString("first\nsecond\n" + c.end); err != nil {
			t.Fatal(err)
		}
		<-h.arrived
		p.await("this starts a turn\r\nchat: this starts a turn")
		if c.end != "" {
			p.await("Ctrl-C leaves at once")
		}
		if err := syscall.Kill(os.Getpid(), c.sig); err != nil {
			t.Fatal(err)
		}
		if code := p.exit(); code != exitFailed {
			t.Errorf("exit %d", code)
		}
		inOrder(t, p.seen.String(), "chat: perhaps not sent: first\r\n", "chat: not sent: second\r\n")
	}
}

// As many turns may be queued behind the one that runs as the queue holds.
func TestAChatFindsTheTurnThatRunsBeforeAFullQueue(t *testing.T) {
	s := startServer(t)
	s.startSleeper("mine", "work")
	for i := range 12 {
		s.want("call", "turn/start", fmt.Sprintf(`{"thread_id":"mine","input":%s}`, promptJSON(fmt.Sprint("later ", i))))
	}
	p := s.openTerminal("chat", "--plain", "mine")
	p.awaitAfter("Each line goes to the agent", "later 11")
	p.enter("one more thing")
	p.await("chat: this steers the turn")
	p.await("user: one more thing")
}
