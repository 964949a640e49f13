package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leads is the configuration of an agent named lead that may let echo work. Both
// are tried again after a crash.
func leads(t *testing.T, command, more string) string {
	t.Helper()
	const retried = "on_crash = \"retry\"\nbackoff_seconds = 0.05\n"
	return fmt.Sprintf("[agents.echo]\nkind = \"echo\"\n%[1]s\n[agents.lead]\nkind = \"exec\"\ncommand = [%[2]q]\nchild_agents = [\"echo\"]\n%[3]s%[1]s", retried, command, more)
}

// withHolon is a PATH that has the binary under its name.
func withHolon(t *testing.T, binary string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "holon")); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")
}

// allow answers the question with this title, once it has been asked.
func (s *server) allow(title string) {
	s.t.Helper()
	eventually(s.t, "it asks "+title, func() bool {
		for line := range strings.Lines(s.want("items", "--status=pending", "-o", "jsonl")) {
			if strings.Contains(line, title) {
				return s.holon("respond", oneObject(s.t, line)["item_id"].(string), "--allow").code == exitOK
			}
		}
		return false
	})
}

// words are what the agent said in the turns of a thread, in the order of the turns.
func (s *server) words(thread string) (words []string) {
	s.t.Helper()
	list, _ := oneObject(s.t, s.want("call", "turn/list", fmt.Sprintf(`{"thread_id":%q,"order":"asc","limit":50}`, thread)))["turns"].([]any)
	for _, turn := range list {
		message, _ := turn.(map[string]any)["message"].(string)
		words = append(words, message)
	}
	return words
}

// children are the child turns that a thread has started.
func (s *server) children(thread string) []any {
	s.t.Helper()
	list, _ := oneObject(s.t, s.want("call", "turn/list", fmt.Sprintf(`{"parent_thread_id":%q,"limit":50}`, thread)))["turns"].([]any)
	return list
}

// One child is waited for while the server is killed, the other wakes its owner.
func TestExampleInShellDelegates(t *testing.T) {
	script, err := filepath.Abs("../../docs/examples/delegate.sh")
	if err != nil {
		t.Fatal(err)
	}
	binary := build(t, t.TempDir(), ".")
	s := serveConfig(t, binary, leads(t, script, ""), withHolon(t, binary))
	run := func(prompt string, meanwhile func()) string {
		t.Helper()
		done := make(chan result, 1)
		go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", prompt) }()
		meanwhile()
		r := <-done
		if r.code != exitOK {
			t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
		}
		return anonymous(r.out)
	}
	s.want("call", "thread/start", `{"thread_id":"main","agent":"lead"}`)
	s.want("inbox", "policy", "main", "--wake=idle")
	said := run("/ask Later? & /ask Now?", func() {
		eventually(t, "both children ask", func() bool {
			return strings.Count(s.want("items", "--status=pending", "-o", "jsonl"), "\n") == 2
		})
		s.process.kill()
		s.up()
		s.allow("Now?")
	})
	if want := "In the background: TURN\nTURN \"now\": completed in TIME\n  \"Now?\" was answered: selected, allow_once (completed)\n"; said != want {
		t.Errorf("it said %q, want %q", said, want)
	}
	if log := s.log(); !strings.Contains(log, `"attempt":2`) {
		t.Errorf("the turn was not tried again:\n%s", log)
	}
	s.allow("Later?")
	var words []string
	eventually(t, "the background child wakes its owner", func() bool {
		words = s.words("main")
		return len(words) == 2 && words[1] != ""
	})
	contains(t, words[1], "It is done:\nThere is 1 new entry", `"later" in thread`, " completed\n", "\"Later?\" was answered: selected, allow_once")
	if strings.Contains(words[1], `"now"`) {
		t.Errorf("the end that was awaited is told once more:\n%s", words[1])
	}
	if list := s.children("main"); len(list) != 2 {
		t.Errorf("%d children were started, want 2: %v", len(list), list)
	}
}
