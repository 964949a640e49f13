package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/notify"
)

// watch follows a thread with those below it, whole or in summaries, in every format.
func TestWatchFollowsThreadsBelowAndSummaries(t *testing.T) {
	s := startServer(t)
	s.want("call", "thread/start", `{"thread_id":"top"}`)
	s.want("call", "thread/start", `{"thread_id":"low","parent":{"thread_id":"top"}}`)
	s.want("run", "--thread=other", "elsewhere")
	s.want("run", "--thread=low", "/say what agents print\n/deltas 3 40")
	var whole, short, mixed []string // mixed: only low is whole
	all, within := s.events(), 0
	for _, e := range all {
		if e.ThreadID != "top" && e.ThreadID != "low" {
			continue
		}
		within++
		whole = append(whole, string(e.Line))
		if e.ThreadID == "low" {
			mixed = append(mixed, string(e.Line))
		}
		if e.Method != notify.ItemDelta {
			short = append(short, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, e.Method, notify.AppendSummary(nil, e.Method, e.Params)))
			if e.ThreadID == "top" {
				mixed = append(mixed, short[len(short)-1])
			}
		}
	}
	if within == len(all) || len(short) == len(whole) {
		t.Fatalf("%d events, %d of the tree, %d that are no delta", len(all), len(whole), len(short))
	}
	lines := func(args ...string) []string {
		args = append([]string{"watch", "--after=0", "-o", "jsonl"}, args...)
		return strings.Split(strings.TrimSpace(s.want(args...)), "\n")
	}
	if got := lines("--within=top", fmt.Sprint("--limit=", len(whole))); !slices.Equal(got, whole) {
		t.Errorf("within top: %s", got)
	}
	if got := lines("--within=top", "--content=summary", fmt.Sprint("--limit=", len(short))); !slices.Equal(got, short) {
		t.Errorf("summaries within top: %s", got)
	}
	if got := lines("--within=top", "--content=summary", "--whole=low", fmt.Sprint("--limit=", len(mixed))); !slices.Equal(got, mixed) {
		t.Errorf("summaries within top, low whole: %s", got)
	}
	if got := lines("--within=top", "--thread=other", "--thread=low", "--limit=1"); len(got) != 1 || !strings.Contains(got[0], `"thread_id":"low"`) {
		t.Errorf("within top and other or low: %s", got)
	}
	text := s.want("watch", "--after=0", "--within=top", "--content=summary", fmt.Sprint("--limit=", len(short)))
	if strings.Contains(text, "agents print") || strings.Contains(text, "elsewhere") || !strings.Contains(text, "completed") {
		t.Errorf("as text:\n%s", text)
	}
	var object struct{ Events []json.RawMessage }
	if err := json.Unmarshal([]byte(s.want("watch", "--after=0", "--thread=low", "--content=summary", "--limit=2", "-o", "json")), &object); err != nil || len(object.Events) != 2 {
		t.Errorf("%d events, %v", len(object.Events), err)
	}
	if r := s.holon("watch", "--within=top", "--content=whole"); r.code != exitUsage || !strings.Contains(r.err, "give summary") {
		t.Errorf("another content: exit %d, %s", r.code, r.err)
	}
	if r := s.holon("watch", "--whole=low"); r.code != exitUsage || !strings.Contains(r.err, "--content summary") {
		t.Errorf("whole without summaries: exit %d, %s", r.code, r.err)
	}
	if r := s.holon("watch", "--within="); r.code != exitUsage || !strings.Contains(r.err, "--within is empty") {
		t.Errorf("no thread: exit %d, %s", r.code, r.err)
	}
}

// Whoever follows a thread by a wrong name would wait for ever.
func TestWatchSaysThatAThreadIsNotThere(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=mine", "--title=Fix it", "/say one")
	for flag, content := range map[string]string{"--thread": "", "--within": "", "--whole": "summary"} {
		content = "--content=" + content
		if r := s.holon("watch", flag, "Fix it", content, "--after=0", "--limit=1"); r.code != exitOK || r.err != "" || !strings.Contains(r.out, "mine") && flag == "--within" {
			t.Errorf("%s by its title: %+v", flag, r)
		}
		s.want("call", "thread/start", `{"thread_id":"later`+flag+`"}`)
		r := s.holon("watch", flag, "nobody", flag, "later"+flag, content, "--after=0", "--limit=1")
		if r.code != exitOK || !strings.HasPrefix(r.err, "There is no thread nobody yet.") || strings.Contains(r.err, "thread later") {
			t.Errorf("%s: %+v", flag, r)
		}
		if r := s.holon("watch", flag, "nobody", flag, "later"+flag, content, "--after=0", "--limit=1", "-o", "jsonl"); r.code != exitOK || r.err != "" {
			t.Errorf("%s for a program: %+v", flag, r)
		}
	}
}
