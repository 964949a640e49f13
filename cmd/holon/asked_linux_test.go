package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// startServerThatAsks serves the agent asks, which wants to run a command of 40 lines.
func startServerThatAsks(t *testing.T) *server {
	t.Helper()
	var command strings.Builder
	for i := range 40 {
		fmt.Fprintf(&command, `line %d of it\n`, i+1)
	}
	agents := agentsOf(t, "asks=exec:cat")
	asks := agents["asks"]
	asks.Command = []string{"sh", "-c", `cat <<'EOF'` + "\n" + `{"event":"ask","id":"a","title":"Run","subject":{"type":"command","command":"` + command.String() + `"}}` + "\nEOF\nread prompt; read answer"}
	asks.Exec.Input, asks.Exec.Output = "json", "events"
	agents["asks"] = asks
	s := &server{t: t, data: t.TempDir(), agents: agents}
	s.start()
	return s
}

// What does not fit is counted, and is shown before it is allowed.
func TestNothingIsAllowedBeforeAllOfItWasShown(t *testing.T) {
	s := startServerThatAsks(t)
	p := s.openTerminal("run", "--agent=asks", "go")
	p.awaitAfter("$ line 1 of it", "line 14 of it")
	p.awaitAfter("… 26 more lines", "answer 1-2, y or n: ")
	if strings.Contains(p.seen.String(), "line 40 of it") {
		t.Error("more is shown than fits")
	}
	p.enter("y")
	p.awaitAfter("line 40 of it", "That was all of it.")
	p.awaitAfter("That was all of it.", "answer 1-2, y or n: ")
	if waiting, _ := oneObject(t, s.want("respond", "-o", "json"))["items"].([]any); len(waiting) != 1 {
		t.Error("it was allowed before all of it was shown")
	}
	p.enter("y")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
}

// What is asked for is in the list too, whatever the agent calls it.
func TestTheListOfQuestionsSaysWhatTheyAreAbout(t *testing.T) {
	agents := agentsOf(t, "asks=exec:cat")
	asks := agents["asks"]
	asks.Command = []string{"sh", "-c", `cat <<'EOF'
{"event":"item","id":"i","content":{"type":"command_execution","command":"rm -r everything"}}
{"event":"ask","id":"a","title":"Show the date","subject":{"item_id":"i","type":"command"}}
EOF
read prompt; read answer`}
	asks.Exec.Input, asks.Exec.Output = "json", "events"
	agents["asks"] = asks
	s := &server{t: t, data: t.TempDir(), agents: agents}
	s.start()
	s.want("run", "-d", "--agent=asks", "go")
	list := ""
	eventually(t, "it asks", func() bool { list = s.want("respond"); return strings.Contains(list, "ITEM") })
	if !strings.Contains(list, "rm -r everything") || strings.Contains(list, "Show the date") {
		t.Errorf("the list:\n%s", list)
	}
	if r := s.holon("respond", "-o", "json"); !strings.Contains(r.out, "Show the date") {
		t.Errorf("programs read the item itself: %+v", r)
	}
	if got := s.want("tree"); !strings.Contains(got, "? run rm -r everything\n") || strings.Contains(got, "Show the date") {
		t.Errorf("the tree:\n%s", got)
	}
	p := s.openTerminal("tree", "--watch")
	p.await("? run rm -r everything")
	s.want("run", "-d", "--agent=asks", "--thread=later", "go")
	p.awaitAfter("later", "? run rm -r everything")
	if strings.Contains(p.seen.String(), "Show the date") {
		t.Error("the live tree has the agent's own words")
	}
}

func TestRespondShowsAllOfAQuestion(t *testing.T) {
	s := startServerThatAsks(t)
	run := make(chan result, 1)
	go func() { run <- s.holon("run", "--agent=asks", "go") }()
	item := ""
	eventually(t, "it asks", func() bool {
		waiting, _ := oneObject(t, s.want("respond", "-o", "json"))["items"].([]any)
		if len(waiting) == 1 {
			item, _ = waiting[0].(map[string]any)["item_id"].(string)
		}
		return item != ""
	})
	if r := s.holon("respond", item); r.code != exitUsage || !strings.Contains(r.out, "│ line 40 of it\n") || !strings.Contains(r.out, "  1) ") || !strings.Contains(r.err, "give exactly one of --allow") {
		t.Errorf("into a pipe: exit %d: %s%s", r.code, r.out, r.err)
	}
	p := s.openTerminal("respond", item)
	p.awaitAfter("run line 1 of it⏎line 2 of it", "$ line 1 of it")
	p.awaitAfter("line 40 of it", "answer 1-2, y or n: ")
	if strings.Contains(p.seen.String(), "more line") {
		t.Error("something is left out")
	}
	p.enter("y")
	p.awaitAfter(short(item)+": ", "completed")
	if r := <-run; r.code != exitOK || !strings.Contains(r.out, "… 24 more lines") {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
}

func TestAChatAllowsNothingBeforeAllOfItWasShown(t *testing.T) {
	var out buffer
	q := newQuestion("item_1", timeline.Content{Type: "permission_request", Options: []timeline.Option{{ID: "y", Kind: "allow_persistent"}, {ID: "n", Kind: "reject_once"}}})
	for i := range 40 {
		q.rows = append(q.rows, fmt.Sprintf("row %d", i+1))
	}
	if first := q.first(); len(first) != firstRows || !strings.HasPrefix(first[firstRows-1], "… 25 more lines") {
		t.Errorf("the first rows are %q", first)
	}
	q.shown = true
	long := time.Now().Add(-time.Hour)
	p := &plainChat{con: &console{out: &out}, input: &lineInput{}, open: []plainQuestion{{question: q, asked: long}}}
	if err := p.answer("1"); err != nil {
		t.Fatal(err)
	}
	if p.pending != 0 || len(p.open) != 1 || strings.Contains(out.String(), "row 15\n") || !strings.Contains(out.String(), "question: row 16\n") || !strings.Contains(out.String(), "question: row 40\nquestion: That was all of it.") {
		t.Errorf("%d calls, %d questions:\n%s", p.pending, len(p.open), out.String())
	}
	if rest := p.open[0].rest(map[string]any{"option_id": "y"}); len(rest) != 0 {
		t.Errorf("%q is shown twice", rest)
	}
	p.open[0].written = 3
	if rest := p.open[0].rest(map[string]any{"option_id": "n"}); len(rest) != 0 {
		t.Errorf("a rejection waits for %q", rest)
	}
}
