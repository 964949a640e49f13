package nearest

import (
	"strings"
	"testing"
)

func TestTheNearestWordIsMeant(t *testing.T) {
	words := []string{"agent", "thread", "threads", "turns", "thread/start", "claude", "echo", "on-busy", "inbox"}
	for word, want := range map[string]string{
		"agnet": "agent", "Agent": "agent", "agents": "agent", "aent": "agent",
		"thread/strat": "thread/start", "claud": "claude", "ech": "echo", "on_busy": "on-busy",
		"tur": "turns", "inb": "inbox", // the only one that begins so
		"threa": "thread", // the first of several
		"in":    "",       // too short for a beginning
		"eco":   "echo", "eh": "", "xy": "",
		"x": "", "": "", "completely": "",
		strings.Repeat("a", 10_000): "",
	} {
		if got := Of(word, words); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	if got := Of("modle", []string{"mode", "model"}); got != "model" {
		t.Errorf("of two that are one error away, the one with the same letters is meant: %q", got)
	}
	if got := Hint("agnet", words); got != "; did you mean agent?" {
		t.Error(got)
	}
	if got := NoneOf("sumary", []string{"summary"}); got != `"sumary" is not summary` {
		t.Error(got)
	}
	if got := NoneOf("runing", []string{"running", "paused"}); got != `"runing" is not one of running, paused; did you mean running?` {
		t.Error(got)
	}
	if got := Hint("xyz", words) + Hint("xyz", nil); got != "" {
		t.Error(got)
	}
}

func TestErrorsAreCountedBothWays(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"ab", "ba", 1}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"strat", "start", 1}} {
		if got := errorsIn(c.a, c.b); got != c.want || errorsIn(c.b, c.a) != got {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
