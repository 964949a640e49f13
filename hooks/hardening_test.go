package hooks

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed82539d15/holon/inbox"
)

// hostile is one hostile webhook and its answer.
type hostile struct {
	name   string
	method string // "" = POST
	path   string // "" = /hooks/gh
	body   string
	header map[string]string
	signed bool // with the right secret
	want   int
}

const marker = "hunter2-of-the-body"

func hostiles() []hostile {
	body := `{"action": "` + marker + `"}`
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	return []hostile{
		{name: "no signature", body: body, want: 401},
		{name: "a wrong signature", body: body, header: map[string]string{"X-Hub-Signature-256": "sha256=" + hexHMAC("guess", body)}, want: 401},
		{name: "the signature of another body", body: body, header: map[string]string{"X-Hub-Signature-256": "sha256=" + hexHMAC(ghSecret, "{}")}, want: 401},
		{name: "a signature that is no hex", body: body, header: map[string]string{"X-Hub-Signature-256": "sha256=" + strings.Repeat("z", 64)}, want: 401},
		{name: "a huge signature", body: body, header: map[string]string{"X-Hub-Signature-256": "sha256=" + strings.Repeat("a", 100_000)}, want: 401},
		{name: "an old kind of signature", body: body, header: map[string]string{"X-Hub-Signature": "sha1=" + strings.Repeat("a", 40)}, want: 401},
		{name: "no JSON and no signature", body: marker, want: 401},
		{name: "a nesting bomb without a signature", body: deep(100_000), want: 401},
		{name: "an unknown source", path: "/hooks/nobody", body: body, signed: true, want: 404},
		{name: "no source", path: "/hooks/", body: body, signed: true, want: 404},
		{name: "a source and more", path: "/hooks/gh/x", body: body, signed: true, want: 404},
		{name: "a name with dots", path: "/hooks/../hooks/gh%00", body: body, signed: true, want: 404},
		{name: "another method", method: "PUT", body: body, signed: true, want: 405},
		{name: "a GET", method: "GET", want: 405},
		{name: "a preflight", method: "OPTIONS", want: 405},
		{name: "a form", body: "payload=" + marker, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, signed: true, want: 415},
		{name: "a text", body: body, header: map[string]string{"Content-Type": "text/plain"}, signed: true, want: 415},
		{name: "no content type", body: body, header: map[string]string{"Content-Type": ""}, signed: true, want: 415},
		{name: "a broken content type", body: body, header: map[string]string{"Content-Type": "application/json; ;="}, signed: true, want: 415},
		{name: "a compressed body", body: body, header: map[string]string{"Content-Encoding": "gzip"}, signed: true, want: 415},
		{name: "a huge body", body: `{"a":"` + strings.Repeat("a", MaxBodyBytes) + `"}`, signed: true, want: 413},
		{name: "no object", body: `["` + marker + `"]`, signed: true, want: 400},
		{name: "a number", body: `5`, signed: true, want: 400},
		{name: "nothing", body: ``, signed: true, want: 400},
		{name: "an open object", body: `{"a":"` + marker, signed: true, want: 400},
		{name: "two objects", body: body + body, signed: true, want: 400},
		{name: "a member that is there twice", body: `{"a":1,"a":"` + marker + `"}`, signed: true, want: 400},
		{name: "a member that is there twice, below", body: `{"b":[{"a":1,"\u0061":2}]}`, signed: true, want: 400},
		{name: "no UTF-8, and a member twice", body: "{\"a\":\"\xff" + marker + "\",\"a\":1}", signed: true, want: 400},
		{name: "half of a pair outside of a text", body: `{"a":\ud800}`, signed: true, want: 400},
		{name: "a nesting bomb", body: deep(65), signed: true, want: 400},
		{name: "a large nesting bomb", body: deep(300_000), signed: true, want: 400},
		{name: "nan", body: `{"a":nan}`, signed: true, want: 400},
	}
}

// A thousand hostile webhooks are answered as documented, store nothing, leave no
// memory behind, and neither the answers nor the log have anything of them.
func TestThousandHostileWebhooks(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", ""))
	w.unlimited()
	var before, after runtime.MemStats
	n := 0
	for n < 1000 {
		for _, c := range hostiles() {
			if n == 100 { // after the connections and buffers of the first ones
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
			n++
			r, err := http.NewRequest(c.method, w.url+"/hooks/gh", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.method == "" {
				r.Method = http.MethodPost
			}
			if c.path != "" {
				r.URL.Opaque = c.path
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-GitHub-Event", "issues")
			if c.signed {
				r.Header.Set("X-Hub-Signature-256", "sha256="+hexHMAC(ghSecret, c.body))
			}
			for k, v := range c.header {
				if r.Header.Set(k, v); v == "" {
					r.Header.Del(k)
				}
			}
			status, answer := w.do(r)
			if status != c.want || !strings.HasPrefix(answer, `{"reason":"`) || len(answer) > 400 || strings.Contains(answer, marker) {
				t.Fatalf("%s: %d %.500s, want %d", c.name, status, answer, c.want)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d MiB stay in memory", grown>>20)
	}
	if items := w.store.of("a"); len(items) != 0 {
		t.Errorf("%d items are stored", len(items))
	}
	log := w.log.String()
	if strings.Contains(log, marker) || strings.Contains(log, ghSecret) || strings.Count(log, "the signature of a webhook is wrong") != 1 {
		t.Errorf("%.1000s", log)
	}
	if status, answer := w.event("issues", `{}`); status != 202 {
		t.Errorf("after all of them: %d %s", status, answer)
	}
	deep := `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`
	if status, answer := w.event("issues", deep); status != 202 {
		t.Errorf("64 levels: %d %s", status, answer)
	}
}

func TestReplayIsStoredOnce(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", ""))
	w.unlimited()
	body := fmt.Sprintf(comment, 1, 1)
	var sent sync.WaitGroup
	for range 8 {
		sent.Go(func() {
			for i := range 25 {
				r, err := http.NewRequest(http.MethodPost, w.url+"/hooks/gh", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Content-Type", "application/json; charset=utf-8")
				r.Header.Set("X-GitHub-Event", []string{"issues", "push", "pull_request_review_comment"}[i%3])
				r.Header.Set("X-GitHub-Delivery", fmt.Sprint(i))
				r.Header.Set("X-Hub-Signature-256", "sha256="+hexHMAC(ghSecret, body))
				if status, answer := w.do(r); status != 202 {
					t.Errorf("%d %s", status, answer)
				}
			}
		})
	}
	sent.Wait()
	if n := len(w.store.of("a")); n != 1 {
		t.Errorf("stored %d times", n)
	}
}

func TestRateIsLimitedBeforeTheSignatureIsChecked(t *testing.T) {
	w := newWorld(t, []Source{gh, {Name: "other", Kind: KindGitHub, Secret: "s"}})
	limited := 0
	for range 300 {
		if status, _ := w.send("gh", `{}`); status == 429 {
			limited++
		} else if status != 401 {
			t.Fatal(status)
		}
	}
	if limited < 20 || limited > 100 {
		t.Errorf("%d of 300 are refused", limited)
	}
	if status, _ := w.send("other", `{}`); status != 401 {
		t.Errorf("another source is limited as well: %d", status)
	}
}

// raw opens a connection and sends the beginning of a webhook.
func (w *world) raw(t *testing.T, source string, length int, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "POST /hooks/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", source, length, body); err != nil {
		t.Fatal(err)
	}
	return conn
}

func statusLine(t *testing.T, conn net.Conn) int {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the status is what counts
	return resp.StatusCode
}

func TestSlowBodyIsCut(t *testing.T) {
	w := newWorld(t, []Source{gh})
	w.bodyFor = 100 * time.Millisecond
	if status := statusLine(t, w.raw(t, "gh", 100, `{"a":`)); status != http.StatusRequestTimeout {
		t.Error(status)
	}
}

func TestTruncatedBodyIsRefused(t *testing.T) {
	w := newWorld(t, []Source{gh})
	conn := w.raw(t, "gh", 100, `{"a":`)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if status := statusLine(t, conn); status != http.StatusBadRequest {
		t.Error(status)
	}
}

// Bodies in memory are bounded, and those of one source do not take the room of
// all others.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	other := Source{Name: "other", Kind: KindGitHub, Secret: ghSecret}
	third := Source{Name: "third", Kind: KindGitHub, Secret: ghSecret}
	w := newWorld(t, []Source{gh, other, third})
	w.roomFor = 10 * time.Millisecond
	for range maxBodiesOfOne {
		w.raw(t, "gh", 100, `{"a":`)
	}
	eventually(t, "taking all bodies of one source", func() bool { return len(w.bodies) == maxBodiesOfOne })
	if status, _ := w.event("issues", `{}`); status != 503 {
		t.Errorf("the source takes more: %d", status)
	}
	if status, _ := w.send("other", `{}`, "X-Hub-Signature-256", "sha256="+hexHMAC(ghSecret, `{}`)); status != 202 {
		t.Errorf("another source takes none: %d", status)
	}
	var held []net.Conn
	for range maxBodies - maxBodiesOfOne {
		held = append(held, w.raw(t, "other", 100, `{"a":`))
	}
	eventually(t, "taking all bodies", func() bool { return len(w.bodies) == maxBodies })
	if status, _ := w.send("third", `{}`); status != 503 {
		t.Errorf("more bodies are taken: %d", status)
	}
	for _, conn := range held {
		conn.Close()
	}
	eventually(t, "leaving", func() bool { return len(w.bodies) == maxBodiesOfOne })
	if status, _ := w.send("third", `{}`, "X-Hub-Signature-256", "sha256="+hexHMAC(ghSecret, `{}`)); status != 202 {
		t.Errorf("the room is not free again: %d", status)
	}
}

// GitHub repeats nothing: a webhook that finds no room waits a little for it.
func TestWebhookWaitsForRoom(t *testing.T) {
	w := newWorld(t, []Source{gh})
	w.roomFor = time.Minute
	var held []net.Conn
	for range maxBodiesOfOne {
		held = append(held, w.raw(t, "gh", 100, `{"a":`))
	}
	eventually(t, "taking all bodies of the source", func() bool { return len(w.bodies) == maxBodiesOfOne })
	answered := make(chan int, 1)
	go func() {
		status, _ := w.event("issues", `{}`)
		answered <- status
	}()
	select {
	case status := <-answered:
		t.Fatalf("answered without room: %d", status)
	case <-time.After(50 * time.Millisecond):
	}
	held[0].Close()
	if status := <-answered; status != http.StatusAccepted {
		t.Errorf("the webhook that waited got %d", status)
	}
}

// A body that is all structure takes many times its size as a tree: the heap
// while many arrive at once stays bounded.
func TestParsedBodiesAreBounded(t *testing.T) {
	w := newWorld(t, []Source{gh}, sub("a", "gh", `payload.a == 1`))
	w.unlimited()
	body := `{"a":[` + strings.Repeat("{},", MaxBodyBytes/3-10) + `{}]}`
	signature := "sha256=" + hexHMAC(ghSecret, body)
	var sent sync.WaitGroup
	var most uint64
	for range 20 {
		sent.Go(func() {
			r := httptest.NewRequest(http.MethodPost, "/hooks/gh", bytes.NewReader([]byte(body)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Hub-Signature-256", signature)
			rec := httptest.NewRecorder()
			if w.ServeHTTP(rec, r); rec.Code != 202 && rec.Code != 503 {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sent.Wait()
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(20 * time.Millisecond):
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	if most > 400<<20 {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	t.Logf("the heap grew to %d MiB", most>>20)
}

// Many filters of one webhook, each as expensive as it may be, end within the
// bound for all of them.
func TestFiltersOfOneWebhookAreBoundedTogether(t *testing.T) {
	costly := `any(1..200000, payload.a contains "x")`
	h, err := New(Config{Sources: []Source{gh}, Deliver: &store{}})
	if err != nil {
		t.Fatal(err)
	}
	m := &made{input: in(t, `{"a": "`+strings.Repeat("a", 1000)+`"}`)}
	var subs []inbox.Subscription
	for i := range 50 {
		subs = append(subs, sub(fmt.Sprint(i), "gh", costly))
	}
	start := time.Now()
	var total totals
	if list := h.targets(m, subs, &total); len(list) != 50 || total.failed != 50 || m.input.steps > 0 {
		t.Errorf("%d inboxes, %d failures, %d steps left", len(list), total.failed, m.input.steps)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
