package main

import (
	"strings"
	"testing"
)

// TestWhatARestartEndedIsCountedRetriedAndDismissed restarts a server twice: what it ended is
// in the status until it is retried, or dismissed.
func TestWhatARestartEndedIsCountedRetriedAndDismissed(t *testing.T) {
	s := startServer(t)
	nothing := func(what string) {
		t.Helper()
		if out := s.want("status"); strings.Contains(out, "restart") {
			t.Errorf("%s: %s", what, out)
		}
	}
	_, first := s.startSleeper("one", "work")
	_, second := s.startSleeper("two", "other")
	nothing("before a restart")
	s.stop()
	s.start()
	contains(t, s.want("status"), "\n2 turns ended with the restart at ", ": holon retry --interrupted, or holon status --dismiss\n")
	list := s.want("call", "turn/list", `{"ended_by":"restart"}`)
	contains(t, list, first, second, `"restart_seq":`)

	r := s.holon("retry", "--interrupted", "--reason=the machine is back")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	contains(t, r.out, short(first)+` of one "work": attempt 2, active`, short(second)+` of two "other": attempt 2, active`)
	nothing("after they were retried")
	if out := s.want("retry", "--interrupted"); out != "No turn that a restart cut off is left to retry or dismiss.\n" {
		t.Errorf("again: %s", out)
	}
	s.stop()
	s.start()
	contains(t, s.want("status", "--dismiss"), "Dismissed: 2 turns ended with the restart at ")
	nothing("after the dismissal")
	contains(t, s.want("status", "--dismiss"), "No turn that a restart cut off is left to retry or dismiss.")
	for _, args := range [][]string{{"status", "--dismiss"}, {"retry", "--interrupted"}} {
		if got := oneObject(t, s.want(append(args, "-o", "json")...)); got["dismissed"] != 0.0 && len(got["retried"].([]any)) != 0 {
			t.Errorf("%v: %v", args, got)
		}
	}
	// What was dismissed can still be retried, and ends with the next restart like any other.
	s.want("retry", first)
	s.stop()
	s.start()
	contains(t, s.want("status"), "\n1 turn ended with the restart at ")
	got := oneObject(t, s.want("retry", "--interrupted", "-o", "json"))
	if retried := got["retried"].([]any); len(retried) != 1 || retried[0].(map[string]any)["turn_id"] != first || len(got["refused"].([]any)) != 0 {
		t.Errorf("as data: %v", got)
	}
	for _, args := range [][]string{{"retry"}, {"retry", "--interrupted", "one"}, {"retry", "--interrupted", "--idempotency-key=k"}} {
		if r := s.holon(args...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// A limited token is told of its threads, and dismisses for itself.
func TestALimitedTokenIsToldOfItsThreads(t *testing.T) {
	s := startServer(t)
	s.startSleeper("one", "work")
	s.startSleeper("two", "other")
	phone := s.holding("phone", "--role=read", "--thread=one")
	s.stop()
	s.start()
	if r := phone.types("", "status"); r.code != exitFailed || !strings.Contains(r.out, "\n1 turn ended with the restart at ") || !strings.Contains(r.err, "holon/status is not about one") {
		t.Errorf("the status: %+v", r)
	}
	phone.fails(exitFailed, "", []string{"retry", "--interrupted"}, "not retried", "1 turn was not retried")
	contains(t, phone.must("", "status", "--dismiss").out, "Dismissed: 1 turn ended")
	if r := phone.types("", "status"); r.out != "" {
		t.Errorf("the status after the dismissal: %+v", r)
	}
	contains(t, phone.must("", "retry", "--interrupted").out, "No turn that a restart cut off is left to retry or dismiss.")
	contains(t, s.want("status"), "\n2 turns ended with the restart at ")
}
