package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/config"
)

// Whoever starts or awaits a turn learns that it stopped early by the exit code, by the
// words, and by the member stop_reason.
func TestATurnThatStoppedEarlyIsNotToldAsCompleted(t *testing.T) {
	s := &server{t: t, data: t.TempDir()}
	s.agents = map[string]config.Agent{"early": {
		Kind:    config.KindExec,
		Command: []string{"sh", "-c", `read -r why; printf '{"event":"result","state":"completed","stop_reason":"%s"}\n' "$why"`},
		Exec:    config.ExecAgent{Input: "text", Output: "events"},
	}}
	s.start()
	run := func(why string) result { return s.holon("run", "--agent", "early", "-o", "json", why) }
	if r := run("end_turn"); r.code != exitOK {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, why := range []string{"refusal", "max_tokens", "max_turn_requests", "error"} {
		r := run(why)
		var end struct {
			TurnID     string `json:"turn_id"`
			State      string `json:"state"`
			StopReason string `json:"stop_reason"`
		}
		if err := json.Unmarshal([]byte(r.out), &end); err != nil || r.code != exitEarly || end.State != "completed" || end.StopReason != why {
			t.Errorf("%s: exit %d, %v\n%s%s", why, r.code, err, r.out, r.err)
		}
		if r := s.holon("await", end.TurnID); r.code != exitEarly || !strings.Contains(r.out, "stopped early") || !strings.Contains(r.out, why) {
			t.Errorf("await of %s: exit %d\n%s%s", why, r.code, r.out, r.err)
		}
		if r := s.holon("await", "-o", "json", end.TurnID); r.code != exitEarly || !strings.Contains(r.out, `"stop_reason": "`+why+`"`) {
			t.Errorf("await of %s: exit %d\n%s%s", why, r.code, r.out, r.err)
		}
		if list := s.want("turns"); !strings.Contains(list, why) {
			t.Errorf("holon turns does not say %s:\n%s", why, list)
		}
		if list := s.want("threads"); !strings.Contains(list, "stopped early ("+why+")") {
			t.Errorf("holon threads does not say %s:\n%s", why, list)
		}
	}
	if r := s.holon("run", "--agent", "early", "refusal"); r.code != exitEarly || !strings.Contains(r.out+r.err, "stopped early") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
