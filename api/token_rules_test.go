package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/tokens"
	"github.com/seed82539d15/holon/turns"
)

// useToken calls a method with a named token and returns its error, nil if the rules
// let it pass: what the handler then makes of it is not the rules' matter.
func useToken(t *testing.T, a *API, c Token, method, params string) *Error {
	t.Helper()
	ctx := WithConn(WithToken(context.Background(), c), &noConn{})
	rep, m := a.Call(ctx, method, jsontext.Value(params), Call{OnConnection: true})
	if m == nil {
		t.Fatalf("there is no method %s", method)
	}
	if rep.Err == nil && rep.Later != nil {
		rep = rep.Later(ctx)
	}
	if rep.Err != nil && rep.Err.Data.Kind == KindInvalidParams && method != "inbox/subscribe" { // not its own events
		t.Errorf("%s %s: %s", method, params, rep.Err.Message)
	}
	if rep.Err != nil && slices.Contains([]string{"role", "threads", "token_ended", "code", "console"}, rep.Err.Data.Reason) {
		return rep.Err
	}
	return nil
}

const (
	read, respond, work, operate, owner = tokens.RoleRead, tokens.RoleRespond, tokens.RoleWork, tokens.RoleOperate, tokens.RoleOwner
)

// whatTokensMay has every method of the table with params about a thread, the least
// role that may call it so, and the threads for which a token may that is limited to
// the thread own.
var whatTokensMay = []struct {
	method, params string
	role           tokens.Role
	limited        []string
}{
	{"initialize", `{}`, read, everyone}, {"rpc.discover", `{}`, read, everyone}, {"agent/list", `{}`, read, everyone},
	{"holon/status", `{}`, read, nobody},
	{"holon/pause", `{}`, operate, nobody}, {"holon/resume", `{}`, operate, nobody},
	{"holon/logStream", `{}`, operate, nobody}, {"holon/logStream/stop", `{"stream_id":"s"}`, operate, nobody},
	{"holon/prune", `{"before_seq":1}`, owner, nobody},

	{"thread/start", `{"thread_id":"%[1]s","parent":{"thread_id":"own"}}`, work, append([]string{"missing"}, ownOrDown...)},
	{"thread/start", `{"parent":{"thread_id":"%[1]s"}}`, work, ownOrDown}, {"thread/start", `{}`, work, nobody},
	{"thread/start", `{"parent":{"thread_id":"%[1]s"},"cwd":"/repo/own/sub"}`, work, ownOnly},
	{"thread/start", `{"parent":{"thread_id":"%[1]s"},"cwd":"/repo"}`, work, nobody},
	{"thread/pause", `{"thread_id":"%[1]s"}`, operate, ownOrDown}, {"thread/resume", `{"thread_id":"%[1]s"}`, operate, ownOrDown},
	{"thread/close", `{"thread_id":"%[1]s"}`, work, ownOrDown}, {"thread/configure", `{"thread_id":"%[1]s","config":{}}`, work, ownOrDown},
	{"thread/configure", `{"thread_id":"%[1]s","cwd":"/repo/own"}`, work, nobody}, {"thread/rename", `{"thread_id":"%[1]s","title":"x"}`, work, ownOrDown},
	{"thread/fork", `{"thread_id":"%[1]s"}`, work, nobody},
	{"thread/list", `{}`, read, everyone}, // its own only
	{"thread/read", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"thread/read", `{"thread_id":"%[1]s","include_inbox":true}`, read, ownOrDown},

	{"turn/start", `{"thread_id":"%[1]s",` + asked + `}`, work, ownOrDown}, {"turn/start", `{` + asked + `}`, work, nobody},
	{"turn/start", `{"thread_id":"own","parent":{"thread_id":"%[1]s"},` + asked + `}`, work, ownOrDown},
	{"turn/start", `{"parent":{"thread_id":"%[1]s"},` + asked + `}`, work, nobody},
	{"turn/start", `{"job":"j","parent":{"thread_id":"%[1]s"},` + asked + `}`, work, ownOrDown},
	{"turn/start", `{"job":"j","parent":{"thread_id":"%[1]s"},"cwd":"/repo/own/sub",` + asked + `}`, work, ownOnly},
	{"turn/start", `{"job":"j","parent":{"thread_id":"%[1]s"},"cwd":"/repo",` + asked + `}`, work, nobody},
	{"turn/start", `{"job":"j",` + asked + `}`, work, nobody},
	{"turn/start", `{"thread_id":"%[1]s","parent":{"thread_id":"own"},"background":true,` + asked + `}`, work, ownOrDown},
	{"turn/steer", `{"turn_id":"turn_%[1]s",` + asked + `}`, work, ownOrDown}, {"turn/interrupt", `{"turn_id":"turn_%[1]s"}`, work, ownOrDown},
	{"turn/retry", `{"turn_id":"turn_%[1]s"}`, work, ownOrDown},
	{"turn/review", `{"turn_id":"turn_%[1]s","attempt":1,"verdict":"approved"}`, work, ownOrDown},
	{"turn/detach", `{"turn_id":"turn_%[1]s"}`, operate, ownOrDown},
	{"turn/read", `{"turn_id":"turn_%[1]s"}`, read, ownOrDown},
	{"turn/list", `{}`, read, everyone}, {"turn/list", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"turn/list", `{"parent_thread_id":"%[1]s"}`, read, ownOrDown},
	{"turn/list", `{"ended_by":"restart","after_seq":0}`, read, everyone}, {"turn/list", `{"thread_id":"%[1]s","ended_by":"restart"}`, read, ownOrDown},
	{"turn/await", `{"turn_ids":["turn_own","turn_%[1]s"]}`, read, ownOrDown}, {"turn/await", `{"owner_thread_id":"%[1]s"}`, operate, ownOrDown},
	{"turn/await", `{"owner_thread_id":"own","turn_ids":["turn_%[1]s"]}`, operate, ownOrDown}, {"turn/await", `{}`, read, nobody},
	{"turn/claim", `{"agent":"a"}`, operate, nobody},

	{"item/list", `{}`, read, everyone}, {"item/list", `{"status":"pending"}`, read, everyone}, {"item/list", `{"thread_id":"%[1]s"}`, read, ownOrDown},
	{"item/list", `{"turn_id":"turn_%[1]s"}`, read, ownOrDown}, {"item/list", `{"thread_id":"own","turn_id":"turn_%[1]s"}`, read, ownOrDown},
	{"item/read", `{"item_id":"item_%[1]s"}`, read, ownOrDown},
	{"item/respond", `{"item_id":"item_%[1]s","outcome":"cancelled"}`, respond, ownOrDown},

	{"turn/renew", leased + `}`, operate, ownOrDown}, {"turn/complete", leased + `}`, operate, ownOrDown},
	{"turn/fail", leased + `,"error":{"kind":"x","message":"y"}}`, operate, ownOrDown},
	{"step/start", leased + `,"step":"s"}`, operate, ownOrDown}, {"step/end", leased + `,"step":"s"}`, operate, ownOrDown},
	{"item/create", leased + `,"content":{"type":"reasoning","text":""}}`, operate, ownOrDown},
	{"item/create", leased + `,"item_id":"item_new","content":{"type":"reasoning","text":""}}`, operate, ownOrDown}, // which names nothing yet
	{"item/append", leased + `,"item_id":"item_%[1]s","text":"x"}`, operate, ownOrDown},
	{"item/update", leased + `,"item_id":"item_%[1]s"}`, operate, ownOrDown}, {"item/delete", leased + `,"item_id":"item_%[1]s"}`, operate, ownOrDown},
	{"item/batch", leased + `,"ops":[{"op":"delete","item_id":"item_%[1]s"}]}`, operate, ownOrDown},

	{"inbox/ingest", `{"thread_id":"%[1]s","items":[{"source":"ci","native_id":"1"}]}`, operate, ownOrDown},
	{"inbox/send", `{"thread_id":"%[1]s","text":"x"}`, operate, ownOrDown},
	{"inbox/configure", `{"thread_id":"%[1]s"}`, operate, ownOrDown}, {"inbox/wake", `{"thread_id":"%[1]s"}`, operate, ownOrDown},
	{"inbox/read", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"inbox/expand", `{"thread_id":"%[1]s","entry_id":"ent_1"}`, read, ownOrDown},
	{"inbox/items", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"inbox/ack", `{"thread_id":"%[1]s","entry_ids":["ent_1"]}`, respond, ownOrDown}, {"inbox/flush", `{"thread_id":"%[1]s"}`, operate, ownOrDown},
	{"inbox/subscribe", `{"thread_id":"%[1]s","source":"events","thread_ids":["child"]}`, operate, ownOrDown},
	{"inbox/subscribe", `{"thread_id":"own","source":"events","thread_ids":["child","%[1]s"]}`, operate, ownOrDown},
	{"inbox/subscribe", `{"thread_id":"own","source":"events"}`, operate, nobody},
	{"inbox/subscribe", `{"thread_id":"own","source":"github","thread_ids":["%[1]s"]}`, operate, nobody},
	{"inbox/unsubscribe", `{"thread_id":"%[1]s","subscription_id":"s"}`, operate, ownOrDown},
	{"timer/create", `{"thread_id":"%[1]s","every_seconds":60,"text":"x"}`, operate, ownOrDown},
	{"timer/list", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"timer/delete", `{"thread_id":"%[1]s","timer_id":"timer_1"}`, operate, ownOrDown},

	{"cursor/advance", `{"consumer_id":"seen:phone","stream_name":"events","subject_id":"%[1]s","last_sequence":0}`, read, ownOrDown},
	{"cursor/advance", `{"consumer_id":"seen:owner","stream_name":"events","subject_id":"%[1]s","last_sequence":0}`, operate, ownOrDown},
	{"cursor/advance", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","last_sequence":0}`, operate, ownOrDown},
	{"cursor/advance", `{"consumer_id":"seen:phone","stream_name":"events","last_sequence":0}`, read, nobody},
	{"cursor/advance", `{"consumer_id":"seen:phone","stream_name":"mine","subject_id":"%[1]s","last_sequence":0}`, operate, ownOrDown},
	{"cursor/advance", `{"consumer_id":"seen:phone","stream_name":"restarts","last_sequence":0}`, read, everyone},
	{"cursor/advance", `{"consumer_id":"seen:owner","stream_name":"restarts","last_sequence":0}`, operate, nobody},
	{"cursor/advance", `{"consumer_id":"seen:phone","stream_name":"restarts","subject_id":"%[1]s","last_sequence":0}`, operate, ownOrDown},
	{"cursor/read", `{"consumer_id":"seen:phone","stream_name":"restarts"}`, read, everyone},
	{"cursor/read", `{"consumer_id":"seen:owner","stream_name":"restarts"}`, read, nobody},
	{"cursor/error", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","error":"x"}`, operate, ownOrDown},
	{"cursor/reset", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","last_sequence":0,"reason":"x"}`, operate, ownOrDown},
	{"cursor/delete", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s","reason":"x"}`, operate, ownOrDown},
	{"cursor/read", `{"consumer_id":"c","stream_name":"events","subject_id":"%[1]s"}`, read, ownOrDown},
	{"cursor/list", `{"subject_id":"%[1]s"}`, read, ownOrDown}, {"cursor/list", `{}`, read, nobody}, {"cursor/list", `{"subject_id":""}`, read, nobody},

	{"bridge/create", `{"kind":"webhook","url":"https://example.com"}`, owner, nobody}, {"bridge/list", `{}`, read, nobody}, {"bridge/read", `{"bridge_id":"b"}`, read, nobody},
	{"bridge/update", `{"bridge_id":"b","on_pause":"drop"}`, owner, nobody}, {"bridge/pause", `{"bridge_id":"b"}`, operate, nobody}, {"bridge/resume", `{"bridge_id":"b"}`, operate, nobody},
	{"bridge/test", `{"bridge_id":"b"}`, operate, nobody}, {"bridge/rotate_secret", `{"bridge_id":"b"}`, owner, nobody}, {"bridge/delete", `{"bridge_id":"b"}`, operate, nobody},
	{"subscription/create", `{"bridge_id":"b","thread_id":"%[1]s"}`, operate, ownOrDown}, {"subscription/create", `{"bridge_id":"b"}`, operate, nobody},
	{"subscription/update", `{"subscription_id":"s","on":["final"]}`, operate, nobody},
	{"subscription/list", `{"thread_id":"%[1]s"}`, read, ownOrDown}, {"subscription/list", `{}`, read, nobody}, {"subscription/read", `{"subscription_id":"s"}`, read, nobody},
	{"subscription/delete", `{"subscription_id":"s"}`, operate, nobody}, {"subscription/pause", `{"subscription_id":"s"}`, operate, nobody},
	{"subscription/resume", `{"subscription_id":"s"}`, operate, nobody}, {"subscription/reset", `{"subscription_id":"s","to_seq":0,"reason":"x"}`, operate, nobody},
	{"subscription/skip", `{"subscription_id":"s","reason":"x"}`, operate, nobody}, {"delivery/list", `{}`, read, nobody}, {"delivery/read", `{"delivery_id":"d"}`, read, nobody},
	{"delivery/redeliver", `{"delivery_id":"d"}`, operate, nobody},

	{"token/create", `{"name":"n","role":"read"}`, owner, nobody}, {"token/list", `{}`, owner, nobody}, {"token/revoke", `{"name":"n"}`, owner, nobody},
	{"signin/code", `{}`, read, everyone}, {"signin/code", `{"limited_to":["own","%[1]s"]}`, read, ownOrDown},
	{"signin/code", `{"role":"respond"}`, respond, everyone}, {"signin/code", `{"role":"work"}`, work, everyone}, {"signin/code", `{"role":"operate"}`, operate, everyone},
	{"signin/create", `{}`, read, everyone}, {"signin/list", `{}`, read, everyone}, {"signin/delete", `{"name":"n"}`, read, everyone}, {"signin/delete", `{"all":true}`, read, everyone},

	{"event/list", `{"after_seq":0,"thread_id":"%[1]s"}`, read, ownOrDown}, {"event/list", `{"after_seq":0}`, read, everyone}, // of its own threads only
	{"stream/subscribe", `{"thread_ids":["own","%[1]s"]}`, read, ownOrDown}, {"stream/subscribe", `{}`, read, everyone},
	{"stream/subscribe", `{"thread_ids":["%[1]s"],"consumer":"c"}`, read, ownOrDown}, {"stream/subscribe", `{"after_seq":0,"consumer":"c"}`, read, nobody},
	{"stream/unsubscribe", `{}`, read, everyone},
}

func TestATokenMayDoWhatItsRoleAndThreadsAllowAndNothingElse(t *testing.T) {
	a, _, _ := newFamily(t)
	a.DefaultThread = "own"
	tested := map[string]bool{}
	for _, c := range whatTokensMay {
		tested[c.method] = true
		for _, role := range append(slices.Clone(tokens.Roles), "unknown", "") {
			for _, thread := range everyone {
				params := c.params
				if strings.Contains(params, "%[1]s") {
					params = fmt.Sprintf(c.params, thread)
				}
				covers := role.Covers(c.role)
				if refused := useToken(t, a, Token{Name: "phone", Role: role}, c.method, params); covers != (refused == nil) {
					t.Errorf("%s, all threads: %s %s: refused with %v", role, c.method, params, refused)
				}
				refused := useToken(t, a, Token{Name: "phone", Role: role, ThreadIDs: []string{"own"}}, c.method, params)
				if want := covers && slices.Contains(c.limited, thread); want != (refused == nil) {
					t.Errorf("%s, limited to own: %s %s: refused with %v, want allowed %v", role, c.method, params, refused, want)
				}
				if refused != nil && refused.Data.Kind != KindForbidden {
					t.Errorf("%s %s: %v, want forbidden", c.method, params, refused)
				}
			}
		}
	}
	for _, m := range a.Methods() {
		if !tested[m.Name] {
			t.Errorf("%s is in no row of this table: say which role may call it", m.Name)
		}
		if m.Role == "" {
			t.Errorf("%s needs no role", m.Name)
		}
	}
}

// What an agent's process said last may be of any thread.
func TestALimitedTokenDoesNotSeeWhyAnAgentFailed(t *testing.T) {
	a, _, _ := newFamily(t)
	for _, c := range []struct {
		token Token
		shown bool
	}{{Token{Name: "desk", Role: read}, true}, {Token{Name: "phone", Role: operate, ThreadIDs: []string{"own"}}, false}} {
		rep, _ := a.Call(WithToken(context.Background(), c.token), "agent/list", nil, Call{})
		if rep.Err != nil || !strings.Contains(string(rep.Result), `"state":"failed"`) || strings.Contains(string(rep.Result), "said by stranger") != c.shown {
			t.Errorf("%s: %v %s", c.token.Name, rep.Err, rep.Result)
		}
	}
}

// The error names the member that is wrong, as it is called in the request.
func TestARefusalNamesTheMember(t *testing.T) {
	a, _, _ := newFamily(t)
	limited := Token{Name: "phone", Role: operate, ThreadIDs: []string{"own"}}
	for field, c := range map[string]struct{ method, params string }{
		"thread_id":            {"thread/read", `{"thread_id":"stranger"}`},
		"turn_id":              {"turn/read", `{"turn_id":"turn_stranger"}`},
		"item_id":              {"item/read", `{"item_id":"item_stranger"}`},
		"parent.thread_id":     {"turn/start", `{"thread_id":"own","parent":{"thread_id":"stranger"},` + asked + `}`},
		"parent_thread_id":     {"turn/list", `{"parent_thread_id":"stranger"}`},
		"owner_thread_id":      {"turn/await", `{"owner_thread_id":"stranger"}`},
		"thread_ids[1]":        {"inbox/subscribe", `{"thread_id":"own","source":"events","thread_ids":["own","stranger"]}`},
		"within_thread_ids[0]": {"thread/list", `{"within_thread_ids":["stranger"]}`},
	} {
		refused := useToken(t, a, limited, c.method, c.params)
		if refused == nil || refused.Data.Field != field || !strings.HasPrefix(refused.Message, field+": ") {
			t.Errorf("%s %s: %v", c.method, c.params, refused)
		}
	}
}

func TestTheServerSetsWhichTokenAsked(t *testing.T) {
	a, _, e := newFamily(t)
	phone := Token{Name: "phone", Role: work}
	for _, c := range []struct{ method, params string }{
		{"turn/interrupt", `{"turn_id":"turn_own"}`}, {"turn/review", `{"turn_id":"turn_own","attempt":1,"verdict":"approved"}`},
		{"turn/start", `{"thread_id":"own",` + asked + `}`},
	} {
		if refused := useToken(t, a, phone, c.method, c.params); refused != nil {
			t.Fatal(c.method, refused)
		}
	}
	const ack = `{"thread_id":"own","entry_ids":["ent_1"]}`
	if refused := useToken(t, a, phone, "inbox/ack", ack); refused != nil {
		t.Fatal(refused)
	}
	if refused := ask(t, a, tokens.Agent{ThreadID: "own"}, "inbox/ack", ack); refused != nil {
		t.Fatal(refused)
	}
	a.Call(context.Background(), "inbox/ack", jsontext.Value(ack), Call{})
	if !slices.Equal(e.acked, []inbox.By{"token:phone", inbox.ByClient, inbox.ByClient}) {
		t.Errorf("acknowledged by %q", e.acked)
	}
	const by = turns.By("token:phone")
	if e.interrupted[0].By != by || e.reviewed[0].By != by || e.started[0].By != by {
		t.Errorf("by %q, %q, %q", e.interrupted[0].By, e.reviewed[0].By, e.started[0].By)
	}
}

// What a token may write with the role read is bounded by the number of threads: the
// cursors of all consumers share one bound.
func TestWhatIsLookedAtExists(t *testing.T) {
	a, _, _ := newFamily(t)
	ctx := WithToken(context.Background(), Token{Name: "phone", Role: read})
	const advance = `{"consumer_id":"seen:phone","stream_name":"events","subject_id":%q,"last_sequence":0}`
	for subject, kind := range map[string]Kind{"stranger": KindUnavailable, "": KindUnavailable, "missing": KindThreadNotFound, "x": KindThreadNotFound} {
		rep, _ := a.Call(ctx, "cursor/advance", jsontext.Value(fmt.Sprintf(advance, subject)), Call{})
		if rep.Err == nil || rep.Err.Data.Kind != kind { // there are no cursors here
			t.Errorf("of the thread %q: %v, want %s", subject, rep.Err, kind)
		}
	}
}

// An idempotency key of a token is the token's: it gets no answer that another had.
func TestKeysOfTokensNeverMeet(t *testing.T) {
	a, _, e := newFamily(t)
	const params = `{"thread_id":"own","text":"x","idempotency_key":"same"}`
	for _, c := range []Token{{Name: "phone", Role: operate}, {Name: "desk", Role: operate}, {Name: "phone", Role: operate}} {
		if refused := useToken(t, a, c, "inbox/send", params); refused != nil {
			t.Fatal(refused)
		}
	}
	if a.Call(context.Background(), "inbox/send", jsontext.Value(params), Call{}); len(e.keys) != 4 {
		t.Fatalf("keys %q", e.keys)
	}
	if e.keys[0] == e.keys[1] || e.keys[0] != e.keys[2] || e.keys[3] != "same" {
		t.Errorf("keys %q", e.keys)
	}
}

func TestATokenThatHasEndedIsRefusedEverywhere(t *testing.T) {
	a, _, _ := newFamily(t)
	alive, end := context.WithCancel(context.Background())
	end()
	for _, c := range whatTokensMay {
		params := c.params
		if strings.Contains(params, "%[1]s") {
			params = fmt.Sprintf(c.params, "own")
		}
		if refused := useToken(t, a, Token{Name: "phone", Role: operate, Alive: alive}, c.method, params); refused == nil || refused.Data.Kind != KindUnauthorized {
			t.Errorf("%s: %v", c.method, refused)
		}
	}
}

func TestStreamsOfALimitedTokenAreNarrowed(t *testing.T) {
	a, _, _ := newFamily(t)
	ctx := WithToken(context.Background(), Token{Name: "phone", Role: read, ThreadIDs: []string{"own", "stranger"}})
	at := &StreamStart{Given: true}
	if _, err := a.ResolveStart(ctx, at); err != nil {
		t.Fatal(err)
	}
	for _, thread := range append(slices.Clone(everyone), "") {
		has, err := at.Filter.Within.Has(ctx, thread)
		if want := slices.Contains(append([]string{"stranger"}, ownOrDown...), thread); err != nil || has != want {
			t.Errorf("%s: %v %v, want %v", thread, has, err, want)
		}
	}
}
