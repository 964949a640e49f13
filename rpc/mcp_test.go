package rpc

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/rpc/admission"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

const ownerToken = "0123456789-0123456789-0123456789-0123456789"

// gated is a rig behind an admission gate that demands a token, with a tree of
// threads: boss ─ own ─ child, and stranger.
type gated struct {
	*rig
	agents *tokens.AgentTokens
	token  string // of the agent of own
}

func newGated(t *testing.T, change ...func(*Config)) *gated {
	t.Helper()
	m := newMemory(0)
	e := &fakeEngine{t: t, memory: m}
	cfg := Config{Services: api.Services{Engine: e, Children: e, Reader: m, LogID: testLogID, Version: "test"}, Tail: m.tail}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{
		rig:    &rig{t: t, memory: m, engine: e, server: s, client: &http.Client{Transport: &http.Transport{}}},
		agents: tokens.NewAgentTokens(func(context.Context) ([]byte, error) { return []byte("secret"), nil }),
	}
	policy := admission.Policy{Mode: admission.RequireToken, Kind: admission.LoopbackTCP, Tokens: g.admit}
	if policy.Token, err = admission.ParseToken(ownerToken); err != nil {
		t.Fatal(err)
	}
	gate, err := admission.New(policy)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.url = "http://" + l.Addr().String()
	g.http = s.HTTPServer(gate.Middleware(s.Handler()), gate.ConnContext)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.http.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = s.Close(ctx, Closing{Code: api.CloseStopping, Reason: "test over"})
		g.client.CloseIdleConnections()
		_ = g.http.Close()
		<-done
	})
	for id, parent := range map[string]string{"boss": "", "own": "boss", "child": "own", "stranger": ""} {
		g.thread(id, parent)
	}
	if g.token, err = g.agents.Grant(context.Background(), tokens.Agent{ThreadID: "own"}); err != nil {
		t.Fatal(err)
	}
	return g
}

// admit admits tokens of agents.
func (g *gated) admit(ctx context.Context, text string) (_ context.Context, mine, ok bool) {
	a, mine, ok := g.agents.Find(text)
	if !ok {
		return ctx, mine, false
	}
	return api.WithAgent(ctx, a), true, true
}

func (g *gated) thread(id, parent string) {
	row := &threads.Thread{ThreadID: id, State: threads.Running}
	if parent != "" {
		row.Parent, row.Level = &threads.Parent{ThreadID: parent}, 1
	}
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	g.memory.threads[id] = row
}

// ask sends one request with headers in pairs, and returns its answer.
func (g *gated) ask(method, path, token, body string, header ...string) (status int, answer string) {
	g.t.Helper()
	r, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := g.client.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	if resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") != "POST" {
		g.t.Errorf("%s %s: Allow is %q", method, path, resp.Header.Get("Allow"))
	}
	return resp.StatusCode, string(b)
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func useTool(name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
}

func TestTheToolsAreForTokensOfAgents(t *testing.T) {
	g := newGated(t, func(c *Config) {
		c.Limits.MaxFrameBytes = 4096
		c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") })
	})
	ended, err := g.agents.Grant(context.Background(), tokens.Agent{ThreadID: "own"})
	if err != nil {
		t.Fatal(err)
	}
	g.agents.Revoke(ended)
	for _, c := range []struct {
		name, method, path, token, body string
		status                          int
		want                            string
		header                          []string
	}{
		{"live", "POST", "/mcp", g.token, listTools, 200, "work_start", nil},
		{"none", "POST", "/mcp", "", listTools, 401, "token_missing", nil},
		{"the server's", "POST", "/mcp", ownerToken, listTools, 403, "forbidden", nil},
		{"ended", "POST", "/mcp", ended, listTools, 401, "token_wrong", nil},
		{"forged", "POST", "/mcp", g.token[:len(g.token)-2] + "xx", listTools, 401, "token_wrong", nil},
		{"another Host", "POST", "/mcp", g.token, listTools, 403, `"reason":"host"`, []string{"Host", "evil.example"}},
		{"a page", "POST", "/mcp", g.token, listTools, 403, `"reason":"origin"`, []string{"Origin", "https://evil.example"}},
		{"a page without Origin", "POST", "/mcp", g.token, listTools, 403, `"reason":"sec_fetch_site"`, []string{"Sec-Fetch-Site", "cross-site"}},
		{"GET", "GET", "/mcp", g.token, "", 405, "this path takes POST", nil},
		{"DELETE", "DELETE", "/mcp", g.token, "", 405, "this path takes POST", nil},
		{"too large", "POST", "/mcp", g.token, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x":"` + strings.Repeat("x", 4096) + `"}}}`, 413, "frame_too_large", nil},
		{"a parameter", "POST", "/mcp?token=" + g.token, "", listTools, 401, "token_missing", nil},
		{"another parameter", "POST", "/mcp?x=1", g.token, listTools, 400, "unknown_field", nil},
		{"a batch", "POST", "/mcp", g.token, "[" + listTools + "]", 400, "batches", nil},
		{"another path", "POST", "/mcp/", g.token, listTools, 404, "nothing at this path", nil},
		{"metrics", "GET", "/metrics", g.token, "", 403, "does not open this path", nil},
		{"health", "GET", "/healthz", g.token, "", 200, "", nil},
	} {
		status, answer := g.ask(c.method, c.path, c.token, c.body, c.header...)
		if status != c.status || !strings.Contains(answer, c.want) || strings.Contains(answer, g.token) {
			t.Errorf("%s: %d %.300s, want %d with %s", c.name, status, answer, c.status, c.want)
		}
	}
}

func TestToolsReachTheEngineAsTheAgent(t *testing.T) {
	g := newGated(t)
	g.engine.sent = make(chan string, 10)
	_, answer := g.ask("POST", "/mcp", g.token, useTool("work_start", `{"prompt":"Run the tests"}`))
	calls := g.engine.called()
	if !strings.Contains(answer, "work_await") || len(calls) != 2 || !strings.HasPrefix(calls[0], "StartThread") || !strings.HasSuffix(calls[1], "Run the tests") {
		t.Errorf("%s; called %v", answer, calls)
	}
	if _, answer = g.ask("POST", "/mcp", g.token, useTool("work_await", `{}`)); !strings.Contains(answer, "nothing to wait for") {
		t.Error(answer)
	}
	told(t, g.rig, "await true")
	_, answer = g.ask("POST", "/mcp", g.token, useTool("work_start", `{"prompt":"x","thread_id":"stranger"}`))
	if !strings.Contains(answer, "forbidden") || !strings.Contains(answer, `"isError":true`) || len(g.engine.called()) != 3 {
		t.Errorf("%s; called %v", answer, g.engine.called())
	}
}

// A token of an agent narrows on every path, and its owner's token does not.
func TestAnAgentsRequestsAreNarrowedOnEveryPath(t *testing.T) {
	g := newGated(t)
	for _, c := range []struct{ method, params, kind string }{
		{"holon/status", `{}`, "forbidden"}, {"thread/read", `{"thread_id":"stranger"}`, "forbidden"}, {"thread/read", `{"thread_id":"child"}`, ""},
		{"initialize", `{}`, ""},
	} {
		_, answer := g.ask("POST", "/rpc", g.token, request("1", c.method, c.params))
		if got := string(kindOf(t, answer)); got != c.kind {
			t.Errorf("POST /rpc %s %s: %s, want %q", c.method, c.params, answer, c.kind)
		}
		if _, answer = g.ask("POST", "/rpc", ownerToken, request("1", c.method, c.params)); kindOf(t, answer) != "" {
			t.Errorf("the owner: %s", answer)
		}
	}
	_, answer := g.ask("POST", "/rpc", g.token, request("1", "initialize", `{}`))
	if !strings.Contains(answer, `"agent":{"thread_id":"own","child_agents":[""]}`) {
		t.Errorf("initialize does not say whose token it is: %.300s", answer)
	}
	st := g.open("POST", "/rpc/stream", "Authorization", "Bearer "+g.token)
	st.expect(notify.StreamOpened)
	st.send(request("1", "holon/status", `{}`), request("2", "stream/subscribe", `{"thread_ids":["stranger"]}`))
	for _, id := range []string{"#1", "#2"} {
		if m := st.expect(id); m.Error == nil || m.Error.Data.Kind != api.KindForbidden {
			t.Errorf("on a stream: %+v", m.Error)
		}
	}
	for _, path := range []string{"/rpc/stream", "/events"} {
		if status, answer := g.ask("GET", path+"?thread_id=stranger", g.token, "", "Accept", "*/*"); status != 403 {
			t.Errorf("GET %s: %d %s", path, status, answer)
		}
	}
}

func (g *gated) say(thread string) int64 {
	return g.memory.append(g.t, draft(notify.TurnStarted, thread, &turns.StartedEvent{Type: "started", State: turns.Active}))
}

// Streams carry the agent's tree, from the log and live, and grow with it.
func TestStreamsOfAnAgentCarryItsTree(t *testing.T) {
	g := newGated(t)
	var want []int64
	for _, id := range []string{"own", "stranger", "child", "boss"} {
		if seq := g.say(id); id == "own" || id == "child" {
			want = append(want, seq)
		}
	}
	replay := g.open("GET", "/rpc/stream?after_seq=0", "Authorization", "Bearer "+g.token)
	live := g.open("POST", "/rpc/stream", "Authorization", "Bearer "+g.token)
	for _, st := range []*stream{replay, live} {
		st.expect(notify.StreamOpened)
	}
	for _, seq := range want {
		if m := replay.expect(notify.TurnStarted); m.Params.Seq != seq {
			t.Errorf("got %d of %s, want %d", m.Params.Seq, m.Params.ThreadID, seq)
		}
	}
	g.say("stranger")
	g.thread("grandchild", "child")
	g.say("grandchild")
	g.say("boss")
	g.say("own")
	for _, st := range []*stream{replay, live} {
		for _, id := range []string{"grandchild", "own"} {
			if m := st.expect(notify.TurnStarted); m.Params.ThreadID != id {
				t.Errorf("got %s, want %s", m.Params.ThreadID, id)
			}
		}
		st.quiet()
	}
	_, answer := g.ask("POST", "/rpc", g.token, request("1", "event/list", `{"after_seq":0}`))
	if strings.Contains(answer, "stranger") || strings.Contains(answer, "boss") || strings.Count(answer, `"method":"turn/started"`) != 4 || !strings.Contains(answer, `"next_after_seq":8`) {
		t.Errorf("event/list: %s", answer)
	}
}

func TestStreamsEndWithTheTokenThatOpenedThem(t *testing.T) {
	g := newGated(t)
	streams := []*stream{
		g.open("GET", "/rpc/stream", "Authorization", "Bearer "+g.token), g.open("GET", "/events", "Authorization", "Bearer "+g.token, "Accept", "text/event-stream"),
		g.open("POST", "/rpc/stream", "Authorization", "Bearer "+g.token),
	}
	owner := g.open("GET", "/rpc/stream", "Authorization", "Bearer "+ownerToken)
	owner.expect(notify.StreamOpened)
	for _, st := range streams {
		st.next()
	}
	g.agents.Revoke(g.token)
	for i, st := range streams {
		select {
		case <-st.done:
		case <-time.After(20 * time.Second):
			t.Errorf("stream %d goes on", i)
		}
	}
	g.say("own")
	owner.expect(notify.TurnStarted)
}
