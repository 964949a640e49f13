package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestThreadsShowStatusAndLastActivity(t *testing.T) {
	s := startServer(t)
	if r := s.holon("threads"); r.code != exitOK || !strings.Contains(r.err, `holon run "hello"`) {
		t.Errorf("none: %+v", r)
	}
	s.startThreads([2]string{"new", "日本語 work"})
	s.want("run", "--thread=done", "/say done")
	s.holon("run", "--thread=broken", "/fail it \x1b[31mbroke")
	s.want("run", "-d", "--thread=asks", "/ask Delete it?")
	s.want("run", "-d", "--thread=works", "/progress compiling\n/sleep 600000")
	s.want("run", "-d", "--thread=stopped", "/sleep 600000")
	s.want("interrupt", "stopped")
	s.want("run", "-q", "--thread=held", "/say held")
	s.want("pause", "held")
	s.want("run", "-q", "--thread=over", "/say over")
	s.want("close", "over")
	eventually(t, "it works and asks", func() bool {
		out := s.want("threads")
		return strings.Contains(out, "asks, ") && strings.Contains(out, "compiling")
	})
	want := strings.TrimSpace(`
THREAD STATUS LAST ACTIVITY AGENT TITLE DOING
new idle TIME ago echo 日本語 work
done idle TIME ago echo
broken failed TIME ago echo it broke
asks waiting TIME ago echo asks, TIME: Delete it?
works working TIME ago echo running, TIME: compiling
stopped interrupted TIME ago echo
held paused TIME ago echo
over closed TIME ago echo`)
	got := regexp.MustCompile(` +`).ReplaceAllString(anonymous(s.want("threads")), " ")
	if strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if out := s.want("threads", "--state=closed"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "over") {
		t.Errorf("--state:\n%s", out)
	}
	if r := s.holon("threads", "-n", "1"); !strings.Contains(r.err, "These are the newest 1") {
		t.Errorf("-n 1: %+v", r)
	}
}

// Last activity is that of the newest event of any kind.
func TestLastActivityIsThatOfTheNewestEvent(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "hello")
	c := s.caller()
	defer c.close()
	read, thread, err := (&control{caller: c}).readThread("one")
	if err != nil {
		t.Fatal(err)
	}
	events := s.events()
	last := events[len(events)-1]
	if read.LatestSeq != last.Seq || thread.LatestSeq != last.Seq {
		t.Fatalf("the newest event is %d, of the thread %d", last.Seq, thread.LatestSeq)
	}
	at, err := timeOf(t.Context(), c.client, last.Seq)
	if err != nil || !at.Equal(last.Time) {
		t.Errorf("%v, want %v: %v", at, last.Time, err)
	}
	if at, err := timeOf(t.Context(), c.client, last.Seq+1); err != nil || !at.IsZero() {
		t.Errorf("an event that is not there: %v, %v", at, err)
	}
}
