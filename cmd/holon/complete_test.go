package main

import (
	"net"
	"strings"
	"testing"
)

func TestTheShellCompletesNames(t *testing.T) {
	s := startServer(t)
	thread, turn := s.startSleeper("thread_aaaaaaaa11111111", "日本語 \x1b[31mwork")
	s.startThreads([2]string{"me", ""})
	const ours = "11111111\t日本語 work (working TIME)\n"
	for _, tc := range []struct {
		line, want string
	}{
		{"close ", "me\t(idle TIME)\n" + ours},
		{"close 111", ours},
		{"close thread_", thread + "\t日本語 work (working TIME)\n"},
		{"close x", ""},
		{"close me ", ""},
		{"turns --thread 1", ours},
		{"run --parent m", "me\t(idle TIME)\n"},
		{"inbox policy 1", ours},
		{"retry ", "me\t(idle TIME)\n" + ours + short(turn) + "\t(in thread 11111111) (active)\n"},
		{"await x ", short(turn) + "\t(in thread 11111111) (active)\n"},
		{"respond ", ""},
	} {
		r := s.holon(append([]string{"__complete"}, strings.Split(tc.line, " ")...)...)
		got, _, _ := strings.Cut(times.ReplaceAllString(r.out, "TIME"), ":")
		if got != tc.want || r.code != exitOK {
			t.Errorf("%q: exit %d: %q, want %q", tc.line, r.code, got, tc.want)
		}
	}
}

// A server that does not answer completes nothing, and soon.
func TestCompletionDoesNotWaitForAServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, url := range []string{"http://" + silent.Addr().String(), "http://127.0.0.1:1"} {
		if r := holon(t, freshDir(t), "", "__complete", "--url="+url, "close", ""); r.code != exitOK || !strings.HasPrefix(r.out, ":") {
			t.Errorf("%s: %+v", url, r)
		}
	}
}
