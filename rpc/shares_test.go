package rpc

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/tokens"
)

// Clients of a named token that do not read their answers hold no more than its share.
// Above it a large read is refused, to this token alone, and a batch member too; small
// answers and all others go on. What was written, or never will be, counts no more.
func TestATokenHasAShareOfUnreadAnswers(t *testing.T) {
	r, _, _ := largeEvents(t, 1, 1, 1<<20)
	const size = 1 << 20 // the least that a read has
	r.server.unread.most = 4*size + size/2
	r.server.limits.WriteTimeoutSeconds = 3600
	inner := r.http.Handler
	r.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch name := req.Header.Get("As"); name {
		case "":
		case "page": // of the phone
			req = req.WithContext(api.WithToken(req.Context(), api.Token{Name: "phone.console-a", Parent: "phone", Role: tokens.RoleRead}))
		default:
			req = req.WithContext(api.WithToken(req.Context(), api.Token{Name: name, Role: tokens.RoleRead}))
		}
		inner.ServeHTTP(w, req)
	})
	dial := r.unix() // whose sockets buffer little
	const large, small = `{"jsonrpc":"2.0","id":1,"method":"event/list","params":{"after_seq":1}}`, `{"jsonrpc":"2.0","id":2,"method":"event/list","params":{"after_seq":0,"limit":1}}`
	send := func(as, path, body string) io.Closer {
		t.Helper()
		c := dial()
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAs: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", path, as, len(body), body); err != nil {
			t.Fatal(err)
		}
		if path == "/rpc" {
			if _, err := io.WriteString(c, "0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	held := func() int {
		r.server.unread.mu.Lock()
		defer r.server.unread.mu.Unlock()
		return r.server.unread.of["phone"] / size
	}
	holds := func(n int) {
		t.Helper()
		eventually(t, func() string { return fmt.Sprintf("%d unread answers, want %d", held(), n) }, func() bool { return held() == n })
	}
	ask := func(as, body string) string {
		t.Helper()
		c := dial()
		if _, err := fmt.Fprintf(c, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nAs: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", as, len(body), body); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}

	unread := []io.Closer{send("phone", "/rpc", large), send("page", "/rpc", large), send("phone", "/rpc/stream", strings.Replace(large, ":1,", ":7,", 1)+"\n"+large+"\n")}
	holds(4)
	for as, refused := range map[string]bool{"phone": true, "page": true, "other": false, "": false} {
		for _, body := range []string{large, "[" + large + "," + small + "]"} {
			answer := ask(as, body)
			if strings.Contains(answer, `"kind":"overloaded","retryable":true`) != refused || (len(answer) > size) == refused {
				t.Errorf("%q asks %.60s: %.300s", as, body, answer)
			}
		}
		if answer := ask(as, small); !strings.Contains(answer, `"thread/started"`) {
			t.Errorf("%q: a small answer: %.300s", as, answer)
		}
	}
	for i, c := range unread { // they leave without having read
		c.Close()
		holds([]int{3, 2, 0}[i])
	}
	if answer := ask("phone", large); len(answer) < size {
		t.Errorf("then: %.300s", answer)
	}
	holds(0)
	notified := strings.Replace(large, `"id":1,`, "", 1) // which has no answer
	for _, path := range []string{"/rpc", "/rpc/stream"} {
		c := send("phone", path, "["+large+","+notified+","+strings.Replace(large, ":1,", ":7,", 1)+"]\n")
		holds(2)
		c.Close()
		holds(0)
	}
	r.server.limits.MaxFrameBytes = size / 2
	if answer := ask("phone", large); !strings.Contains(answer, "frame_too_large") {
		t.Errorf("an answer that fits no frame: %.300s", answer)
	}
	holds(0)
}
