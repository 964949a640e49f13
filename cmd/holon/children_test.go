package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// startOwner starts the thread main with a turn that waits for a child turn, and
// returns both turns. The child asks a question.
func (s *server) startOwner() (owner, child string) {
	s.t.Helper()
	start := func(params string) string {
		s.t.Helper()
		return oneObject(s.t, s.want("call", "turn/start", params))["turn_id"].(string)
	}
	s.want("call", "thread/start", `{"thread_id":"main","title":"Release"}`)
	s.want("call", "thread/start", `{"thread_id":"kid","parent":{"thread_id":"main"}}`)
	owner = start(`{"thread_id":"main","input":` + promptJSON(`/ask Shall I begin?`) + `}`)
	child = start(`{"thread_id":"kid","parent":{"thread_id":"main"},"title":"the tests","input":` + promptJSON(`/ask Delete it?`) + `}`)
	for _, line := range strings.Split(strings.TrimSpace(s.want("items", "--status=pending", "-o", "jsonl")), "\n") {
		if item := oneObject(s.t, line); item["thread_id"] == "main" {
			s.want("respond", item["item_id"].(string), "--allow")
		}
	}
	eventually(s.t, "the owner waits for its child", func() bool {
		waits, _ := oneObject(s.t, s.want("call", "thread/read", `{"thread_id":"main"}`))["waits_for"].([]any)
		return len(waits) == 1
	})
	return owner, child
}

// promptJSON is the input of a turn.
func promptJSON(text string) string {
	raw, err := json.Marshal(userInput(text))
	if err != nil {
		panic(err)
	}
	return string(raw)
}

var (
	turnIDs   = regexp.MustCompile(`turn_[0-9a-f-]{36}`)
	threadIDs = regexp.MustCompile(`thread_[0-9a-f-]{36}`)
	itemIDs   = regexp.MustCompile(`item_[0-9a-f-]{36}`)
	endings   = regexp.MustCompile(`(?m)^[0-9a-f]{8}\b`) // of ids, at the beginning of a line
	gaps      = regexp.MustCompile(`  +`)
	times     = regexp.MustCompile(`(<?\d+\.\d+s|\d+s|\d+m\d+s)`)
)

// laidOut is a tree without ids, times, and the widths that follow from them.
func laidOut(text string) string { return gaps.ReplaceAllString(anonymous(text), "  ") }

// anonymous is a text without ids and times.
func anonymous(text string) string {
	text = turnIDs.ReplaceAllString(text, "TURN")
	text = endings.ReplaceAllString(text, "TURN")
	text = threadIDs.ReplaceAllString(text, "THREAD")
	text = itemIDs.ReplaceAllString(text, "ITEM")
	return times.ReplaceAllString(text, "TIME")
}

func TestABackgroundRunSaysHowToFollowIt(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	r := s.holon("run", "--background", "--parent=main", "--title=the tests", "/say all is well")
	turn, rest, _ := strings.Cut(r.out, ":")
	thread := strings.TrimSuffix(strings.TrimPrefix(rest, " active, in thread "), " \"the tests\"\n")
	if r.code != exitOK || len(turn) != shownEnd || len(thread) != shownEnd {
		t.Errorf("exit %d: %q", r.code, r.out)
	}
	contains(t, r.err, "holon await "+turn, "holon attach "+thread+" --after", "holon inbox policy main --wake idle")
	if got := anonymous(s.want("await", turn)); got != "TURN \"the tests\": completed in TIME\n  all is well\n" {
		t.Errorf("%q", got)
	}
	s.want("inbox", "policy", "main", "--wake=idle")
	contains(t, s.holon("run", "--background", "--parent=main", "hello").err, "whose agent is told")

	if id := s.want("run", "-q", "--background", "--parent=main", "--thread=own", "hello"); anonymous(id) != "TURN\n" {
		t.Errorf("-q: %q", id)
	}
	answer := oneObject(t, s.want("run", "-o=json", "--background", "--parent=main", "--thread=own", "hello"))
	if answer["thread_id"] != "own" || answer["attention_policy"] != "notify_on_terminal" {
		t.Errorf("%v", answer)
	}
	if r := s.holon("run", "--background", "--parent=own", "--thread=main", "hello"); r.code != exitFailed || !strings.Contains(r.err, "main is above it") {
		t.Errorf("a thread above: exit %d, %s", r.code, r.err)
	}
}

func TestARunThatIsRefusedLeavesNoOpenChildThread(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	open := func() (ids []string) {
		for line := range strings.Lines(s.want("threads", "-o", "jsonl")) {
			if th := oneObject(t, line); th["state"] != "closed" {
				ids = append(ids, th["thread_id"].(string))
			}
		}
		slices.Sort(ids)
		return ids
	}
	for _, busy := range []string{"steer", "interrupt", "what"} {
		if r := s.holon("run", "--parent=main", "--on-busy="+busy, "hello"); r.code != exitUsage || !strings.Contains(r.err, "queue or reject") {
			t.Errorf("--on-busy=%s: exit %d, %s", busy, r.code, r.err)
		}
	}
	if n := strings.Count(s.want("threads", "-o", "jsonl"), "\n"); n != 1 {
		t.Errorf("%d threads, though the command cannot start such turns", n)
	}
	for _, more := range [][]string{{}, {"--background"}, {"--thread=kid"}, {"--idempotency-key=once"}} {
		// The server refuses the turn, not the thread.
		if r := s.holon(append([]string{"run", "--parent=main", "--max-attempts=101", "hello"}, more...)...); r.code != exitFailed || !strings.Contains(r.err, "--max-attempts: must be") {
			t.Errorf("%v: exit %d, %s", more, r.code, r.err)
		}
	}
	// Those of which a further run knows the name or the key stay.
	if got := open(); len(got) != 3 || got[0] != "kid" || got[1] != "main" {
		t.Errorf("open threads: %v", got)
	}
	s.want("run", "--parent=main", "--thread=kid", "hello")
	s.want("run", "--parent=main", "--idempotency-key=once", "hello")
	if got := open(); len(got) != 3 {
		t.Errorf("open threads after a second run: %v", got)
	}
}

func TestAwaitPrintsResultsAndItsExitCodeSaysWhetherAllIsWell(t *testing.T) {
	s := startServer(t)
	s.want("run", "--thread=main", "hello")
	start := func(prompt string) string {
		return strings.TrimSpace(s.want("run", "-q", "--background", "--parent=main", prompt))
	}
	fine, broken, slow := start("fine\nand well"), start("/fail it broke"), start("/ask Go on?")
	s.want("await", fine)
	s.holon("await", broken)
	for _, tc := range []struct {
		args []string
		code int
		out  string
	}{
		{[]string{fine}, exitOK, "TURN: completed in TIME\n  fine\n  and well\n"},
		{[]string{fine, slow}, exitOK, "TURN: completed in TIME\n  fine\n  and well\nTURN: has been running for TIME\n"},
		{[]string{"--all", "--timeout=100ms", fine, slow}, exitFailed, "TURN: completed in TIME\n  fine\n  and well\nTURN: has been running for TIME\n"},
		{[]string{"--timeout=0", slow}, exitFailed, "TURN: has been running for TIME\n"},
		{[]string{broken}, exitFailed, "TURN: failed after TIME (agent_failed): it broke\n"},
		{[]string{"turn_none", fine}, exitFailed, "turn_none: there is no such turn\nTURN: completed in TIME\n  fine\n  and well\n"},
		{[]string{"--owner=other", fine}, exitFailed, ""},
	} {
		r := s.holon(append([]string{"await"}, tc.args...)...)
		if got := anonymous(r.out); r.code != tc.code || got != tc.out {
			t.Errorf("await %s: exit %d, %q %s; want %d, %q", tc.args, r.code, got, r.err, tc.code, tc.out)
		}
	}
	for line := range strings.Lines(s.want("await", "-o=jsonl", fine, slow)) {
		oneObject(t, line)
	}
	// What an owner was shown is told: it is listed once.
	r := s.holon("await", "--owner=main", "--timeout=0")
	if strings.Count(anonymous(r.out), "TURN") != 3 {
		t.Errorf("the first time: %q", r.out)
	}
	eventually(t, "only the slow one is left", func() bool {
		r := s.holon("await", "--owner=main", "--timeout=0")
		return strings.Count(anonymous(r.out), "TURN") == 1 && r.code == exitFailed
	})
	if r := s.holon("await", "--owner=nobody"); r.code != exitFailed || !strings.Contains(r.err, "no such thread") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

func TestDetachLetsTheOwnerComplete(t *testing.T) {
	s := startServer(t)
	owner, child := s.startOwner()
	if got := s.want("detach", child); got != short(child)+": active, and nothing waits for it\n" {
		t.Errorf("%q", got)
	}
	s.want("await", owner)
	if r := s.holon("detach", owner); r.code != exitFailed || !strings.Contains(r.err, "is no child turn") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	if answer := oneObject(t, s.want("detach", "-o=json", child)); answer["attention_policy"] != "notify_on_terminal" {
		t.Errorf("%v", answer)
	}
}

func TestTreeShowsWhatEachChildDoes(t *testing.T) {
	s := startServer(t)
	if r := s.holon("tree"); r.code != exitOK || r.out != "" || !strings.Contains(r.err, "No thread has child threads") {
		t.Errorf("an empty tree: %+v", r)
	}
	s.want("run", "--thread=alone", "hello")
	s.startOwner()
	for thread, prompt := range map[string]string{"fine": "/say fine", "broken": "/fail it broke"} {
		s.holon("await", strings.TrimSpace(s.want("run", "-q", "--background", "--parent=kid", "--thread="+thread, "--title=work of "+thread, prompt)))
	}
	s.want("call", "thread/close", `{"thread_id":"fine"}`)
	const want = `◔ Release            waiting for 1 child, TIME          main
└─ ? the tests       asks, TIME                         kid
   │  ? Delete it?
   │    holon respond ITEM
   └─ ✗ work of broken  failed after TIME: it broke  broken
`
	if got := laidOut(s.want("tree", "--long")); got != laidOut(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r := s.holon("tree", "alone"); !strings.HasPrefix(r.out, "✓ alone  completed in ") || strings.Count(r.out, "\n") != 1 || r.err != "It has no child threads. This starts one: holon run --parent alone \"…\"\n" {
		t.Errorf("one thread: %+v", r)
	}
	if r := s.holon("tree", "main"); r.err != "" {
		t.Errorf("with a child: %+v", r)
	}
	all := oneObject(t, s.want("tree", "-o=json"))
	main := all["threads"].([]any)[0].(map[string]any)
	kid := main["children"].([]any)[0].(map[string]any)
	if main["thread_id"] != "main" || kid["questions"].([]any)[0].(map[string]any)["text"] != "Delete it?" {
		t.Errorf("%v", all)
	}
	for line := range strings.Lines(s.want("tree", "-o=jsonl")) {
		oneObject(t, line)
	}
	contains(t, s.want("tree", "-o=toon"), "thread_id: main")
	if r := s.holon("tree", "nobody"); r.code != exitFailed || !strings.Contains(r.err, "no such thread") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// A tree that is folded from events is the one that is read.
func TestTheLiveTreeIsTheOneThatIsRead(t *testing.T) {
	s := startServer(t)
	_, child := s.startOwner()
	s.holon("await", strings.TrimSpace(s.want("run", "-q", "--background", "--parent=kid", "--thread=broken", "/transient 1\n/say fine")))
	s.want("run", "-q", "--background", "--parent=main", "--thread=kid", "--title=queued", "hello")
	compare := func(when string) {
		t.Helper()
		f := newForest("")
		for _, e := range s.events() {
			f.apply(e)
		}
		g := &globals{console: console{environ: []string{"LANG=C"}}}
		got := f.picture(&g.console).text()
		g = &globals{console: console{environ: []string{"HOLON_DATA=" + s.data, "LANG=C"}, out: &buffer{}, err: &buffer{}}}
		want := func() string {
			root := newRootCommand(g)
			root.SetContext(t.Context())
			c, err := g.caller(root)
			if err != nil {
				t.Fatal(err)
			}
			defer c.close()
			read, err := c.readForest("")
			if err != nil {
				t.Fatal(err)
			}
			return read.picture(&g.console).text()
		}()
		if laidOut(got) != laidOut(want) || !strings.Contains(got, "`- ") {
			t.Errorf("%s: folded\n%s\nread\n%s", when, got, want)
		}
	}
	compare("while it waits")
	s.holon("retry", turnIDs.FindString(s.want("turns", "--thread=broken", "-o=json")))
	s.want("call", "turn/interrupt", `{"turn_id":"`+child+`"}`)
	eventually(t, "the owner goes on, and all end", func() bool {
		n := 0
		for _, state := range []string{"active", "queued"} {
			n += len(oneObject(t, s.want("call", "turn/list", `{"state":"`+state+`"}`))["turns"].([]any))
		}
		return n == 0
	})
	compare("after the end")
}
