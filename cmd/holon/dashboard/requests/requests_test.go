package requests

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/rpc/client"
)

// server notes what it is asked, and answers with the errors in their order.
type server struct {
	methods []string
	params  []map[string]any
	errs    []error
}

func (s *server) Call(_ context.Context, method string, params, _ any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var p map[string]any
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	s.methods, s.params = append(s.methods, method), append(s.params, p)
	if len(s.errs) == 0 {
		return nil
	}
	err, s.errs = s.errs[0], s.errs[1:]
	return err
}

func TestEachActionIsOneRequest(t *testing.T) {
	for _, tc := range []struct {
		action screen.Action
		method string
		member string
		want   any
	}{
		{screen.Respond{Item: "i", Option: "o"}, "item/respond", "option_id", "o"},
		{screen.Respond{Item: "i", Answer: json.RawMessage(`7`)}, "item/respond", "answer", 7.0},
		{screen.Respond{Item: "i", Cancel: true}, "item/respond", "outcome", "cancelled"},
		{screen.Start{Thread: "t", Text: "x"}, "turn/start", "thread_id", "t"},
		{screen.Steer{Turn: "t", Text: "x"}, "turn/steer", "turn_id", "t"},
		{screen.Interrupt{Turn: "t"}, "turn/interrupt", "turn_id", "t"},
		{screen.Interrupt{Turn: "t"}, "turn/interrupt", "reason", "i in the dashboard"},
		{screen.Retry{Turn: "t"}, "turn/retry", "turn_id", "t"},
		{screen.Close{Thread: "t"}, "thread/close", "thread_id", "t"},
		{screen.Rename{Thread: "t"}, "thread/rename", "title", ""},
		{screen.Review{Turn: "t", Attempt: 2, Verdict: "rejected", Note: "no"}, "turn/review", "attempt", 2.0},
		{screen.Review{Turn: "t", Attempt: 2, Verdict: "rejected", Note: "no"}, "turn/review", "note", "no"},
		{screen.Review{Turn: "t", Attempt: 2, Verdict: "approved"}, "turn/review", "note", nil},
		{screen.Seen{Thread: "t", Seq: 5}, "cursor/advance", "last_sequence", 5.0},
		{screen.Call{Method: "item/list", Params: map[string]any{"limit": 3}}, "item/list", "limit", 3.0},
	} {
		s := &server{}
		done, ok := Requests{Server: s, Consumer: "seen:owner"}.Do(t.Context(), tc.action)
		if !ok || done.Err != nil || len(s.methods) != 1 || s.methods[0] != tc.method || s.params[0][tc.member] != tc.want {
			t.Errorf("%#v: %v %v, %v", tc.action, s.methods, s.params, done.Err)
		}
		reads := tc.method == "item/list" || tc.method == "cursor/advance"
		if key := s.params[0]["idempotency_key"]; reads != (key == nil) {
			t.Errorf("%s has the key %v", tc.method, key)
		}
	}
	s := &server{}
	for _, action := range []screen.Action{screen.Back{}, screen.Open{Thread: "t"}, screen.Seen{Thread: "t"}} {
		if _, ok := (Requests{Server: s}).Do(t.Context(), action); ok || len(s.methods) > 0 {
			t.Errorf("%#v is a request: %v", action, s.methods)
		}
	}
}

func TestABrokenConnectionIsTriedAgainWithTheSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{errs: []error{syscall.ECONNRESET, syscall.EPIPE}}
		done, _ := Requests{Server: s}.Do(t.Context(), screen.Start{Thread: "t", Text: "x"})
		if done.Err != nil || len(s.params) != 3 || s.params[0]["idempotency_key"] != s.params[2]["idempotency_key"] {
			t.Errorf("%v, %v", done.Err, s.params)
		}
	})
}

func TestARefusalAndAnAbsentServerAreReportedAtOnce(t *testing.T) {
	for _, err := range []error{&client.Error{Kind: "turn_not_active"}, syscall.ECONNREFUSED} {
		s := &server{errs: []error{err}}
		if done, _ := (Requests{Server: s}).Do(t.Context(), screen.Steer{Turn: "t", Text: "x"}); !errors.Is(done.Err, err) || len(s.methods) != 1 {
			t.Errorf("%v after %d requests", done.Err, len(s.methods))
		}
	}
}
