//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The server is killed at every write while turns work for another one: it waits for
// some, is told of others when it is idle, and looks for one. The ends of all are told
// as docs/protocol.md section 9 says.
func TestKillAtEveryWriteOfBackgroundWorkTellsEachEnd(t *testing.T) {
	sweep(t, func() *session { return newDelegation() },
		func(ops []string) []int { return spread(numbers(len(ops)), either(12, len(ops))) })
}

// newDelegation returns the session of an owner that delegates.
func newDelegation() *session {
	c := &session{acks: map[string]reply{}, view: newView(0), folded: newFolded(), turns: -1}
	c.play = c.delegate
	c.check = func(_ *server, log []string, ended bool) error {
		f, err := foldDelegation(log)
		if err != nil || !ended {
			return err
		}
		return f.allTold()
	}
	return c
}

// delegate is the script.
func (c *session) delegate(s *server) error {
	ids := map[string]string{}
	start := func(key, thread, parent, text string, more object) func() error {
		return func() error {
			params := turn(thread, text).with("retry", again)
			if parent != "" {
				params = params.with("parent", object{"thread_id": parent}).with("title", key)
			}
			for name, value := range more {
				params = params.with(name, value)
			}
			// Between two attempts of its parent's turn nothing starts for it.
			for deadline := time.Now().Add(startWithin); ; time.Sleep(5 * time.Millisecond) {
				r, err := s.call("turn/start", params.with("idempotency_key", key))
				if kindOf(err) == "turn_not_active" && time.Now().Before(deadline) {
					continue
				}
				if err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				if before, acked := c.acks[key]; acked && before.TurnID != r.TurnID {
					return fmt.Errorf("%s was answered %s, now %s", key, before.Raw, r.Raw)
				}
				c.acks[key], ids[key] = r, r.TurnID
				return nil
			}
		}
	}
	change := func(key, method string, params func() object) func() error {
		return func() error { return c.only(c.do(s, key, method, params())) }
	}
	background := object{"background": true}
	var steps []func() error
	for _, th := range [][2]string{{"main", ""}, {"kid0", "main"}, {"kid1", "main"}, {"kid2", "main"}, {"deep", "kid0"}} {
		params := object{"thread_id": th[0]}
		if th[1] != "" {
			params["parent"] = object{"thread_id": th[1]}
		}
		steps = append(steps, change("thread-"+th[0], "thread/start", func() object { return params }))
	}
	wake := func(thread string) object {
		return object{"thread_id": thread, "policy": object{"wake": "idle", "wake_window_ms": 0}}
	}
	steps = append(steps,
		change("main-wake", "inbox/configure", func() object { return wake("main") }),
		change("kid0-wake", "inbox/configure", func() object { return wake("kid0") }),
		start("owner", "main", "", "/sleep 60\n/say begun", nil),
		start("blocking", "kid0", "main", "/items 2 30\n/sleep 20", nil),
		start("one", "kid1", "main", "/sleep 40\n/say one", background),
		start("deep", "deep", "kid0", "/sleep 20\n/say deep", nil),
		start("detached", "kid2", "main", "/sleep 30\n/say two", nil),
		change("detach", "turn/detach", func() object { return object{"turn_id": ids["detached"]} }),
		start("person", "main", "", "/say how is it?", nil),
		start("failing", "kid2", "main", "/fail on purpose", background),
		func() error { return s.ends(ids["failing"]) },
		change("retry", "turn/retry", func() object { return object{"turn_id": ids["failing"]} }),
		func() error {
			_, err := s.call("turn/await", object{"owner_thread_id": "main", "turn_ids": []string{ids["one"]}, "timeout_seconds": 10})
			return err
		},
		func() error { return s.settled("main", "kid0") },
	)
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// ends waits for the end of a turn.
func (s *server) ends(turnID string) error {
	_, err := s.call("turn/await", object{"turn_ids": []string{turnID}, "timeout_seconds": 10})
	return err
}

// settled waits until no turn runs and these threads know of all their child turns.
func (s *server) settled(threads ...string) error {
	var last string
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if err := s.idle(startWithin); err != nil {
			return err
		}
		last = ""
		for _, id := range threads {
			r, err := s.call("thread/read", object{"thread_id": id})
			if err != nil {
				return err
			}
			var th struct {
				Children struct{ Blocking, Notify, Untold int }
			}
			if err := r.into(&th); err != nil {
				return err
			}
			if c := th.Children; c.Blocking+c.Notify+c.Untold > 0 {
				last = fmt.Sprintf("%s: %+v", id, c)
			}
		}
		if last == "" {
			return s.idle(startWithin)
		}
	}
	return fmt.Errorf("ends of child turns are not told: %s", last)
}

// delegation is what a log says of child turns.
type delegation struct {
	turns   map[string]*delegated
	entries map[string]origin // of the source turns, by raw_id, then by entry_id
	told    map[origin]int    // how often, less inbox/untold
	acked   map[origin]bool   // also withdrawn
}

// delegated is a turn; parent is "" if it works for none.
type delegated struct {
	parent, parentTurn string
	attempt, parentTry int
	blocking           bool
	end                int64 // the seq of its accepted end
	active             bool
}

// foldDelegation folds a log, and says what in it cannot be.
func foldDelegation(log []string) (*delegation, error) {
	f := &delegation{turns: map[string]*delegated{}, entries: map[string]origin{}, told: map[origin]int{}, acked: map[origin]bool{}}
	for _, line := range log {
		if err := f.line(line); err != nil {
			return nil, fmt.Errorf("%w: %.300s", err, line)
		}
	}
	return f, nil
}

func (f *delegation) line(line string) error {
	var e struct {
		Method string `json:"method"`
		Params struct {
			Seq      int64  `json:"seq"`
			ThreadID string `json:"thread_id"`
			TurnID   string `json:"turn_id"`
			Attempt  int    `json:"attempt"`
			Step     string `json:"step"`
			Policy   string `json:"attention_policy"`
			Parent   struct {
				ThreadID string `json:"thread_id"`
				TurnID   string `json:"turn_id"`
				Attempt  int    `json:"attempt"`
			} `json:"parent"`
			RawID    string   `json:"raw_id"`
			Source   string   `json:"source"`
			NativeID string   `json:"native_id"`
			EntryID  string   `json:"entry_id"`
			EntryIDs []string `json:"entry_ids"`
			NewRaw   []string `json:"new_raw_ids"`
			Entry    struct {
				EntryID string `json:"entry_id"`
			} `json:"entry"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return err
	}
	p := &e.Params
	t := f.turns[p.TurnID]
	switch e.Method {
	case "turn/queued", "turn/started":
		if t == nil {
			t = &delegated{parent: p.Parent.ThreadID, parentTurn: p.Parent.TurnID, parentTry: p.Parent.Attempt, blocking: p.Policy == "blocking_until_terminal"}
			f.turns[p.TurnID] = t
		}
		t.attempt, t.active = max(t.attempt, p.Attempt), e.Method == "turn/started"
	case "turn/detached":
		t.blocking = false
	case "stream/rewind":
		if p.Step == "" && t != nil {
			t.end = 0
		}
	case "turn/completed", "turn/failed", "turn/interrupted":
		t.end = p.Seq
		if e.Method == "turn/completed" {
			return f.mayComplete(p.TurnID, t)
		}
	case "inbox/received":
		if p.Source == "turns" {
			return f.received(p.ThreadID, p.RawID, p.NativeID)
		}
	case "inbox/posted":
		for _, raw := range p.NewRaw {
			if id, is := f.entries[raw]; is {
				f.entries[p.Entry.EntryID] = id
			}
		}
	case "inbox/told":
		return f.tell(p.EntryIDs)
	case "inbox/untold":
		for _, id := range p.EntryIDs {
			f.told[f.entries[id]]--
		}
	case "inbox/acked":
		for _, id := range p.EntryIDs {
			f.acked[f.entries[id]] = true
		}
	case "inbox/withdrawn":
		f.acked[f.entries[p.EntryID]] = true
	}
	return nil
}

// mayComplete checks that a turn does not complete before those for which it waits.
func (f *delegation) mayComplete(id string, t *delegated) error {
	for childID, c := range f.turns {
		if c.parentTurn == id && c.parentTry == t.attempt && c.blocking && c.end == 0 {
			return fmt.Errorf("it completes before %s, for which it waits", childID)
		}
	}
	return nil
}

// received checks that the end that arrives is that of a child turn of the thread, and
// its accepted one.
func (f *delegation) received(thread, raw, native string) error {
	turnID, seq, _ := strings.Cut(native, ":")
	t := f.turns[turnID]
	if end, err := strconv.ParseInt(seq, 10, 64); err != nil || t == nil || t.parent != thread || t.end != end {
		return errors.Join(fmt.Errorf("it is not the accepted end of a child turn: %+v", t), err)
	}
	id := origin{thread, "turns", native}
	for _, has := range f.entries {
		if has == id {
			return errors.New("it was received before")
		}
	}
	f.entries[raw] = id
	return nil
}

func (f *delegation) tell(entries []string) error {
	for _, id := range entries {
		end := f.entries[id]
		if end.native == "" {
			continue // something else
		}
		turnID, seq, _ := strings.Cut(end.native, ":")
		switch {
		case f.acked[end]:
			return fmt.Errorf("%s was acknowledged before", id)
		case f.told[end] > 0:
			return fmt.Errorf("%s was told before", id)
		case strconv.FormatInt(f.turns[turnID].end, 10) != seq:
			return fmt.Errorf("%s is superseded", id)
		}
		f.told[end]++
	}
	return nil
}

// allTold checks that the owners know of the ends of all child turns.
func (f *delegation) allTold() error {
	var missing []string
	for id, t := range f.turns {
		end := origin{t.parent, "turns", fmt.Sprintf("%s:%d", id, t.end)}
		if t.parent != "" && (t.end == 0 || f.told[end] < 1 && !f.acked[end]) {
			missing = append(missing, fmt.Sprintf("%s %+v", end.native, *t))
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("not told: %s", strings.Join(missing, ", "))
	}
	return nil
}
