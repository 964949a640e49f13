package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// startThreads starts threads with these ids and titles.
func (s *server) startThreads(list ...[2]string) {
	s.t.Helper()
	for _, t := range list {
		raw, err := json.Marshal(map[string]string{"thread_id": t[0], "title": t[1]})
		if err != nil {
			s.t.Fatal(err)
		}
		s.want("call", "thread/start", string(raw))
	}
}

// named asks what a name stands for, as a command for people does.
func (s *server) named(name string, kinds ...*nameKind) (id string, told string, err error) {
	s.t.Helper()
	c := client.New(client.Discover(s.data))
	defer c.Close()
	var errs buffer
	find := finder{console: &console{out: &errs, err: &errs}, ctx: s.t.Context(), client: c, tell: true}
	found, err := find.find(name, kinds...)
	return found.id, errs.String(), err
}

func TestNamesStandForOneThread(t *testing.T) {
	s := startServer(t)
	const first, second = "thread_01a207c1-b4db-7513-9fd7-98353d50f603", "thread_01a207c1-b4dd-70b0-aec4-1cbe0e894b12"
	list := [][2]string{
		{first, "修复 テスト 👩‍💻"},
		{second, "\x1b[31mred\x1b[0m\u202e tests"},
		{"own", "twice"},
		{"thread_other", "twice"},
		{"thread_mixed", "own"},              // the id of another
		{"thread_nearby", "0e894b12"},        // the ending of another
		{"thread_titled", first[:20]},        // the beginning of another
		{"thread_posing", "thread_0000beef"}, // looks like an id
		{"thread_closed", "closed one"},
	}
	s.startThreads(list...)
	titles := map[string]string{}
	for _, of := range list {
		titles[of[0]] = of[1]
	}
	s.want("call", "thread/close", `{"thread_id":"thread_closed"}`)
	for name, want := range map[string]string{
		first:             first,
		"own":             "own", // an id comes before a title
		"修复 テスト 👩‍💻":      first,
		"red\ufffd tests": second, // as tables show it
		"98353d50f603":    first,
		"3d50f":           first, // the beginning of what tables show
		"0e89":            second,
		"f603":            first,
		"4b12":            second,
		"0e894b12":        "thread_nearby", // a title comes before a part of an id
		first[:20]:        "thread_titled",
		first[7:22]:       first,
		first[:22]:        first,
		"thread_0000beef": "thread_posing",
		"closed one":      "thread_closed",
		"osed":            "thread_closed",
		latest:            "thread_closed",
		"":                "",
	} {
		id, told, err := s.named(name, &threadNames)
		if err != nil || id != want {
			t.Errorf("%q is %q, want %q: %v", name, id, want, err)
		}
		said, isTitle := strings.Contains(told, " is "), titles[id] == name || strings.Contains(name, "\ufffd")
		if said != (id != name && !isTitle) || said && name != short(id) && !strings.Contains(told, short(want)) {
			t.Errorf("%q, which is %s: said %q", name, want, told)
		}
		if strings.ContainsAny(told, "\x1b\u202e") {
			t.Errorf("%q: raw characters in %q", name, told)
		}
	}
	for name, want := range map[string]string{
		"01a207c1": `"01a207c1" can be 2 threads:`,
		"twice":    `"twice" can be 2 threads:`,
		"603":      "no such thread", // too short
		"own ":     "no such thread", // exactly the title; but see below
		"thread_01a207c1-b4db-7513-9fd7-000000000000": "",
		"01a207c1-b4de": "no such thread",
	} {
		id, _, err := s.named(name, &threadNames)
		switch {
		case name == "own ": // white space at the ends is not typed on purpose
			if err != nil || id != "thread_mixed" {
				t.Errorf("%q is %q: %v", name, id, err)
			}
		case want == "": // a whole id is not looked up
			if err != nil || id != name {
				t.Errorf("%q is %q: %v", name, id, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%q is %q: %v", name, id, err)
		}
	}
}

func TestAnAmbiguousNameListsWhatItCanBe(t *testing.T) {
	s := startServer(t)
	const a, b = "thread_01a207c1-b4db-7513-9fd7-98353d50f603", "thread_01a207c1-b4dd-70b0-aec4-1cbe0e894b12"
	s.startThreads([2]string{a, "日本語 work"}, [2]string{b, "日本語 work"}, [2]string{"c", "0e894b12"})
	s.want("call", "thread/close", `{"thread_id":"`+a+`"}`)
	r := s.holon("items", "--thread", "日本語 work")
	want := `holon: "日本語 work" can be 2 threads:
  THREAD                                       TITLE        STATE
  ` + b + `  日本語 work  idle TIME
  3d50f603                                     日本語 work  closed TIME
  Name one by its ending, such as ` + b + `, or by its whole id.
`
	if r.code != exitUsage || times.ReplaceAllString(r.err, "TIME") != want || r.out != "" {
		t.Errorf("exit %d: %q\n%s\nwant\n%s", r.code, r.out, r.err, want)
	}
	// Neither shared beginnings nor times are ever proposed.
	if strings.Contains(r.err, "01a207c1\n") || strings.Contains(r.err, "01a207c1 ") {
		t.Errorf("a shared beginning is proposed:\n%s", r.err)
	}
}

func TestProgramsNameByWholeIDsOnly(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=mine", "--title=Work", "hello")
	for _, args := range [][]string{
		{"turns", "--thread=Work"}, {"items", "--thread=latest"}, {"turns", "latest"}, {"tree", "Work"}, {"configure", "Work"}, {"review", "latest"},
		{"retry", "latest"}, {"fork", "Work"}, {"detach", "latest"}, {"inbox", "Work"}, {"inbox", "send", "Work", "x"}, {"notify", "list", "--thread=Work"},
	} {
		r := s.holon(append(args, "-o", "json")...)
		if found := strings.Contains(r.out, "mine") || strings.Contains(r.out, "turn_"); found {
			t.Errorf("%s found something: %s", args, r.out)
		}
	}
	if r := s.holon("turns", "latest", "-o", "json"); r.code != exitFailed || !strings.Contains(r.err, "With -o a name is a whole id") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := s.holon("interrupt", "latest", "-o", "json"); r.code != exitFailed || !strings.Contains(r.err, "With -o a name is a whole id") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := s.holon("run", "--thread=latest", "-o", "json", "x"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if got := oneObject(t, s.want("run", "--thread=Work", "-o", "json", "two")); got["thread_id"] != "Work" {
		t.Errorf("%v", got) // as before: it is made
	}
}

func TestEveryCommandTakesNames(t *testing.T) {
	s := startServer(t)
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	s.want("run", "--title=Fix it", "/say one")
	thread := threadIDs.FindString(s.want("threads", "--long"))
	turn := turnIDs.FindString(s.want("turns", "--long"))
	end := thread[len(thread)-8:]
	for _, args := range [][]string{
		{"turns", "--thread", end}, {"turns", "latest"}, {"turns", "Fix it"}, {"items", "Fix it"}, {"items", "--thread=Fix it", "--turn", turn[len(turn)-4:]}, {"tree", "Fix it"}, {"configure", end}, {"review", turn[len(turn)-6:]},
		{"await", "latest"}, {"inbox", "Fix it"}, {"inbox", "policy", "latest"}, {"inbox", "subscriptions", end}, {"remind", "list", "Fix it"},
		{"notify", "list", "--thread=Fix it"}, {"inbox", "flush", "Fix it"}, {"inbox", "wake", "Fix it"}, {"review", "--thread=Fix it"},
		{"run", "--thread=Fix it", "/say two"}, {"inbox", "send", "Fix it", "hello"}, {"inbox", "show", "latest", "--thread=Fix it"}, {"inbox", "ack", "latest", "--thread", end},
		{"inbox", "subscribe", "me", "events", "--id=s", "--thread-id=Fix it"}, {"remind", "Fix it", "in 20m", "x", "--id=t"}, {"remind", "rm", "Fix it", "t"},
		{"watch", "--thread=Fix it", "--after=0", "--limit=1"}, {"run", "--background", "--parent=Fix it", "/say three"},
	} {
		if r := s.holon(args...); r.code != exitOK {
			t.Errorf("%s: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	for _, args := range [][]string{{"retry", "latest"}, {"detach", "latest"}, {"fork", "Fix it"}, {"notify", "Fix it", "--bridge=none"}} { // known, and refused for other reasons
		if r := s.holon(args...); strings.Contains(r.err, "no such t") {
			t.Errorf("%s: %s", args, r.err)
		}
	}
	// What a change is about is said with its whole name.
	contains(t, s.holon("inbox", "send", end, "again").err, end+` is "Fix it"`)
	contains(t, s.holon("await", "Fix it").err, `"Fix it": no such turn`, "It is the thread "+end+` "Fix it". Its turns: holon turns "Fix it"`)
	contains(t, s.holon("close", end[5:]).err, "no such thread", "A beginning or ending of an id takes at least 4 characters.")
	contains(t, s.holon("interrupt", "nothing").err, `"nothing": no such thread or turn`, "holon threads lists the threads, holon turns the turns.")
	if got := s.holon("turns", "--thread", end).err; got != "" {
		t.Errorf("a read says %q", got)
	}
	threads := s.want("threads")
	if !strings.Contains(threads, end) || strings.Contains(threads, thread) {
		t.Errorf("threads:\n%s", threads)
	}
}

func TestAQuestionIsNamedByItsEnding(t *testing.T) {
	s := startServer(t)
	contains(t, s.holon("respond").err, "No question is open.")
	s.want("run", "--thread=main", "hello")
	s.want("run", "-q", "--background", "--parent=main", "/ask Delete it?")
	item := ""
	eventually(t, "it asks", func() bool { item = itemIDs.FindString(s.want("respond", "--long")); return item != "" })
	// The newest may be another one by now: it is shown, and answered by its own name.
	r := s.holon("respond", "latest", "--allow")
	if r.code != exitUsage || !strings.Contains(r.err, "latest is "+short(item)+` "Delete it?". Name the question`) {
		t.Errorf("the latest: %+v", r)
	}
	if r = s.holon("respond", "latest"); r.code != exitUsage || !strings.Contains(r.out, "Delete it?") {
		t.Errorf("the latest is not shown: %+v", r)
	}
	contains(t, s.holon("respond", short(item), "--option=bogus").err, "its options are")
	out := s.want("respond", item[len(item)-8:], "--allow")
	contains(t, out, short(item)+": completed")
	// Whoever comes second learns that, and what was answered, by every name.
	for _, args := range [][]string{{item, "--allow"}, {item[len(item)-8:], "--reject"}, {item[len(item)-8:]}} {
		if r := s.holon(append([]string{"respond"}, args...)...); r.code != exitFailed || !strings.Contains(r.err, "the question has been answered already") || !strings.Contains(r.err, "\n  It was: Allow\n") {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}

func TestAQuestionIsNamedByItsThread(t *testing.T) {
	s := startServer(t)
	s.want("run", "-d", "--title=the tests", "--thread=one", "/ask First?\n/ask Second?")
	s.want("run", "-d", "--thread=two", "/ask Third?")
	s.want("run", "--thread=three", "hello")
	eventually(t, "both ask", func() bool { return strings.Count(s.want("respond"), "?") == 2 })
	// Shown is the question of the thread; answered is what was named, and not what the agent asks by now.
	r := s.holon("respond", "the te")
	if r.code != exitUsage || !strings.Contains(r.out, "First?") || !strings.Contains(r.out, "1) Allow") {
		t.Errorf("it is not shown: %+v", r)
	}
	r = s.holon("respond", "the te", "--allow")
	named := regexp.MustCompile(`"the te" asks [0-9a-f]{8} "First\?". Name the question, .*: holon respond ([0-9a-f]{8})\n`).FindStringSubmatch(r.err)
	if r.code != exitUsage || named == nil {
		t.Fatalf("answered by its thread: %+v", r)
	}
	contains(t, s.want("respond", named[1], "--allow"), "completed (allow_once)")
	eventually(t, "it asks again", func() bool { return strings.Contains(s.want("respond"), "Second?") })
	r = s.holon("respond", "/ask Third?", "--allow") // the prompt: an agent's title may look like it
	if r.code != exitUsage || !strings.Contains(r.err, "is a prompt or what an agent chose") {
		t.Errorf("by a prompt: exit %d: %s", r.code, r.err)
	}
	s.want("rename", "three", "ok") // a word of an answer, which beside a flag is a name
	if r := s.holon("respond", "ok", "--allow"); r.code != exitFailed || !strings.Contains(r.err, `no question of "ok" is open`) {
		t.Errorf("a title that is a word of an answer: %+v", r)
	}
	if r := s.holon("respond", "three", "--allow"); r.code != exitFailed || !strings.Contains(r.err, `no question of "three" is open`) {
		t.Errorf("a thread without one: exit %d: %s", r.code, r.err)
	}
	if list := s.want("respond"); !strings.Contains(list, "Third?") || !strings.Contains(list, "Second?") {
		t.Errorf("what is open:\n%s", list)
	}
	// An agent that asks in the words of the title does not hide which question was answered.
	s.want("run", "-d", "--title=Fourth?", "/ask Fourth?")
	eventually(t, "it asks", func() bool { return strings.Contains(s.want("respond"), "Fourth?") })
	if r := s.holon("respond", "Fourth?"); r.code != exitUsage || !strings.Contains(r.err, `Fourth? asks: `) || !strings.Contains(r.err, ` "Fourth?"`) {
		t.Errorf("%+v", r)
	}
}

func TestRunSaysThatItMakesAThread(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=work2", "--title=fix it", "hello")
	r := s.holon("run", "--thread=wrok2", "hello")
	if r.code != exitOK || !strings.Contains(r.err, "wrok2 is a new thread; did you mean work2?\n") {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"--thread=work2"}, {"--thread=fix it"}, {"-q", "--thread=quiet"}, {"-o=json", "--thread=json"}} {
		if r := s.holon(append(append([]string{"run"}, args...), "hello")...); r.code != exitOK || strings.Contains(r.err, "new thread") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	// What TITLE shows is the name of the thread that is there, whether it could be an id or not.
	first := threadIDs.FindString(s.want("run", "-o=json", "begin"))
	contains(t, s.want("run", "--thread=begin", "again"), "completed")
	if list := s.want("turns", first, "--long"); strings.Count(list, "\n") != 3 {
		t.Errorf("its turns:\n%s", list)
	}
	s.want("run", "--thread=other", "use a tool again")
	contains(t, s.want("run", "--thread=use a tool again", "hello"), "completed")
	if r := s.holon("run", "--thread=use a tol again", "hello"); r.code != exitFailed || !strings.Contains(r.err, `did you mean "use a tool again"?`) && !strings.Contains(r.err, `Did you mean "use a tool again"?`) {
		t.Errorf("%+v", r)
	}
	if list := s.want("threads"); strings.Count(list, "\n") != 7 {
		t.Errorf("threads:\n%s", list)
	}
}

func TestRunMakesAThreadButNeverOneCalledLatest(t *testing.T) {
	s := startServer(t)
	if r := s.holon("run", "--thread=latest", "x"); r.code != exitFailed || !strings.Contains(r.err, `"latest": no such thread`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := s.holon("run", "--thread=no such title", "x"); r.code != exitFailed || !strings.Contains(r.err, `"no such title": no such thread`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	s.want("run", "--thread=fresh", "x")
	if threads := s.want("threads", "-o", "jsonl"); strings.Count(threads, "\n") != 1 {
		t.Errorf("threads:\n%s", threads)
	}
}

func TestOnlySoManyThreadsAreLookedAt(t *testing.T) {
	s := startServer(t)
	// The server selects by the words of the name, and all of them are in the agent's name.
	s.startThreads([2]string{"a", "old"}, [2]string{"b", "echo"}, [2]string{"c", "newer"})
	c := client.New(client.Discover(s.data))
	defer c.Close()
	var errs buffer
	find := finder{console: &console{err: &errs}, ctx: t.Context(), client: c, most: 2}
	if id, err := find.thread("echo"); id != "b" || err != nil || errs.String() != "Only the newest 2 threads were looked at.\n" {
		t.Errorf("%q, %v, %q", id, err, errs.String())
	}
	if _, err := find.thread("cho"); err == nil || !strings.Contains(err.Error(), `"cho" among the newest 2 threads: no such thread`) {
		t.Error(err)
	}
	if id, err := find.thread("old"); id != "a" || err != nil {
		t.Errorf("one that only the server finds: %q, %v", id, err)
	}
	if id, err := find.thread("a"); id != "a" || err != nil {
		t.Errorf("an id: %q, %v", id, err)
	}
}

// An agent names the threads of its scope by their ids. What it may not list it cannot
// name, and no thread is called latest for it.
func TestAgentsNameThreadsByTheirIDs(t *testing.T) {
	s := startServerForWorkers(t)
	c := s.claim("own")
	agent := func(args ...string) result {
		t.Helper()
		var out, errs buffer
		g := &globals{console: console{in: strings.NewReader(""), out: &out, err: &errs, environ: []string{
			"HOLON_URL=" + c.Access.URL, "HOLON_TOKEN=" + c.Access.Token, "HOLON_DATA=" + t.TempDir(), "XDG_CONFIG_HOME=" + t.TempDir(),
		}}}
		code := execute(t.Context(), g, args)
		return result{code, out.String(), errs.String()}
	}
	if r := agent("run", "-q", "-d", "--parent=own", "--thread=kid", "hello"); r.code != exitOK || anonymous(r.out) != "TURN\n" {
		t.Errorf("a child: %+v", r)
	}
	if r := agent("turns", "--thread=kid"); r.code != exitOK || !strings.Contains(r.out, "kid") {
		t.Errorf("its turns: %+v", r)
	}
	if r := agent("run", "-q", "-d", "--parent=own", "--thread=latest", "hello"); r.code != exitFailed || !strings.Contains(r.err, "forbidden") {
		t.Errorf("latest: %+v", r)
	}
	if threads := s.want("threads", "--long"); strings.Contains(threads, latest) {
		t.Errorf("threads:\n%s", threads)
	}
}

func TestATitleWithoutQuotesIsExplained(t *testing.T) {
	r := holon(t, freshDir(t), "", "interrupt", "fix", "the", "tests")
	if r.code != exitUsage || !strings.Contains(r.err, `a title goes in quotes: holon interrupt "fix the tests"`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	r = holon(t, freshDir(t), "", "attach")
	if r.code != exitUsage || !strings.Contains(r.err, "which THREAD? holon help names") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

// A title that looks like the id of another thread ends neither of them.
func TestATitleThatIsAnotherIDEndsNothing(t *testing.T) {
	s := startServer(t)
	s.want("run", "-q", "hello")
	id := short(threadIDs.FindString(s.want("threads", "--long")))
	s.want("run", "-q", "--thread=other", "hello")
	s.want("rename", "other", id)
	if r := s.holon("close", id, "--yes"); r.code != exitUsage || !strings.Contains(r.err, `"`+id+`" can be 2 threads`) {
		t.Errorf("%+v", r)
	}
	if r := s.holon("items", id); r.code != exitOK { // a read takes the title
		t.Errorf("%+v", r)
	}
	contains(t, s.want("close", "other", "--yes"), "closed")
}
