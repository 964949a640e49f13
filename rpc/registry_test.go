package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/ledger"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

func TestBadParamsNameTheMemberAndWhy(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Pruner = noPruner{} })
	for _, c := range []struct{ method, params, field, reason string }{
		{"turn/read", `{}`, "turn_id", "required"},
		{"turn/read", `null`, "turn_id", "required"},
		{"turn/read", `{"turn_id":""}`, "turn_id", "required"},
		{"turn/read", `{"turn_id":null}`, "turn_id", "required"},
		{"turn/read", `{"turn_id":5}`, "turn_id", "wrong_type"},
		{"turn/read", `{"turn_id":"x","nope":1}`, "nope", "unknown_field"},
		{"turn/read", `{"turn_id":"x","Turn_id":"y"}`, "Turn_id", "unknown_field"},
		{"turn/read", `{"turn_id":"x","turn_id":"x"}`, "turn_id", "duplicate_field"},
		{"turn/read", `{"turn_id":"x","turn_\u0069d":"x"}`, "turn_id", "duplicate_field"},
		{"turn/read", `{"turn_id":"x","include_items":1}`, "include_items", "wrong_type"},
		{"turn/start", `{"thread_id":"t","input":"x"}`, "input", "wrong_type"},
		{"turn/start", `{"thread_id":"t"}`, "input", "required"},
		{"turn/start", `{"input":[]}`, "thread_id", "required"},
		{"turn/start", `{"thread_id":"t","input":[]}`, "input", "required"},
		{"turn/start", `{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":5}]}]}`, "input[0].content[0].text", "wrong_type"},
		{"turn/start", `{"thread_id":"t","input":[{"type":"message","role":"user","content":[{"type":"input_text","txt":"a"}]}]}`, "input[0].content[0].txt", "unknown_field"},
		{"turn/start", `{"thread_id":"t","input":[{},{"type":[]}]}`, "input[1].type", "wrong_type"},
		{"thread/start", `{"metadata":{"a":{"b":1,"b":2}}}`, "metadata.a.b", "duplicate_field"},
		{"thread/start", `{"thread_id":""}`, "thread_id", "out_of_range"},
		{"thread/start", `{"parent":{"thread":"x"}}`, "parent.thread", "unknown_field"},
		{"thread/start", `{"idempotency_key":""}`, "idempotency_key", "out_of_range"},
		{"thread/start", `{"idempotency_key":"` + strings.Repeat("ä", 129) + `"}`, "idempotency_key", "out_of_range"},
		{"thread/list", `{"limit":0}`, "limit", "out_of_range"},
		{"thread/list", `{"limit":1001}`, "limit", "out_of_range"},
		{"thread/list", `{"limit":1.5}`, "limit", "out_of_range"},
		{"thread/list", `{"limit":1e400}`, "limit", "out_of_range"},
		{"thread/list", `{"limit":99999999999999999999}`, "limit", "out_of_range"},
		{"thread/list", `{"limit":"5"}`, "limit", "wrong_type"},
		{"thread/list", `{"state":"open"}`, "state", "unknown"},
		{"item/list", `{"type":"thing"}`, "type", "unknown"},
		{"event/list", `{}`, "after_seq", "required"},
		{"holon/prune", `{}`, "before_seq", "required"},
		{"holon/prune", `{"before_seq":null}`, "before_seq", "required"},
		{"holon/prune", `{"before_seq":0}`, "before_seq", "out_of_range"},
		{"holon/prune", `{"before_seq":1,"idempotency_key":""}`, "idempotency_key", "out_of_range"},
		{"event/list", `{"after_seq":0,"methods":["x"]}`, "methods[0]", "malformed"},
		{"event/list", `{"after_seq":0,"collapse":true}`, "collapse", "wrong_type"}, {"event/list", `{"after_seq":0,"collapse":"all"}`, "collapse", "unknown"},
		{"turn/steer", `{"turn_id":"x","input":[],"mode":"now"}`, "mode", "unknown"},
		{"holon/logStream", `{"max_lines":0}`, "max_lines", "out_of_range"},
		{"holon/status", `{"_meta":1,"extended_context":{},"x":1}`, "x", "unknown_field"},
		{"holon/status", `[1]`, "params", "wrong_type"},
	} {
		_, answer := r.post(request("1", c.method, c.params))
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != api.KindInvalidParams || m.Error.Data.Field != c.field || m.Error.Data.Reason != c.reason {
			t.Errorf("%s %.100s: %.300s, want %s %s", c.method, c.params, answer, c.field, c.reason)
		}
	}
}

func TestMetaMayStandBesideEveryMember(t *testing.T) {
	r := newRig(t)
	for _, m := range []string{"holon/status", "agent/list", "thread/list", "initialize", "rpc.discover"} {
		_, answer := r.post(request("1", m, `{"_meta":{"a":[1]},"extended_context":"x"}`))
		if kindOf(t, answer) != "" {
			t.Errorf("%s: %.200s", m, answer)
		}
	}
}

func TestIdempotencyHashesParamsAsValues(t *testing.T) {
	r := newRig(t)
	hash := func(params string) string {
		t.Helper()
		before := len(r.engine.called())
		if _, answer := r.post(request("1", "holon/pause", params)); kindOf(t, answer) != "" {
			t.Fatal(answer)
		}
		return r.engine.called()[before]
	}
	base := hash(`{"idempotency_key":"k","timeout_seconds":5,"reason":"aä"}`)
	for _, same := range []string{
		`{"reason":"a\u00e4","idempotency_key":"k","timeout_seconds":5}`,
		` { "idempotency_key" : "k" , "timeout_seconds" : 5e0, "reason":"aä" } `,
		`{"idempotency_key":"k","timeout_seconds":5.0,"reason":"aä","_meta":{"trace":1}}`,
	} {
		if got := hash(same); got != base {
			t.Errorf("%s hashes otherwise", same)
		}
	}
	for _, other := range []string{
		`{"idempotency_key":"k","timeout_seconds":6,"reason":"aä"}`,
		`{"idempotency_key":"k","timeout_seconds":5}`,
		`{"idempotency_key":"k","timeout_seconds":5,"reason":"aä","extended_context":1}`,
	} {
		if got := hash(other); got == base {
			t.Errorf("%s hashes the same", other)
		}
	}
	a, err := api.KeyOf("m", new(string), []byte(`{}`))
	if err == nil || a != nil {
		t.Error("an empty key is taken")
	}
	k := "k"
	x, _ := api.KeyOf("m", &k, []byte(`{"n":9007199254740993}`))
	y, _ := api.KeyOf("m", &k, []byte(`{"n":9007199254740992}`))
	if x.Hash == y.Hash {
		t.Error("two integers that are one float hash the same")
	}
}

func TestDomainErrorsBecomeKinds(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		err  error
		kind api.Kind
		code int
	}{
		{threads.ErrNotFound, api.KindThreadNotFound, -32002}, {turns.ErrNotFound, api.KindTurnNotFound, -32002}, {items.ErrNotFound, api.KindItemNotFound, -32002},
		{turns.ErrAgentNotFound, api.KindAgentNotFound, -32002}, {threads.ErrClosed, api.KindThreadClosed, -32004}, {threads.ErrPaused, api.KindThreadPaused, -32004},
		{threads.ErrConflict, api.KindConflict, -32003}, {ledger.ErrKeyConflict, api.KindIdempotencyConflict, -32003}, {turns.ErrBusy, api.KindThreadBusy, -32004},
		{turns.ErrNotActive, api.KindTurnNotActive, -32004}, {turns.ErrQueueFull, api.KindOverloaded, -32001}, {turns.ErrOverloaded, api.KindOverloaded, -32001},
		{turns.ErrDraining, api.KindUnavailable, -32000}, {ledger.ErrStorageFull, api.KindStorageFull, -32007}, {ledger.ErrStorageFailed, api.KindStorageFailed, -32007},
		{items.ErrAlreadyResolved, api.KindAlreadyResolved, -32004}, {notify.ErrBadCursor, api.KindInvalidCursor, -32602},
		{&turns.InvalidError{Field: "input", Reason: "too_large", Text: "is too large"}, api.KindInvalidParams, -32602},
	} {
		r.engine.failWith = fmt.Errorf("wrapped: %w", c.err)
		_, answer := r.post(request("1", "thread/start", `{"thread_id":"mine"}`))
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != c.kind || m.Error.Code != c.code || strings.Contains(answer, "wrapped") {
			t.Errorf("%v: %s", c.err, answer)
			continue
		}
		if c.code == -32002 && m.Error.Data.ThreadID != "mine" {
			t.Errorf("%v: the thread is not named: %s", c.err, answer)
		}
		if c.kind == api.KindOverloaded && m.Error.Data.RetryAfterMs == 0 {
			t.Errorf("%v: no retry_after_ms: %s", c.err, answer)
		}
	}
}

func TestPanicAndUnknownErrorsTellACorrelationIDOnly(t *testing.T) {
	r := newRig(t)
	r.engine.failWith = fmt.Errorf("the password is hunter2")
	for _, body := range []string{
		request("1", "thread/start", `{}`),
		request("1", "turn/steer", `{"turn_id":"x","input":[{"type":"message","role":"user","content":[]}]}`), // panics
	} {
		_, answer := r.post(body)
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != api.KindInternal || m.Error.Code != -32603 || len(m.Error.Data.CorrelationID) != 36 {
			t.Errorf("%s", answer)
		}
		if strings.Contains(answer, "hunter2") || strings.Contains(answer, "fault") {
			t.Errorf("the cause is told: %s", answer)
		}
	}
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "turn/steer", `{"turn_id":"x","input":[{"type":"message","role":"user","content":[]}]}`), request("2", "holon/status", `{}`))
	st.expect("#1")
	st.expect("#2")
}

func TestInitializeOncePerConnectionTellsEveryBound(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "initialize", `{"client_info":{"name":"x","version":"1"},"protocol_versions":["1999-01-01"]}`), request("2", "initialize", `{}`))
	m := st.expect("#1")
	for _, part := range []string{`"protocol_version":"2026-11-23"`, `"max_frame_bytes":4194304`, `"max_in_flight":64`, `"log_id":"log-1"`, `"collapse":["superseded"]`} {
		if !strings.Contains(string(m.Result), part) {
			t.Errorf("no %s in %s", part, m.Result)
		}
	}
	if m := st.expect("#2"); m.Error == nil || m.Error.Data.Kind != api.KindInvalidRequest {
		t.Errorf("%+v", m)
	}
}

func TestBatchIsAnsweredInOrderAndFitsAFrame(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.MaxFrameBytes = 128 << 10 })
	big := func(id string) string { return request(id, "item/read", `{"item_id":"big50000"}`) }
	batch := "[" + strings.Join([]string{big("1"), big("2"), big("3"), `{"jsonrpc":"2.0","method":"holon/status"}`, request(`"x"`, "holon/status", `{}`), big("1"), "7"}, ",") + "]"
	check := func(where, answer string) {
		t.Helper()
		if len(answer) > 128<<10 {
			t.Errorf("%s: %d bytes", where, len(answer))
		}
		var got []string
		for _, part := range strings.Split(strings.Trim(answer, "[]"), `{"jsonrpc":"2.0",`)[1:] {
			m := parse(t, `{"jsonrpc":"2.0",`+strings.TrimSuffix(part, ","))
			kind := api.Kind("result")
			if m.Error != nil {
				kind = m.Error.Data.Kind
			}
			got = append(got, fmt.Sprintf("%s %s", m.ID, kind))
		}
		want := `1 result, 2 result, 3 frame_too_large, "x" result, 1 duplicate_id, null invalid_request`
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", where, s, want)
		}
	}
	_, answer := r.post(batch)
	check("POST /rpc", answer)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(batch)
	check("stream", st.next())
}

// Nobody gets the other answers of a batch while one of its members waits.
func TestMembersOfABatchDoNotWaitForTurns(t *testing.T) {
	r := newRig(t)
	members := "[" + request("1", "turn/await", `{"turn_ids":["a"],"timeout_seconds":60}`) + "," +
		request("2", "turn/start", `{"thread_id":"t","wait_seconds":60,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}]}`) + "]"
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(members)
	for line := ""; !strings.HasPrefix(line, "["); { // the start's event comes before
		line = st.next()
	}
	r.post(members)
	waits := func(call string) bool { return strings.HasPrefix(call, "StartAndWait") }
	if got := r.engine.called(); slices.ContainsFunc(got, waits) || !slices.Contains(got, "Await [a] for 0 s") {
		t.Errorf("in a batch: %v", got)
	}
	r.post(request("1", "turn/await", `{"turn_ids":["a"],"timeout_seconds":60}`))
	if got := r.engine.called(); !slices.Contains(got, "Await [a] for 60 s") {
		t.Errorf("alone: %v", got)
	}
}

func TestBatchOfOddMembersIsAnsweredOrNot(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		st := r.open("POST", "/rpc/stream")
		st.expect("stream/opened")
		st.send(`[{"jsonrpc":"2.0","method":"holon/status"},{"jsonrpc":"2.0","id":4,"result":1}]`, `{"jsonrpc":"2.0","id":4,"result":1}`, `[]`)
		if m := st.expect("#null"); m.Error.Data.Kind != api.KindInvalidRequest {
			t.Fatalf("%+v", m)
		}
		ended := make(chan turns.InterruptResult, 1)
		r.engine.stubborn = map[string]chan turns.InterruptResult{"slow": ended}
		st.send(request("8", "stream/unsubscribe", `{}`))
		st.expect("#8")
		st.send("["+request("1", "turn/interrupt", `{"turn_id":"slow"}`)+","+request("2", "holon/status", `{}`)+"]", request("3", "holon/status", `{}`))
		st.expect("#3") // the batch waits for its slowest member, and nothing waits for the batch
		ended <- turns.InterruptResult{State: "interrupted"}
		if line := st.next(); !strings.HasPrefix(line, `[{"jsonrpc":"2.0","id":1,`) || !strings.Contains(line, `"id":2,`) {
			t.Fatal(line)
		}
	})
}

func TestIDsComeBackByteForByte(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	for _, id := range []string{`1`, `-1`, `-0`, `0`, `123456789012345678901234567890`, `""`, `"a"`, `"\u0061\/\n"`, `"ä😀"`, `null`, `"` + strings.Repeat("x", 5000) + `"`} {
		st.send(request(id, "holon/status", `{}`), "["+request(id, "holon/status", `{}`)+"]", `{"jsonrpc":"2.0","id":`+id+`,"method":"no/such"}`)
		for i, prefix := range []string{"", "[", ""} {
			if line := st.next(); !strings.HasPrefix(line, prefix+`{"jsonrpc":"2.0","id":`+id+`,`) {
				t.Errorf("id %.50s, message %d: %.100s", id, i, line)
			}
		}
	}
}

func TestFollowedLogComesOnTheConnection(t *testing.T) {
	r := newRig(t)
	r.server.logs.Add("info", time.Now(), "before")
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	st.send(request("1", "holon/logStream", `{"follow":true}`))
	m := st.expect("#1")
	if !strings.Contains(string(m.Result), `"message":"before"`) {
		t.Fatalf("%s", m.Result)
	}
	id := string(m.Result)[len(`{"stream_id":"`):][:40]
	r.server.logs.Add("info", time.Now(), "after")
	if m := st.expect("holon/log"); m.Params.Message != "after" {
		t.Fatalf("%+v", m.Params)
	}
	st.send(request("2", "holon/logStream/stop", fmt.Sprintf(`{"stream_id":%q}`, id)), request("3", "holon/logStream/stop", fmt.Sprintf(`{"stream_id":%q}`, id)))
	if a, b := st.expect("#2"), st.expect("#3"); string(a.Result) != `{"stopped":true}` || string(b.Result) != `{"stopped":false}` {
		t.Fatalf("%s %s", a.Result, b.Result)
	}
	r.server.logs.Add("info", time.Now(), "later")
	st.quiet()
}

func TestConnectionFollowsABoundedNumberOfLogs(t *testing.T) {
	r := newRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	// No answer of a batch is written, and no log followed, before its last
	// member has been executed.
	var members []string
	for i := range 20 {
		members = append(members, request(fmt.Sprint(i), "holon/logStream", `{"follow":true}`))
	}
	st.send("[" + strings.Join(members, ",") + "]")
	line := st.next()
	if n := strings.Count(line, `"kind":"overloaded"`); n != 20-r.server.limits.MaxLogStreams {
		t.Errorf("%d of 20 were refused", n)
	}
	r.server.logs.Add("info", time.Now(), "one")
	for range r.server.limits.MaxLogStreams {
		st.expect("holon/log")
	}
	st.quiet()
	id := line[strings.Index(line, `"stream_id":"`)+len(`"stream_id":"`):][:40]
	st.send(request("21", "holon/logStream/stop", fmt.Sprintf(`{"stream_id":%q}`, id)), request("22", "holon/logStream", `{"follow":true}`), request("23", "holon/logStream", `{"follow":true}`))
	if m := st.expect("#21"); string(m.Result) != `{"stopped":true}` {
		t.Errorf("%s", m.Result)
	}
	if a, b := st.expect("#22"), st.expect("#23"); a.Error != nil || b.Error == nil || b.Error.Data.Kind != api.KindOverloaded {
		t.Errorf("%+v %+v", a.Error, b.Error)
	}
}

func TestEventListPagesTheLog(t *testing.T) {
	r := newRig(t)
	for range 25 {
		r.memory.append(t, started())
	}
	r.memory.prune(3)
	_, answer := r.post(request("1", "event/list", `{"after_seq":2,"limit":10}`))
	for _, part := range []string{`"next_after_seq":12`, `"latest_seq":25`, `"has_more":true`, `{"seq":3,"time":"2023-11-14T22:13:20.000Z","method":"thread/started","params":{"seq":3,`} {
		if !strings.Contains(answer, part) {
			t.Errorf("no %s in %.400s", part, answer)
		}
	}
	_, answer = r.post(request("1", "event/list", `{"after_seq":2,"methods":["turn/*"]}`))
	if !strings.Contains(answer, `"events":[],"next_after_seq":25`) || !strings.Contains(answer, `"has_more":false`) {
		t.Error(answer)
	}
	for after, kind := range map[string]api.Kind{"1": api.KindCursorExpired, "26": api.KindCursorAhead, "-1": api.KindInvalidCursor} {
		if _, answer := r.post(request("1", "event/list", `{"after_seq":`+after+`}`)); kindOf(t, answer) != kind {
			t.Errorf("after %s: %s", after, answer)
		}
	}
	if _, answer := r.post(request("1", "thread/list", `{"cursor":"x"}`)); kindOf(t, answer) != api.KindInvalidCursor {
		t.Error(answer)
	}
}
