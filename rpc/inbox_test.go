package rpc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/inbox"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/threads"
)

func TestCommandsOfInboxesReachTheEngineWithTheirKey(t *testing.T) {
	r := newRig(t)
	f := withInboxes(t, r)
	for _, c := range []struct{ method, params, call, answer string }{
		{"inbox/ingest", `"items":[{"source":"ci","native_id":"1","payload":{"a":1}}]`, `Ingest full 1 {"a":1}`, `{"results":[{"raw_id":"raw_7","digest_id":"dig_7","duplicate":false}],"seq":7}`},
		{"inbox/ingest", `"items":[{"source":"ci","native_id":"1","payload":null,"grouping":{"resource_ref":"a","flush":"immediate"}}]`, `Ingest full 1 `, `"seq":7`},
		{"inbox/send", `"text":"hi","sender":"me"`, "Send full hi me", `{"raw_id":"raw_7","entry_id":"ent_8","duplicate":false,"seq":8}`},
		{"inbox/configure", `"policy":{"window_ms":100},"reset":["ack"]`, "Configure full [ack]", `"policy":{"enabled":true,"window_ms":100,"max_delay_ms":120000,"max_items":20,"max_digest_age_ms":86400000,"wake":"none","ack":"turn_end","wake_when":"settled","wake_max_wait_ms":1800000,"wake_window_ms":1000,"told_lease_ms":0,"fallback":true}`},
		{"inbox/configure", `"reset":["wake"]`, "Configure full [wake]", `"seq":7`},
		{"inbox/ack", `"entry_ids":["ent_3","ent_5"]`, "Ack full [ent_3 ent_5]  false", `{"acked_entries":0,"acked_items":0,"remainder_entry_ids":[],"seq":7}`},
		{"inbox/ack", `"through_entry_id":"ent_3"`, "Ack full [] ent_3 false", `"seq":7`},
		{"inbox/ack", `"all":true,"as_of_seq":0`, "Ack full []  true", `"seq":7`},
		{"inbox/flush", `"digest_id":"dig_3"`, "Flush full dig_3", `{"entry_ids":["ent_7"],"seq":7}`},
		{"inbox/flush", `"digest_id":null`, "Flush full ", `"seq":7`},
		{"inbox/wake", `"_meta":1`, "Wake full", `{"entry_ids":[],"seq":7}`},
		{"inbox/subscribe", `"source":"events","thread_ids":["a"],"methods":["final","item/created"]`, "Subscribe full events", `"created":true,"seq":7`},
		{"inbox/subscribe", `"source":"events","methods":["questions","item/*","turn/*","step/ended","thread/closed","timer/*"]`, "Subscribe full events", `"created":true,"seq":7`},
		{"inbox/subscribe", `"source":"gh","filter":"true"`, "Subscribe full gh", `"created":true,"seq":7`},
		{"inbox/unsubscribe", `"subscription_id":"sub_1"`, "Unsubscribe full sub_1", `{"subscription_id":"sub_1","seq":7}`},
		{"timer/create", `"every_seconds":60,"text":"look"`, "CreateTimer full 60 look", `"timer_id":"timer_1"`},
		{"timer/delete", `"timer_id":"timer_1"`, "DeleteTimer full timer_1", `{"timer_id":"timer_1","seq":7}`},
	} {
		before := len(f.called())
		_, answer := r.post(request("1", c.method, `{"thread_id":"full","idempotency_key":"k",`+c.params+`}`))
		if !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, answer, c.answer)
			continue
		}
		if got := f.called()[before:]; len(got) != 1 || got[0] != c.call+" key k" {
			t.Errorf("%s %s: the engine got %q, want %q", c.method, c.params, got, c.call+" key k")
		}
	}
}

func TestBadParamsOfInboxesReachNoEngine(t *testing.T) {
	r := newRig(t)
	f := withInboxes(t, r)
	item := func(more string) string {
		return `"items":[{"source":"ci","native_id":"1"},{"source":"ci","native_id":"2"` + more + `}]`
	}
	for _, c := range []struct{ method, params, kind, field, reason string }{
		{"inbox/ingest", `"_meta":1`, "invalid_params", "items", "required"},
		{"inbox/ingest", `"items":[]`, "invalid_params", "items", "out_of_range"},
		{"inbox/ingest", `"items":[` + strings.Repeat(`{"source":"ci","native_id":"1"},`, 256) + `{}]`, "invalid_params", "items", "out_of_range"},
		{"inbox/ingest", `"items":[{"source":"message","native_id":"1"}]`, "invalid_params", "items[0].source", "invalid"},
		{"inbox/ingest", `"items":[{"source":"events","native_id":"1"}]`, "invalid_params", "items[0].source", "invalid"},
		{"inbox/ingest", `"items":[{"source":"turns","native_id":"1"}]`, "invalid_params", "items[0].source", "invalid"},
		{"inbox/ingest", `"items":[{"source":"ci","native_id":"1"},{"source":"timer","native_id":"1"}]`, "invalid_params", "items[1].source", "invalid"},
		{"inbox/ingest", `"items":[{"source":"ci","native_id":"1"},{"source":"gh","native_id":"1"}]`, "invalid_params", "items[1].source", "invalid"},
		{"inbox/ingest", `"items":[{"source":"ci"}]`, "invalid_params", "items[0].native_id", "required"},
		{"inbox/ingest", item(`,"payload":"` + strings.Repeat("x", 64<<10) + `"`), "invalid_params", "items[1].payload", "too_large"},
		{"inbox/ingest", item(`,"summary":"a\nb"`), "invalid_params", "items[1].summary", "invalid"},
		{"inbox/ingest", item(`,"summary":"` + strings.Repeat("x", 401) + `"`), "invalid_params", "items[1].summary", "too_large"},
		{"inbox/ingest", item(`,"grouping":{"flush":"soon"}`), "invalid_params", "items[1].grouping.flush", "unknown"},
		{"inbox/ingest", item(`,"chain":1`), "invalid_params", "items[1].chain", "unknown_field"},
		{"inbox/ingest", item(`,"occurred_at":"yesterday"`), "invalid_params", "items[1].occurred_at", ""},
		{"inbox/send", `"text":" "`, "invalid_params", "text", "required"},
		{"inbox/send", `"text":"` + strings.Repeat("x", inbox.MaxSendBytes+1) + `"`, "invalid_params", "text", "too_large"},
		{"inbox/configure", `"policy":{"window_ms":99}`, "invalid_params", "policy.window_ms", "out_of_range"},
		{"inbox/configure", `"policy":{"wake":"always"}`, "invalid_params", "policy.wake", "unknown"},
		{"inbox/configure", `"reset":["window"]`, "invalid_params", "reset[0]", "unknown"},
		{"inbox/ack", `"_meta":1`, "invalid_params", "entry_ids", "required"},
		{"inbox/ack", `"all":true`, "invalid_params", "as_of_seq", "required"},
		{"inbox/ack", `"all":true,"as_of_seq":-1`, "invalid_params", "as_of_seq", "out_of_range"},
		{"inbox/ack", `"all":true,"as_of_seq":999`, "invalid_params", "as_of_seq", "out_of_range"},
		{"inbox/ack", `"all":true,"through_entry_id":"ent_1","as_of_seq":1`, "invalid_params", "entry_ids", "required"},
		{"inbox/ack", `"entry_ids":[]`, "invalid_params", "entry_ids", "out_of_range"},
		{"inbox/ack", `"entry_ids":["ent_1","raw_1"]`, "entry_not_found", "entry_ids[1]", ""},
		{"inbox/ack", `"entry_ids":["ent_01"]`, "entry_not_found", "entry_ids[0]", ""},
		{"inbox/ack", `"through_entry_id":"ent_-1"`, "entry_not_found", "through_entry_id", ""},
		{"inbox/flush", `"digest_id":"7"`, "entry_not_found", "digest_id", ""},
		{"inbox/read", `"after_entry_id":"raw_1"`, "invalid_params", "after_entry_id", "invalid"},
		{"inbox/read", `"limit":0`, "invalid_params", "limit", "out_of_range"},
		{"inbox/read", `"order":"newest"`, "invalid_params", "order", "unknown"},
		{"inbox/expand", `"entry_id":"ent_1","after_raw_id":"ent_1"`, "invalid_params", "after_raw_id", "invalid"},
		{"inbox/expand", `"entry_id":"dig_1"`, "entry_not_found", "entry_id", ""},
		{"inbox/expand", `"_meta":1`, "invalid_params", "entry_id", "required"},
		{"inbox/subscribe", `"source":"timer"`, "invalid_params", "source", "invalid"},
		{"inbox/subscribe", `"source":"events","thread_ids":["full"]`, "invalid_params", "thread_ids[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["item/delta"]`, "invalid_params", "methods[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["final","inbox/posted"]`, "invalid_params", "methods[1]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["inbox/*"]`, "invalid_params", "methods[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["stream/*"]`, "invalid_params", "methods[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["stream/rewind"]`, "invalid_params", "methods[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["ends"]`, "invalid_params", "methods[0]", "invalid"},
		{"inbox/subscribe", `"source":"events","methods":["questions","nope/x"]`, "invalid_params", "methods[1]", "unknown"},
		{"inbox/subscribe", `"source":"events","methods":["nope/*"]`, "invalid_params", "methods[0]", "unknown"},
		{"inbox/subscribe", `"source":"events","methods":["turn/complete"]`, "invalid_params", "methods[0]", "unknown"},
		{"inbox/subscribe", `"source":"events","methods":["holon/paused"]`, "invalid_params", "methods[0]", "unknown"},
		{"inbox/subscribe", `"source":"hub"`, "invalid_params", "source", "unknown"},
		{"inbox/subscribe", `"source":"gh","filter":"1 +"`, "invalid_params", "filter", "invalid"},
		{"timer/create", `"text":"x","timer_id":"a b"`, "invalid_params", "timer_id", "invalid"},
		{"timer/create", `"at":"2030-01-01T00:00:00Z"`, "invalid_params", "text", "required"},
		{"timer/delete", `"_meta":1`, "invalid_params", "timer_id", "required"},
	} {
		_, answer := r.post(request("1", c.method, `{"thread_id":"full",`+c.params+`}`))
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != api.Kind(c.kind) || m.Error.Data.Field != c.field || c.reason != "" && m.Error.Data.Reason != c.reason {
			t.Errorf("%s %.100s: %.300s, want %s %s %s", c.method, c.params, answer, c.kind, c.field, c.reason)
		}
	}
	if got := f.called(); len(got) != 0 {
		t.Errorf("the engine got %q", got)
	}
}

func TestErrorsOfInboxesBecomeKinds(t *testing.T) {
	r := newRig(t)
	withInboxes(t, r)
	for _, c := range []struct {
		err   error
		kind  api.Kind
		code  int
		field string
	}{
		{inbox.ErrEntryNotFound, api.KindEntryNotFound, -32002, ""}, {inbox.ErrEntryExpired, api.KindEntryExpired, -32002, ""},
		{inbox.ErrDigestNotFound, api.KindEntryNotFound, -32002, "digest_id"}, {inbox.ErrTimerNotFound, api.KindTimerNotFound, -32002, ""},
		{inbox.ErrSubscriptionNotFound, api.KindSubscriptionNotFound, -32002, ""}, {inbox.ErrConflict, api.KindConflict, -32003, ""},
		{inbox.ErrFull, api.KindOverloaded, -32001, ""}, {inbox.ErrTooManyTimers, api.KindOverloaded, -32001, ""},
		{inbox.ErrTooManySubscriptions, api.KindOverloaded, -32001, ""}, {threads.ErrClosed, api.KindThreadClosed, -32004, ""},
	} {
		r.engine.failWith = fmt.Errorf("wrapped: %w", c.err)
		for _, method := range []string{"inbox/wake", "inbox/read", "timer/list"} {
			_, answer := r.post(request("1", method, `{"thread_id":"full"}`))
			m := parse(t, answer)
			if m.Error == nil || m.Error.Data.Kind != c.kind || m.Error.Code != c.code || m.Error.Data.Field != c.field || strings.Contains(answer, "wrapped") {
				t.Errorf("%s, %v: %s", method, c.err, answer)
				continue
			}
			if c.code == -32002 && m.Error.Data.ThreadID != "full" || c.kind == api.KindOverloaded && m.Error.Data.RetryAfterMs == 0 {
				t.Errorf("%s, %v: %s", method, c.err, answer)
			}
		}
	}
}

func TestInboxesAreRead(t *testing.T) {
	r := newRig(t)
	f := withInboxes(t, r)
	for _, c := range []struct{ method, params, answer string }{
		{"inbox/read", `{"thread_id":"full","after_entry_id":"ent_3","include_acked":true,"limit":7,"order":"desc"}`, `{"entries":[],"as_of_seq":9,"next_after_entry_id":"ent_9","unacked_entries":2,"pending_items":1}`},
		{"inbox/expand", `{"thread_id":"full","entry_id":"ent_3","after_raw_id":"raw_2"}`, `"payload":{"a":1}`},
		{"timer/list", `{"thread_id":"full"}`, `"timer_id":"timer_1"`},
		{"thread/read", `{"thread_id":"full"}`, `"inbox":{"unacked":2,"pending":1}},"children":{"blocking":0,"notify":0,"untold":0,"room":0},"latest_seq":`},
		{"thread/read", `{"thread_id":"empty"}`, `"inbox":{"unacked":0,"pending":0}},"children":{"blocking":0,"notify":0,"untold":0,"room":0},"latest_seq":`},
		{"thread/read", `{"thread_id":"full","include_inbox":true}`, `"inbox":{"unacked":2,"pending":1}},"policy":{"enabled":true,"window_ms":500,`},
		{"thread/read", `{"thread_id":"full","include_inbox":true}`, `"activity":{"received":3,"duplicates":0,"filtered":0,"failed":0,"last_error":"full/sub_1"}}],"timers":4,"children":{"blocking":0,"notify":0,"untold":0,"room":0},"latest_seq":`},
		{"thread/read", `{"thread_id":"empty","include_inbox":true}`, `"subscriptions":[],"timers":0,"children":{"blocking":0,"notify":0,"untold":0,"room":0},"latest_seq":`},
		{"thread/list", `{}`, `"inbox":{"unacked":2,"pending":1}`},
	} {
		_, answer := r.post(request("1", c.method, c.params))
		if !strings.Contains(answer, c.answer) {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, answer, c.answer)
		}
	}
	want := inbox.Read{ThreadID: "full", AfterEntryID: "ent_3", IncludeAcked: true, Limit: 7, Newest: true}
	if f.read != want {
		t.Errorf("ReadInbox got %+v, want %+v", f.read, want)
	}
	if want := (inbox.Expand{ThreadID: "full", EntryID: notify.ID("ent_3"), AfterRawID: "raw_2", Limit: 100}); f.expand != want {
		t.Errorf("ExpandEntry got %+v, want %+v", f.expand, want)
	}
	for _, method := range []string{"inbox/read", "timer/list", "thread/read"} {
		if _, answer := r.post(request("1", method, `{"thread_id":"missing"}`)); kindOf(t, answer) != api.KindThreadNotFound {
			t.Errorf("%s: %s", method, answer)
		}
	}
	if _, answer := r.post(request("1", "inbox/expand", `{"thread_id":"missing","entry_id":"ent_1"}`)); kindOf(t, answer) != api.KindThreadNotFound {
		t.Error(answer)
	}
}

func TestServerWithoutInboxesSaysSo(t *testing.T) {
	r := newRig(t)
	_, _ = r.post(request("1", "thread/start", `{"thread_id":"t"}`))
	for method, params := range map[string]string{
		"inbox/send": `{"thread_id":"t","text":"x"}`, "inbox/read": `{"thread_id":"t"}`, "timer/list": `{"thread_id":"t"}`,
		"thread/read": `{"thread_id":"t","include_inbox":true}`,
	} {
		if _, answer := r.post(request("1", method, params)); kindOf(t, answer) != api.KindUnavailable {
			t.Errorf("%s: %s", method, answer)
		}
	}
	if _, answer := r.post(request("1", "thread/read", `{"thread_id":"t"}`)); !strings.Contains(answer, `"inbox":{"unacked":0,"pending":0}`) {
		t.Error(answer)
	}
	if _, err := New(Config{Services: api.Services{Engine: r.engine, Reader: r.memory, LogID: testLogID, Inboxes: &fakeInboxes{}}, Tail: r.memory.tail}); err == nil {
		t.Error("inboxes are taken without their reader")
	}
}
