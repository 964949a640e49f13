//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// asker is a command that asks, and says the answer.
const asker = `#!/bin/sh
read -r line
echo '{"event":"ask","id":"a","title":"exec?","options":[{"option_id":"y","name":"Yes","kind":"allow_once"},{"option_id":"n","name":"No","kind":"reject_once"}]}'
read -r answer
echo '{"event":"delta","id":"m","text":"answered"}'
`

// asking is a turn with a question, and how its question may end by a restart.
type asking struct {
	agent   string
	retries bool // it asks again in another attempt
	waits   bool // it waits over a restart
	turnID  string
	itemID  string
}

// A question that was open when the server ended is open afterwards, or its turn goes on
// in another attempt, or it has ended because of the restart. RUNS=20 (make
// soak-questions) does it 20 times in each way.
func TestQuestionsOutliveTheServer(t *testing.T) {
	t.Parallel()
	p := newTestbed(t)
	flags := p.askers(t)
	s := p.start(t, flags...)
	end := func(sig syscall.Signal) {
		t.Helper()
		if err := s.signal(sig); err != nil || !s.wait(startWithin) {
			t.Fatalf("%v: %v\n%s", sig, err, s.stderr.tail())
		}
	}
	for n := range questionRuns() {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			thread := fmt.Sprintf("%d-%d", n, sig)
			list := s.ask(t, thread, n%2 == 0)
			if n%4 == 1 {
				s.must(t, "holon/pause", object{"reason": "an upgrade"})
			}
			end(sig)
			s = p.start(t, flags...)
			if n%4 == 2 { // a second restart at once
				end(sig)
				s = p.start(t, flags...)
			}
			if n%4 == 3 {
				s.must(t, "holon/prune", object{"before_seq": s.latest(t)})
			}
			if n%4 == 1 {
				s.must(t, "holon/resume", nil)
			}
			for _, a := range list {
				s.outlived(t, a, sig)
			}
		}
	}
	if err := s.idle(startWithin); err != nil {
		t.Fatal(err)
	}
	end(syscall.SIGTERM)
	p.doctor(t)
}

// questionRuns is how often questions meet the end of the server in each way.
func questionRuns() int {
	if n, err := strconv.Atoi(os.Getenv("RUNS")); err == nil {
		return n
	}
	return either(1, 5)
}

// askers writes the agents that ask, and returns the flags of a server that has them.
func (p *testbed) askers(t *testing.T) []string {
	t.Helper()
	script, file := filepath.Join(p.root, "asker"), filepath.Join(p.root, "c.toml")
	config := ""
	for name, more := range map[string]string{"asks": "", "asks-again": "on_crash = \"retry\"\nmax_attempts = 2\nbackoff_seconds = 0.05\n"} {
		config += fmt.Sprintf("[agents.%s]\nkind = \"exec\"\noutput = \"events\"\ncommand = [%q]\n%s", name, script, more)
	}
	for path, content := range map[string]string{script: asker, file: config} {
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"--config", file, "--drain-seconds", "0.5"}
}

// ask starts a turn of each agent, and waits for their questions. speaks says that echo says
// something before.
func (s *server) ask(t *testing.T, thread string, speaks bool) []*asking {
	t.Helper()
	list := []*asking{{agent: "echo", waits: true}, {agent: "asks"}, {agent: "asks-again", retries: true}}
	for _, a := range list {
		s.must(t, "thread/start", object{"thread_id": thread + a.agent, "agent": a.agent, "cwd": s.root})
		input := "/ask echo?\n/say after"
		if speaks {
			input = "/say before\n" + input
		}
		a.turnID = s.must(t, "turn/start", turn(thread+a.agent, input)).TurnID
		a.itemID = s.question(t, a.turnID, "")
	}
	return list
}

// question waits for an open question of the turn that is not the one before, and returns it.
func (s *server) question(t *testing.T, turnID, before string) (itemID string) {
	t.Helper()
	eventually(t, "a question of "+turnID, func() bool {
		var r struct {
			Items []struct {
				ItemID string `json:"item_id"`
				TurnID string `json:"turn_id"`
			} `json:"items"`
		}
		s.must(t, "item/list", object{"turn_id": turnID, "status": "pending"}).decode(t, &r)
		for _, it := range r.Items {
			if it.ItemID != before {
				itemID = it.ItemID
				return true
			}
		}
		return false
	})
	return itemID
}

// outlived checks what has become of a question, and brings its turn to its end.
func (s *server) outlived(t *testing.T, a *asking, sig syscall.Signal) {
	t.Helper()
	item, row := s.item(t, a.itemID), s.turnOf(t, a.turnID)
	if a.waits && item.Status != "pending" || !a.waits && (item.Status != "cancelled" || item.Content.Outcome.Reason != "restart") {
		t.Fatalf("%v: the question of %s is %+v", sig, a.agent, item)
	}
	switch {
	case a.retries:
		a.itemID = s.question(t, a.turnID, a.itemID)
	case !a.waits:
		if row.State != "interrupted" || row.Reason != "server restarted" {
			t.Fatalf("%v: the turn of %s is %+v", sig, a.agent, row)
		}
		s.listed(t, a.turnID)
		return
	}
	answer := object{"item_id": a.itemID, "kind": "allow_once", "idempotency_key": "answer-" + a.itemID}
	for range 2 {
		s.must(t, "item/respond", answer)
	}
	eventually(t, "the end of "+a.turnID, func() bool { return s.turnOf(t, a.turnID).State == "completed" })
	row = s.turnOf(t, a.turnID)
	if (row.Attempt > 1) != a.retries {
		t.Errorf("%v: the turn of %s ended in attempt %d", sig, a.agent, row.Attempt)
	}
	if said := strings.Count(s.said(t, a.turnID), `was answered after a restart: Allow`); a.waits && said != 1 {
		t.Errorf("%v: the answer was told %d times", sig, said)
	}
}

// listed checks that the turn is in the list of what restarts have ended.
func (s *server) listed(t *testing.T, turnID string) {
	t.Helper()
	var r struct {
		Turns []struct {
			TurnID string `json:"turn_id"`
		} `json:"turns"`
	}
	s.must(t, "turn/list", object{"ended_by": "restart", "order": "desc"}).decode(t, &r)
	for _, row := range r.Turns {
		if row.TurnID == turnID {
			return
		}
	}
	t.Fatalf("%s is not in the list of what restarts have ended: %+v", turnID, r.Turns)
}

type questionItem struct {
	Status  string `json:"status"`
	Content struct {
		Outcome struct{ Reason string } `json:"outcome"`
	} `json:"content"`
}

func (s *server) item(t *testing.T, id string) questionItem {
	t.Helper()
	var r struct {
		Item questionItem `json:"item"`
	}
	s.must(t, "item/read", object{"item_id": id}).decode(t, &r)
	return r.Item
}

type askedTurn struct {
	State   string `json:"state"`
	Reason  string `json:"reason"`
	Attempt int    `json:"attempt"`
}

func (s *server) turnOf(t *testing.T, id string) askedTurn {
	t.Helper()
	var r struct {
		Turn askedTurn `json:"turn"`
	}
	s.must(t, "turn/read", object{"turn_id": id}).decode(t, &r)
	return r.Turn
}

// said is what the items of the turn hold, as JSON.
func (s *server) said(t *testing.T, id string) string {
	t.Helper()
	var r struct {
		Items []json.RawMessage `json:"items"`
	}
	s.must(t, "item/list", object{"turn_id": id}).decode(t, &r)
	text := ""
	for _, it := range r.Items {
		text += string(it)
	}
	return strings.ReplaceAll(text, `\"`, `"`)
}
