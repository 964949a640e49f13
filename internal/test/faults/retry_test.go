//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed82539d15/holon/notify/fold"
)

// again is a policy of turn/start that tries often and soon.
var again = object{"on_crash": "retry", "max_attempts": 20, "backoff_seconds": 0.05, "backoff_max_seconds": 0.2}

// newRetrySession returns the session of a turn whose agent retries steps
// and crashes, with another one behind it.
func newRetrySession() *session {
	c := &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: 2}
	c.play = func(s *server) error {
		text := "/step a/b\n/items 2 20\n/again a\n/step a/b\n/deltas 3 10\n/crash 1\n/items 1 10\n/transient 2\n/end\n/say at last"
		for _, do := range []func() error{
			func() error { return c.only(c.do(s, "t", "thread/start", object{"thread_id": "t"})) },
			func() error { return c.only(c.do(s, "1", "turn/start", turn("t", text).with("retry", again))) },
			func() error {
				return c.only(c.do(s, "2", "turn/start", turn("t", "/step a\n/say second").with("retry", again)))
			},
			func() error { return s.idle(20 * time.Second) },
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	c.story = func(turns []*fold.Turn) error {
		var ends []string
		for _, turn := range turns {
			said := saidBy(turn)
			ends = append(ends, fmt.Sprint(turn.State, " ", len(said), " ", said[len(said)-1]))
		}
		slices.Sort(ends)
		// In the first: the texts of deltas and items, and the last line.
		want := []string{"completed 1 second", "completed 3 at last"}
		for i, end := range ends { // a stop in order gives an attempt up, which the next server retries
			if end != want[i] {
				return fmt.Errorf("the turns ended %q, want %q", ends, want)
			}
		}
		return nil
	}
	return c
}

// saidBy lists the agent's live messages; there is always a last one.
func saidBy(turn *fold.Turn) (texts []string) {
	for _, it := range turn.Items() {
		if it.Type == "agent_message" && it.Status == "completed" {
			text, _ := it.Text()
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		texts = []string{""}
	}
	return texts
}

// A retried turn of an agent in the server: the server dies in it, between
// its attempts and in its end, and retries it.
func TestKillAtEveryWriteOfARetryTellsOneStory(t *testing.T) {
	sweep(t, newRetrySession, func(ops []string) []int { return spread(numbers(len(ops)), either(8, len(ops))) })
}

// A turn waits for its next attempt: killing the server in that time
// only makes it wait longer.
func TestKillInABackoffKeepsIt(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	s := p.start(t)
	s.must(t, "thread/start", object{"thread_id": "t"})
	policy := object{"on_crash": "retry", "max_attempts": 3, "backoff_seconds": 5, "backoff_max_seconds": 5}
	id := s.must(t, "turn/start", turn("t", "/step a\n/crash 1\n/say better").with("retry", policy)).TurnID
	f := newFolded()
	for i := range 2 {
		var row turnRow
		eventually(t, "the turn waits", func() bool {
			s.must(t, "turn/read", object{"turn_id": id}).decode(t, &row)
			return row.Turn.RetryAt != ""
		})
		if row.Turn.State != "active" || row.Turn.Attempt != 2 {
			t.Fatalf("restart %d: in its backoff the turn is %+v", i, row.Turn)
		}
		before := row.Turn.RetryAt
		s.kill()
		s = p.start(t)
		s.must(t, "turn/read", object{"turn_id": id}).decode(t, &row)
		if row.Turn.Attempt != 2 || row.Turn.RetryAt != "" && row.Turn.RetryAt != before {
			t.Errorf("after the restart the turn is %+v, retry_at was %s", row.Turn, before)
		}
	}
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	turn := f.coherent(t, s, log)[0]
	if turn.State != "completed" || turn.Attempt != 2 || saidBy(turn)[0] != "better" {
		t.Errorf("the turn ended %s in attempt %d: %q", turn.State, turn.Attempt, saidBy(turn))
	}
	s.stop(t)
	p.doctor(t)
}

// turnRow is what turn/read says about a turn.
type turnRow struct {
	Turn struct {
		State    string `json:"state"`
		Attempt  int    `json:"attempt"`
		RetryAt  string `json:"retry_at"`
		Progress string `json:"progress"`
		Worker   string `json:"worker"`
	} `json:"turn"`
}

// An agent that is a program dies by itself, then with the server, and then
// says what it has to say.
func TestAProgramThatDiesIsRetriedAcrossRestarts(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	script := filepath.Join(p.root, "frail.sh")
	text := `#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
echo "try $n"
case $n in
1) kill -9 $$ ;;
2) sleep 60 ;;
esac
`
	config := fmt.Sprintf("[agents.frail]\nkind = \"exec\"\ncommand = [%q]\non_crash = \"retry\"\nbackoff_seconds = 0.05\n", script)
	file := filepath.Join(p.root, "c.toml")
	for path, content := range map[string]string{script: text, file: config} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"--config", file}
	s := p.start(t, flags...)
	s.must(t, "thread/start", object{"thread_id": "t", "agent": "frail", "cwd": p.root})
	s.must(t, "turn/start", turn("t", "go"))
	eventually(t, "the second try is at work", func() bool { return strings.Contains(strings.Join(s.log(t), ""), "try 2") })
	s.kill()
	s = p.start(t, flags...)
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	log := s.log(t)
	if err := checkLog(log, true); err != nil {
		t.Error(err)
	}
	turn := newFolded().coherent(t, s, log)[0]
	if said := saidBy(turn); turn.State != "completed" || turn.Attempt != 3 || len(said) != 1 || strings.TrimSpace(said[0]) != "try 3" {
		t.Errorf("the turn ended %s in attempt %d: %q", turn.State, turn.Attempt, said)
	}
	if err := s.signal(syscall.SIGTERM); err != nil || !s.wait(startWithin) {
		t.Fatalf("the stop: %v", err)
	}
	p.doctor(t)
}
