package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// What a list is about is named behind its command, as everywhere, or with a flag.
func TestListsTakeTheirThreadAsAnArgument(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "--title=First", "hello")
	s.want("run", "--thread=two", "hello")
	for _, list := range []string{"turns", "items"} {
		contains(t, s.want(list), "THREAD", "  one  ", "  two  ")
		contains(t, s.want(list, "-o", "toon"), list+"[", "latest_seq: ")
		for _, name := range []string{"one", "First"} {
			if got, want := s.want(list, name, "-n", "5"), s.want(list, "--thread=one", "-n", "5"); got != want || got == s.want(list, "-n", "5") {
				t.Errorf("holon %s %s:\n%swant\n%s", list, name, got, want)
			}
		}
		if r := s.holon(list, "one", "--thread=two"); r.code != exitUsage || !strings.Contains(r.err, "leave out --thread") {
			t.Errorf("%s with two threads: %+v", list, r)
		}
		if r := s.holon(list, "nothing"); r.code != exitFailed || !strings.Contains(r.err, `"nothing": no such thread`) {
			t.Errorf("%s of nothing: %+v", list, r)
		}
	}
	turn := turnIDs.FindString(s.want("turns", "one", "--long"))
	contains(t, s.want("turns", turn[len(turn)-8:]), turn, "STEP")
	if r := s.holon("turns", turn, "--state=active"); r.code != exitUsage || !strings.Contains(r.err, "leave them out with a TURN") {
		t.Errorf("a turn of a list: %+v", r)
	}
	if got := oneObject(t, s.want("turns", "one", "-o", "json")); got["turns"] == nil {
		t.Errorf("of a thread, as JSON: %v", got)
	}
	if got := oneObject(t, s.want("turns", turn, "-o", "json")); got["turn"] == nil {
		t.Errorf("a turn, as JSON: %v", got)
	}
}

// A message that its turn did not take is one warning: that its item ended so says it.
func TestAMessageThatDidNotReachTheAgentIsSaidOnce(t *testing.T) {
	s := startServer(t)
	s.want("run", "-d", "--thread=main", "/sleep 60000")
	eventually(t, "it works", func() bool { return strings.Contains(s.want("turns"), "active") })
	s.want("steer", "main", "never read")
	s.want("close", "main", "--yes")
	eventually(t, "it is closed", func() bool { return strings.Contains(s.want("threads"), "closed") })
	all := s.want("watch", "--after=0", "--limit="+fmt.Sprint(oneObject(t, s.want("call", "holon/status"))["latest_seq"]))
	if n := strings.Count(all, "did not reach the agent"); n != 1 {
		t.Errorf("it is said %d times in\n%s", n, all)
	}
}

// Where there is no line of status, watch says that it waits if there is nothing to show.
func TestWatchSaysThatItWaits(t *testing.T) {
	s := startServer(t)
	for _, out := range []string{"text", "jsonl"} {
		ctx, stop := context.WithCancel(t.Context())
		var errs buffer
		g := &globals{console: console{in: strings.NewReader(""), out: &buffer{}, err: &errs, environ: []string{"HOLON_DATA=" + s.data, "XDG_CONFIG_HOME=" + t.TempDir()}}}
		ended := make(chan int, 1)
		go func() { ended <- execute(ctx, g, []string{"watch", "-o", out}) }()
		if out == "text" {
			eventually(t, "it says so", func() bool { return strings.Contains(errs.String(), "waiting for events") })
		}
		stop()
		if code := <-ended; code != exitOK {
			t.Errorf("exit %d: %s", code, errs.String())
		}
		if out != "text" && errs.String() != "" {
			t.Errorf("to a program: %s", errs.String())
		}
	}
	s.want("run", "hello")
	if r := s.holon("watch", "--after=0", "--limit=1"); strings.Contains(r.err, "waiting") {
		t.Errorf("with something to show: %s", r.err)
	}
}

// Words that people try are answered with the one of Holon.
func TestWordsThatPeopleTry(t *testing.T) {
	s := startServer(t)
	s.want("bridge", "add", "webhook", "--to=https://example.org/x")
	s.want("run", "--thread=one", "hello")
	s.want("run", "--thread=two", "hello")
	s.want("notify", "one", "--bridge=webhook")
	s.want("notify", "two", "--bridge=webhook")
	for args, want := range map[string]string{
		"notify subscribe one":       "holon notify THREAD --bridge NAME",
		"notify delete webhook-one":  "holon notify rm SUBSCRIPTION",
		"notify unsubscribe one":     "holon notify rm SUBSCRIPTION",
		"notify show one":            "holon notify list THREAD",
		"notify list one --thread=x": "leave out --thread",
	} {
		if r := s.holon(strings.Fields(args)...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("holon %s: %+v, want %s", args, r, want)
		}
	}
	if out := s.want("notify", "list", "one"); !strings.Contains(out, "webhook-one") || strings.Contains(out, "webhook-two") {
		t.Errorf("the subscriptions of a thread:\n%s", out)
	}
	if r := s.holon("call", "event/list", `{"after_sequence":0}`); !strings.Contains(r.err, "did you mean after_seq?") {
		t.Errorf("after_sequence: %+v", r)
	}
	for _, answer := range [][]string{{"allow_once"}, {"--option=allow_once"}} {
		s.want("run", "-d", "--thread=ask", "/ask Delete it?")
		id := ""
		eventually(t, "it asks", func() bool { id = itemIDs.FindString(s.want("respond", "--long")); return id != "" })
		contains(t, s.want(append([]string{"respond", id}, answer...)...), "completed")
		eventually(t, "it ends", func() bool { return !strings.Contains(s.want("turns", "ask"), "active") })
	}
}
