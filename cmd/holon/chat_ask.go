package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// ask asks the first open question: what it is about, then its answers, each in lines of
// its own.
func (p *plainChat) ask() error {
	if len(p.open) == 0 || !p.open[0].asked.IsZero() {
		return nil
	}
	q := &p.open[0]
	q.asked = time.Now()
	for _, line := range append(p.about(q.content), answerLines(q.question)...) {
		if _, err := fmt.Fprintln(p.con.out, strings.TrimRight("question: "+line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// about is the directory and the change that a question is about. Its text and command
// are in the timeline already.
func (p *plainChat) about(c timeline.Content) (lines []string) {
	if c.Type != "permission_request" {
		return nil
	}
	cwd, subject := c.Subject.Cwd, timeline.Content{}
	if c.Subject.ItemID != "" {
		var read struct {
			Item struct {
				Content json.RawMessage `json:"content"`
			} `json:"item"`
		}
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		defer cancel()
		if p.client.Call(ctx, "item/read", map[string]any{"item_id": c.Subject.ItemID}, &read) == nil {
			subject = timeline.ReadContent(read.Item.Content)
		}
	}
	if cwd == "" {
		cwd = subject.Cwd
	}
	if cwd != "" {
		lines = append(lines, "in "+timeline.OneLine(cwd))
	}
	if c.Subject.Command == "" && subject.Command != "" {
		lines = append(lines, timeline.OneLine(subject.Command))
	}
	if diffs := subject.Diffs(); diffs != "" {
		lines = append(lines, strings.Split(diffs, "\n")...)
	}
	return lines
}

// answerLines are the answers that a question takes.
func answerLines(q question) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.TrimRight(promptText(q), " "), ":"), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	if q.form != nil {
		return lines
	}
	for i, option := range q.content.Options {
		if more := conversation.Widens(option.Kind); more != "" {
			lines[i] += ", " + more
		}
	}
	return lines
}

// answer takes a line as the answer to the question, unless the line was begun before the
// question came. Every line that is not sent is printed.
func (p *plainChat) answer(line string) error {
	q := &p.open[0]
	if p.input.terminal && time.Since(q.asked) < questionDead {
		return p.say("A question has arrived. Your line was not sent, and not used as its answer: %s", line)
	}
	params, why := readAnswer(q.question, line)
	if why != "" {
		if err := p.say("%s Your line was not sent: %s", why, line); err != nil {
			return err
		}
	}
	if params == nil {
		q.asked = time.Time{}
		return p.ask()
	}
	params["item_id"] = q.id
	id := q.id
	p.open = p.open[1:]
	p.call("item/respond", params, func(_ json.RawMessage, err error) {
		switch {
		case err == nil:
		case client.IsKind(err, "already_resolved"):
			_ = p.say("somebody else has answered already")
		default:
			_ = p.say("the answer did not arrive (%v); try: holon respond %s", err, id)
		}
	})
	p.askSoon()
	return nil
}
