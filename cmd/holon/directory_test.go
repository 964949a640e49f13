package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/internal/test/acptest"
)

// cwdOf is the cwd of the newest thread as its row has it, and how many threads there are.
func (s *server) cwdOf() (cwd string, threads int) {
	s.t.Helper()
	var r struct {
		Threads []struct {
			Cwd string `json:"cwd"`
		} `json:"threads"`
	}
	if err := json.Unmarshal([]byte(s.want("call", "thread/list", `{"order":"desc"}`)), &r); err != nil {
		s.t.Fatal(err)
	}
	if len(r.Threads) == 0 {
		return "", 0
	}
	return r.Threads[0].Cwd, len(r.Threads)
}

// terminalIn makes a directory and goes there.
func terminalIn(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return dir
}

// inDirectories starts a server with an agent "bare" that works where it is told, "set"
// whose configuration has a directory, and echo, which is as bare.
func inDirectories(t *testing.T) (s *server, set string) {
	t.Helper()
	s = &server{t: t, data: t.TempDir(), agents: agentsOf(t, "bare=exec:pwd", "set=exec:pwd")}
	a := s.agents["set"]
	a.Cwd = t.TempDir()
	s.agents["set"] = a
	s.start()
	return s, a.Cwd
}

func TestRunAndChatWorkWhereTheyAreTyped(t *testing.T) {
	s, set := inDirectories(t)
	here, typed := terminalIn(t), t.TempDir()
	for _, c := range []struct {
		agent, flag string
		cwd, says   string
	}{
		{"bare", "", here, "bare in " + here},
		{"bare", typed, typed, "bare in " + typed},
		{"set", "", "", "works in " + set + ", which its configuration names"},
		{"set", typed, typed, "set in " + typed},
		{"echo", "", here, "echo in " + here},
		{"echo", typed, typed, "echo in " + typed},
	} {
		for _, args := range [][]string{{"run", "go"}, {"run", "--detach", "go"}, {"chat", "--plain"}} {
			args = append(args, "--agent="+c.agent)
			if c.flag != "" {
				args = append(args, "--cwd="+c.flag)
			}
			r := holon(t, s.data, "go\n", args...)
			cwd, _ := s.cwdOf()
			if r.code != exitOK || cwd != c.cwd {
				t.Errorf("%q: exit %d, works in %q, want %q\n%s%s", args, r.code, cwd, c.cwd, r.out, r.err)
			}
			first, _, _ := strings.Cut(r.out, "\n")
			if said := first + r.err; args[0] == "run" && (c.cwd == "" || len(args) == 2) && !strings.Contains(said, c.says) {
				t.Errorf("%q: no %q in %q", args, c.says, said)
			}
			if begins := " with agent " + c.agent + " in " + cmp.Or(cwd, set); args[0] == "chat" && !strings.HasSuffix(first, begins) {
				t.Errorf("%q: no %q in %q", args, begins, first)
			}
		}
	}
	if r := s.holon("run", "--agent=set", "-q", "go"); strings.Contains(r.err, "works in") {
		t.Errorf("quietly: %q", r.err)
	}
}

// A server that is not known to be of this machine keeps its own directory, and one line
// says so: here the client knows its URL alone.
func TestAServerElsewhereDoesNotGetTheDirectory(t *testing.T) {
	s, _ := inDirectories(t)
	terminalIn(t)
	var record struct {
		URLs []string `json:"urls"`
	}
	text, err := os.ReadFile(filepath.Join(s.data, "server.json"))
	if err := errors.Join(err, json.Unmarshal(text, &record)); err != nil {
		t.Fatal(err)
	}
	away := []string{"--url=" + record.URLs[0], "--token-file=" + filepath.Join(s.data, "token")}
	for _, args := range [][]string{{"run", "--agent=bare", "go"}, {"chat", "--plain", "--agent=bare"}} {
		r := holon(t, t.TempDir(), "", append(args, away...)...)
		if cwd, _ := s.cwdOf(); r.code != exitOK || cwd != "" || !strings.Contains(r.err, "the server's directory; --cwd DIR names another") {
			t.Errorf("%q: exit %d, works in %q\n%s%s", args, r.code, cwd, r.out, r.err)
		}
	}
}

func TestAMissingDirectoryOfAFlagLeavesNoThread(t *testing.T) {
	s, _ := inDirectories(t)
	none := filepath.Join(terminalIn(t), "none")
	for _, args := range [][]string{
		{"run", "--agent=bare", "--cwd=none", "go"}, {"run", "-d", "--agent=bare", "--cwd=" + none, "go"}, {"run", "-o", "json", "--agent=bare", "--cwd=none", "go"},
		{"run", "--thread=named", "--agent=bare", "--cwd=none", "go"}, {"chat", "--plain", "--agent=bare", "--cwd=none"},
		{"call", "thread/start", `{"agent":"bare","cwd":"` + none + `"}`}, {"run", "--agent=echo", "--cwd=none", "go"},
	} {
		r := holon(t, s.data, "go\n", args...)
		if _, threads := s.cwdOf(); r.code != exitFailed || threads != 0 || !strings.Contains(r.err, none+`" does not exist`) {
			t.Errorf("%q: exit %d, %d threads\n%s%s", args, r.code, threads, r.out, r.err)
		}
	}
}

func TestAnExistingThreadIsContinuedFromAnyDirectory(t *testing.T) {
	s, _ := inDirectories(t)
	here := terminalIn(t)
	s.want("run", "--agent=bare", "--thread=own", "go")
	s.want("call", "thread/start", `{"agent":"bare","thread_id":"old"}`) // of before: without a cwd
	keyed := func(thread string) string {
		return oneObject(t, s.want("run", "--agent=bare", "--thread="+thread, "--idempotency-key=key of "+thread, "-o", "json", "go"))["turn_id"].(string)
	}
	first := map[string]string{"old": keyed("old"), "own": keyed("own"), "new": keyed("new")}
	for thread, turn := range first { // the same again
		if again := keyed(thread); again != turn {
			t.Errorf("%s: the key has started %s, and %s", thread, turn, again)
		}
	}
	terminalIn(t)
	for _, thread := range []string{"own", "old"} {
		// Whoever continues it from elsewhere is told where it works.
		if r := s.holon("run", "--thread="+thread, "go"); r.code != exitOK || strings.Contains(r.err+r.out, "works in "+here) != (thread == "own") {
			t.Errorf("%s: %+v", thread, r)
		}
		s.want("run", "--thread="+thread, "-o", "json", "go")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(here, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link)
	if r := s.holon("run", "--thread=own", "go"); r.code != exitOK || strings.Contains(r.err+r.out, "works in") {
		t.Errorf("a link to its directory is no other one: %+v", r)
	}
	terminalIn(t)
	for thread, turn := range first { // also the thread that the key has made
		if again := keyed(thread); again != turn {
			t.Errorf("%s from elsewhere: the key has started %s, and %s", thread, turn, again)
		}
	}
	s.want("run", "--agent=bare", "--idempotency-key=unnamed", "go")
	t.Chdir(here)
	if r := s.holon("run", "--agent=bare", "--idempotency-key=unnamed", "go"); r.code != exitFailed || !strings.Contains(r.err, "only with the same flags, and from the same directory") {
		t.Errorf("a key for a thread that was made in another directory: exit %d, %s", r.code, r.err)
	}
	for thread, want := range map[string]string{"own": here, "old": "", "new": here} {
		read := oneObject(t, s.want("call", "thread/read", `{"thread_id":"`+thread+`"}`))["thread"].(map[string]any)
		if cwd, _ := read["cwd"].(string); cwd != want {
			t.Errorf("%s works in %q, want %q", thread, cwd, want)
		}
	}
}

func TestAChildKeepsItsOwnersDirectory(t *testing.T) {
	s, _ := inDirectories(t)
	here := terminalIn(t)
	s.want("run", "--agent=bare", "--thread=owner", "go")
	terminalIn(t)
	s.want("run", "--agent=bare", "--parent=owner", "--background", "go")
	if cwd, threads := s.cwdOf(); cwd != here || threads != 2 {
		t.Errorf("of %d threads the newest works in %q, want %q", threads, cwd, here)
	}
}

func TestAThreadIsMovedByTheCommand(t *testing.T) {
	acptest.Build(t, acptest.BadAgent)
	s := startServerWith(t, badAgent(t, "good"))
	from := terminalIn(t)
	thread := threadOf(t, s.want("run", "--agent=good", "-o", "json", "say first"))
	works := func() string {
		return oneObject(t, s.want("run", "--thread", thread, "-o", "json", "cwd"))["text"].(string)
	}
	if got := works(); got != from {
		t.Fatalf("works in %s", got)
	}
	if out := s.want("configure", thread); !strings.Contains(out, "cwd") || !strings.Contains(out, from) {
		t.Errorf("%s", out)
	}
	to := from + "-renamed"
	for _, args := range [][]string{{"cwd=" + to}, {"cwd=" + to, "mode=code"}, {"cwd="}} {
		if r := s.holon(append([]string{"configure", thread}, args...)...); r.code == exitOK || strings.Contains(r.err, "config.mode") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(to, from) }) // for the end of t.TempDir
	t.Chdir(filepath.Dir(to))
	if out := s.want("configure", thread, "cwd="+filepath.Base(to), "mode=code"); out != fmt.Sprintf("%s: cwd is %s, mode is code\n", short(thread), to) {
		t.Errorf("%s", out)
	}
	if got := works(); got != to {
		t.Errorf("works in %s", got)
	}
	if out := s.want("configure", thread, "cwd="+os.TempDir(), "-o", "json"); !strings.Contains(out, `"cwd"`) {
		t.Errorf("%s", out)
	}
}

func TestAThreadThatWorksIsNotMoved(t *testing.T) {
	s := startServer(t)
	s.want("run", "-d", "--thread=works", "/sleep 600000")
	r := s.holon("configure", "works", "cwd="+t.TempDir())
	if r.code != exitFailed || !strings.Contains(r.err, "the thread is busy") || !strings.Contains(r.err, "Wait for its end, or end it with: holon interrupt THREAD") {
		t.Errorf("%+v", r)
	}
}
