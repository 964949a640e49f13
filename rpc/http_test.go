package rpc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

func started() notify.Draft {
	return draft(notify.ThreadStarted, "t", &threads.Changed{Type: "started"})
}

func TestPostRPCStatusFollowsTheRule(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxFrameBytes = 64 << 10 })
	huge := `{"jsonrpc":"2.0","id":1,"method":"holon/status","x":"` + strings.Repeat("x", 64<<10) + `"}`
	status := `{"jsonrpc":"2.0","id":1,"method":"holon/status"}`
	for name, c := range map[string]struct {
		body   string
		status int
		kind   api.Kind
	}{
		"a result":                 {status, 200, ""},
		"pretty-printed":           {"{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1,\n \"method\": \"holon/status\"\n}\n", 200, ""},
		"a method's error":         {request("1", "turn/read", `{"turn_id":"no"}`), 200, api.KindTurnNotFound},
		"an unknown method":        {request("1", "no/such", `{}`), 200, api.KindMethodNotFound},
		"bad params":               {request("1", "turn/read", `{"turn":"no"}`), 200, api.KindInvalidParams},
		"params as an array":       {request("1", "turn/read", `[]`), 200, api.KindInvalidParams},
		"a notification":           {`{"jsonrpc":"2.0","method":"holon/status"}`, 204, ""},
		"a failing notification":   {`{"jsonrpc":"2.0","method":"no/such"}`, 204, ""},
		"a response":               {`{"jsonrpc":"2.0","id":1,"result":1}`, 204, ""},
		"a batch of notifications": {`[{"jsonrpc":"2.0","method":"holon/status"}]`, 204, ""},
		"nothing":                  {"", 400, api.KindParseError},
		"bad JSON":                 {`{`, 400, api.KindParseError},
		"two messages":             {status + "\n" + status, 400, api.KindParseError},
		"invalid UTF-8":            {"\"\xff\"", 400, api.KindParseError},
		"a wrong envelope":         {`{}`, 400, api.KindInvalidRequest},
		"a wrong notification":     {`{"jsonrpc":"1.0","method":"holon/status"}`, 400, api.KindInvalidRequest},
		"an empty batch":           {`[]`, 400, api.KindInvalidRequest},
		"too large a batch":        {"[" + strings.Repeat(status+",", 100) + status + "]", 400, api.KindInvalidRequest},
		"what lives on streams":    {request("1", "stream/subscribe", `{}`), 400, api.KindInvalidRequest},
		"logStream with follow":    {request("1", "holon/logStream", `{"follow":true}`), 400, api.KindInvalidRequest},
		"logStream without":        {request("1", "holon/logStream", `{}`), 200, ""},
		"too large":                {huge, 413, api.KindFrameTooLarge},
		"too large an answer":      {request("1", "item/read", `{"item_id":"big70000"}`), 413, api.KindFrameTooLarge},
	} {
		got, answer := r.post(c.body)
		if got != c.status {
			t.Errorf("%s: %d, want %d: %.200s", name, got, c.status, answer)
			continue
		}
		if (answer == "") != (c.status == 204) {
			t.Errorf("%s: body %.200q", name, answer)
		}
		if answer != "" && kindOf(t, answer) != c.kind {
			t.Errorf("%s: %.300s, want %s", name, answer, c.kind)
		}
	}
}

func TestTooLargeABodyIsRefusedWithoutReadingIt(t *testing.T) {
	r := newRig(t)
	for name, head := range map[string]string{
		"by its length": "Content-Length: 999999999999\r\n\r\n",
		"by its chunks": "Transfer-Encoding: chunked\r\n\r\n400010\r\n" + strings.Repeat("x", 0x400010) + "\r\n",
	} {
		c, err := net.Dial("tcp", r.url[len("http://"):])
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		go func() { _, _ = io.WriteString(c, "POST /rpc HTTP/1.1\r\nHost: localhost\r\n"+head) }()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if resp.StatusCode != 413 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
		_ = c.Close()
	}
}

func TestPathsAndVerbs(t *testing.T) {
	r := newRig(t)
	r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/rpc", 405}, {"PUT", "/rpc", 405}, {"OPTIONS", "/rpc", 405}, {"DELETE", "/rpc/stream", 405}, {"HEAD", "/rpc/stream", 405},
		{"POST", "/events", 405}, {"POST", "/healthz", 405}, {"GET", "/", 404}, {"POST", "/rpc/", 404}, {"GET", "/nothing", 404},
		{"POST", "//rpc", 404}, {"GET", "//rpc/stream", 404}, {"GET", "/rpc//stream", 404}, {"GET", "/x/../rpc/stream", 404}, {"GET", "/rpc/./stream", 404},
		{"GET", "/healthz", 200}, {"GET", "/readyz", 200}, {"GET", "/metrics", 404},
		{"POST", "/rpc?after_seq=1", 400}, {"GET", "/rpc/stream?after=1", 400}, {"GET", "/rpc/stream?after_seq=1;2", 400}, {"GET", "/rpc/stream?%zz", 400},
		{"GET", "/rpc/stream?thread_id=", 400}, {"GET", "/rpc/stream?method=started", 400}, {"GET", "/rpc/stream?method=item/*x", 400},
	} {
		req, err := http.NewRequest(c.method, r.url+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, resp.StatusCode, c.status, body)
		}
		if c.status >= 400 && c.method != "HEAD" && resp.Header.Get("Content-Type") != "application/json" && c.path != "/metrics" {
			t.Errorf("%s %s: %s", c.method, c.path, resp.Header.Get("Content-Type"))
		}
		if resp.StatusCode == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", c.method, c.path)
		}
	}
}

func TestAnEncodedBodyIsRefused(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		method, path string
		codings      []string
		status       int
	}{
		{"POST", "/rpc", []string{"gzip"}, 415}, {"POST", "/rpc", []string{"identity", "br"}, 415}, {"POST", "/rpc", []string{"identity, GZIP"}, 415},
		{"POST", "/rpc", []string{"x"}, 415}, {"POST", "/rpc/stream", []string{"gzip"}, 415}, {"POST", "/mcp", []string{"zstd"}, 415},
		{"POST", "/rpc", []string{"Identity"}, 200}, {"POST", "/rpc", []string{"identity", ""}, 200}, {"GET", "/healthz", []string{"gzip"}, 200},
	} {
		req, err := http.NewRequest(c.method, r.url+c.path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"holon/status"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header["Content-Encoding"] = c.codings
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s %s, %q: %d, want %d: %s", c.method, c.path, c.codings, resp.StatusCode, c.status, body)
		}
		if c.status == 415 && (!strings.Contains(string(body), `"kind":"invalid_request"`) || !strings.Contains(string(body), "without Content-Encoding") || resp.Header.Get("Accept-Encoding") != "identity") {
			t.Errorf("%s %s, %q: %v %s", c.method, c.path, c.codings, resp.Header, body)
		}
	}
}

func TestReadyTellsNothingButThatItIsNot(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Ready = func(context.Context) error { return fmt.Errorf("secret: %w", ledger.ErrStorageFailed) }
	})
	resp, err := r.client.Get(r.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 503 || string(body) != "unable to commit: storage_failed\n" {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
}

func TestAcceptRulesAStreamOutOrNot(t *testing.T) {
	const nd = "application/x-ndjson"
	for header, want := range map[string]bool{
		"": true, "*/*": true, nd: true, "Application/X-NDJSON": true, "application/*": true, "text/html, */*;q=0.1": true,
		nd + ";q=0.5": true, "text/html": false, "text/*": false, "application/json": false,
		nd + ";q=0": false, nd + ";q=0, */*": false, "application/*;q=0, */*": false, "*/*;q=0": false, "*/*;q=0, " + nd: true,
		", ,": true, "application/x-ndjson; charset=utf-8": true, "garbage": true,
	} {
		if got := accepts([]string{header}, nd); got != want {
			t.Errorf("Accept: %s: %v", header, got)
		}
	}
	r := newRig(t)
	for path, header := range map[string]string{"/rpc/stream": "text/event-stream", "/events": nd} {
		req, _ := http.NewRequest("GET", r.url+path, nil)
		req.Header.Set("Accept", header)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 406 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

func TestCursorsAreRefusedByRule(t *testing.T) {
	r := newRig(t)
	for range 10 {
		r.memory.append(t, started())
	}
	r.memory.prune(5)
	for _, c := range []struct {
		query, header string
		status        int
		kind          api.Kind
	}{
		{"after_seq=x", "", 400, api.KindInvalidCursor}, {"after_seq=", "", 400, api.KindInvalidCursor}, {"after_seq=-1", "", 400, api.KindInvalidCursor},
		{"after_seq=1.0", "", 400, api.KindInvalidCursor}, {"after_seq=%201", "", 400, api.KindInvalidCursor}, {"after_seq=5&after_seq=5", "", 400, api.KindInvalidCursor},
		{"after_seq=:5", "", 400, api.KindInvalidCursor}, {"after_seq=log-1:", "", 400, api.KindInvalidCursor}, {"after_seq=٥", "", 400, api.KindInvalidCursor},
		{"", "x", 400, api.KindInvalidCursor}, {"after_seq=5", "x", 400, api.KindInvalidCursor},
		{"after_seq=11", "", 409, api.KindCursorAhead}, {"after_seq=99999999999999999999999", "", 409, api.KindCursorAhead}, {"after_seq=5", "11", 409, api.KindCursorAhead},
		{"after_seq=log-2:5", "", 409, api.KindLogChanged}, {"after_seq=log-2:99", "", 409, api.KindLogChanged}, {"after_seq=log:1:5", "", 409, api.KindLogChanged},
		{"after_seq=3", "", 410, api.KindCursorExpired}, {"after_seq=0", "", 410, api.KindCursorExpired}, {"after_seq=5", "0", 410, api.KindCursorExpired}, {"after_seq=log-1:3", "", 410, api.KindCursorExpired},
		{"after_seq=4", "", 200, ""}, {"after_seq=10", "", 200, ""}, {"after_seq=log-1:10", "", 200, ""}, {"after_seq=0", "log-1:7", 200, ""}, {"after_seq=007", "", 200, ""},
	} {
		for _, path := range []string{"/rpc/stream", "/events"} {
			req, _ := http.NewRequest("GET", r.url+path+"?"+c.query, nil)
			if c.header != "" {
				req.Header.Set("Last-Event-ID", c.header)
			}
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != c.status {
				t.Errorf("%s?%s %s: %d, want %d", path, c.query, c.header, resp.StatusCode, c.status)
			}
			if c.status != 200 {
				body, _ := io.ReadAll(resp.Body)
				m := parse(t, string(body))
				if m.Error == nil || m.Error.Data.Kind != c.kind || *m.Error.Data.FirstSeq != 5 || *m.Error.Data.LatestSeq != 10 || m.Error.Data.LogID != testLogID {
					t.Errorf("%s?%s %s: %s", path, c.query, c.header, body)
				}
			}
			resp.Body.Close()
		}
	}
}

func TestCursorIsRefusedWhileTheBodyIsOpen(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		began := time.Now()
		c := r.pipe(t, "POST /rpc/stream?after_seq=5 HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
		br := bufio.NewReader(c)
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 409 || kindOf(t, string(body)) != api.KindCursorAhead || !resp.Close {
			t.Fatalf("%d %s, close %v", resp.StatusCode, body, resp.Close)
		}
		if took := time.Since(began); took != 0 {
			t.Fatalf("the refusal took %v", took)
		}
		// And the connection does not wait for the body forever.
		if _, err := br.ReadByte(); err == nil {
			t.Fatal("something follows the refusal")
		}
		if took := time.Since(began); took > refusedBodyWait+time.Second {
			t.Fatalf("the connection stayed for %v", took)
		}
	})
}

func TestSeqThatWasToldIsNeverAhead(t *testing.T) {
	r := newRig(t)
	r.memory.ahead = 3 // committed, and read by somebody, but not published yet
	st := r.open("GET", "/rpc/stream?after_seq=3")
	if m := st.expect("stream/opened"); m.Params.AfterSeq != 3 {
		t.Fatalf("%+v", m.Params)
	}
	r.memory.ahead = 0
	for range 5 {
		r.memory.append(t, started())
	}
	if m := st.expect("thread/started"); m.Params.Seq != 4 {
		t.Fatalf("began with seq %d", m.Params.Seq)
	}
}

func TestSeqThatAReaderToldBeforeItsPublicationIsNeverAhead(t *testing.T) {
	r := newRig(t)
	r.memory.append(t, started())
	two := r.open("POST", "/rpc/stream")
	two.expect("stream/opened")
	r.memory.mu.Lock()
	r.memory.commit(t, started(), started())
	r.memory.mu.Unlock()
	_, answer := r.post(request("1", "event/list", `{"after_seq":0}`))
	if !strings.Contains(answer, `"latest_seq":3`) {
		t.Fatal(answer)
	}
	one := r.open("GET", "/rpc/stream?after_seq=3")
	if m := one.expect("stream/opened"); m.Params.AfterSeq != 3 {
		t.Fatalf("%+v", m.Params)
	}
	two.send(request("1", "stream/subscribe", `{"after_seq":3}`), request("2", "stream/subscribe", `{"after_seq":4}`))
	if m := two.expect("#1"); string(m.Result) != `{"after_seq":3,"latest_seq":3,"log_id":"log-1"}` {
		t.Errorf("%+v", m)
	}
	if m := two.expect("#2"); m.Error == nil || m.Error.Data.Kind != api.KindCursorAhead || *m.Error.Data.LatestSeq != 3 {
		t.Errorf("%+v", m)
	}
	r.memory.mu.Lock()
	r.memory.publish()
	r.memory.mu.Unlock()
	r.memory.append(t, started())
	for _, st := range []*stream{one, two} {
		if m := st.expect("thread/started"); m.Params.Seq != 4 {
			t.Errorf("began with seq %d", m.Params.Seq)
		}
	}
}

func TestServerSentEventsCarryTheBytesOfNDJSON(t *testing.T) {
	r := newRig(t)
	for range 150 {
		r.memory.append(t, started())
	}
	r.memory.append(t, bigItem(3*notify.ChunkBytes))
	for range 149 {
		r.memory.append(t, started())
	}
	nd, ev := r.open("GET", "/rpc/stream?after_seq=0"), r.open("GET", "/events?after_seq=0")
	if got := ev.resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatal(got)
	}
	for name, want := range map[string]string{"Content-Type": "application/x-ndjson", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := nd.resp.Header.Get(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := ev.next(); got != "id: log-1:0" {
		t.Fatalf("opened: %s", got)
	}
	if got, want := ev.next(), "data: "+nd.next(); got != want || ev.next() != "" {
		t.Fatalf("opened: %s, want %s", got, want)
	}
	for seq := 1; seq <= 310; seq++ {
		if seq > 300 {
			r.memory.append(t, started())
		}
		if got, want := ev.next(), fmt.Sprintf("id: log-1:%d", seq); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got, want := ev.next(), "data: "+nd.next(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got := ev.next(); got != "" {
			t.Fatalf("no empty line but %s", got)
		}
	}
}

func TestHeartbeatComesAfterSilenceAndMovesTheCursor(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.HeartbeatSeconds = 0.1 })
	st := r.open("GET", "/rpc/stream?method=turn/*")
	st.expect("stream/opened")
	r.memory.append(t, started(), started())
	if m := st.expect("stream/heartbeat"); m.Params.Seq != 2 {
		t.Fatalf("seq %d on a stream that was filtered", m.Params.Seq)
	}
	ev := r.open("GET", "/events")
	for range 3 { // stream/opened
		ev.next()
	}
	if got := ev.next(); got != "id: log-1:2" {
		t.Fatal(got)
	}
}

func TestEventSourceThatIsCutBeforeTheFirstEventMissesNothing(t *testing.T) {
	r := newRig(t)
	for seq := range int64(3) { // an empty log is a position too
		ev := r.open("GET", "/events")
		id, ok := strings.CutPrefix(ev.next(), "id: ")
		if !ok || id != fmt.Sprintf("log-1:%d", seq) {
			t.Fatalf("stream/opened has the id %q", id)
		}
		ev.close()
		r.memory.append(t, started())
		again := r.open("GET", "/events", "Last-Event-ID", id)
		for range 3 { // stream/opened
			again.next()
		}
		if got := again.next(); got != fmt.Sprintf("id: log-1:%d", seq+1) {
			t.Fatalf("after %s comes %s", id, got)
		}
	}
}

func TestDefaultThreadIsAnnouncedToStreamsWithoutCursor(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DefaultThread = "main" })
	r.post(request("1", "thread/start", `{"thread_id":"main"}`))
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	if m := st.expect("thread/started"); m.Params.Seq != 0 || m.Params.ThreadID != "main" {
		t.Fatalf("%+v", m.Params)
	}
	st.send(request("1", "turn/start", `{"input":[]}`), request("2", "turn/start", strings.Replace(hello, `"thread_id":"t",`, "", 1)))
	st.expect("#1")
	if m := st.expect("turn/started"); m.Params.ThreadID != "main" {
		t.Fatalf("%+v", m.Params)
	}
	with := r.open("GET", "/rpc/stream?after_seq=0")
	with.expect("stream/opened")
	if m := with.expect("thread/started"); m.Params.Seq != 1 {
		t.Fatalf("a stream with a cursor got %+v", m.Params)
	}
}

func TestConnectionsAboveTheBoundAreToldSo(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Limits.MaxConnections = 3
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })
	})
	var held []*stream
	for range 3 {
		st := r.open("GET", "/rpc/stream")
		st.expect("stream/opened")
		held = append(held, st)
	}
	resp, err := r.client.Get(r.url + "/rpc/stream")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || kindOf(t, string(body)) != api.KindOverloaded || !resp.Close {
		t.Fatalf("%d %s, closed: %v", resp.StatusCode, body, resp.Close)
	}
	for _, probe := range []string{"/healthz", "/readyz", "/metrics"} {
		resp, err := r.client.Get(r.url + probe)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s of a server that is full: %d", probe, resp.StatusCode)
		}
	}
	held[0].close()
	r.client.CloseIdleConnections()
	deadline := time.Now().Add(5 * time.Second)
	for r.server.connections.Load() > 2 {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are counted", r.server.connections.Load())
		}
		time.Sleep(time.Millisecond)
	}
	again := r.open("GET", "/rpc/stream")
	again.expect("stream/opened")
}

// Errors about a cursor name what to write instead.
func TestCursorsThatPeopleTry(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for _, c := range []struct{ query, header, want string }{
			{"after_sequence=0", "0", "did you mean after_seq?"}, {"", "", "leave it out to begin at the newest event, or write 0 for the oldest"},
		} {
			req, _ := http.NewRequest("GET", r.url+"/rpc/stream?"+c.query, nil)
			req.Header["Last-Event-ID"] = []string{c.header}
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 400 || !strings.Contains(string(body), c.want) {
				t.Errorf("%+v: %d %s", c, resp.StatusCode, body)
			}
		}
	})
}
