package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// family has a tree of threads, each with a turn and an item. The agent's is "own".
//
//	root ─ parent ─┬─ own ─ child ─ grandchild
//	               └─ sibling
//	stranger, and "legacy", whose parent own is only a note
type family struct {
	Reader
	reads  int
	listed threads.Query // of the last ListThreads
	paged  notify.Page
	fail   error
}

var familyTree = map[string]string{
	"root": "", "parent": "root", "own": "parent", "sibling": "parent", "child": "own", "grandchild": "child", "stranger": "", "legacy": "",
}

func (f *family) ReadThread(_ context.Context, id string, _ int) (turns.ThreadSnapshot, error) {
	f.reads++
	parent, ok := familyTree[id]
	if !ok || f.fail != nil {
		return turns.ThreadSnapshot{}, f.fail
	}
	t := &threads.Thread{ThreadID: id, Cwd: "/repo/" + id, Agent: "coder"}
	switch {
	case id == "legacy":
		t.Parent = &threads.Parent{ThreadID: "own"}
	case parent != "":
		t.Parent, t.Level = &threads.Parent{ThreadID: parent}, 1
	}
	return turns.ThreadSnapshot{Thread: t}, nil
}

// ReadTurn knows the turn_ID of each thread, and outside_ID, which a stranger does for it.
func (f *family) ReadTurn(_ context.Context, q turns.TurnQuery) (turns.TurnSnapshot, error) {
	if id, ok := strings.CutPrefix(q.TurnID, "outside_"); ok {
		return turns.TurnSnapshot{Turn: &turns.Turn{TurnID: q.TurnID, ThreadID: "stranger", Outside: true, Parent: &threads.Parent{ThreadID: id}}}, nil
	}
	if id, ok := strings.CutPrefix(q.TurnID, "turn_"); ok {
		return turns.TurnSnapshot{Turn: &turns.Turn{TurnID: q.TurnID, ThreadID: id}}, nil
	}
	return turns.TurnSnapshot{}, nil
}

func (f *family) ReadItem(_ context.Context, id string) (*items.Item, int64, error) {
	if thread, ok := strings.CutPrefix(id, "item_"); ok {
		return &items.Item{ItemID: id, ThreadID: thread}, 0, nil
	}
	return nil, 0, nil
}

func (f *family) Position(context.Context) (Position, error) { return Position{First: 1}, nil }

func (f *family) ListThreads(_ context.Context, q threads.Query) (turns.List[threads.Thread], error) {
	f.listed = q
	return turns.List[threads.Thread]{}, nil
}

func (f *family) Page(context.Context, notify.Query) (notify.Page, error) {
	if f.paged.First == 0 {
		return notify.Page{First: 1}, nil
	}
	return f.paged, nil
}

// familyEngine records what passes the rules.
type familyEngine struct {
	acked []inbox.By
	Engine
	Children
	Inboxes
	inbox.Reader
	interrupted []turns.Interrupt
	reviewed    []turns.ReviewTurn
	sent        []inbox.Send
	started     []turns.Start
	keys        []string
	callers     []string
	requesters  []ledger.Requester // of keys, and of what waits
}

func (e *familyEngine) Interrupt(_ context.Context, c turns.Interrupt) (turns.InterruptResult, <-chan turns.InterruptResult, error) {
	e.interrupted = append(e.interrupted, c)
	return turns.InterruptResult{}, nil, nil
}

func (e *familyEngine) Review(_ context.Context, c turns.ReviewTurn) (turns.ReviewTurnResult, error) {
	e.reviewed = append(e.reviewed, c)
	return turns.ReviewTurnResult{}, nil
}

func (e *familyEngine) Start(_ context.Context, c turns.Start) (turns.StartResult, error) {
	e.started = append(e.started, c)
	return turns.StartResult{}, nil
}

func (e *familyEngine) StartAndWait(_ context.Context, c turns.Start, caller string) (turns.StartResult, func(context.Context) (turns.StartResult, func(bool), error), error) {
	e.started, e.callers, e.requesters = append(e.started, c), append(e.callers, caller), append(e.requesters, c.Requester)
	if c.Key != nil {
		e.requesters = append(e.requesters, c.Key.Requester)
	}
	return turns.StartResult{}, func(context.Context) (turns.StartResult, func(bool), error) { return turns.StartResult{}, nil, nil }, nil
}

func (e *familyEngine) Await(_ context.Context, c turns.Await, caller string) (turns.AwaitResult, func(bool), error) {
	e.callers, e.requesters = append(e.callers, caller), append(e.requesters, c.Requester)
	return turns.AwaitResult{}, nil, nil
}

func (e *familyEngine) Agents() []turns.AgentInfo {
	return []turns.AgentInfo{
		{Name: "a", State: turns.AgentFailed, LastError: "said by stranger", Directory: "/repo/stranger", DirectoryGiven: true},
		{Name: "mine", Kind: turns.KindMailbox},
	}
}

func (e *familyEngine) Ack(_ context.Context, c inbox.Ack) (inbox.AckResult, error) {
	e.acked = append(e.acked, c.By)
	return inbox.AckResult{}, nil
}

func (e *familyEngine) Send(_ context.Context, c inbox.Send) (inbox.SendResult, error) {
	e.sent = append(e.sent, c)
	if c.Key != nil {
		e.keys = append(e.keys, c.Key.Key)
	}
	return inbox.SendResult{}, nil
}

func newFamily(t *testing.T) (*API, *family, *familyEngine) {
	t.Helper()
	f, e := &family{}, &familyEngine{}
	a, err := New(Services{Engine: e, Reader: f, Head: func() int64 { return 0 }, LogID: "log", Inboxes: e, InboxReader: e, WorkIn: map[string][]string{"coder": {"stranger"}}})
	if err != nil {
		t.Fatal(err)
	}
	return a, f, e
}

type noConn struct{ at *StreamStart }

func (c *noConn) Initialize() bool           { return true }
func (c *noConn) Subscribe(at *StreamStart)  { c.at = at }
func (c *noConn) Unsubscribe() int64         { return 0 }
func (c *noConn) Follow(string, int64) error { return nil }
func (c *noConn) Unfollow(string) bool       { return false }

// ask calls a method as an agent and returns its error, nil if the rules let it
// pass: what the handler then makes of it is not the rules' matter.
func ask(t *testing.T, a *API, agent tokens.Agent, method, params string) *Error {
	t.Helper()
	ctx := WithConn(WithAgent(context.Background(), agent), &noConn{})
	rep, m := a.Call(ctx, method, jsontext.Value(params), Call{OnConnection: true})
	if m == nil {
		t.Fatalf("there is no method %s", method)
	}
	if rep.Err == nil && rep.Later != nil {
		rep = rep.Later(ctx)
	}
	if rep.Err != nil && rep.Err.Data.Kind == KindInvalidParams {
		t.Errorf("%s %s: %s", method, params, rep.Err.Message)
	}
	if rep.Err != nil && (rep.Err.Data.Reason == "agent_token" || rep.Err.Data.Reason == "agent_ended") {
		return rep.Err
	}
	return nil
}

var (
	everyone  = []string{"own", "child", "grandchild", "sibling", "parent", "root", "stranger", "legacy", "missing"}
	nobody    []string
	ownOnly   = []string{"own"}
	underOwn  = []string{"child", "grandchild"}
	ownOrDown = []string{"own", "child", "grandchild"}
)

const (
	leased = `{"lease":{"turn_id":"turn_%[1]s","attempt":1,"token":"t"}`
	asked  = `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]`
)

// whatAgentsMay has every method of the table, with params about a thread and the
// threads for which an agent may call it so.
var whatAgentsMay = []struct {
	method, params string
	allowed        []string
}{
	{"initialize", `{}`, everyone},
	{"rpc.discover", `{}`, everyone},
	{"stream/unsubscribe", `{}`, everyone},

	{"holon/status", `{}`, nobody}, {"holon/pause", `{}`, nobody}, {"holon/resume", `{}`, nobody},
	{"holon/logStream", `{}`, nobody}, {"holon/logStream/stop", `{"stream_id":"s"}`, nobody}, {"holon/prune", `{"before_seq":1}`, nobody},
	{"agent/list", `{}`, nobody}, {"thread/list", `{}`, nobody}, {"turn/claim", `{"agent":"a"}`, nobody},

	{"thread/start", `{"thread_id":"%[1]s","parent":{"thread_id":"own"}}`, append([]string{"missing"}, underOwn...)},
	{"thread/start", `{"parent":{"thread_id":"%[1]s"}}`, ownOnly},
	{"thread/start", `{}`, nobody},
	{"thread/pause", `{"thread_id":"%[1]s"}`, nobody}, {"thread/resume", `{"thread_id":"%[1]s"}`, nobody},
	{"thread/close", `{"thread_id":"%[1]s"}`, underOwn},
	{"thread/configure", `{"thread_id":"%[1]s","config":{}}`, nobody}, {"thread/rename", `{"thread_id":"%[1]s","title":"x"}`, nobody}, {"thread/fork", `{"thread_id":"%[1]s"}`, nobody},
	{"thread/read", `{"thread_id":"%[1]s"}`, ownOrDown},
	{"thread/read", `{"thread_id":"%[1]s","include_inbox":true}`, ownOnly},

	{"turn/start", `{"thread_id":"%[1]s","parent":{"thread_id":"own"},` + asked + `}`, []string{"child", "grandchild", "stranger"}},     // the engine refuses the last two
	{"turn/start", `{"thread_id":"%[1]s","parent":{"thread_id":"own"},"background":true,` + asked + `}`, []string{"child", "stranger"}}, // a stranger as configured
	{"turn/start", `{"thread_id":"stranger","parent":{"thread_id":"%[1]s"},"background":true,` + asked + `}`, ownOnly},
	// Of outside work its owner may stop it, and read its row and what its agent said.
	{"turn/interrupt", `{"turn_id":"outside_%[1]s"}`, ownOnly}, {"turn/steer", `{"turn_id":"outside_%[1]s",` + asked + `}`, nobody},
	{"turn/retry", `{"turn_id":"outside_%[1]s"}`, nobody}, {"turn/review", `{"turn_id":"outside_%[1]s","attempt":1,"verdict":"approved"}`, nobody},
	{"turn/detach", `{"turn_id":"outside_%[1]s"}`, nobody},
	{"turn/read", `{"turn_id":"outside_%[1]s"}`, ownOnly}, {"turn/read", `{"turn_id":"outside_%[1]s","include_items":true}`, nobody},
	{"item/list", `{"turn_id":"outside_%[1]s","type":"agent_message"}`, ownOnly}, {"item/list", `{"turn_id":"outside_%[1]s"}`, nobody},
	{"item/list", `{"turn_id":"outside_%[1]s","type":"tool_call"}`, nobody}, {"item/list", `{"turn_id":"outside_%[1]s","type":"agent_message","include_superseded":true}`, nobody},
	{"item/list", `{"thread_id":"stranger","turn_id":"outside_%[1]s","type":"agent_message"}`, nobody},
	{"turn/start", `{"thread_id":"child","parent":{"thread_id":"%[1]s"},` + asked + `}`, ownOnly},
	{"turn/start", `{"thread_id":"%[1]s",` + asked + `}`, nobody},
	{"turn/start", `{"parent":{"thread_id":"own"},` + asked + `}`, nobody},
	{"turn/start", `{"job":"j","parent":{"thread_id":"%[1]s"},` + asked + `}`, ownOnly}, {"turn/start", `{"job":"j",` + asked + `}`, everyone}, // its own
	{"turn/start", `{"job":"j","agent":"other",` + asked + `}`, nobody}, {"turn/start", `{"job":"j","cwd":"/repo",` + asked + `}`, nobody},
	{"turn/start", `{"job":"j","thread_id":"%[1]s","parent":{"thread_id":"own"},` + asked + `}`, []string{"child", "grandchild", "stranger"}}, // and then refused, for a job has no thread_id
	{"turn/steer", `{"turn_id":"turn_%[1]s",` + asked + `}`, underOwn},
	{"turn/interrupt", `{"turn_id":"turn_%[1]s"}`, underOwn}, {"turn/retry", `{"turn_id":"turn_%[1]s"}`, underOwn},
	{"turn/review", `{"turn_id":"turn_%[1]s","attempt":1,"verdict":"approved"}`, underOwn},
	{"turn/read", `{"turn_id":"turn_%[1]s"}`, ownOrDown},
	{"turn/list", `{"review":"pending"}`, nobody}, {"turn/list", `{"parent_thread_id":"%[1]s","review":"pending"}`, ownOrDown},
	{"turn/list", `{"thread_id":"%[1]s","ended_by":"restart","after_seq":0}`, ownOrDown}, {"turn/list", `{"ended_by":"restart"}`, nobody},
	{"turn/list", `{"thread_id":"%[1]s"}`, ownOrDown}, {"turn/list", `{"parent_thread_id":"%[1]s"}`, ownOrDown}, {"turn/list", `{}`, nobody}, {"turn/list", `{"state":"active"}`, nobody},
	{"turn/detach", `{"turn_id":"turn_%[1]s"}`, underOwn},
	{"turn/await", `{"owner_thread_id":"%[1]s"}`, ownOnly}, {"turn/await", `{"turn_ids":["turn_%[1]s"]}`, nobody},
	{"turn/await", `{"owner_thread_id":"own","turn_ids":["turn_%[1]s"],"timeout_seconds":0}`, everyone}, // not its own children are invalid_scope in the result

	{"item/list", `{"thread_id":"%[1]s"}`, ownOrDown}, {"item/list", `{"turn_id":"turn_%[1]s"}`, ownOrDown},
	{"item/list", `{"thread_id":"own","turn_id":"turn_%[1]s"}`, ownOrDown}, {"item/list", `{"status":"pending"}`, nobody},
	{"item/read", `{"item_id":"item_%[1]s"}`, ownOrDown},
	{"item/respond", `{"item_id":"item_%[1]s","outcome":"cancelled"}`, nobody},

	{"turn/renew", leased + `}`, nobody}, {"turn/complete", leased + `}`, nobody}, {"turn/fail", leased + `,"error":{"kind":"x","message":"y"}}`, nobody},
	{"step/start", leased + `,"step":"s"}`, nobody}, {"step/end", leased + `,"step":"s"}`, nobody},
	{"item/create", leased + `,"content":{"type":"reasoning","text":""}}`, nobody}, {"item/append", leased + `,"item_id":"item_%[1]s","text":"x"}`, nobody},
	{"item/update", leased + `,"item_id":"item_%[1]s"}`, nobody}, {"item/delete", leased + `,"item_id":"item_%[1]s"}`, nobody},
	{"item/batch", leased + `,"ops":[{"op":"delete","item_id":"item_%[1]s"}]}`, nobody},

	{"inbox/ingest", `{"thread_id":"%[1]s","items":[{"source":"ci","native_id":"1"}]}`, nobody},
	{"inbox/send", `{"thread_id":"%[1]s","text":"x"}`, []string{"parent", "child", "grandchild"}},
	{"inbox/configure", `{"thread_id":"%[1]s"}`, nobody}, {"inbox/wake", `{"thread_id":"%[1]s"}`, nobody},
	{"inbox/read", `{"thread_id":"%[1]s"}`, ownOnly}, {"inbox/expand", `{"thread_id":"%[1]s","entry_id":"ent_1"}`, ownOnly},
	{"inbox/items", `{"thread_id":"%[1]s"}`, ownOnly}, {"inbox/ack", `{"thread_id":"%[1]s","entry_ids":["ent_1"]}`, ownOnly}, {"inbox/flush", `{"thread_id":"%[1]s"}`, ownOnly},
	{"inbox/subscribe", `{"thread_id":"%[1]s","source":"events","thread_ids":["child"]}`, ownOnly},
	{"inbox/subscribe", `{"thread_id":"own","source":"events","thread_ids":["child","%[1]s"]}`, underOwn},
	{"inbox/subscribe", `{"thread_id":"own","source":"events","thread_ids":["%[1]s"],"methods":["final","questions"]}`, underOwn},
	{"inbox/subscribe", `{"thread_id":"own","source":"events","thread_ids":["%[1]s"],"methods":["turn/completed"]}`, nobody},
	{"inbox/subscribe", `{"thread_id":"own","source":"events"}`, nobody},
	{"inbox/subscribe", `{"thread_id":"own","source":"github","thread_ids":["%[1]s"]}`, nobody},
	{"inbox/unsubscribe", `{"thread_id":"%[1]s","subscription_id":"s"}`, ownOnly},
	{"timer/create", `{"thread_id":"%[1]s","every_seconds":60,"text":"x"}`, ownOnly}, {"timer/list", `{"thread_id":"%[1]s"}`, ownOnly},
	{"timer/delete", `{"thread_id":"%[1]s","timer_id":"timer_1"}`, ownOnly},

	{"cursor/advance", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","last_sequence":0}`, nobody},
	{"cursor/error", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","error":"x"}`, nobody},
	{"cursor/reset", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","last_sequence":0,"reason":"x"}`, nobody},
	{"cursor/delete", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","reason":"x"}`, nobody},
	{"cursor/advance", `{"consumer_id":"seen:owner","stream_name":"restarts","last_sequence":0}`, nobody},
	{"cursor/read", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s"}`, nobody}, {"cursor/list", `{"subject_id":"%[1]s"}`, nobody},

	{"bridge/create", `{"kind":"webhook","url":"https://example.com"}`, nobody}, {"bridge/list", `{}`, nobody}, {"bridge/read", `{"bridge_id":"b"}`, nobody},
	{"bridge/update", `{"bridge_id":"b","on_pause":"drop"}`, nobody}, {"bridge/pause", `{"bridge_id":"b"}`, nobody}, {"bridge/resume", `{"bridge_id":"b"}`, nobody},
	{"bridge/test", `{"bridge_id":"b"}`, nobody}, {"bridge/rotate_secret", `{"bridge_id":"b"}`, nobody}, {"bridge/delete", `{"bridge_id":"b"}`, nobody},
	{"subscription/create", `{"bridge_id":"b","thread_id":"%[1]s"}`, nobody}, {"subscription/update", `{"subscription_id":"s","on":["final"]}`, nobody},
	{"subscription/list", `{"thread_id":"%[1]s"}`, nobody}, {"subscription/read", `{"subscription_id":"s"}`, nobody},
	{"subscription/delete", `{"subscription_id":"s"}`, nobody}, {"subscription/pause", `{"subscription_id":"s"}`, nobody},
	{"subscription/resume", `{"subscription_id":"s"}`, nobody}, {"subscription/reset", `{"subscription_id":"s","to_seq":0,"reason":"x"}`, nobody},
	{"subscription/skip", `{"subscription_id":"s","reason":"x"}`, nobody}, {"delivery/list", `{}`, nobody}, {"delivery/read", `{"delivery_id":"d"}`, nobody},
	{"delivery/redeliver", `{"delivery_id":"d"}`, nobody},

	{"token/create", `{"name":"n","role":"read"}`, nobody}, {"token/list", `{}`, nobody}, {"token/revoke", `{"name":"n"}`, nobody},
	{"signin/code", `{}`, nobody}, {"signin/create", `{}`, nobody}, {"signin/list", `{}`, nobody}, {"signin/delete", `{"all":true}`, nobody},

	{"event/list", `{"after_seq":0,"thread_id":"%[1]s"}`, ownOrDown}, {"event/list", `{"after_seq":0}`, everyone}, // of its own tree only
	{"stream/subscribe", `{"thread_ids":["own","%[1]s"]}`, ownOrDown}, {"stream/subscribe", `{}`, everyone},
	{"stream/subscribe", `{"thread_ids":["%[1]s"],"consumer":"c"}`, nobody}, {"stream/subscribe", `{"after_seq":0,"consumer":"c"}`, nobody},
}

func TestAnAgentMayDoWhatItsMethodsDeclareAndNothingElse(t *testing.T) {
	a, _, _ := newFamily(t)
	known, tested := map[string]bool{}, map[string]bool{}
	for _, m := range a.Methods() {
		known[m.Name] = true
	}
	for _, c := range whatAgentsMay {
		if tested[c.method] = true; !known[c.method] {
			t.Errorf("%s is no method", c.method)
			continue
		}
		for _, thread := range everyone {
			params := c.params
			if strings.Contains(params, "%[1]s") {
				params = fmt.Sprintf(c.params, thread)
			}
			refused := ask(t, a, tokens.Agent{ThreadID: "own"}, c.method, params)
			if want := slices.Contains(c.allowed, thread); want != (refused == nil) {
				t.Errorf("%s %s: refused with %v, want allowed %v", c.method, params, refused, want)
			}
			if refused != nil && refused.Data.Kind != KindForbidden {
				t.Errorf("%s %s: %v, want forbidden", c.method, params, refused)
			}
		}
	}
	for name := range known {
		if !tested[name] {
			t.Errorf("%s is in no row of this table: say what agents may do with it", name)
		}
	}
}

func TestAWiderRequestIsNotTouched(t *testing.T) {
	a, f, e := newFamily(t)
	for _, c := range []struct{ method, params string }{
		{"turn/interrupt", `{"turn_id":"turn_stranger"}`}, {"inbox/send", `{"thread_id":"stranger","text":"x","sender":"me"}`},
		{"turn/start", `{"thread_id":"stranger",` + asked + `}`}, {"event/list", `{"after_seq":0}`},
	} {
		if rep, _ := a.Call(context.Background(), c.method, jsontext.Value(c.params), Call{}); rep.Err != nil {
			t.Errorf("%s: %v", c.method, rep.Err)
		}
	}
	if e.interrupted[0].By != turns.ByClient || e.sent[0].Sender != "me" || f.reads != 0 {
		t.Errorf("by %q, sender %q, %d reads of threads", e.interrupted[0].By, e.sent[0].Sender, f.reads)
	}
}

func TestTheServerSetsWhoAnAgentIs(t *testing.T) {
	a, _, e := newFamily(t)
	agent := tokens.Agent{ThreadID: "own", TurnID: "turn_own", Attempt: 2}
	for _, c := range []struct{ method, params string }{
		{"turn/interrupt", `{"turn_id":"turn_child"}`},
		{"inbox/send", `{"thread_id":"parent","text":"x","sender":"the boss","idempotency_key":"k"}`},
		{"turn/start", `{"thread_id":"child","parent":{"thread_id":"own"},` + asked + `}`},
		{"turn/start", `{"thread_id":"child","parent":{"thread_id":"own","turn_id":"turn_own"},` + asked + `}`},
	} {
		if refused := ask(t, a, agent, c.method, c.params); refused != nil {
			t.Fatalf("%s: %v", c.method, refused)
		}
	}
	if refused := ask(t, a, agent, "turn/start", `{"thread_id":"child","parent":{"thread_id":"own","turn_id":"turn_other"},`+asked+`}`); refused == nil {
		t.Error("a token of one turn starts children of another")
	}
	if refused := ask(t, a, agent, "turn/review", `{"turn_id":"turn_child","attempt":1,"verdict":"approved"}`); refused != nil || e.reviewed[0].By != turns.ByOwner {
		t.Errorf("reviewed %+v, %v", e.reviewed, refused)
	}
	if e.interrupted[0].By != turns.ByOwner || e.sent[0].Sender != "own" {
		t.Errorf("interrupted by %q, sent by %q", e.interrupted[0].By, e.sent[0].Sender)
	}
	for _, s := range e.started {
		if s.Parent.TurnID != "turn_own" {
			t.Errorf("a child of turn %q", s.Parent.TurnID)
		}
	}
	if refused := ask(t, a, tokens.Agent{ThreadID: "sibling"}, "inbox/send", `{"thread_id":"parent","text":"x","sender":"the boss","idempotency_key":"k"}`); refused != nil {
		t.Fatal(refused)
	}
	if len(e.keys) != 2 || e.keys[0] == e.keys[1] || e.keys[0] == "k" {
		t.Errorf("the keys of two threads meet: %q", e.keys)
	}
}

// A program asks for jobs of the attempt that its token is of, and of no other.
func TestTheServerSetsWhoseJobItIs(t *testing.T) {
	a, _, e := newFamily(t)
	agent := tokens.Agent{ThreadID: "own", TurnID: "turn_own", Attempt: 2}
	for _, parent := range []string{``, `"parent":{"thread_id":"own"},`, `"parent":{"thread_id":"own","turn_id":"turn_own","attempt":7},`} {
		if refused := ask(t, a, agent, "turn/start", `{"job":"j",`+parent+asked+`}`); refused != nil {
			t.Fatalf("%s: %v", parent, refused)
		}
	}
	for _, s := range e.started {
		if *s.Parent != (threads.Parent{ThreadID: "own", TurnID: "turn_own", Attempt: 2}) {
			t.Errorf("of %+v", *s.Parent)
		}
	}
	over, end := context.WithCancel(t.Context())
	end()
	agent.Alive = over
	if refused := ask(t, a, agent, "turn/start", `{"job":"j",`+asked+`}`); refused == nil || refused.Data.Kind != KindAttemptSuperseded || refused.Data.TurnID != "turn_own" {
		t.Errorf("when the attempt is over it is %v", refused)
	}
	if len(e.started) != 3 {
		t.Errorf("%d started", len(e.started))
	}
}

func TestChildThreadsWorkInTheDirectoryOfTheirOwner(t *testing.T) {
	a, _, _ := newFamily(t)
	for cwd, allowed := range map[string]bool{
		"/repo/own": true, "/repo/own/": true, "/repo/own/a/b": true, "/repo/own/../own/a": true, "/repo/own/..a": true,
		"/repo": false, "/": false, "/repo/owner": false, "/repo/own/..": false, "/repo/own/../sibling": false, "a": false, "../own": false, ".": false,
	} {
		refused := ask(t, a, tokens.Agent{ThreadID: "own"}, "thread/start", fmt.Sprintf(`{"parent":{"thread_id":"own"},"cwd":%q}`, cwd))
		if allowed != (refused == nil) {
			t.Errorf("%s: %v, want allowed %v", cwd, refused, allowed)
		}
	}
}

func TestATokenEndsWithItsProcess(t *testing.T) {
	a, _, _ := newFamily(t)
	alive, end := context.WithCancel(context.Background())
	agent := tokens.Agent{ThreadID: "own", Alive: alive}
	for _, c := range whatAgentsMay[:3] {
		if refused := ask(t, a, agent, c.method, c.params); refused != nil {
			t.Errorf("%s: %v", c.method, refused)
		}
	}
	end()
	for _, c := range whatAgentsMay {
		params := c.params
		if strings.Contains(params, "%[1]s") {
			params = fmt.Sprintf(params, "own")
		}
		if refused := ask(t, a, agent, c.method, params); refused == nil || refused.Data.Kind != KindUnauthorized {
			t.Errorf("%s after the end: %v, want unauthorized", c.method, refused)
		}
	}
	if err := a.narrow(WithAgent(context.Background(), agent), &notify.Filter{}, nil, nil, "thread_ids"); err == nil {
		t.Error("a stream begins after the end")
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	a, f, e := newFamily(t)
	f.fail = errors.New("the disk")
	ctx := WithAgent(context.Background(), tokens.Agent{ThreadID: "own"})
	for _, c := range []struct{ method, params string }{
		{"turn/interrupt", `{"turn_id":"turn_child"}`}, {"inbox/send", `{"thread_id":"child","text":"x"}`},
		{"turn/start", `{"thread_id":"child","parent":{"thread_id":"own"},` + asked + `}`},
	} {
		rep, _ := a.Call(ctx, c.method, jsontext.Value(c.params), Call{})
		if rep.Err == nil || rep.Err.Data.Kind != KindInternal {
			t.Errorf("%s: %v, want internal", c.method, rep.Err)
		}
	}
	if len(e.interrupted)+len(e.sent)+len(e.started) > 0 {
		t.Error("a request passed that could not be judged")
	}
}

// A request of an agent must not reach a handler past the rules.
func TestAMethodOutsideOfTheTableRefusesAgents(t *testing.T) {
	h := &Handlers{api: &API{}}
	m := define("initialize", "x", h.Initialize, ofServer, agents(harmless))
	rep := m.invoke(WithAgent(context.Background(), tokens.Agent{ThreadID: "own"}), nil)
	if rep.Err == nil || rep.Err.Data.Kind != KindForbidden {
		t.Errorf("got %v, want forbidden", rep.Err)
	}
}

func TestStreamsOfAgentsCarryTheirTreeOnly(t *testing.T) {
	a, f, _ := newFamily(t)
	c := &noConn{}
	ctx := WithConn(WithAgent(context.Background(), tokens.Agent{ThreadID: "own"}), c)
	if rep, _ := a.Call(ctx, "stream/subscribe", jsontext.Value(`{"methods":["turn/*"]}`), Call{OnConnection: true}); rep.Err != nil {
		t.Fatal(rep.Err)
	}
	in := c.at.Filter.Within
	for _, id := range append([]string{""}, everyone...) {
		ok, err := in.Has(ctx, id)
		if err != nil || ok != slices.Contains(ownOrDown, id) {
			t.Errorf("%q: %v %v", id, ok, err)
		}
	}
	before := f.reads
	familyTree["new"] = "grandchild"
	defer delete(familyTree, "new")
	if ok, err := in.Has(ctx, "new"); err != nil || !ok {
		t.Error("the filter does not grow with the tree")
	}
	for range 100 {
		_, _ = in.Has(ctx, "new")
	}
	if f.reads-before != 1 {
		t.Errorf("%d reads of a parent that never changes, want 1", f.reads-before)
	}
}

func TestParentsAreForgottenAtTheBound(t *testing.T) {
	var p parents
	for i := range 3 * maxParents {
		p.put(fmt.Sprint(i), "x")
	}
	if len(p.of) > maxParents {
		t.Errorf("%d parents are kept, at most %d should be", len(p.of), maxParents)
	}
	if parent, ok := p.get(fmt.Sprint(3*maxParents - 1)); !ok || parent != "x" {
		t.Error("the newest is forgotten")
	}
}

func TestAgentsStartChildrenWithConfiguredAgentsOnly(t *testing.T) {
	ctx := WithAgent(context.Background(), tokens.Agent{ThreadID: "own"})
	for _, c := range []struct {
		children     map[string][]string
		thread, name string
		ok           bool
	}{
		{nil, "", "", true}, // the agent of its owner
		{nil, "", "coder", true},
		{nil, "", "echo", false},
		{map[string][]string{"coder": {"echo", "far"}}, "", "far", true},
		{map[string][]string{"coder": {"echo", "far"}}, "", "coder", false},
		{map[string][]string{"coder": {"echo", "far"}}, "", "", false},
		{map[string][]string{"coder": {"echo", "far"}}, "missing", "", false},
		{map[string][]string{"coder": {"echo", "far"}}, "child", "", true}, // it exists, and keeps its agent
		{map[string][]string{"coder": {}}, "", "coder", false},
		{map[string][]string{"coder": {}}, "", "", false},
		{map[string][]string{"coder": {"coder"}}, "", "", true},
		{map[string][]string{"echo": {"far"}}, "", "far", false},
		{map[string][]string{"echo": {"far"}}, "", "", true},
	} {
		a := &API{Services: Services{Reader: &family{}, ChildAgents: c.children}}
		err := a.mayStartWith(ctx, c.thread, c.name)
		var refused *Error
		if (err == nil) != c.ok || err != nil && (!errors.As(err, &refused) || refused.Data.Kind != KindForbidden || refused.Data.Field != "agent") {
			t.Errorf("%v, thread %q, agent %q: %v", c.children, c.thread, c.name, err)
		}
		if err := a.mayStartWith(context.Background(), c.thread, c.name); err != nil {
			t.Errorf("a client: %v", err)
		}
	}
}

func TestAgentsStartWorkWhereTheirConfigurationSays(t *testing.T) {
	for _, c := range []struct {
		list            []string
		thread, refused string
	}{
		{nil, "stranger", "coder may start work in no other (work_in in its configuration)"},
		{[]string{"sibling"}, "stranger", "in no others than: sibling (work_in in its configuration)"},
		{[]string{"sibling", "stranger"}, "stranger", ""},
		{[]string{"*"}, "stranger", ""},
		{[]string{"*"}, "parent", ""}, // the engine says what it needs
		{nil, "grandchild", "it is no child thread of the agent's own"},
		{nil, "child", ""},
	} {
		a, _, e := newFamily(t)
		a.WorkIn = map[string][]string{"coder": c.list}
		refused := ask(t, a, tokens.Agent{ThreadID: "own", TurnID: "turn_own"}, "turn/start", `{"thread_id":"`+c.thread+`","parent":{"thread_id":"own"},"background":true,`+asked+`}`)
		if (refused == nil) != (c.refused == "") || refused != nil && !strings.Contains(refused.Message, c.refused) {
			t.Errorf("%v, %s: %v", c.list, c.thread, refused)
		}
		if refused == nil && (len(e.started) != 1 || e.started[0].Parent.TurnID != "turn_own") {
			t.Errorf("%v, %s: started %+v", c.list, c.thread, e.started)
		}
	}
}
