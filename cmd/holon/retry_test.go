package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/rpc/client"
)

// triedTwice runs a turn whose agent dies, in two attempts, and returns it.
func triedTwice(s *server) string {
	s.t.Helper()
	r := s.holon("run", "-o", "json", "--thread=tried", "--max-attempts=2", "--backoff=10ms", "/say half\n/crash")
	object := oneObject(s.t, r.out)
	if r.code != exitFailed || object["state"] != "failed" || object["attempt"] != 2.0 || strings.Count(object["text"].(string), "half") != 1 {
		s.t.Fatalf("exit %d: %s%s", r.code, r.out, r.err)
	}
	return object["turn_id"].(string)
}

func TestARetriedRunPrintsTheLiveText(t *testing.T) {
	s := startServer(t)
	prompt := "/say half\n/step setup/clone\n/say cloning\n/again setup\n/say at hand\n/crash 1\n/end\n/say whole"
	want := "half\n\nat hand\n\nwhole"
	args := []string{"run", "--max-attempts=2", "--backoff=10ms", prompt}
	object := oneObject(t, s.want(append(args, "-o", "json")...))
	if object["text"] != want || object["attempt"] != 2.0 || object["state"] != "completed" {
		t.Errorf("%v", object)
	}
	if out := s.want(append(args, "-q")...); out != want+"\n" {
		t.Errorf("quiet: %q", out)
	}
	out := s.want("turns", object["turn_id"].(string))
	for _, row := range []string{"(the turn)   1    interrupted", "(the turn)   2    completed", "setup/clone  1 ", "setup        4    completed"} {
		if !strings.Contains(out, row) {
			t.Errorf("no %q in:\n%s", row, out)
		}
	}
	p := s.openTerminal(args...)
	p.awaitAfter("attempt 2 follows", "completed in")
	if code := p.exit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if got := p.seen.String(); strings.Count(got, "\x1b[J") != 3 { // two steps and the turn
		t.Errorf("the terminal was rewritten %d times:\n%q", strings.Count(got, "\x1b[J"), p.end())
	}
}

func TestAttemptsAreListed(t *testing.T) {
	s := startServer(t)
	id := triedTwice(s)
	if out := s.want("turns"); !strings.Contains(out, "2 of 2") {
		t.Errorf("turns:\n%s", out)
	}
	out := s.want("turns", id)
	if !strings.Contains(out, "attempt  2 of 2") || !strings.Contains(out, "superseded by") || strings.Count(out, "(the turn)") != 2 {
		t.Errorf("turns TURN:\n%s", out)
	}
	var read turnRead
	if err := json.Unmarshal([]byte(s.want("turns", id, "-o", "json")), &read); err != nil {
		t.Fatal(err)
	}
	if len(read.Attempts) != 2 || !read.Attempts[0].Superseded || read.Attempts[1].Superseded || read.Turn.Attempt != 2 {
		t.Errorf("%+v", read)
	}
	items, all := s.want("items", "--thread=tried"), s.want("items", "--thread=tried", "--superseded")
	if strings.Count(items, "half") != 2 || strings.Count(all, "half") != 3 { // the prompt says it too
		t.Errorf("items:\n%s\nwith superseded ones:\n%s", items, all)
	}
	if !strings.Contains(all, "completed, superseded") {
		t.Errorf("nothing says what is superseded:\n%s", all)
	}
}

func TestATurnIsRetriedByHand(t *testing.T) {
	s := startServer(t)
	id := triedTwice(s)
	first := s.holon("retry", id, "--reason=once more", "--idempotency-key=k")
	if first.code != exitOK || first.out != short(id)+" of tried: attempt 3, active\n" || !strings.Contains(first.err, "holon attach tried --after") {
		t.Fatalf("%+v", first)
	}
	if again := s.want("retry", id, "--reason=once more", "--idempotency-key=k"); !strings.HasPrefix(again, short(id)+" of tried: attempt 3, ") {
		t.Errorf("the same key: %s, first %s", again, first.out)
	}
	eventually(t, "the third attempt ends", func() bool {
		return strings.Contains(s.want("turns", id), "state    failed")
	})
	out := s.want("turns", id)
	if !strings.Contains(out, "attempt  3") || strings.Count(out, "superseded by") != 2 {
		t.Errorf("turns TURN:\n%s", out)
	}
	done := oneObject(t, s.want("run", "-o", "json", "hello"))["turn_id"].(string)
	for _, tc := range []struct{ turn, err string }{{done, "conflict"}, {"turn_none", "no such thread or turn"}} {
		if r := s.holon("retry", tc.turn); r.code != exitFailed || !strings.Contains(r.err, tc.err) {
			t.Errorf("retry %s: %+v", tc.turn, r)
		}
	}
	if r := s.holon("turns", id, "--state=failed"); r.code != exitUsage {
		t.Errorf("a turn and a filter: %+v", r)
	}
}

func TestARetryOfAThreadIsOfItsLastTurn(t *testing.T) {
	s := startServer(t)
	s.holon("run", "--thread=two", "--title=Fix it", "/say first\n/crash")
	s.holon("run", "--thread=two", "/say second\n/crash")
	last := oneObject(t, s.want("turns", "--thread=two", "--limit=1", "-o", "jsonl"))["turn_id"].(string)
	r := s.holon("retry", "Fix it")
	if r.code != exitOK || !strings.HasPrefix(r.out, short(last)+` of two "Fix it": attempt 2, `) {
		t.Errorf("%+v, want %s", r, last)
	}
	contains(t, r.err, `The last turn of two "Fix it": failed after `, `holon attach "Fix it" --after`)
	eventually(t, "the second attempt ends", func() bool { return strings.Contains(s.want("turns", last), "state    failed") })
	if got := oneObject(t, s.want("retry", "two", "-o", "json")); got["turn_id"] != last || got["attempt"] != 3.0 {
		t.Errorf("by the thread's whole id: %v", got)
	}
	s.want("run", "--thread=done", "/say done")
	contains(t, s.holon("retry", "done").err, "[conflict]", `It has completed. To start another turn: holon run --thread done "…"`)
	s.want("run", "-d", "--thread=busy", "/sleep 600000")
	contains(t, s.holon("retry", "busy").err, "It has not ended. See it with: holon attach busy; stop it with: holon interrupt ")
	s.want("call", "thread/start", `{"thread_id":"fresh"}`)
	r = s.holon("retry", "fresh")
	if r.code != exitFailed || r.out != "" {
		t.Errorf("a thread without turns: %+v", r)
	}
	contains(t, r.err, "fresh has no turn yet", "holon run --thread fresh")
}

func TestStatusShowsWhatActiveTurnsAreAt(t *testing.T) {
	s := startServer(t)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--thread=busy", "/progress thinking\n/sleep 60000") }()
	var out string
	eventually(t, "the turn is at work", func() bool {
		out = s.want("status")
		return strings.Contains(out, "running: thinking")
	})
	if !strings.Contains(out, "ATTEMPT") || !strings.Contains(out, "busy") {
		t.Errorf("status:\n%s", out)
	}
	id := oneObject(t, s.want("turns", "--thread=busy", "-o", "jsonl"))["turn_id"].(string)
	s.want("call", "turn/interrupt", `{"turn_id":"`+id+`"}`)
	if r := <-done; r.code != exitFailed {
		t.Errorf("run: %+v", r)
	}
}

func TestStatusDoesNotTakeABackoffForAPerson(t *testing.T) {
	s := startServer(t)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--thread=later", "--max-attempts=2", "--backoff=1h", "/crash") }()
	var r result
	eventually(t, "the turn waits for its next attempt", func() bool {
		r = s.holon("status")
		return strings.Contains(r.out, "1 waiting")
	})
	if strings.Contains(r.out, "person") || strings.Contains(r.err, "what waits") {
		t.Errorf("status: %+v", r)
	}
	id := oneObject(t, s.want("turns", "--thread=later", "-o", "jsonl"))["turn_id"].(string)
	s.want("call", "turn/interrupt", `{"turn_id":"`+id+`"}`)
	if r := <-done; r.code != exitFailed {
		t.Errorf("run: %+v", r)
	}
}

func TestWatchRemovesWhatARetrySupersedes(t *testing.T) {
	s := startServer(t)
	screen := s.openTerminal("watch")
	screen.await("waiting for events")
	// By hand, once the first attempt has been seen: a stream that collapses
	// may leave it out as soon as the marker exists.
	id := oneObject(t, s.holon("run", "-o", "json", "/say half\n/crash").out)["turn_id"].(string)
	screen.await("(agent_failed)")
	s.want("retry", id)
	screen.awaitAfter("attempt 2 follows", "(agent_failed)")
	all := s.events()
	if seen := screen.seen.String(); !strings.Contains(seen, "\x1b[J") || strings.Contains(seen, "no longer hold") {
		t.Errorf("the first attempt was not taken off the screen:\n%q", screen.end())
	}

	var markers, terminal int64
	for _, event := range all {
		switch event.Method {
		case "stream/rewind":
			markers++
		case "turn/failed":
			terminal = event.Seq
		}
	}
	if markers != 1 || terminal == 0 {
		t.Fatalf("%d markers, the end at %d", markers, terminal)
	}
	// A late client that uses collapse gets neither the first attempt nor its
	// line in the timeline.
	left := s.left(all, id)
	limit := "--limit=" + left.count
	out := s.want("watch", "--after=0", limit)
	if strings.Count(out, "agent: half") != 1 || strings.Count(out, "rewind: ") != 1 || strings.Contains(out, "no longer hold") || !strings.Contains(out, "turn: failed") {
		t.Errorf("collapsed:\n%s", out)
	}
	if got := s.want("watch", "--after=0", limit, "-o", "jsonl", "--superseded=hide"); got != left.lines {
		t.Errorf("got:\n%s\nwant:\n%s", got, left.lines)
	}
	for _, mode := range []string{"mark", "show"} {
		out := s.want("watch", "--after=0", "--superseded="+mode, "--limit="+strconv.Itoa(len(all)))
		if strings.Count(out, "agent: half") != 2 || strings.Count(out, "rewind: ") != 1 {
			t.Errorf("%s:\n%s", mode, out)
		}
	}
	for _, args := range [][]string{{"--superseded=gone"}, {"--superseded=mark", "-o", "jsonl"}} {
		if r := s.holon(append([]string{"watch"}, args...)...); r.code != exitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// remainder is the part of a log that collapse keeps.
type remainder struct{ count, lines string }

// left counts and joins the events that are not superseded: all but those of
// attempt 1 of the turn.
func (s *server) left(all []client.Event, turn string) remainder {
	s.t.Helper()
	var lines strings.Builder
	n := 0
	for _, event := range all {
		var p struct {
			Lineage []struct {
				Epoch int `json:"epoch"`
			} `json:"lineage"`
		}
		if err := json.Unmarshal(event.Params, &p); err != nil {
			s.t.Fatal(err)
		}
		if event.TurnID == turn && len(p.Lineage) > 0 && p.Lineage[0].Epoch == 1 {
			continue
		}
		n++
		lines.Write(event.Line)
		lines.WriteByte('\n')
	}
	return remainder{strconv.Itoa(n), lines.String()}
}
