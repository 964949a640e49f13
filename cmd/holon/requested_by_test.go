package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// unnamed are the methods that change something without an event that names the token
// of the request, and why. A test of the others is in TestEveryChangeByATokenIsNamed.
var unnamed = map[string]string{
	"turn/claim":    "a claim: turn/started says which agent has the turn, and a lease is stored nowhere",
	"turn/renew":    "of a lease: it writes no event",
	"step/start":    "of a lease: it is the work of the agent, as what agents of the server say",
	"step/end":      "of a lease",
	"item/create":   "of a lease",
	"item/append":   "of a lease",
	"item/update":   "of a lease",
	"item/delete":   "of a lease",
	"item/batch":    "of a lease",
	"turn/complete": "of a lease",
	"turn/fail":     "of a lease",

	"cursor/advance": "it writes no event: the cursor has the name of its consumer",
	"cursor/error":   "it writes no event",
}

// tokenCase is a request that changes something.
type tokenCase struct {
	method, params string
	event          string // what it writes
}

// tokenCases are run one after the other with a token for the threads a, g and k. {x} is
// what the step before has called x.
func tokenCases() []tokenCase {
	start := func(thread, prompt, more string) string {
		return fmt.Sprintf(`{"thread_id":%q,"input":%s%s}`, thread, promptJSON(prompt), more)
	}
	return []tokenCase{
		{"thread/start", `{"thread_id":"below","parent":{"thread_id":"k"}}`, "thread/started"},
		{"thread/pause", `{"thread_id":"a"}`, "thread/paused"},
		{"thread/resume", `{"thread_id":"a"}`, "thread/resumed"},
		{"thread/configure", `{"thread_id":"g","config":{"mode":"{mode}"}}`, "thread/updated"},
		{"thread/rename", `{"thread_id":"g","title":"x"}`, "thread/updated"},
		{"thread/fork", `{"thread_id":"g","new_thread_id":"forked"}`, "thread/started"},

		{"turn/start", start("a", "/sleep 600000", ""), "turn/started"},
		{"turn/start", start("a", "and this", `,"on_busy":"steer"`), "item/created"},
		{"turn/steer", `{"turn_id":"{active a}","input":` + promptJSON("more") + `}`, "item/created"},
		{"turn/start", start("a", "queued", ""), "turn/queued"},
		{"turn/start", start("a", "/sleep 600000", `,"on_busy":"interrupt"`), "turn/interrupted"},
		{"turn/interrupt", `{"turn_id":"{active a}"}`, "turn/interrupted"},
		{"turn/retry", `{"turn_id":"{interrupted}"}`, "stream/rewind"},
		{"turn/interrupt", `{"turn_id":"{active a}"}`, "turn/interrupted"},
		{"turn/start", start("k", "hello", `,"review":"always"`), "turn/started"},
		{"turn/review", `{"turn_id":"{pending}","attempt":1,"verdict":"rejected","note":"again"}`, "turn/reviewed"},
		{"turn/review", `{"turn_id":"{pending}","attempt":1,"verdict":"approved"}`, "turn/reviewed"},
		{"turn/start", start("k", "/sleep 600000", ""), "turn/started"},
		{"turn/start", start("below", "/sleep 600000", `,"parent":{"thread_id":"k","turn_id":"{active k}"}`), "turn/started"},
		{"turn/detach", `{"turn_id":"{active below}"}`, "turn/detached"},
		{"turn/start", start("k", "/ask Go on?", `,"on_busy":"interrupt"`), "turn/queued"},
		{"item/respond", `{"item_id":"{question}","kind":"allow_once"}`, "item/updated"},

		{"inbox/configure", `{"thread_id":"a","policy":{"wake":"none"}}`, "inbox/configured"},
		{"inbox/ingest", `{"thread_id":"a","items":[{"source":"ci","native_id":"1","grouping":{"resource_ref":"pr:1","event_family":"comments"}}]}`, "inbox/received"},
		{"inbox/flush", `{"thread_id":"a"}`, "inbox/posted"},
		{"inbox/send", `{"thread_id":"a","text":"hello"}`, "inbox/received"},
		{"inbox/ack", `{"thread_id":"a","all":true,"as_of_seq":{latest}}`, "inbox/acked"},
		{"inbox/wake", `{"thread_id":"a"}`, "inbox/woken"}, // an interrupt holds the thread
		{"inbox/subscribe", `{"thread_id":"a","subscription_id":"ends","source":"events","thread_ids":["k"]}`, "inbox/subscribed"},
		{"inbox/unsubscribe", `{"thread_id":"a","subscription_id":"ends"}`, "inbox/unsubscribed"},
		{"timer/create", `{"thread_id":"a","timer_id":"later","every_seconds":3600,"text":"look"}`, "timer/created"},
		{"timer/delete", `{"thread_id":"a","timer_id":"later"}`, "timer/deleted"},

		{"cursor/reset", `{"consumer_id":"mine","stream_name":"events","subject_id":"a","last_sequence":1,"reason":"again"}`, "cursor/reset"},
		{"cursor/delete", `{"consumer_id":"mine","stream_name":"events","subject_id":"a","reason":"done"}`, "cursor/deleted"},
		{"subscription/create", `{"subscription_id":"news","bridge_id":"hook","thread_id":"a"}`, "subscription/created"},
		{"signin/create", `{}`, "token/created"},
		{"signin/delete", `{"all":true}`, "token/revoked"},
		{"thread/close", `{"thread_id":"a"}`, "thread/closed"},
	}
}

// ready reads what a request needs of what those before have left.
func (s *server) ready(params string) (string, bool) {
	s.t.Helper()
	list := func(method, params, member string) string {
		var r struct {
			Result map[string]json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(s.post(method, params)), &r); err != nil {
			s.t.Fatal(err)
		}
		var rows []map[string]any
		for _, raw := range r.Result {
			if json.Unmarshal(raw, &rows) == nil && len(rows) > 0 {
				id, _ := rows[0][member].(string)
				return id
			}
		}
		return ""
	}
	for name, find := range map[string]func() string{
		"{active a}":     func() string { return list("turn/list", `{"thread_id":"a","state":"active"}`, "turn_id") },
		"{active k}":     func() string { return list("turn/list", `{"thread_id":"k","state":"active"}`, "turn_id") },
		"{active below}": func() string { return list("turn/list", `{"thread_id":"below","state":"active"}`, "turn_id") },
		"{interrupted}": func() string {
			return list("turn/list", `{"thread_id":"a","state":"interrupted","order":"desc"}`, "turn_id")
		},
		"{pending}":  func() string { return list("turn/list", `{"thread_id":"k","review":"pending"}`, "turn_id") },
		"{question}": func() string { return list("item/list", `{"status":"pending"}`, "item_id") },
		"{latest}":   func() string { return fmt.Sprint(len(s.events())) },
		"{mode}":     func() string { return s.otherMode("g") },
	} {
		if strings.Contains(params, name) {
			id := find()
			if id == "" {
				return "", false
			}
			params = strings.ReplaceAll(params, name, id)
		}
	}
	return params, true
}

// otherMode is a mode that the agent of a thread has and is not in.
func (s *server) otherMode(thread string) string {
	s.t.Helper()
	config := oneObject(s.t, s.want("configure", thread, "-o", "json"))["config"].(map[string]any)
	for _, mode := range config["modes"].([]any) {
		if id := mode.(map[string]any)["id"].(string); id != config["mode"] {
			return id
		}
	}
	s.t.Fatalf("there is one mode: %v", config)
	return ""
}

// Each change that a token asks for is in the log with its name: of the roles respond
// and work, and of any role that is limited to threads. The table of methods says which
// there are.
func TestEveryChangeByATokenIsNamed(t *testing.T) {
	s := startServerWith(t, badAgent(t, "good"))
	for _, id := range []string{"a", "k"} {
		s.did("thread/start", fmt.Sprintf(`{"thread_id":%q}`, id))
	}
	s.did("thread/start", `{"thread_id":"g","agent":"good"}`)
	s.want("run", "--thread", "g", "say first")
	s.did("cursor/advance", `{"consumer_id":"mine","stream_name":"events","subject_id":"a","last_sequence":2}`)
	s.did("bridge/create", `{"bridge_id":"hook","kind":"webhook","url":"https://localhost/x","idempotency_key":"b"}`)
	limited := s.newToken("some", "--role", "operate", "--thread", "a", "--thread", "g", "--thread", "k")
	whole := s.newToken("all", "--role", "work")

	done := map[string]bool{}
	for _, c := range tokenCases() {
		token, name := limited, "token:some"
		if c.method == "thread/fork" { // refused to tokens that are limited to threads
			token, name = whole, "token:all"
		}
		done[c.method] = true
		var params string
		eventually(t, c.method+" can be asked for", func() (ok bool) { params, ok = s.ready(c.params); return ok })
		before := len(s.events())
		if _, answer := s.as(token, c.method, params); !strings.Contains(answer, `"result"`) {
			t.Fatalf("%s %s: %s", c.method, params, answer)
		}
		eventually(t, c.method+" writes "+c.event, func() bool { return written(s.events()[before:], c.event) })
		if !isNamed(s.events()[before:], c.event, name) {
			t.Errorf("%s %s: no %s names %s", c.method, params, c.event, name)
		}
	}

	var document struct {
		Result struct {
			Methods []struct {
				Name    string `json:"name"`
				Change  bool   `json:"x-change"`
				Role    string `json:"x-role"`
				Limited string `json:"x-limited-tokens"`
			} `json:"methods"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(s.post("rpc.discover", `{}`)), &document); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range document.Result.Methods {
		known[m.Name] = true
		if !m.Change || m.Role == "owner" || m.Role == "operate" && m.Limited == "refused" {
			continue
		}
		if done[m.Name] == (unnamed[m.Name] != "") {
			t.Errorf("%s is in neither or in both of the lists: what names the token?", m.Name)
		}
	}
	for name := range unnamed {
		if !known[name] {
			t.Errorf("there is no method %s", name)
		}
	}
}

func written(events []client.Event, method string) bool {
	for _, e := range events {
		if e.Method == method {
			return true
		}
	}
	return false
}

// isNamed reports whether an event names a token as whoever asked for it.
func isNamed(events []client.Event, method, token string) bool {
	for _, e := range events {
		if e.Method != method {
			continue
		}
		var p struct {
			RequestedBy string `json:"requested_by"`
			By          string `json:"by"`
			Content     struct {
				ResolvedBy string `json:"resolved_by"`
			} `json:"content"`
		}
		if json.Unmarshal(e.Params, &p) == nil && (p.RequestedBy == token || p.By == token || p.Content.ResolvedBy == token) {
			return true
		}
	}
	return false
}
