package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/api"
	"github.com/seed82539d15/holon/items"
	"github.com/seed82539d15/holon/notify"
	"github.com/seed82539d15/holon/turns"
)

// newWorkerRig is a rig whose engine has workers.
func newWorkerRig(t *testing.T) (*rig, *fakeWorkers) {
	t.Helper()
	var w *fakeWorkers
	r := newRig(t, func(c *Config) {
		w = newFakeWorkers(c.Engine.(*fakeEngine))
		c.Workers = w
	})
	return r, w
}

const lease = `{"turn_id":"u","attempt":2,"token":"secret","expires_at":"2023-11-14T22:13:20.000Z"}`

func TestWorkersSayAndAreAnswered(t *testing.T) {
	r, w := newWorkerRig(t)
	r.memory.append(t, started(), started(), started())
	for _, c := range []struct{ method, params, asked, answer string }{
		{"turn/claim", `{"agent":"w"}`, "Claim w  0s", `{"turn":null,"seq":3}`},
		{"turn/claim", `{"agent":"w","worker":"one","wait_seconds":0.001,"idempotency_key":"k"}`, "Claim w one 1ms key k", `{"turn":null,"seq":3}`},
		{"turn/renew", `{"lease":` + lease + `,"idempotency_key":"k"}`, "Renew by u/2/secret key k", `{"expires_at":"0001-01-01T00:00:00.000Z","interrupt_requested":true,"steers":[],"seq":8}`},
		{"step/start", `{"lease":` + lease + `,"step":"a/b","reason":"again"}`, "StepStart a/b (again) by u/2/secret", `{"step":"a/b","epoch":2,"seq":8}`},
		{"step/end", `{"lease":` + lease + `,"step":"a"}`, "StepEnd a 0  by u/2/secret", `{"step":"a","epoch":2,"status":"completed","seq":8}`},
		{"step/end", `{"lease":` + lease + `,"step":"a","epoch":2,"status":"failed"}`, "StepEnd a 2 failed by u/2/secret", `{"step":"a","epoch":2,"status":"completed","seq":8}`},
		{"item/create", `{"lease":` + lease + `,"content":{"type":"plan"}}`, `Write create(,,0,,{"type":"plan"},) by u/2/secret`, `{"item_id":"item_new","status":"in_progress","seq":8}`},
		{"item/create", `{"lease":` + lease + `,"item_id":"mine","step":"a","epoch":3,"status":"completed","content":{"type":"plan"}}`, `Write create(mine,a,3,completed,{"type":"plan"},) by u/2/secret`, `{"item_id":"mine","status":"in_progress","seq":8}`},
		{"item/append", `{"lease":` + lease + `,"item_id":"i","text":"ä"}`, "Write append(i,,0,,,ä) by u/2/secret", `{"item_id":"i","status":"in_progress","seq":8}`},
		{"item/append", `{"lease":` + lease + `,"item_id":"i","text":""}`, "Write append(i,,0,,,) by u/2/secret", `{"item_id":"i","status":"in_progress","seq":8}`},
		{"item/update", `{"lease":` + lease + `,"item_id":"i","status":"failed","content":null}`, "Write update(i,,0,failed,,) by u/2/secret", `{"item_id":"i","status":"in_progress","seq":8}`},
		{"item/delete", `{"lease":` + lease + `,"item_id":"i"}`, "Write delete(i,,0,,,) by u/2/secret", `{"item_id":"i","status":"in_progress","seq":8}`},
		{"item/batch", `{"lease":` + lease + `,"ops":[{"op":"append","item_id":"i","text":"x"},{"op":"delete","item_id":"j"}]}`, "Write append(i,,0,,,x) delete(j,,0,,,) by u/2/secret", `{"items":[{"item_id":"i","status":"in_progress"},{"item_id":"j","status":"in_progress"}],"seq":8}`},
		{"turn/complete", `{"lease":` + lease + `}`, "Complete  -1 by u/2/secret", `{"turn_id":"u","state":"completed","seq":8}`},
		{"turn/complete", `{"lease":` + lease + `,"message":"done","usage":{"total_tokens":5}}`, "Complete done usage 5 by u/2/secret", `{"turn_id":"u","state":"completed","seq":8}`},
		{"turn/fail", `{"lease":` + lease + `,"error":{"kind":"agent_failed","message":"oh"},"transient":true}`, "Fail agent_failed oh true by u/2/secret", `{"turn_id":"u","state":"failed","seq":8}`},
		{"turn/retry", `{"turn_id":"u","reason":"once more"}`, "Retry u once more", `{"turn_id":"u","thread_id":"","state":"active","attempt":2,"seq":3}`},
	} {
		_, answer := r.post(request("1", c.method, c.params))
		if want := `{"jsonrpc":"2.0","id":1,"result":` + c.answer + `}`; answer != want {
			t.Errorf("%s %s\n got %s\nwant %s", c.method, c.params, answer, want)
		}
		called := w.called()
		if len(called) == 0 || called[len(called)-1] != c.asked {
			t.Errorf("%s %s asked\n     %q\nwant %q", c.method, c.params, called, c.asked)
		}
	}
}

func TestRetryPolicyReachesTheEngine(t *testing.T) {
	r := newRig(t)
	r.post(request("1", "turn/start", `{"thread_id":"t","input":[{"type":"message","role":"user","content":[]}],"retry":{"on_crash":"retry","max_attempts":5,"backoff_seconds":0.5,"backoff_max_seconds":9}}`))
	if got := r.engine.called(); !slices.Contains(got, "retry {OnCrash:retry MaxAttempts:5 BackoffSeconds:0.5 BackoffMaxSeconds:9}") {
		t.Errorf("%q", got)
	}
}

func TestBadParamsOfWorkersNameTheMember(t *testing.T) {
	r, w := newWorkerRig(t)
	for _, c := range []struct{ method, params, field, reason string }{
		{"turn/claim", `{}`, "agent", "required"},
		{"turn/claim", `{"agent":"w","wait_seconds":-1}`, "wait_seconds", "out_of_range"},
		{"turn/claim", `{"agent":"w","wait_seconds":60.5}`, "wait_seconds", "out_of_range"},
		{"turn/claim", `{"agent":"w","wait_seconds":1e300}`, "wait_seconds", "out_of_range"},
		{"turn/renew", `{}`, "lease", "required"},
		{"turn/renew", `{"lease":null}`, "lease", "required"},
		{"turn/renew", `{"lease":"x"}`, "lease", "wrong_type"},
		{"turn/renew", `{"lease":{"attempt":1,"token":"x"}}`, "lease.turn_id", "required"},
		{"turn/renew", `{"lease":{"turn_id":"u","token":"x"}}`, "lease.attempt", "out_of_range"},
		{"turn/renew", `{"lease":{"turn_id":"u","attempt":1}}`, "lease.token", "required"},
		{"turn/renew", `{"lease":{"turn_id":"u","attempt":1,"token":"x","more":1}}`, "lease.more", "unknown_field"},
		{"step/start", `{"lease":` + lease + `}`, "step", "required"},
		{"step/end", `{"lease":` + lease + `,"step":"a","status":"in_progress"}`, "status", "unknown"},
		{"step/end", `{"lease":` + lease + `,"step":"a","epoch":0}`, "epoch", "out_of_range"},
		{"item/create", `{"lease":` + lease + `}`, "content", "required"},
		{"item/create", `{"lease":` + lease + `,"content":null}`, "content", "required"},
		{"item/create", `{"lease":` + lease + `,"content":{},"item_id":""}`, "item_id", "out_of_range"},
		{"item/create", `{"lease":` + lease + `,"content":{},"epoch":-1}`, "epoch", "out_of_range"},
		{"item/append", `{"lease":` + lease + `,"item_id":"i"}`, "text", "required"},
		{"item/append", `{"lease":` + lease + `,"item_id":"i","text":"x","status":"failed"}`, "status", "unknown_field"},
		{"item/update", `{"lease":` + lease + `}`, "item_id", "required"},
		{"item/batch", `{"lease":` + lease + `}`, "ops", "required"},
		{"item/batch", `{"lease":` + lease + `,"ops":[]}`, "ops", "required"},
		{"item/batch", `{"lease":` + lease + `,"ops":[{"op":"create"},{"op":"create","epoch":-3}]}`, "ops[1].epoch", "out_of_range"},
		{"turn/fail", `{"lease":` + lease + `}`, "error", "required"},
		{"turn/fail", `{"lease":` + lease + `,"error":{"kind":"x"}}`, "error.message", "required"},
		{"turn/fail", `{"lease":` + lease + `,"error":{"message":"x"}}`, "error.kind", "required"},
		{"turn/retry", `{}`, "turn_id", "required"},
		{"turn/start", `{"thread_id":"t","input":[],"retry":{"attempts":3}}`, "retry.attempts", "unknown_field"},
	} {
		_, answer := r.post(request("1", c.method, c.params))
		m := parse(t, answer)
		if m.Error == nil || m.Error.Data.Kind != api.KindInvalidParams || m.Error.Data.Field != c.field || m.Error.Data.Reason != c.reason {
			t.Errorf("%s %s: %s", c.method, c.params, answer)
		}
	}
	if got := w.called(); len(got) != 0 {
		t.Errorf("the engine was asked: %q", got)
	}
}

func TestWhatAWorkerMayNotIsATypedError(t *testing.T) {
	r, w := newWorkerRig(t)
	for _, c := range []struct {
		err  error
		data string
	}{
		{&turns.SupersededError{TurnID: "v", Attempt: 3, Step: "a", Epoch: 4, Seq: 9}, `{"kind":"attempt_superseded","retryable":false,"turn_id":"v","attempt":3,"step":"a","epoch":4,"late_seq":9}`},
		{&turns.SupersededError{TurnID: "v", Attempt: 3, Epoch: 3}, `{"kind":"attempt_superseded","retryable":false,"turn_id":"v","attempt":3,"step":"","epoch":3}`},
		{turns.ErrSuperseded, `{"kind":"attempt_superseded","retryable":false,"turn_id":"u"}`},
		{turns.ErrLease, `{"kind":"forbidden","retryable":false,"field":"lease","turn_id":"u"}`},
		{turns.ErrNotActive, `{"kind":"turn_not_active","retryable":false,"turn_id":"u"}`},
		{items.ErrConflict, `{"kind":"conflict","retryable":false,"field":"item_id","reason":"used","turn_id":"u"}`},
		{items.ErrNotFound, `{"kind":"item_not_found","retryable":false,"turn_id":"u"}`},
		{&turns.InvalidError{Field: "step", Reason: "ended", Text: "it has ended"}, `{"kind":"invalid_params","retryable":false,"field":"step","reason":"ended"}`},
	} {
		w.failWith = fmt.Errorf("wrapped: %w", c.err)
		for _, method := range []string{"step/start", "item/batch"} {
			params := `{"lease":` + lease + `,"step":"a"}`
			if method == "item/batch" {
				params = `{"lease":` + lease + `,"ops":[{"op":"delete","item_id":"i"}]}`
			}
			if _, answer := r.post(request("1", method, params)); !strings.Contains(answer, `"data":`+c.data+`}`) {
				t.Errorf("%v became %s", c.err, answer)
			}
		}
	}
	w.failWith = items.ErrConflict
	if _, answer := r.post(request("1", "item/delete", `{"lease":`+lease+`,"item_id":"i"}`)); !strings.Contains(answer, `"turn_id":"u","item_id":"i"}`) {
		t.Error(answer)
	}
	// A single op has no index.
	w.failWith = &turns.InvalidError{Field: "ops[0].content.type", Reason: "unknown", Text: "no such kind"}
	if _, answer := r.post(request("1", "item/create", `{"lease":`+lease+`,"content":{"type":"x"}}`)); !strings.Contains(answer, `"field":"content.type"`) {
		t.Error(answer)
	}
	for err, reason := range map[error]string{turns.ErrNotEnded: "not_ended", turns.ErrCompleted: "completed", turns.ErrNoAttempts: "no_attempts"} {
		w.failWith = err
		if _, answer := r.post(request("1", "turn/retry", `{"turn_id":"u"}`)); !strings.Contains(answer, `"data":{"kind":"conflict","retryable":false,"field":"turn_id","reason":"`+reason+`","turn_id":"u"}`) {
			t.Error(answer)
		}
	}
}

func TestLateEventComesBeforeTheRefusal(t *testing.T) {
	r, w := newWorkerRig(t)
	st := r.open("POST", "/rpc/stream")
	st.expect("stream/opened")
	w.late = func() error {
		seq := r.memory.append(t, draft(notify.TurnLate, "t", &turns.LateEvent{Type: "late"}))
		return &turns.SupersededError{TurnID: "u", Attempt: 3, Epoch: 3, Seq: seq}
	}
	for range 20 {
		st.send(request("1", "item/delete", `{"lease":`+lease+`,"item_id":"i"}`))
		st.expect("turn/late")
		st.expect("#1")
	}
}

func TestServerWithoutWorkersSaysSo(t *testing.T) {
	r := newRig(t)
	for method, params := range map[string]string{"turn/claim": `{"agent":"w"}`, "turn/renew": `{"lease":` + lease + `}`} {
		if _, answer := r.post(request("1", method, params)); kindOf(t, answer) != api.KindUnavailable {
			t.Error(answer)
		}
	}
	if _, answer := r.post(request("1", "initialize", `{}`)); !strings.Contains(answer, `"workers":false`) {
		t.Error(answer)
	}
}

func TestClaimWaitsAndDelaysNothingElseOnTheConnection(t *testing.T) {
	r, w := newWorkerRig(t)
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "turn/claim", `{"agent":"w","wait_seconds":60}`), request("2", "holon/status", `{}`))
	if m := st.message(); string(m.ID) != "2" {
		t.Fatalf("answered first: %s", m.ID)
	}
	w.turns <- &turns.Turn{TurnID: "u", Attempt: 1}
	m := st.expect("#1")
	for _, part := range []string{`"turn":{"turn_id":"u"`, `"cwd":"/repo"`, `"input":[{"item_id":"item_1","type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]`,
		`"lease":{"turn_id":"u","attempt":1,"token":"secret","expires_at":"2023-11-14T22:13:20.000Z"}`} {
		if !bytes.Contains(m.Result, []byte(part)) {
			t.Errorf("no %s in %s", part, m.Result)
		}
	}
}

func TestClaimEndsWithWhoAskedForIt(t *testing.T) {
	r, w := newWorkerRig(t)
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "turn/claim", `{"agent":"w","wait_seconds":60}`), request("2", "holon/status", `{}`))
	st.expect("#2")
	st.close()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/rpc", strings.NewReader(request("1", "turn/claim", `{"agent":"x","wait_seconds":60}`)))
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		_, err := r.client.Do(req)
		gone <- err
	}()
	for !slices.Contains(w.called(), "Claim x  1m0s") {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case err := <-w.left:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a claim ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a claim continues after its client has disconnected")
		}
	}
}

func TestClaimEndsWithTheServer(t *testing.T) {
	r, _ := newWorkerRig(t)
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(request("1", "turn/claim", `{"agent":"w","wait_seconds":60}`), request("2", "holon/status", `{}`))
	st.expect("#2")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.server.Close(ctx, Closing{Code: api.CloseStopping, Reason: "over"}); err != nil {
		t.Fatal(err)
	}
	if m := st.expect("#1"); m.Error == nil || m.Error.Data.Kind != api.KindUnavailable || m.Error.Message != turns.ErrDraining.Error() {
		t.Fatalf("%+v", m.Error)
	}
	st.expect("stream/closing")
}

func TestClaimThatIsNotAnsweredTakesNothing(t *testing.T) {
	r, w := newWorkerRig(t)
	claim := `{"jsonrpc":"2.0","method":"turn/claim","params":{"agent":"w","wait_seconds":60}}`
	if status, _ := r.post(claim); status != http.StatusNoContent {
		t.Errorf("status %d", status)
	}
	st := r.open("POST", "/rpc/stream?method=none/none")
	st.expect("stream/opened")
	st.send(claim, request("1", "holon/status", `{}`))
	st.expect("#1")
	if got := w.called(); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
