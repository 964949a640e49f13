package acp

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/turns"
)

func TestStatsCountStartsAndFailures(t *testing.T) {
	r := bad(t, "")
	th := r.thread("t")
	th.run("say x")
	if s := r.Stats(); s.Starts != 1 || s.Failures != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	if _, out := th.prompt(t.Context(), "die 3 broken"); out.State != turns.Failed {
		t.Fatalf("%+v", out)
	}
	th.run("say x")
	if s := r.Stats(); s.Starts != 2 || s.Failures != 1 {
		t.Errorf("%+v", s)
	}
}

func TestKillDoesNotWaitForWhoIgnoresEverything(t *testing.T) {
	r := bad(t, "stubborn")
	pid, err := strconv.Atoi(strings.TrimSpace(r.thread("t").run("pid")))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r.Kill()
	if alive(pid) {
		t.Error("it is alive")
	}
	// In order it would take both waits.
	if took := time.Since(began); took >= eofWait {
		t.Errorf("it took %v", took)
	}
	if _, out := r.thread("u").prompt(t.Context(), "say x"); out.State != turns.Failed {
		t.Errorf("a process was started after the end: %+v", out)
	}
}

func TestTheConfiguredDeadlineIsTheEngines(t *testing.T) {
	a, err := New("a", Config{Command: []string{"x"}, CancelAfter: time.Minute})
	if err != nil || a.StopWithin() <= time.Minute || a.StopWithin() > time.Minute+4*time.Second {
		t.Errorf("%v, %v", a.StopWithin(), err)
	}
}

func TestInstallSaysWhatToDoAboutAMissingCommand(t *testing.T) {
	r := serve(t, []string{"no-such-agent-anywhere"}, func(c *Config) { c.Install = "Install it with: get agent" })
	_, out := r.thread("t").prompt(t.Context(), "say x")
	if out.State != turns.Failed || !strings.HasSuffix(out.Why(), ". Install it with: get agent") {
		t.Errorf("%+v", out)
	}
}
