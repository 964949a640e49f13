package main

import (
	"fmt"
	"strings"
	"testing"
)

// startSleeper starts a thread with a turn that sleeps, and returns both.
func (s *server) startSleeper(id, title string) (threadID, turnID string) {
	s.t.Helper()
	s.startThreads([2]string{id, title})
	turn := oneObject(s.t, s.want("call", "turn/start", fmt.Sprintf(`{"thread_id":%q,"input":%s}`, id, promptJSON("/sleep 600000"))))
	return id, turn["turn_id"].(string)
}

// stateOf is the state of a turn or thread.
func (s *server) stateOf(id string) string {
	s.t.Helper()
	method, member := "thread/read", "thread"
	if strings.HasPrefix(id, "turn_") {
		method, member = "turn/read", "turn"
	}
	read := oneObject(s.t, s.want("call", method, fmt.Sprintf(`{"%s_id":%q}`, member, id)))
	return read[member].(map[string]any)["state"].(string)
}

func TestInterruptStopsTheOnlyActiveTurnAndNeverGuesses(t *testing.T) {
	s := startServer(t)
	if r := s.holon("interrupt"); r.code != exitFailed || !strings.Contains(r.err, "no turn is active") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	_, first := s.startSleeper("one", "日本語 work")
	_, second := s.startSleeper("two", "\x1b[2Jother")
	r := s.holon("interrupt")
	if r.code != exitUsage || !strings.Contains(r.err, "which one? There are 2 turns to interrupt") || !strings.Contains(r.err, short(first)+"  日本語 work") || strings.Contains(r.err, "\x1b") {
		t.Errorf("exit %d: %q", r.code, r.err)
	}
	if s.stateOf(first) != "active" || s.stateOf(second) != "active" {
		t.Fatal("a turn was chosen")
	}
	if out := s.want("interrupt", "日本語 work", "--reason=wrong branch"); out != short(first)+` of one "日本語 work": interrupted`+"\n" {
		t.Errorf("by title: %q", out)
	}
	if r := s.holon("interrupt"); r.code != exitUsage || !strings.Contains(r.err, `There is one, `+short(second)+` of two "other", but nobody can be asked here: name it, or add --yes`) {
		t.Errorf("the only one: exit %d: %s", r.code, r.err)
	}
	if s.stateOf(second) != "active" {
		t.Fatal("the only turn was stopped, and nobody said yes")
	}
	if out := s.want("interrupt", "-y"); out != short(second)+` of two "other": interrupted`+"\n" {
		t.Errorf("the only one: %q", out)
	}
	r = s.holon("interrupt", second[len(second)-8:])
	if r.code != exitFailed || !strings.Contains(r.err, short(second)+` of two "other": the turn is not active`) || !strings.Contains(r.err, "holon run --thread") {
		t.Errorf("again: exit %d: %s", r.code, r.err)
	}
	if r := s.holon("interrupt", "one"); r.code != exitFailed || !strings.Contains(r.err, `no turn of one "日本語 work" is active`) {
		t.Errorf("a thread without one: exit %d: %s", r.code, r.err)
	}
}

func TestVerbsForProgramsTakeWholeIDs(t *testing.T) {
	s := startServer(t)
	thread, turn := s.startSleeper("one", "work")
	for _, args := range [][]string{{"interrupt"}, {"close"}} {
		if r := s.holon(append(args, "-o=json")...); r.code != exitUsage || !strings.Contains(r.err, "by its whole id") {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
	for _, args := range [][]string{{"interrupt", "work"}, {"close", "latest"}, {"steer", "work", "x"}, {"pause", "work"}, {"resume", "work"}} {
		if r := s.holon(append(args, "-o=json")...); r.code != exitFailed || !strings.Contains(r.err, "no such t") {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
	if s.stateOf(turn) != "active" || s.stateOf(thread) != "running" {
		t.Fatal("something has changed")
	}
	for _, tc := range []struct{ args, member, want string }{
		{"pause one", "state", "paused"}, {"resume one", "state", "running"}, {"pause", "state", "paused"}, {"resume", "state", "running"},
		{"steer one text", "turn_id", turn}, {"interrupt one", "state", "interrupted"}, {"close one", "state", "closed"},
	} {
		got := oneObject(t, s.want(append(strings.Fields(tc.args), "-o=json")...))
		if got[tc.member] != tc.want {
			t.Errorf("%s: %v", tc.args, got)
		}
	}
}

func TestSteerSaysSomethingToTheActiveTurn(t *testing.T) {
	s := startServer(t)
	_, turn := s.startSleeper("one", "work")
	if out := s.want("steer", "work", "leave", "b", "alone"); out != short(turn)+` of one "work": the text is the agent's next prompt`+"\n" {
		t.Errorf("%q", out)
	}
	if r := holon(t, s.data, "from stdin\n", "steer", turn[len(turn)-8:], "-"); r.code != exitOK {
		t.Errorf("stdin: exit %d: %s", r.code, r.err)
	}
	s.want("steer", "one", "only once", "--idempotency-key=k")
	s.want("steer", "one", "only once", "--idempotency-key=k")
	items := s.want("items", "--turn", turn, "--type=user_message")
	contains(t, items, "leave b alone", "from stdin", "only once")
	if strings.Count(items, "only once") != 1 {
		t.Errorf("a repeated key: %s", items)
	}
	if r := holon(t, s.data, " \n", "steer", "one", "-"); r.code != exitUsage || !strings.Contains(r.err, "there is no text") {
		t.Errorf("no text: exit %d: %s", r.code, r.err)
	}
}

func TestCloseEndsAThread(t *testing.T) {
	s := startServer(t)
	s.startSleeper("one", "work")
	s.startThreads([2]string{"two", ""})
	r := s.holon("close")
	if r.code != exitUsage || !strings.Contains(r.err, "There are 2 threads to close") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if out := s.want("close", "work"); out != `one "work": closed`+"\n" {
		t.Errorf("%q", out)
	}
	if r := s.holon("close"); r.code != exitUsage || !strings.Contains(r.err, "There is one, two, but nobody can be asked here: name it, or add --yes") {
		t.Errorf("the only one: exit %d: %s", r.code, r.err)
	}
	if out := s.want("close", "-y"); out != "two: closed\n" {
		t.Errorf("the only open one: %q", out)
	}
	if r := s.holon("close"); r.code != exitFailed || !strings.Contains(r.err, "no thread is open") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := s.holon("resume", "work"); r.code != exitFailed || !strings.Contains(r.err, `one "work": the thread is closed`) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestPauseSaysWhatGoesOn(t *testing.T) {
	s := startServer(t)
	s.startSleeper("one", "work")
	r := s.holon("pause", "work")
	if r.code != exitOK || r.out != `one "work": paused`+"\n" || !strings.Contains(r.err, "Its active turn goes on: running") || !strings.Contains(r.err, `holon resume "work"`) {
		t.Errorf("a thread: %+v", r)
	}
	if out := s.want("resume", "work"); out != `one "work": running`+"\n" {
		t.Errorf("%q", out)
	}
	r = s.holon("pause", "--timeout=1h")
	if r.code != exitOK || !strings.Contains(r.out, ": paused until ") || !strings.Contains(r.err, "1 active turn goes on; no other starts.") {
		t.Errorf("the server: %+v", r)
	}
	contains(t, s.want("status"), "(resume with: holon resume)")
	if out := s.want("resume"); !strings.HasSuffix(out, ": running\n") {
		t.Errorf("%q", out)
	}
	if r := s.holon("pause", "work", "--timeout=1h"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
