package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

// claimed is a turn that a worker has claimed.
type claimed struct {
	Turn struct {
		TurnID   string `json:"turn_id"`
		ThreadID string `json:"thread_id"`
	} `json:"turn"`
	Lease  json.RawMessage `json:"lease"`
	Access struct {
		URL    string `json:"url"`
		MCPURL string `json:"mcp_url"`
		Token  string `json:"token"`
	} `json:"access"`
}

// startServerForWorkers serves the agent builds on TCP and on a unix socket, until
// the test ends.
func startServerForWorkers(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, data: t.TempDir(), agents: agentsOf(t, "builds=worker")}
	s.listen = []string{"unix:" + s.socket()}
	builds := s.agents["builds"]
	builds.Worker.Lease, builds.Worker.ClaimTimeout = time.Hour, 0
	s.agents["builds"] = builds
	s.start()
	return s
}

func (s *server) socket() string { return filepath.Join(s.data, "test.sock") }

// claim starts a turn in a thread of its own and claims it.
func (s *server) claim(thread string) (c claimed) {
	s.t.Helper()
	s.want("call", "thread/start", fmt.Sprintf(`{"thread_id":%q,"agent":"builds"}`, thread))
	s.want("call", "turn/start", fmt.Sprintf(`{"thread_id":%q,"input":%s}`, thread, promptJSON("go")))
	if err := json.Unmarshal([]byte(s.want("call", "turn/claim", `{"agent":"builds","wait_seconds":30}`)), &c); err != nil {
		s.t.Fatal(err)
	}
	if c.Turn.ThreadID != thread || c.Access.Token == "" || c.Access.MCPURL == "" {
		s.t.Fatalf("claimed %+v", c)
	}
	return c
}

// transports are the ways on which one request is one answer.
func (s *server) transports(c claimed) map[string]func(token, body string) (status int, answer string) {
	s.t.Helper()
	post := func(client *http.Client, url string) func(token, body string) (int, string) {
		s.t.Cleanup(client.CloseIdleConnections)
		return func(token, body string) (int, string) {
			s.t.Helper()
			r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, url, strings.NewReader(body))
			if err != nil {
				s.t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + token}}
			resp, err := client.Do(r)
			if err != nil {
				s.t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				s.t.Fatal(err)
			}
			return resp.StatusCode, string(b)
		}
	}
	return map[string]func(token, body string) (int, string){
		"http": post(&http.Client{Transport: &http.Transport{}}, c.Access.URL+"/rpc"),
		"unix": post(&http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.socket())
		}}}, "http://localhost/rpc"),
	}
}

// tool posts a message to the tools of agents.
func (c claimed) tool(t *testing.T, token, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.Access.MCPURL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}, "Authorization": {"Bearer " + token}}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func useTool(name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, args)
}

// duplex is a connection on which many requests are answered.
type duplex struct {
	t      *testing.T
	in     *io.PipeWriter
	answer chan map[string]any // closed at the end of the connection
}

func (s *server) duplex(c claimed) *duplex {
	s.t.Helper()
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, c.Access.URL+"/rpc/stream", r)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Access.Token)
	client := &http.Client{Transport: &http.Transport{}}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	d := &duplex{t: s.t, in: w, answer: make(chan map[string]any, 1000)}
	s.t.Cleanup(func() { _ = w.Close(); _ = resp.Body.Close(); client.CloseIdleConnections() })
	go func() {
		defer close(d.answer)
		for lines := bufio.NewReader(resp.Body); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var m map[string]any
			if json.Unmarshal(line, &m) == nil && m["method"] == nil {
				d.answer <- m
			}
		}
	}()
	return d
}

func (d *duplex) ask(body string) (answer string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, body+"\n"); err != nil {
		d.t.Fatal(err)
	}
	select {
	case m, open := <-d.answer:
		if !open {
			d.t.Fatal("the connection has ended")
		}
		b, err := json.Marshal(m)
		if err != nil {
			d.t.Fatal(err)
		}
		return string(b)
	case <-time.After(30 * time.Second):
		d.t.Fatalf("no answer to %s", body)
	}
	return ""
}

// aboutOthers has every method of the protocol with params about the thread of
// another agent, whose ids stand in braces. What is in narrowed is answered, and
// tells nothing of that thread.
var (
	aboutOthers = map[string]string{
		"initialize": `{}`, "rpc.discover": `{}`, "stream/unsubscribe": `{}`, "event/list": `{"after_seq":0}`,
		"holon/status": `{}`, "holon/pause": `{}`, "holon/resume": `{}`, "holon/prune": `{"before_seq":2}`,
		"holon/logStream": `{}`, "holon/logStream/stop": `{"stream_id":"x"}`,
		"token/create": `{"name":"n","role":"read"}`, "token/list": `{}`, "token/revoke": `{"name":"n"}`,
		"signin/code": `{}`, "signin/create": `{}`, "signin/list": `{}`, "signin/delete": `{"all":true}`,
		"agent/list": `{}`, "thread/list": `{}`, "turn/claim": `{"agent":"builds"}`,
		"thread/start": `{"parent":{"thread_id":"{thread}"}}`, "thread/pause": `{"thread_id":"{thread}"}`, "thread/resume": `{"thread_id":"{thread}"}`,
		"thread/close": `{"thread_id":"{thread}"}`, "thread/configure": `{"thread_id":"{thread}","config":{"mode":"x"}}`, "thread/fork": `{"thread_id":"{thread}"}`,
		"thread/rename": `{"thread_id":"{thread}","title":"x"}`,
		"thread/read":   `{"thread_id":"{thread}"}`,
		"turn/start":    `{"thread_id":"{thread}","parent":{"thread_id":"own"},"input":{input}}`,
		"turn/steer":    `{"turn_id":"{turn}","input":{input}}`, "turn/interrupt": `{"turn_id":"{turn}"}`, "turn/retry": `{"turn_id":"{turn}"}`,
		"turn/review": `{"turn_id":"{turn}","attempt":1,"verdict":"approved"}`,
		"turn/detach": `{"turn_id":"{turn}"}`, "turn/await": `{"turn_ids":["{turn}"],"timeout_seconds":0}`,
		"turn/read": `{"turn_id":"{turn}"}`, "turn/list": `{"thread_id":"{thread}"}`,
		"item/list": `{"thread_id":"{thread}"}`, "item/read": `{"item_id":"{item}"}`, "item/respond": `{"item_id":"{item}","outcome":"cancelled"}`,
		"turn/renew": `{"lease":{lease}}`, "turn/complete": `{"lease":{lease}}`, "turn/fail": `{"lease":{lease},"error":{"kind":"x","message":"y"}}`,
		"step/start": `{"lease":{lease},"step":"s"}`, "step/end": `{"lease":{lease},"step":"s"}`,
		"item/create": `{"lease":{lease},"content":{"type":"reasoning","text":""}}`, "item/append": `{"lease":{lease},"item_id":"{item}","text":"x"}`,
		"item/update": `{"lease":{lease},"item_id":"{item}","status":"completed"}`, "item/delete": `{"lease":{lease},"item_id":"{item}"}`,
		"item/batch":   `{"lease":{lease},"ops":[{"op":"delete","item_id":"{item}"}]}`,
		"inbox/ingest": `{"thread_id":"{thread}","items":[{"source":"ci","native_id":"1"}]}`, "inbox/send": `{"thread_id":"{thread}","text":"x"}`,
		"inbox/configure": `{"thread_id":"{thread}","policy":{"wake":"idle"}}`, "inbox/wake": `{"thread_id":"{thread}"}`,
		"inbox/read": `{"thread_id":"{thread}"}`, "inbox/expand": `{"thread_id":"{thread}","entry_id":"{entry}"}`,
		"inbox/items": `{"thread_id":"{thread}"}`, "inbox/ack": `{"thread_id":"{thread}","entry_ids":["{entry}"]}`, "inbox/flush": `{"thread_id":"{thread}"}`,
		"inbox/subscribe":   `{"thread_id":"own","source":"events","thread_ids":["{thread}"]}`,
		"inbox/unsubscribe": `{"thread_id":"{thread}","subscription_id":"{subscription}"}`,
		"timer/create":      `{"thread_id":"{thread}","every_seconds":60,"text":"x"}`, "timer/list": `{"thread_id":"{thread}"}`, "timer/delete": `{"thread_id":"{thread}","timer_id":"{timer}"}`,
		"cursor/advance": `{"consumer_id":"c","stream_name":"events","subject_id":"{thread}","last_sequence":0}`, "cursor/error": `{"consumer_id":"c","stream_name":"events","subject_id":"{thread}","error":"x"}`,
		"cursor/reset": `{"consumer_id":"c","stream_name":"events","subject_id":"{thread}","last_sequence":0,"reason":"x"}`, "cursor/delete": `{"consumer_id":"c","stream_name":"events","subject_id":"{thread}","reason":"x"}`,
		"cursor/read": `{"consumer_id":"c","stream_name":"events","subject_id":"{thread}"}`, "cursor/list": `{"subject_id":"{thread}"}`,
		"stream/subscribe": `{"thread_ids":["{thread}"]}`,
		"bridge/create":    `{"bridge_id":"b","kind":"ntfy","topic":"topic_1234"}`, "bridge/list": `{}`, "bridge/read": `{"bridge_id":"b"}`,
		"bridge/update": `{"bridge_id":"b","on_pause":"drop"}`, "bridge/pause": `{"bridge_id":"b"}`, "bridge/resume": `{"bridge_id":"b"}`,
		"bridge/test": `{"bridge_id":"b"}`, "bridge/rotate_secret": `{"bridge_id":"b"}`, "bridge/delete": `{"bridge_id":"b"}`,
		"subscription/create": `{"bridge_id":"b","thread_id":"{thread}"}`, "subscription/update": `{"subscription_id":"s","on":["final"]}`,
		"subscription/list": `{"thread_id":"{thread}"}`, "subscription/read": `{"subscription_id":"s"}`, "subscription/delete": `{"subscription_id":"s"}`,
		"subscription/pause": `{"subscription_id":"s"}`, "subscription/resume": `{"subscription_id":"s"}`,
		"subscription/reset": `{"subscription_id":"s","to_seq":0,"reason":"x"}`, "subscription/skip": `{"subscription_id":"s","reason":"x"}`,
		"delivery/list": `{}`, "delivery/read": `{"delivery_id":"notif:s:1"}`, "delivery/redeliver": `{"delivery_id":"notif:s:1"}`,
	}
	narrowed = map[string]bool{"initialize": true, "rpc.discover": true, "event/list": true, "stream/unsubscribe": true}
)

func forbidden(answer string) bool {
	return strings.Contains(answer, `"kind":"forbidden"`) && strings.Contains(answer, `"reason":"agent_token"`)
}

// idOf finds an id in an answer.
func idOf(t *testing.T, answer string, path ...string) string {
	t.Helper()
	var at any = oneObject(t, answer)
	for _, name := range path {
		at, _ = at.(map[string]any)[name]
	}
	id, _ := at.(string)
	if id == "" {
		t.Fatalf("no %v in %s", path, answer)
	}
	return id
}

func TestTheTokenOfAnAgentIsForItsOwnThreadOnEveryMethodAndTransport(t *testing.T) {
	s := startServerForWorkers(t)
	stranger, own := s.claim("stranger"), s.claim("own")
	known := strings.NewReplacer("{thread}", "stranger", "{turn}", stranger.Turn.TurnID, "{lease}", string(stranger.Lease), "{input}", promptJSON("x"),
		"{item}", idOf(t, s.want("call", "item/create", `{"lease":`+string(stranger.Lease)+`,"content":{"type":"reasoning","text":"hunter2"}}`), "item_id"),
		"{entry}", idOf(t, s.want("call", "inbox/send", `{"thread_id":"stranger","text":"hunter2"}`), "entry_id"),
		"{timer}", idOf(t, s.want("call", "timer/create", `{"thread_id":"stranger","every_seconds":3600,"text":"x"}`), "timer", "timer_id"),
		"{subscription}", idOf(t, s.want("call", "inbox/subscribe", `{"thread_id":"stranger","source":"events","methods":["thread/closed"]}`), "subscription", "subscription_id"))
	requests := map[string]string{}
	for _, m := range oneObject(t, s.want("call", "rpc.discover"))["methods"].([]any) {
		name := m.(map[string]any)["name"].(string)
		params, ok := aboutOthers[name]
		if !ok {
			t.Errorf("%s is not in the table: say how it is about another thread", name)
			continue
		}
		var line bytes.Buffer
		if err := json.Compact(&line, []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, name, known.Replace(params)))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		requests[name] = line.String()
	}
	if len(requests) < 50 {
		t.Fatalf("only %d methods are known", len(requests))
	}
	latest := func() any { return oneObject(t, s.want("call", "holon/status"))["latest_seq"] }
	before := latest()

	ways := s.transports(own)
	conn := s.duplex(own)
	for method, body := range requests {
		for way, post := range ways {
			_, answer := post(own.Access.Token, body)
			if refused := forbidden(answer) || strings.Contains(answer, "only on a streaming connection"); refused == narrowed[method] && method != "stream/unsubscribe" {
				t.Errorf("%s: %s: %.300s", way, method, answer)
			}
			if narrowed[method] && strings.Contains(answer, "stranger") || strings.Contains(answer, "hunter2") {
				t.Errorf("%s: %s tells of another thread: %.300s", way, method, answer)
			}
		}
		answer := conn.ask(body)
		if forbidden(answer) == narrowed[method] {
			t.Errorf("duplex: %s: %.300s", method, answer)
		}
	}
	if after := latest(); after != before {
		t.Errorf("what was refused has changed the log: %v, then %v", before, after)
	}

	// Its own thread, then: the token is a live one.
	for way, post := range ways {
		if status, answer := post(own.Access.Token, `{"jsonrpc":"2.0","id":1,"method":"thread/read","params":{"thread_id":"own"}}`); status != 200 || !strings.Contains(answer, `"result"`) {
			t.Errorf("%s: its own thread: %d %s", way, status, answer)
		}
	}
	s.want("call", "turn/complete", `{"lease":`+string(own.Lease)+`}`)
	before = latest()
	for method, body := range requests {
		for way, post := range ways {
			if status, answer := post(own.Access.Token, body); status != 401 || !strings.Contains(answer, `"kind":"unauthorized"`) || strings.Contains(answer, own.Access.Token) {
				t.Errorf("%s: %s after the end: %d %.300s", way, method, status, answer)
			}
		}
	}
	for _, c := range []claimed{own, {Access: stranger.Access}} {
		status, b := own.tool(t, c.Access.Token, useTool("work_start", `{"prompt":"x","thread_id":"own"}`))
		if ended := c.Access.Token == own.Access.Token; ended && status != 401 || !ended && !strings.Contains(b, "forbidden") {
			t.Errorf("tools: %d %s", status, b)
		}
	}
	select {
	case m, open := <-conn.answer:
		if open {
			t.Errorf("an answer after the end: %v", m)
		}
	case <-time.After(30 * time.Second):
		t.Error("the connection goes on after the end of its token")
	}
	if after := latest(); after != before {
		t.Errorf("what was refused has changed the log: %v, then %v\n%s", before, after, s.want("watch", "--after", fmt.Sprint(before), "--limit=1", "-o", "jsonl"))
	}
}

// A title from a program is refused unless it is one short line, and leaves nothing
// behind; a title from a model becomes one.
func TestTitlesAreOneLineOrRefused(t *testing.T) {
	s := startServerForWorkers(t)
	own := s.claim("own")
	s.want("call", "thread/start", `{"thread_id":"kid","agent":"builds","parent":{"thread_id":"own"}}`)
	latest := func() any { return oneObject(t, s.want("call", "holon/status"))["latest_seq"] }
	for name, title := range map[string]string{
		"two lines": `a\nb`, "a return": `a\rb`, "a NUL": `a\u0000b`, "an escape": `\u001b[31mred`, "a C1": `a\u009b31m`,
		"a line separator": `a\u2028b`, "an override": `\u202egnp.exe`, "201 characters": strings.Repeat("ä", 201),
	} {
		before := latest()
		for _, post := range s.transports(own) {
			_, answer := post(own.Access.Token, `{"jsonrpc":"2.0","id":1,"method":"turn/start","params":{"thread_id":"kid","parent":{"thread_id":"own"},"title":"`+title+`","input":`+promptJSON("x")+`}}`)
			if !strings.Contains(answer, `"kind":"invalid_params"`) || !strings.Contains(answer, `"field":"title"`) {
				t.Errorf("%s: %s", name, answer)
			}
		}
		if after := latest(); after != before {
			t.Errorf("%s: something was stored: %v, then %v", name, before, after)
		}
		if status, answer := own.tool(t, own.Access.Token, useTool("work_start", `{"prompt":"x","title":"`+title+`"}`)); status != 200 || strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s: the tool says %d %s", name, status, answer)
		}
	}
	list := s.children("own")
	if len(list) != 8 {
		t.Errorf("%d child turns, want 8", len(list))
	}
	for _, row := range list {
		title, _ := row.(map[string]any)["title"].(string)
		if err := turns.CheckTitle("title", title); err != nil || title == "" {
			t.Errorf("stored: %q: %v", title, err)
		}
	}
}

// An agent that does not wait any more for what it has started leaves the work alone.
func TestWorkGoesOnWhenItsStartIsCancelled(t *testing.T) {
	s := startServerForWorkers(t)
	own := s.claim("own")
	done := make(chan string, 1)
	go func() {
		_, answer := own.tool(t, own.Access.Token, useTool("work_start", `{"prompt":"x","wait_seconds":100}`))
		done <- answer
	}()
	eventually(t, "the child turn has started", func() bool { return len(s.children("own")) == 1 })
	if status, answer := own.tool(t, own.Access.Token, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); status != 202 {
		t.Fatalf("%d %s", status, answer)
	}
	if answer := <-done; answer != "" {
		t.Errorf("a cancelled call was answered: %s", answer)
	}
	kid := s.children("own")[0].(map[string]any)
	if thread := oneObject(t, s.want("call", "thread/read", fmt.Sprintf(`{"thread_id":%q}`, kid["thread_id"])))["thread"].(map[string]any); kid["state"] != "active" || thread["state"] != "running" {
		t.Errorf("after the waiting was cancelled: %v in a thread that is %v", kid, thread["state"])
	}
}
