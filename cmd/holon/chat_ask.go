package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/rpc/client"
)

// ask asks the first open question: what it is about, then its answers, each in lines of
// its own.
func (p *plainChat) ask() error {
	if len(p.open) == 0 || !p.open[0].asked.IsZero() {
		return nil
	}
	q := &p.open[0]
	var rows []string
	if !q.shown {
		q.describe(p.ctx, p.client, p.thread.ThreadID)
		if rows = q.first(); q.phrase != q.content.Phrase { // the timeline has only the agent's words
			rows = append([]string{q.phrase}, rows...)
		}
		q.shown = true
	}
	q.asked = time.Now()
	return p.question(append(rows, answerLines(q.question)...))
}

// question writes rows of a question.
func (p *plainChat) question(rows []string) error {
	for _, row := range rows {
		if _, err := fmt.Fprintln(p.con.out, strings.TrimRight("question: "+row, " ")); err != nil {
			return err
		}
	}
	return nil
}

// answerLines returns the answers that a question takes.
func answerLines(q question) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.TrimRight(promptText(q), " "), ":"), "\n") {
		lines = append(lines, strings.TrimSpace(line))
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
	if rest := q.rest(params); len(rest) > 0 {
		if err := p.question(append(rest, askAgain)); err != nil {
			return err
		}
		q.asked = time.Time{}
		return p.ask()
	}
	params["item_id"] = q.id
	id := shownID(p.con, q.id)
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
