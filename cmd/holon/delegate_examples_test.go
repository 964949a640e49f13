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
func leads(command []string, more string) string {
	const retried = "on_crash = \"retry\"\nbackoff_seconds = 0.05\n"
	return fmt.Sprintf("[agents.echo]\nkind = \"echo\"\n%[1]s\n[agents.lead]\nkind = \"exec\"\ncommand = [%[2]s]\nchild_agents = [\"echo\"]\n%[3]s%[1]s", retried, quotedList(command), more)
}

func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return strings.Join(quoted, ", ")
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

// delegation is an example that lets echo work: "Now?" is waited for, "Later?" runs in
// the background.
type delegation struct {
	configuration func(t *testing.T, binary string) (config string, environ []string)
	prompt        string
	said          string   // once "Now?" has ended
	told          []string // in the turn that the end of "Later?" has started
	ended         string   // what that turn would say of "Now?"
}

// One child is waited for while the server is killed, the other wakes its owner.
func (d delegation) run(t *testing.T, binary string) {
	config, environ := d.configuration(t, binary)
	s := serveConfig(t, binary, config, environ...)
	s.want("call", "thread/start", `{"thread_id":"main","agent":"lead"}`)
	s.want("inbox", "policy", "main", "--wake=idle")
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", d.prompt) }()
	eventually(t, "both children ask", func() bool {
		return strings.Count(s.want("items", "--status=pending", "-o", "jsonl"), "\n") == 2
	})
	s.process.kill()
	s.up()
	s.allow("Now?")
	if r := <-done; r.code != exitOK || anonymous(r.out) != d.said {
		t.Errorf("exit %d: it said %q, want %q\n%s", r.code, anonymous(r.out), d.said, r.err)
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
	contains(t, words[1], d.told...)
	if strings.Contains(words[1], d.ended) {
		t.Errorf("the end that was waited for is told once more:\n%s", words[1])
	}
	if list := s.children("main"); len(list) != 2 {
		t.Errorf("%d children were started, want 2: %v", len(list), list)
	}
}

// The agent waits in "holon await". A prompt that is queued behind its turn ends that.
func TestAQueuedPromptEndsTheAwaitOfAnAgent(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	script, err := filepath.Abs("../../docs/examples/delegate.sh")
	if err != nil {
		t.Fatal(err)
	}
	// What the command says goes to stderr, which is not a part of the message.
	loud := filepath.Join(t.TempDir(), "loud.sh")
	if err := os.WriteFile(loud, []byte("#!/bin/sh\nexec "+script+" 2>&1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := serveConfig(t, binary, leads([]string{loud}, ""), withHolon(t, binary))
	s.want("call", "thread/start", `{"thread_id":"main","agent":"lead"}`)
	done := make(chan result, 1)
	go func() { done <- s.holon("run", "--agent=lead", "--thread=main", "-q", "/ask Later? & /ask Now?") }()
	eventually(t, "both children ask", func() bool {
		return strings.Count(s.want("items", "--status=pending", "-o", "jsonl"), "\n") == 2
	})
	s.want("run", "-d", "--thread=main", "/say one & /say two")
	r := <-done
	if want := "In the background: TURN\nTURN \"now\": has been running for TIME\nA person's turn is queued behind yours: end your turn. The work goes on.\n"; r.code != exitOK || anonymous(r.out) != want {
		t.Errorf("exit %d: it said %q, want %q\n%s", r.code, anonymous(r.out), want, r.err)
	}
	eventually(t, "the person's turn is done", func() bool {
		words := s.words("main")
		return len(words) == 2 && strings.Contains(words[1], "two")
	})
}

func TestExamplesDelegate(t *testing.T) {
	binary := build(t, t.TempDir(), "./cmd/holon")
	t.Run("shell", func(t *testing.T) {
		script, err := filepath.Abs("../../docs/examples/delegate.sh")
		if err != nil {
			t.Fatal(err)
		}
		delegation{
			func(t *testing.T, binary string) (string, []string) {
				return leads([]string{script}, ""), []string{withHolon(t, binary)}
			},
			"/ask Later? & /ask Now?",
			"In the background: TURN\nTURN \"now\": completed in TIME\n  \"Now?\" was answered after a restart: Allow\n",
			[]string{"It is done:\nThere is 1 new entry", `"later" in thread`, " completed\n", `"Later?" was answered after a restart: Allow`}, `"now"`,
		}.run(t, binary)
	})
	t.Run("go", func(t *testing.T) {
		delegation{
			func(t *testing.T, _ string) (string, []string) {
				program := build(t, t.TempDir(), "./docs/examples/delegate")
				return leads([]string{program, "echo"}, "input = \"json\"\n"), nil
			},
			"/ask Later?\n/ask Now?",
			"1 in the background\npart 2 completed: \"Now?\" was answered after a restart: Allow\n",
			[]string{"It is done:\nThere is 1 new entry", `"part 1" in thread`, " completed\n", `"Later?" was answered after a restart: Allow`}, `"part 2"`,
		}.run(t, binary)
	})
}
