package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/turns"
)

const configure = `{"thread_id":"t","config":{"mode":"plan"}}`

func TestAskingAnAgentDelaysNothingElseOnTheConnection(t *testing.T) {
	r := newRig(t)
	r.engine.asked = make(chan struct{})
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "thread/configure", configure), request("2", "holon/status", `{}`), request("1", "holon/status", `{}`))
	if m := st.message(); string(m.ID) != "2" {
		t.Fatalf("answered first: %s", m.ID)
	}
	if m := st.message(); m.Error == nil || m.Error.Data.Kind != api.KindDuplicateID {
		t.Fatalf("the id is in flight, got %+v", m)
	}
	r.engine.asked <- struct{}{}
	if m := st.expect("#1"); !strings.Contains(string(m.Result), `"config":{"mode":"plan"}`) {
		t.Fatalf("%s", m.Result)
	}
}

func TestAskingAnAgentInABatchAndAsANotification(t *testing.T) {
	r := newRig(t)
	_, answer := r.post(`[` + request("1", "thread/configure", configure) + `,` + request("2", "thread/fork", `{"thread_id":"t"}`) + `]`)
	if !strings.HasPrefix(answer, `[{"jsonrpc":"2.0","id":1,"result"`) || !strings.Contains(answer, `"kind":"agent_unsupported"`) {
		t.Error(answer)
	}
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(`{"jsonrpc":"2.0","method":"thread/configure","params":{"thread_id":"n","config":{"mode":"x"}}}`, request("3", "holon/status", `{}`))
	st.expect("#3")
	if got := r.engine.called(); !slices.Contains(got, `ThreadConfigure n "x"`) {
		t.Errorf("the notification was not executed before what follows it: %v", got)
	}
}

func TestWhatAnAgentCannotDoIsATypedError(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		err  error
		kind api.Kind
		text string
	}{
		{&turns.AgentError{Kind: "agent_failed", Message: "it crashed"}, api.KindAgentFailed, "it crashed"},
		{&turns.AgentError{Kind: "agent_unavailable", Message: "not installed"}, api.KindAgentUnavailable, "not installed"},
		{&turns.AgentError{Kind: "timeout", Message: "too slow"}, api.KindTimeout, "too slow"},
		{&turns.AgentError{Kind: "of its own", Message: "odd"}, api.KindAgentFailed, "odd"},
		{&turns.UnsupportedError{Agent: "echo", What: "has no settings"}, api.KindAgentUnsupported, "the agent echo has no settings"},
		{&turns.InvalidError{Field: "config.mode", Reason: "unknown", Text: "is none of ask, plan"}, api.KindInvalidParams, "config.mode: is none of ask, plan"},
	} {
		r.engine.failWith = fmt.Errorf("wrapped: %w", c.err)
		_, answer := r.post(request("1", "thread/configure", configure))
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != c.kind || m.Error.Message != c.text || m.Error.Code != api.Errorf(c.kind, "").Code || m.Error.Data.ThreadID != "t" && c.kind != api.KindInvalidParams {
			t.Errorf("%v became %s", c.err, answer)
		}
	}
}

func TestForkTakesTheIDsThatItIsGiven(t *testing.T) {
	r := newRig(t)
	r.post(request("1", "thread/fork", `{"thread_id":"t","after_turn_id":"u","new_thread_id":"v"}`))
	if got := r.engine.called(); len(got) != 1 || got[0] != "ThreadFork t u v" {
		t.Errorf("%v", got)
	}
	_, answer := r.post(request("1", "thread/fork", `{"thread_id":"t","new_thread_id":""}`))
	if m := parse(t, answer); m.Error == nil || m.Error.Data.Field != "new_thread_id" {
		t.Error(answer)
	}
}
