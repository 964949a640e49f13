package main

import (
	"strings"
	"testing"
)

// What a thread is not told, and what ends that, is where a person looks; not as long as
// nothing waits.
func TestWhatAThreadIsNotToldIsSaid(t *testing.T) {
	s := startServerWith(t, "slow=exec:sleep 3600")
	s.want("call", "thread/start", `{"thread_id":"main","agent":"slow"}`)
	s.want("inbox", "policy", "main", "--wake=idle", "--enabled=false")
	const line = "2 new, not told: it was interrupted (holon inbox wake main)"
	said := func(want bool) {
		t.Helper()
		for _, args := range [][]string{{"threads"}, {"status"}, {"inbox", "main"}} {
			r := s.holon(args...)
			if has := strings.Contains(r.out+r.err, line); has != want || r.code != 0 {
				t.Errorf("%q says it: %v\n%s%s", args, has, r.out, r.err)
			}
		}
		// Every other output has it for programs.
		for _, args := range [][]string{{"threads", "-o=json"}, {"inbox", "main", "-o=json"}} {
			out := s.want(args...)
			if has := strings.Contains(out, `"reason": "interrupted"`) && strings.Contains(out, `"waiting": 2`); has != want {
				t.Errorf("%q has it: %v\n%s", args, has, out)
			}
		}
	}
	s.want("run", "-d", "--thread=main", "work")
	eventually(t, "the turn is active", func() bool { return strings.Contains(s.want("turns", "main"), "active") })
	s.want("interrupt", "main")
	said(false)
	s.want("inbox", "send", "main", "look")
	s.want("inbox", "send", "main", "look again")
	said(true)
	if cell := s.want("threads"); !strings.Contains(cell, "2 new, not told;") {
		t.Errorf("NOW does not say it:\n%s", cell)
	}
	_, page := s.fetch("/metrics")
	contains(t, page, `holon_inbox_stalled{reason="held"} 1`)
	s.want("inbox", "wake", "main")
	eventually(t, "it is told", func() bool { return strings.Contains(s.want("turns", "main"), "active") })
	said(false)
}

// An owner of much work is older than all its child threads: status says of it too what it is
// not told, and says so if it has not looked at all threads.
func TestStatusLooksFurtherThanTheNewestThreads(t *testing.T) {
	s := startServerWith(t, "slow=exec:sleep 3600")
	s.want("call", "thread/start", `{"thread_id":"main","agent":"slow"}`)
	s.want("inbox", "policy", "main", "--wake=idle", "--enabled=false")
	s.want("run", "-d", "--thread=main", "work")
	eventually(t, "the turn is active", func() bool { return strings.Contains(s.want("turns", "main"), "active") })
	s.want("interrupt", "main")
	s.want("inbox", "send", "main", "look")
	newer := func(n int) {
		for range n {
			s.did("thread/start", `{"agent":"slow"}`)
		}
	}
	const line, less = "1 new, not told: it was interrupted (holon inbox wake main)", "holon threads --limit 0"
	newer(250)
	r := s.holon("status")
	contains(t, r.out, line)
	if strings.Contains(r.out+r.err, less) {
		t.Errorf("it has looked at all:\n%s%s", r.out, r.err)
	}
	newer(750)
	contains(t, s.holon("status").err, less)
	contains(t, s.holon("threads", "--limit=0").err, line)
	contains(t, s.want("inbox", "wake", "main"), "No interrupt and no bound keeps it from being woken any more.")
}

// An end may wait for others, so nobody is promised a wake at each.
func TestBackgroundSaysWhenItsOwnerIsTold(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	s.want("inbox", "policy", "main", "--wake=idle")
	r := s.holon("run", "--background", "--parent=main", "work")
	contains(t, r.err, "the other background work of the same turn has ended too")
}
