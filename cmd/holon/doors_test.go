package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What TITLE of holon threads shows is a name, each by a beginning that only one thread has.
func TestWhatIsShownIsAName(t *testing.T) {
	all := []named{
		{kind: &threadNames, id: "given", title: "Fix the tests", given: true},
		{kind: &threadNames, id: "twin1", title: "two of us", given: true},
		{kind: &threadNames, id: "twin2", title: "Two of them", given: true},
		{kind: &threadNames, id: "prompted", began: "hello there"},
		{kind: &threadNames, id: "agents", title: "hello friend"},
		{kind: &threadNames, id: "once", began: "deploy"},
		{kind: &threadNames, id: "often", began: "deploy it again"},
		{kind: &threadNames, id: "both", title: "fix the roof"},
		{kind: &threadNames, id: "thread_12345678", title: "something"},
		{kind: &threadNames, id: "poser", title: "12345678"},
		{kind: &threadNames, id: "child", title: "fix the child", given: true, level: 1},
		{kind: &turnNames, id: "turn_87654321", title: "fix the roof", thread: "both"},
		{kind: &turnNames, id: "turn_87654322", title: "a turn", thread: "prompted"},
	}
	for name, want := range map[string]string{
		"fix":           "given", // what a client gave comes before what an agent chose
		"FIX THE T":     "given",
		"fix the roof":  "both", // and not its turn of this title
		"fix the r":     "both",
		"fix the child": "child",
		"hello there":   "prompted",
		"hello t":       "prompted",
		"hello":         "agents", // titles come before prompts
		"hello friend":  "agents",
		"deploy":        "once", // all of a prompt comes before a beginning
		"deploy i":      "often",
		"two of them":   "",
		"Two of them":   "twin2",
		"two of":        "twin1 twin2",
		"12345678":      "thread_12345678", // an id comes before what an agent chose
		"87654322":      "turn_87654322",
		"a tu":          "turn_87654322",
		"nothing":       "",
	} {
		if name == "two of them" {
			want = "twin2" // the only one that begins so
		}
		found, err := finder{}.ranked(all, name)
		if got := idsOf(found); err != nil || got != want {
			t.Errorf("%q is %q, want %q: %v", name, got, want, err)
		}
	}
	for name, want := range map[string]string{
		"fix": "given", "Two of": "twin1 twin2", "12345678": "thread_12345678", "87654322": "turn_87654322",
		"fix the roof": "", "fix the r": "", "hello": "", "hello there": "", "a turn": "",
	} {
		found, err := finder{ends: true}.ranked(all[:10], name)
		if name == "87654322" {
			found, err = finder{ends: true}.ranked(all[11:], name)
		}
		if got := idsOf(found); err != nil || got != want {
			t.Errorf("to end something %q is %q, want %q: %v", name, got, want, err)
		}
	}
	for name, want := range map[string]string{"fix": "", "hello": "", "Fix the tests": "given", "hello friend": "agents", "345678": "thread_12345678"} {
		if found, err := (finder{whole: true}).ranked(all, name); err != nil || idsOf(found) != want {
			t.Errorf("as a new id %q is %q, want %q: %v", name, idsOf(found), want, err)
		}
	}
	s := startServer(t)
	s.want("run", "--thread=prompted", "hello there")
	contains(t, s.want("turns", "hello t"), "prompted")
	s.want("close", "prompted")
	contains(t, s.want("attach", "Hello"), "agent: hello there")
}

func idsOf(list []named) string {
	var ids []string
	for _, n := range list {
		ids = append(ids, n.id)
	}
	return strings.Join(ids, " ")
}

// A name that may be a new id is never the beginning of a title.
func TestANewIDIsNoBeginning(t *testing.T) {
	s := startServer(t)
	s.startThreads([2]string{"one", "main work"})
	if got := oneObject(t, s.want("run", "-o=json", "--thread=main", "hello")); got["thread_id"] != "main" {
		t.Errorf("it went on in %v", got["thread_id"])
	}
	contains(t, s.want("run", "--thread=main work", "/say in it"), "in it")
	if threads := s.want("threads", "-o", "jsonl"); strings.Count(threads, "\n") != 2 {
		t.Errorf("threads:\n%s", threads)
	}
}

// An agent chooses its titles, and ids and titles of the threads that it starts. None of
// them stands for a command that ends, answers or closes, or lets others in.
func TestWhatAnAgentChoseEndsNothing(t *testing.T) {
	s := startServerForWorkers(t)
	c := s.claim("own")
	agent := &user{t: t, environ: []string{"HOLON_URL=" + c.Access.URL, "HOLON_TOKEN=" + c.Access.Token, "HOLON_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir()}}
	agent.must("", "run", "-q", "--background", "--parent=own", "--thread=thread_deploy", "--title=chosen title", "--review=always", "go")
	s.want("run", "-d", "--thread=prompted", "chosen by prompt\n/sleep 600000")
	s.startThreads([2]string{"mine", "thread_deploy"}) // a person's title, which the agent took for an id
	for _, name := range []string{"chosen title", "chosen t", "eploy", "deploy", "chosen by", "thread_deploy"} {
		for _, args := range [][]string{
			{"close"}, {"interrupt"}, {"retry"}, {"review", "--approve"}, {"steer", "--interrupt"}, {"run", "--on-busy=interrupt", "--thread"}, {"token", "create", "x", "--role=read", "--thread"},
		} {
			line := append(args[:len(args):len(args)], name)
			switch args[0] {
			case "run":
				if !strings.Contains(name, " ") {
					continue // it would be a new id
				}
				line = append(line, "text")
			case "steer":
				line = append(line, "text")
			}
			if r := s.holon(line...); r.code == exitOK || r.code == exitFailed && !strings.Contains(r.err, "no such t") {
				t.Errorf("%q: exit %d: %s%s", line, r.code, r.out, r.err)
			}
		}
		if r := s.holon("turns", name); r.code != exitOK {
			t.Errorf("a read of %q: exit %d: %s", name, r.code, r.err)
		}
	}
	if got := s.want("threads"); strings.Contains(got, "closed") || strings.Count(got, "working") != 3 {
		t.Errorf("threads:\n%s", got)
	}
	contains(t, s.holon("close", "chosen t").err, `"chosen t" is a prompt or what an agent chose`, "chosen title", "Name one by its ending")
	// What people gave stands for it, also below another thread once it was given later.
	s.want("rename", "chosen title", "the child")
	contains(t, s.want("close", "the ch", "--yes"), "the child")
	s.want("rename", "prompted", "the other")
	contains(t, s.want("close", "the o", "--yes"), "the other")
}

// Ids of 41 characters are for programs: people are shown what they can type.
func TestNoCommandPrintsAWholeIDWhereANameDoes(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	whole := regexp.MustCompile(`(thread|turn|item)_[0-9a-f]{8}-[0-9a-f-]{27}`)
	var ending string
	for i, line := range [][]string{
		{"run", "-d", "/ask Delete it?\n/sleep 600000"}, {"run", "-d", "--title=fix the tests", "/sleep 600000"}, {"run", "-d", "--background", "--parent=main", "/sleep 600000"},
		{"tree"}, {"threads"}, {"turns"}, {"items"}, {"respond"}, {"steer", "fix the tests", "leave b alone"}, {"pause", "fix the tests"}, {"resume", "fix the tests"},
		{"respond", "latest"}, {"respond", "latest", "--allow"}, {"interrupt", "fix the tests", "--yes"}, {"retry", "fix the tests"}, {"retry", "fix the tests"}, {"configure", "fix the tests"},
		{"run", "--review=always", "--title=reviewed", "/say done"}, {"review", "reviewed"}, {"review", "reviewed", "--reject", "/say again"}, {"attach", "reviewed", "--after=0"},
		{"await", "latest", "--timeout=0"}, {"fork", "reviewed"}, {"close", "fix the tests", "--yes"}, {"watch", "--after=0", "--limit=40"}, {"attach", "fix the tests"}, {"inbox", "main"},
	} {
		if line[0] == "attach" && line[1] == "reviewed" {
			s.want("close", "reviewed", "--yes")
		}
		r := s.holon(line...)
		said := r.out + r.err
		if line[0] == "review" && len(line) == 2 { // what it shows of a turn begins with its whole ids
			said = r.err
		}
		if found := whole.FindString(said); found != "" {
			t.Errorf("holon %s says %s:\n%s", strings.Join(line, " "), found, said)
		}
		switch i {
		case 0:
			ending = regexp.MustCompile(`holon attach (\S+)`).FindStringSubmatch(r.err)[1]
			eventually(t, "the turn asks", func() bool { return strings.Contains(s.want("turns", ending), "waiting") })
		case 1:
			contains(t, r.err, `holon attach "fix the tests"`, `holon interrupt "fix the tests"`)
		}
	}
	if got := s.holon("run", "-d", "--title=fix the tests", "hello").err; strings.Contains(got, `attach "fix`) {
		t.Errorf("a title that two threads have is given as a name: %s", got)
	}
	for _, title := range []string{"$(reboot)", "a `b`", `c:\d`, "what!", "-o", "latest", "main"} {
		if got := s.holon("run", "-d", "--title="+title, "hello").err; strings.Contains(got, inQuotes(title)) || strings.Contains(got, title+`"`) {
			t.Errorf("a shell or a command would read more in %s", got)
		}
	}
	if !whole.MatchString(s.want("run", "-q", "-d", "hello")) || !whole.MatchString(s.want("run", "-d", "-o=json", "hello")) || !whole.MatchString(s.want("run", "-d", "--long", "hello")) {
		t.Error("programs get no whole ids")
	}
}

// Hints name a thread by its title where that is a name. A queued turn has only its id:
// the title would stand for the turn that runs.
func TestHintsNameAThreadByItsTitle(t *testing.T) {
	s := startServer(t)
	for _, c := range []struct {
		args []string
		hint string
	}{
		{[]string{"run", "-d", "--title=fix b", "/sleep 600000"}, `holon interrupt "fix b"`},
		{[]string{"run", "-d", "--thread=fix b", "second"}, "holon interrupt ENDING"},
		{[]string{"await", "fix b"}, `holon turns "fix b"`},
		{[]string{"inbox", "fix b"}, `holon inbox send "fix b" "…"`},
		{[]string{"inbox", "subscriptions", "fix b"}, `holon inbox subscribe "fix b" events`},
		{[]string{"inbox", "subscribe", "fix b", "events", "--id=s"}, `holon inbox unsubscribe "fix b" s`},
		{[]string{"remind", "list", "fix b"}, `holon remind "fix b" "in 20m" "…"`},
		{[]string{"remind", "fix b", "in 20m", "x", "--id=t"}, `holon remind rm "fix b" t`},
		{[]string{"interrupt", "fix b"}, ""},
		{[]string{"retry", "fix b"}, `holon run --thread "fix b" "…"`}, // the second one has completed
		{[]string{"interrupt", "fix b"}, `holon turns "fix b" lists its turns`},
		{[]string{"run", "-d", "--thread=fix b", "--review=always", "/sleep 600000"}, `holon attach "fix b"`},
		{[]string{"retry", "fix b"}, `holon attach "fix b"; stop it with: holon interrupt "fix b"`},
	} {
		r := s.holon(c.args...)
		if c.hint == "" {
			eventually(t, "the second turn has ended", func() bool { return strings.Contains(s.want("turns", "fix b"), "completed") })
		}
		if !strings.Contains(regexp.MustCompile(`\b[0-9a-f]{8}\b`).ReplaceAllString(r.err, "ENDING"), c.hint) {
			t.Errorf("holon %q: %q is not in\n%s", c.args, c.hint, r.err)
		}
	}
}

// A review is named by its turn, its thread, or, to look at it, by a part of what it says.
func TestAReviewIsNamedByItsThread(t *testing.T) {
	s := startServer(t)
	for i, title := range []string{"fix the tests", "fix the roof"} {
		s.want("run", "-q", fmt.Sprintf("--thread=t%d", i), "--title="+title, "--review=always", "/say result of "+title)
	}
	s.want("run", "-q", "--thread=none", "--title=not reviewed", "/say plain")
	for _, name := range []string{"fix the t", "t0", "of fix the tests", "RESULT OF FIX THE T"} {
		contains(t, s.want("review", name), "result of fix the tests", "waits for a verdict")
	}
	contains(t, s.want("review", "latest"), "result of fix the roof")
	contains(t, s.want("review", "not reviewed"), "does not wait for a review")
	if r := s.holon("review", "result of"); r.code != exitUsage || !strings.Contains(r.err, `"result of" can be 2 turns`) {
		t.Errorf("a part of both: exit %d: %s", r.code, r.err)
	}
	for name, says := range map[string]string{"result of fix the tests": "is in what an agent said; a verdict takes the turn", "not reviewed": `no turn of "not reviewed" waits for a verdict`, "fix the": "can be 2 threads"} {
		if r := s.holon("review", name, "--approve"); r.code == exitOK || !strings.Contains(r.err, says) {
			t.Errorf("a verdict about %s: exit %d: %s", name, r.code, r.err)
		}
	}
	contains(t, s.want("review", "fix the tests", "--approve"), "approved")
	contains(t, s.want("review", "t1", "--block"), "blocked")
	contains(t, s.holon("review").err, "No turn waits for a verdict.")
}

// A name with a typing error is answered with the one that may be meant.
func TestAMistypedNameIsSuggested(t *testing.T) {
	s := startServer(t)
	s.startThreads([2]string{"maintenance", "fix the tests"})
	for name, want := range map[string]string{"fix teh tests": `Did you mean "fix the tests"?`, "maintenence": "Did you mean maintenance?", "something else": "holon threads lists the threads"} {
		contains(t, s.holon("attach", name).err, inQuotes(name)+": no such thread", want)
	}
	contains(t, s.holon("inbox", "sned").err, `"sned": no such thread`, "Did you mean holon inbox send?")
}
