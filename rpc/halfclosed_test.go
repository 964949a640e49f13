package rpc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

// halfCloser is a connection whose writing half can be closed alone.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// eachTransport runs a test on TCP and on a unix socket.
func eachTransport(t *testing.T, r *rig, test func(t *testing.T, dial func() halfCloser)) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = r.http.Serve(l) }()
	t.Cleanup(func() { _ = l.Close(); <-done })
	for network, address := range map[string]string{"tcp": r.url[len("http://"):], "unix": path} {
		t.Run(network, func(t *testing.T) {
			test(t, func() halfCloser {
				t.Helper()
				c, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				_ = c.SetDeadline(time.Now().Add(30 * time.Second))
				return c.(halfCloser)
			})
		})
	}
}

// lastPost sends a whole request and closes the writing half, as nc -N does.
func lastPost(t *testing.T, c halfCloser, path, body string, chunked bool) *http.Response {
	t.Helper()
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\n", path)
	if chunked {
		head += "Transfer-Encoding: chunked\r\n\r\n"
		body = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	} else {
		head += fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
	}
	if _, err := io.WriteString(c, head+body); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestHalfClosedStreamIsAnsweredWhole(t *testing.T) {
	r := newRig(t)
	eachTransport(t, r, func(t *testing.T, dial func() halfCloser) {
		for round := range 20 {
			var body []string
			for i := range 25 {
				method, params := "turn/start", hello
				if i%5 == 0 {
					method, params = "thread/list", `{}`
				}
				body = append(body, request(fmt.Sprint(i), method, params))
			}
			resp := lastPost(t, dial(), "/rpc/stream", strings.Join(body, "\n"), round%2 == 0)
			answered, last := 0, message{}
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				if last = parse(t, lines.Text()); last.Method == "" {
					if answered++; last.Error != nil {
						t.Fatalf("%+v", last.Error)
					}
				}
			}
			if err := lines.Err(); err != nil || answered != 25 || last.Params.Code != api.CloseInputEnded {
				t.Fatalf("round %d: %d of 25 are answered; it ends with %+v, %v", round, answered, last, err)
			}
		}
	})
}

func TestHalfClosedPostIsAnswered(t *testing.T) {
	r := newRig(t)
	r.memory.slow = 50 * time.Millisecond
	eachTransport(t, r, func(t *testing.T, dial func() halfCloser) {
		for round := range 10 {
			for method, params := range map[string]string{"turn/start": hello, "thread/list": `{}`} {
				resp := lastPost(t, dial(), "/rpc", request("1", method, params), round%2 == 0)
				body, err := io.ReadAll(resp.Body)
				if m := parse(t, string(body)); err != nil || m.Error != nil {
					t.Fatalf("round %d: %s: %s, %v", round, method, body, err)
				}
			}
		}
	})
}

// A request that waits for an agent is answered too, however long after the
// client has closed its half.
func TestHalfClosedStreamWaitsForSlowAnswers(t *testing.T) {
	r := newRig(t)
	ended := make(chan turns.InterruptResult, 1)
	r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
	r.engine.asked = make(chan struct{})
	eachTransport(t, r, func(t *testing.T, dial func() halfCloser) {
		c := dial()
		configure := request("2", "thread/configure", `{"thread_id":"t","config":{"mode":"plan"}}`)
		resp := lastPost(t, c, "/rpc/stream", request("1", "turn/interrupt", `{"turn_id":"slow"}`)+"\n"+configure, false)
		lines := bufio.NewScanner(resp.Body)
		want := func(part string) {
			t.Helper()
			for lines.Scan() {
				if strings.Contains(lines.Text(), part) {
					return
				}
			}
			t.Fatalf("no %s before the end: %v", part, lines.Err())
		}
		want(`"id":1,"result":{"turn_id":"slow","state":"interrupting"`) // after 2 s, longer than a stream has to close
		r.engine.asked <- struct{}{}
		want(`"id":2,"result"`)
		want(api.CloseInputEnded)
	})
}

func TestHalfClosedClaimTakesNothingAndIsAnswered(t *testing.T) {
	r, w := newWorkerRig(t)
	claim := request("1", "turn/claim", `{"agent":"w","wait_seconds":60}`)
	eachTransport(t, r, func(t *testing.T, dial func() halfCloser) {
		for _, path := range []string{"/rpc", "/rpc/stream"} {
			resp := lastPost(t, dial(), path, claim, false)
			body, err := io.ReadAll(resp.Body)
			if err != nil || !strings.Contains(string(body), `"result":{"turn":null`) {
				t.Errorf("%s: %s, %v", path, body, err)
			}
			<-w.left
		}
	})
}
