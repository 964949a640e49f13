package tools

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/tokens"
)

// waiting makes turn/await wait until its context ends or the test lets it go. sent
// has what followed the answers.
type waiting struct {
	entered chan struct{}
	release chan struct{}
	ended   chan struct{} // its context has ended
	sent    chan bool
}

func awaiting(f *fake) *waiting {
	w := &waiting{make(chan struct{}, 10), make(chan struct{}), make(chan struct{}, 10), make(chan bool, 10)}
	f.do("turn/await", func(ctx context.Context, _ string) (string, *api.Error) {
		AfterSent(ctx, func(ok bool) { w.sent <- ok })
		w.entered <- struct{}{}
		select {
		case <-w.release:
			return oneResult, nil
		case <-ctx.Done():
			w.ended <- struct{}{}
			return "", api.Errorf(api.KindUnavailable, "given up")
		}
	})
	return w
}

func TestAWaitingCallSaysThatItWaits(t *testing.T) {
	progress := make(chan *mcp.ProgressNotificationParams, 1000)
	o := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		select {
		case progress <- r.Params:
		default:
		}
	}}
	test := func(t *testing.T, f *fake, c *mcp.ClientSession) {
		w := awaiting(f)
		done := make(chan *mcp.CallToolResult, 1)
		go func() {
			p := &mcp.CallToolParams{Name: "work_await"}
			p.SetProgressToken("here")
			res, err := c.CallTool(context.Background(), p)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		for last := 0.0; last < 3; {
			p := soon(t, progress, "progress")
			if p.ProgressToken != "here" || p.Progress <= last {
				t.Errorf("progress %+v after %v", p, last)
			}
			last = p.Progress
		}
		close(w.release)
		if res := soon(t, done, "the answer"); res == nil || res.IsError {
			t.Errorf("the answer is %+v", res)
		}
	}
	t.Run("http", func(t *testing.T) { s := serve(t); test(t, s.fake, s.connect(t, o)) })
	t.Run("stdio", func(t *testing.T) { f := newFake(t); test(t, f, overStdio(t, f, o)) })
}

// A client that wants no progress gets comments, so that its connection is not
// silent.
func TestAWaitingCallWithoutATokenIsNotSilent(t *testing.T) {
	s := serve(t)
	w := awaiting(s.fake)
	resp := s.post(context.Background(), t, "own", toolCall("1", "work_await", "{}"))
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the answer is %s", got)
	}
	r := bufio.NewReader(resp.Body)
	for range 3 {
		line, err := r.ReadString('\n')
		if err != nil || line != ": waiting\n" {
			t.Fatalf("%q %v", line, err)
		}
		if line, err := r.ReadString('\n'); err != nil || line != "\n" {
			t.Fatalf("%q %v", line, err)
		}
	}
	close(w.release)
	rest, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(rest), "event: message\ndata: ") || !strings.Contains(string(rest), "turn_1") {
		t.Errorf("%s %v", rest, err)
	}
	if !soon(t, w.sent, "what follows") {
		t.Error("an answer that was written does not count")
	}
}

// Each message comes in a POST of its own.
func TestNotificationsCancelledEndsTheWaitingOfItsCall(t *testing.T) {
	s := serve(t)
	w := awaiting(s.fake)
	answers := make(chan string, 2)
	for _, c := range []struct{ token, id string }{{"own", `7`}, {"own/other", `7`}} {
		resp := s.post(context.Background(), t, c.token, toolCall(c.id, "work_await", "{}"))
		soon(t, w.entered, "the call")
		go func() { answers <- c.token + " " + all(t, resp) }()
	}
	cancel := func(token, id string) {
		resp := s.post(context.Background(), t, token, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`)
		if all(t, resp); resp.StatusCode != http.StatusAccepted {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	cancel("own", `"7"`)      // another id
	cancel("own/third", `7`)  // another client
	cancel("own", `8`)        // a call that does not run
	cancel("own", `{"a":[]}`) // no id
	select {
	case <-w.ended:
		t.Fatal("the wrong call was cancelled")
	default:
	}
	cancel("own", `7`)
	soon(t, w.ended, "the end of the waiting")
	if got := soon(t, answers, "the end of the stream"); !strings.HasPrefix(got, "own ") || strings.Contains(got, "data:") {
		t.Errorf("a cancelled call is answered: %s", got)
	}
	if soon(t, w.sent, "what follows") {
		t.Error("a cancelled call counts as answered")
	}
	close(w.release)
	if got := soon(t, answers, "the other answer"); !strings.HasPrefix(got, "own/other") || !strings.Contains(got, "completed") {
		t.Errorf("the other answer is %s", got)
	}
	if !soon(t, w.sent, "what follows") {
		t.Error("the other answer does not count")
	}
	if len(s.tools.waiting.running) != 0 {
		t.Errorf("%d calls are remembered", len(s.tools.waiting.running))
	}
}

// Some clients cancel every call once they have its answer. That means nothing, but
// an answer that is written to a client that has cancelled is read by nobody.
func TestCancellingCountsUntilTheAnswerIsWritten(t *testing.T) {
	for when, want := range map[string]bool{"never": true, "before": false, "done": false, "after": true} {
		x := &exchange{w: httptest.NewRecorder(), cancel: func() {}}
		x.control = http.NewResponseController(x.w)
		var got []bool
		x.sent = append(x.sent, func(ok bool) { got = append(got, ok) })
		cancel := func(now string) {
			if now == when {
				x.giveUp()
			}
		}
		_, _ = x.Write([]byte("progress"))
		_ = x.FlushError()
		cancel("before")
		x.answers(true)
		cancel("done")
		_, _ = x.Write([]byte("the answer"))
		_ = x.FlushError()
		cancel("after")
		x.finish()
		x.finish()
		if written := x.w.(*httptest.ResponseRecorder).Body.String(); strings.Contains(written, "the answer") != want {
			t.Errorf("cancelled %s: written %q", when, written)
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("cancelled %s: what follows was told %v, want once %v", when, got, want)
		}
	}
}

func TestABrokenConnectionEndsTheWaiting(t *testing.T) {
	s := serve(t)
	w := awaiting(s.fake)
	ctx, cancel := context.WithCancel(context.Background())
	resp := s.post(ctx, t, "own", toolCall("1", "work_await", "{}"))
	soon(t, w.entered, "the call")
	cancel()
	_ = resp.Body.Close()
	soon(t, w.ended, "the end of the waiting")
	if soon(t, w.sent, "what follows") {
		t.Error("an answer that nobody got counts")
	}
}

func TestACancelledCallOnStdioEndsItsWaiting(t *testing.T) {
	f := newFake(t)
	w := awaiting(f)
	c := overStdio(t, f, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "work_await"})
		done <- err
	}()
	soon(t, w.entered, "the call")
	cancel()
	soon(t, w.ended, "the end of the waiting")
	if err := soon(t, done, "the end of the call"); err == nil {
		t.Error("a cancelled call has a result")
	}
}

// A call that was cancelled is not answered (MCP, Cancellation); all else is.
func TestACancelledCallOnStdioIsNotAnswered(t *testing.T) {
	f := newFake(t)
	w := awaiting(f)
	in, client := io.Pipe()
	out, server := io.Pipe()
	served, answers := make(chan error, 1), make(chan string, 10)
	go func() {
		served <- New(Config{Caller: f}).ServeStdio(api.WithAgent(context.Background(), tokens.Agent{ThreadID: "own"}), in, server)
		server.Close()
	}()
	go func() {
		defer close(answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answers <- lines.Text()
		}
	}()
	send := func(lines ...string) {
		for _, line := range lines {
			if _, err := io.WriteString(client, line+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, cancel(`"early"`))
	for _, id := range []string{`7`, `"a\u0062c"`, `"7"`} {
		send(toolCall(id, "work_await", "{}"))
		soon(t, w.entered, "the call")
	}
	send(cancel(`7`), cancel(`"abc"`), cancel(`9`))
	for range 2 {
		soon(t, w.ended, "the end of the waiting")
	}
	close(w.release)
	for answer := ""; !strings.Contains(answer, `"id":"7"`); {
		answer = soon(t, answers, "the answer of the call that goes on")
		if !strings.Contains(answer, `"id":1,`) && !strings.Contains(answer, `"id":"7"`) {
			t.Errorf("a cancelled call is answered: %s", answer)
		}
	}
	client.Close()
	if err := soon(t, served, "the end"); err != nil {
		t.Error(err)
	}
	for answer := range answers {
		t.Errorf("answered is, too: %s", answer)
	}
}

// An answer that became an error tells nothing.
func TestAnErrorIsNoAnswer(t *testing.T) {
	s := serve(t)
	sent := make(chan bool, 1)
	s.do("turn/await", func(ctx context.Context, _ string) (string, *api.Error) {
		if !AfterSent(ctx, func(ok bool) { sent <- ok }) {
			t.Error("the call came over HTTP")
		}
		return `{"results":5}`, nil // which cannot be read
	})
	if got := all(t, s.post(context.Background(), t, "own", toolCall("1", "work_await", "{}"))); !strings.Contains(got, `"isError":true`) {
		t.Errorf("the answer is %s", got)
	}
	if soon(t, sent, "what follows") {
		t.Error("an error counts as an answer")
	}
}

func TestEveryVersionOfTheProtocolIsServed(t *testing.T) {
	for _, c := range []struct{ version, body, want string }{
		{"", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"protocolVersion":"2025-11-25"`},
		{"", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"protocolVersion":"2025-06-18"`},
		{"2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"name":"work_start"`},
		{"2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `"anthropic/alwaysLoad":true`},
		{"2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, `"supportedVersions"`},
		{"2025-06-18", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
	} {
		s := serve(t)
		r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer own"}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if c.version != "" {
			r.Header.Set("Mcp-Protocol-Version", c.version)
		}
		if c.version == "2026-07-28" {
			r.Header.Set("Mcp-Method", "server/discover")
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(t, resp); resp.StatusCode/100 != 2 || !strings.Contains(got, c.want) {
			t.Errorf("%s %.80s: %d %.600s", c.version, c.body, resp.StatusCode, got)
		}
	}
}

func TestWhatIsNotOneMessageIsRefused(t *testing.T) {
	s := serve(t)
	for name, body := range map[string]string{
		"a batch": "[" + toolCall("1", "work_list", "{}") + "]", "a batch behind blanks": " \n[" + toolCall("1", "work_list", "{}") + "]",
		"no JSON": `{"jsonrpc":`, "nothing": "", "two messages": toolCall("1", "work_list", "{}") + toolCall("2", "work_list", "{}"),
		"an id twice": `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"work_list"}}`,
	} {
		resp := s.post(context.Background(), t, "own", body)
		if got := all(t, resp); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, resp.StatusCode, got)
		}
	}
	if got := s.calls(); len(got) > 0 {
		t.Errorf("reached %v", got)
	}
}

// An agent whose text was cut within a character, or whose encoder writes NaN, is heard.
func TestWhatAgentsGetWrongInJSONIsMended(t *testing.T) {
	s := serve(t)
	s.say("thread/start", `{"thread_id":"child"}`)
	s.say("turn/start", `{"turn":{"turn_id":"t","thread_id":"child","state":"active"}}`)
	args := `{"prompt":"hi \ud83d","title":"cut \ude00","cwd":"/work"},"_meta":{"score":NaN}`
	got := all(t, s.post(context.Background(), t, "own", "\ufeff"+toolCall("1", "work_start", args)))
	asked := strings.Join(s.calls(), "\n")
	if !strings.Contains(asked, `"title":"cut �"`) || !strings.Contains(asked, `"text":"hi �"`) || strings.Contains(got, `"isError":true`) {
		t.Errorf("%s\nasked %s", got, asked)
	}
	got = all(t, s.post(context.Background(), t, "own", toolCall("1", "work_start", `{"prompt":"x","cwd":"/src/\udcff"}`)))
	if asked := s.calls(); !strings.Contains(got, "cwd") || len(asked) > 0 {
		t.Errorf("another directory: %s, asked %s", got, asked)
	}
	sent := "\ufeff{\"a\":\"\\ud83d\"}\n\n[NaN]\n\"\xff"
	if read, err := io.ReadAll(&stdio{in: bufio.NewReader(iotest.OneByteReader(strings.NewReader(sent)))}); err != nil || string(read) != "{\"a\":\"�\"}\n\n[null]\n\"�" {
		t.Errorf("on stdin: %q, %v", read, err)
	}
}

func TestStdioNeedsAnAgent(t *testing.T) {
	if err := New(Config{Caller: newFake(t)}).ServeStdio(context.Background(), strings.NewReader(""), io.Discard); err == nil {
		t.Error("the tools are served without an agent")
	}
	ctx := api.WithAgent(context.Background(), tokens.Agent{ThreadID: "own"})
	if err := New(Config{Caller: newFake(t)}).ServeStdio(ctx, strings.NewReader(""), io.Discard); err != nil {
		t.Errorf("the end of the input is %v", err)
	}
}
