package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/turns"
)

func TestStepsAreStartedRetriedAndEnded(t *testing.T) {
	sink, out := printed(t, strings.Join([]string{
		`{"event":"step","step":"setup/clone"}`,
		`{"event":"delta","id":"a","step":"setup/clone","text":"half"}`,
		`{"event":"item","id":"b","step":"setup","content":{"type":"command_execution","command":"make"}}`,
		`{"event":"step","step":"setup/clone","reason":"the network"}`,
		`{"event":"delta","id":"c","step":"setup/clone","text":"whole"}`,
		`{"event":"item","id":"c","status":"completed"}`,
		`{"event":"item","id":"b","status":"completed"}`,
		`{"event":"step","step":"setup","status":"completed"}`,
	}, "\n"))
	if said := notices(t, sink); len(said) > 0 || out.State == turns.Failed {
		t.Errorf("notices %q, %+v", said, out)
	}
	got := ""
	for _, it := range sink.Items() {
		got += fmt.Sprintf("%s %s %s; ", it.Step, it.Kind, it.Status)
	}
	want := "setup/clone agent_message interrupted; setup command_execution completed; setup/clone agent_message completed; "
	if got != want {
		t.Errorf("items %q, want %q", got, want)
	}
	if ops := sink.Steps(); fmt.Sprint(ops) != "[{setup/clone } {setup/clone the network} {setup completed}]" {
		t.Errorf("steps %v", ops)
	}
}

func TestStepsThatCannotBeAreRefusedWithTheirLine(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":"step","step":""}`:                       "no path",
		`{"event":"step","step":"a b"}`:                    "no path",
		`{"event":"step","step":"a","status":"completed"}`: "not under way",
		`{"event":"step","step":"a","status":"pending"}`:   "cannot end as",
		`{"event":"message","step":"a","text":"x"}`:        "has not been started",
		"{\"event\":\"step\",\"step\":\"a\"}\n{\"event\":\"delta\",\"id\":\"i\",\"text\":\"x\"}\n{\"event\":\"delta\",\"id\":\"i\",\"step\":\"a\",\"text\":\"x\"}": "stays there",
	} {
		sink, _ := printed(t, line)
		if said := notices(t, sink); len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("%s: notices %q, want %q", line, said, want)
		}
	}
	many := ""
	for i := range maxSteps {
		many += fmt.Sprintf(`{"event":"step","step":"s%d"}`+"\n", i)
	}
	sink, _ := printed(t, many)
	if said := notices(t, sink); len(said) == 0 || !strings.Contains(said[0], "too many steps") {
		t.Errorf("notices %q", said)
	}
}

func TestWhatMayPassIsTold(t *testing.T) {
	for script, want := range map[string]turns.Cause{
		`kill -9 $$`: turns.CauseCrash,
		`exit 75`:    turns.CauseTransient,
		`exit 1`:     "",
		`exit 137`:   "",
		`exit 0`:     "",
	} {
		if _, out := prompt(t, shell(t, script), turns.Prompt{}, ""); out.Cause != want {
			t.Errorf("%s: cause %q of %+v", script, out.Cause, out)
		}
	}
	missing, err := New("missing", Config{Command: []string{"/none/such"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, out := prompt(t, missing, turns.Prompt{}, ""); out.Cause != turns.CauseCrash {
		t.Errorf("a command that is not there: %+v", out)
	}
	if _, out := printed(t, `{"event":"result","state":"failed","message":"busy","transient":true}`); out.Cause != turns.CauseTransient {
		t.Errorf("a result: %+v", out)
	}
	if sink, _ := printed(t, `{"event":"result","state":"completed","transient":true}`); len(notices(t, sink)) != 1 {
		t.Error("a success that may pass makes no notice")
	}
}
