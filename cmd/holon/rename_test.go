package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// titleOf is what lists show as the title of the only thread, and who gave it.
func (s *server) titleOf() (title, by string) {
	s.t.Helper()
	var r struct {
		Threads []struct {
			TitleBy string `json:"title_by"`
			Summary struct {
				Title string `json:"title"`
			} `json:"summary"`
		} `json:"threads"`
	}
	if err := json.Unmarshal([]byte(s.want("call", "thread/list", `{"view":"summary"}`)), &r); err != nil || len(r.Threads) != 1 {
		s.t.Fatalf("%+v, %v", r, err)
	}
	return r.Threads[0].Summary.Title, r.Threads[0].TitleBy
}

// TestATitleThatWasGivenBackIsGone looks at the list before each change, so that the
// server has kept the title that goes.
func TestATitleThatWasGivenBackIsGone(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=one", "hello there")
	for _, c := range []struct{ name, title, said, shown, by string }{
		{"one", "fix the tests", `one is now "fix the tests"`, "fix the tests", "client"},
		{"fix the tests", "flaky", `one "fix the tests" is now "flaky"`, "flaky", "client"},
		{"latest", "newest", `one "flaky" is now "newest"`, "newest", "client"},
		{"newe", "flaky", `one "newest" is now "flaky"`, "flaky", "client"},
		{"flaky", "", `one "flaky" has no title until its agent gives one`, "hello there", ""},
		{"one", "", "one has no title until its agent gives one", "hello there", ""},
	} {
		if r := s.holon("rename", c.name, c.title); r != (result{out: c.said + "\n"}) {
			t.Errorf("%s to %q: %+v", c.name, c.title, r)
		}
		if title, by := s.titleOf(); title != c.shown || by != c.by {
			t.Errorf("%s to %q: shown as %q, by %q", c.name, c.title, title, by)
		}
	}
}

func TestRenameTellsWhatIsWrong(t *testing.T) {
	s := startServer(t)
	s.startThreads([2]string{"one", "work"})
	for _, c := range []struct {
		args []string
		code int
		said string
	}{
		{[]string{"rename"}, exitUsage, "arguments are missing: holon rename THREAD TITLE"},
		{[]string{"rename", "one"}, exitUsage, "THREAD TITLE"},
		{[]string{"rename", "one", "two", "three"}, exitUsage, "in quotes"},
		{[]string{"rename", "none", "x"}, exitFailed, "no such thread"},
		{[]string{"rename", "one", "  "}, exitFailed, "title: is blank"},
		{[]string{"rename", "work", "x", "-o", "json"}, exitFailed, "no such thread"}, // programs name whole ids
	} {
		if r := s.holon(c.args...); r.code != c.code || !strings.Contains(r.err, c.said) {
			t.Errorf("%q: exit %d: %s", c.args, r.code, r.err)
		}
	}
	if title, _ := s.titleOf(); title != "work" {
		t.Errorf("the title is %q", title)
	}
	r := oneObject(t, s.want("rename", "one", "x", "-o", "json"))
	if r["title"] != "x" || r["title_by"] != "client" || r["thread_id"] != "one" || r["seq"] == nil {
		t.Errorf("%v", r)
	}
	again := fmt.Sprint(oneObject(t, s.want("rename", "one", "y", "-o", "json", "--idempotency-key=k")))
	s.want("rename", "one", "z")
	if r := fmt.Sprint(oneObject(t, s.want("rename", "one", "y", "-o", "json", "--idempotency-key=k"))); r != again {
		t.Errorf("the same key: %s, before %s", r, again)
	}
	if title, _ := s.titleOf(); title != "z" {
		t.Errorf("the title is %q", title)
	}
}
