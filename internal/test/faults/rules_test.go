//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"strings"
)

// event is what the rules look at.
type event struct {
	Method string `json:"method"`
	Params struct {
		Seq       int64  `json:"seq"`
		ThreadSeq int64  `json:"thread_seq"`
		ThreadID  string `json:"thread_id"`
		TurnID    string `json:"turn_id"`
		ItemID    string `json:"item_id"`
		Status    string `json:"status"`
		State     string `json:"state"`
		Offset    int    `json:"offset"`
		Truncated bool   `json:"truncated"`
		Delta     struct {
			Text string `json:"text"`
		} `json:"delta"`
		Content  json.RawMessage `json:"content"`
		Attempt  int             `json:"attempt"`
		Step     string          `json:"step"`
		Epoch    int             `json:"epoch"`
		Lineage  []try           `json:"lineage"`
		NewEpoch int             `json:"new_epoch"`
		After    int64           `json:"superseded_after_seq"`
	} `json:"params"`
}

// try is one of a step.
type try struct {
	Step  string `json:"step"`
	Epoch int    `json:"epoch"`
}

// rules folds a log and says what in it cannot be (I3, I5).
type rules struct {
	seq     int64
	threads map[string]int64 // thread_seq
	closed  map[string]bool
	turns   map[string]*turnSeen
	items   map[string]*itemSeen
	paused  bool
}

type turnSeen struct {
	started, ended bool
	open           map[string][]try // items, by their lineage
	epochs         map[string]int   // of each step, the lowest that may still come
	tried          map[string]int   // and the highest that has come
	steps          map[string]bool  // that are under way
	bounds         map[string]int64 // of the markers of each step
}

type itemSeen struct {
	turn, status, text string
	streams            bool
}

func newRules() *rules {
	return &rules{threads: map[string]int64{}, closed: map[string]bool{}, turns: map[string]*turnSeen{}, items: map[string]*itemSeen{}}
}

// checkLog applies the rules to a whole log. With ended every turn must have
// its terminal event.
func checkLog(log []string, ended bool) error {
	r := newRules()
	for _, line := range log {
		if err := r.line(line); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	return r.allEnded()
}

func (r *rules) line(line string) error {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		return fmt.Errorf("after seq %d: %w", r.seq, err)
	}
	if err := r.event(&e); err != nil {
		return fmt.Errorf("%w: %.300s", err, line)
	}
	return nil
}

func (r *rules) allEnded() error {
	for id, t := range r.turns {
		if !t.ended {
			return fmt.Errorf("turn %s has no terminal event", id)
		}
	}
	return nil
}

func (r *rules) event(e *event) error {
	p := &e.Params
	if p.Seq != r.seq+1 {
		return fmt.Errorf("seq %d follows %d", p.Seq, r.seq)
	}
	r.seq = p.Seq
	if p.ThreadID != "" {
		if p.ThreadSeq != r.threads[p.ThreadID]+1 {
			return fmt.Errorf("thread_seq %d follows %d", p.ThreadSeq, r.threads[p.ThreadID])
		}
		r.threads[p.ThreadID] = p.ThreadSeq
		if r.closed[p.ThreadID] {
			return fmt.Errorf("an event after thread/closed")
		}
	}
	switch kind, word, _ := strings.Cut(e.Method, "/"); kind {
	case "holon":
		r.paused = word == "paused"
	case "thread":
		r.closed[p.ThreadID] = word == "closed"
	case "stream", "step":
		return r.step(e)
	case "turn":
		return r.turn(word, e)
	case "item":
		return r.item(word, e)
	}
	return nil
}

func (r *rules) turn(word string, e *event) error {
	t := r.turns[e.Params.TurnID]
	if t == nil {
		if word != "queued" && word != "started" {
			return fmt.Errorf("the turn begins with turn/%s", word)
		}
		t = &turnSeen{open: map[string][]try{}, epochs: map[string]int{}, tried: map[string]int{}, steps: map[string]bool{}, bounds: map[string]int64{}}
		r.turns[e.Params.TurnID] = t
	}
	if word == "late" {
		if len(e.Params.Lineage) > 0 || e.Params.Epoch >= t.epochs[e.Params.Step] && e.Params.Attempt >= t.epochs[""] {
			return fmt.Errorf("it is late, and its try is live, or it has a lineage")
		}
		return nil
	}
	if word == "reviewed" {
		if !t.ended || len(e.Params.Lineage) == 0 {
			return fmt.Errorf("a verdict about a turn that has not ended, or of no attempt")
		}
		return nil
	}
	if t.ended {
		return fmt.Errorf("the turn has ended already")
	}
	switch word {
	case "started":
		if t.started {
			return fmt.Errorf("the turn starts twice")
		}
		if r.paused {
			return fmt.Errorf("the turn starts in a pause")
		}
		t.started = true
	}
	if err := t.checkLive(e); err != nil {
		return err
	}
	switch word {
	case "completed", "interrupted", "failed":
		if len(t.open) > 0 {
			return fmt.Errorf("the turn ends before its items %v", t.open)
		}
		if len(t.steps) > 0 {
			return fmt.Errorf("the turn ends before its steps %v", t.steps)
		}
		t.ended = true
	}
	return nil
}

func (r *rules) item(word string, e *event) error {
	p := &e.Params
	it, t := r.items[p.ItemID], r.turns[p.TurnID]
	if p.TurnID != "" && (t == nil || t.ended) {
		return fmt.Errorf("an item event of a turn that is not there any more, or not yet")
	}
	if t != nil {
		if err := t.checkLive(e); err != nil {
			return err
		}
	}
	if word == "created" {
		if it != nil {
			return fmt.Errorf("the item is created twice")
		}
		it = &itemSeen{turn: p.TurnID}
		r.items[p.ItemID] = it
	}
	if it == nil {
		return fmt.Errorf("the item was never created")
	}
	switch word {
	case "created":
		it.text, it.streams = textOf(p.Content)
	case "delta":
		if p.Offset != len(it.text) {
			return fmt.Errorf("offset %d, but the text has %d bytes", p.Offset, len(it.text))
		}
		it.text += p.Delta.Text
		return nil
	case "updated":
		if text, streams := textOf(p.Content); streams && !p.Truncated && text != it.text {
			return fmt.Errorf("the item has %d bytes of text, its deltas add up to %d", len(text), len(it.text))
		}
	}
	it.status = p.Status
	if t == nil {
		return nil
	}
	switch p.Status {
	case "pending", "in_progress":
		t.open[p.ItemID] = p.Lineage
	default:
		delete(t.open, p.ItemID)
		it.text = "" // a long log has many
	}
	return nil
}

// textOf is the text of an agent_message.
func textOf(content json.RawMessage) (text string, streams bool) {
	var c struct {
		Type    string `json:"type"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(content, &c); err != nil || c.Type != "agent_message" {
		return "", false
	}
	for _, part := range c.Content {
		text += part.Text
	}
	return text, true
}
