package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/rpc/client"
)

// questions are what the agent has asked and nobody has answered yet. The
// first one is on the terminal.
type questions struct {
	from    io.Reader // where a person types; nil if nobody can
	screen  io.Writer // where they are asked
	lines   chan string
	reading bool
	open    []question
}

type question struct {
	id      string
	content timeline.Content
}

// questions finds a terminal to ask at: stdin, or the controlling terminal if
// the prompt came by stdin. Asking needs a terminal to show the question too.
func (g *globals) questions(piped bool) *questions {
	q := &questions{lines: make(chan string)}
	switch {
	case g.isTerminal(g.out):
		q.screen = g.out
	case g.isTerminal(g.err):
		q.screen = g.err
	default:
		return q
	}
	switch {
	case g.isTerminal(g.in):
		q.from = g.in
	case piped:
		if tty, err := os.Open("/dev/tty"); err == nil {
			q.from = tty
		}
	}
	return q
}

// read hands on lines from the terminal. It ends with the process: a read from
// a terminal cannot be called off.
func (q *questions) read() {
	if q.reading {
		return
	}
	q.reading = true
	go func() {
		defer close(q.lines)
		scanner := bufio.NewScanner(q.from)
		for scanner.Scan() {
			q.lines <- scanner.Text()
		}
	}()
}

// ask puts a question to the person, or says how to answer it elsewhere.
func (r *turnRun) ask(id string, content timeline.Content) error {
	q := r.questions
	if q.from == nil {
		how := "--allow or --reject"
		if len(content.Options) == 0 {
			how = "--answer JSON"
		}
		return r.say(fmt.Sprintf("the agent waits for an answer: holon respond %s %s", id, how))
	}
	q.open = append(q.open, question{id, content})
	if len(q.open) == 1 {
		return r.show()
	}
	return nil
}

// show writes the first open question's options and waits for a line.
func (r *turnRun) show() error {
	q := r.questions
	if len(q.open) == 0 {
		return nil
	}
	text := promptText(q.open[0].content)
	if v, ok := r.view.(*timelineViewer); ok {
		if err := v.r.Ask(); err != nil {
			return err
		}
	} else {
		text = "The agent asks: " + q.open[0].content.Summary("") + "\n" + text
	}
	q.read()
	_, err := io.WriteString(q.screen, text)
	return err
}

// promptText lists the options and ends where the answer is typed.
func promptText(content timeline.Content) string {
	var b strings.Builder
	for i, option := range content.Options {
		fmt.Fprintf(&b, "  %d) %s\n", i+1, timeline.OneLine(option.Name))
	}
	switch {
	case len(content.Options) > 0:
		fmt.Fprintf(&b, "  answer 1-%d, y or n: ", len(content.Options))
	default:
		b.WriteString("  answer (text or JSON): ")
	}
	return b.String()
}

// beside lets something be written while a question stands on the terminal:
// the question is shown again below it.
func (r *turnRun) beside(write func() error) error {
	q := r.questions
	if _, timeline := r.view.(*timelineViewer); len(q.open) == 0 || !timeline || q.screen != r.g.out {
		return write()
	}
	if _, err := io.WriteString(q.screen, "\n"); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return r.show()
}

// withdraw takes a question away that has been answered elsewhere; one that
// was answered here is gone already.
func (r *turnRun) withdraw(id string) error {
	q := r.questions
	for i, open := range q.open {
		if open.id != id {
			continue
		}
		q.open = append(q.open[:i:i], q.open[i+1:]...)
		if i == 0 {
			if _, err := io.WriteString(q.screen, "\n"); err != nil {
				return err
			}
			return r.next()
		}
	}
	return nil
}

// next shows the next question, or lets the timeline go on.
func (r *turnRun) next() error {
	if len(r.questions.open) > 0 {
		return r.show()
	}
	if v, ok := r.view.(*timelineViewer); ok {
		return v.r.Answered()
	}
	return nil
}

// answer takes a line that the person typed.
func (r *turnRun) answer(line string, open bool) error {
	q := r.questions
	if !open {
		// The terminal is gone; what is open can still be answered elsewhere.
		q.lines, q.from = nil, nil
		waiting := q.open
		q.open = nil
		for _, question := range waiting {
			if err := r.ask(question.id, question.content); err != nil {
				return err
			}
		}
		return r.next()
	}
	if len(q.open) == 0 {
		return nil
	}
	first := q.open[0]
	params, ok := readAnswer(first.content, line)
	if !ok {
		if _, err := io.WriteString(q.screen, "  That is none of the answers.\n"); err != nil {
			return err
		}
		return r.show()
	}
	params["item_id"] = first.id
	q.open = q.open[1:]
	r.call("item/respond", params, func(err error) string {
		switch {
		case err == nil:
			return ""
		case client.IsKind(err, "already_resolved"):
			return "somebody else has answered already"
		}
		return fmt.Sprintf("the answer did not arrive (%v); try: holon respond %s", err, first.id)
	})
	return r.next()
}

// readAnswer turns what was typed into params of item/respond: an option's
// number, id or name, y or n for the first that allows or rejects, or, for a
// question without options, JSON or else the text itself.
func readAnswer(content timeline.Content, line string) (params map[string]any, ok bool) {
	line = strings.TrimSpace(line)
	if len(content.Options) == 0 {
		if line == "" {
			return nil, false
		}
		if json.Valid([]byte(line)) {
			return map[string]any{"answer": json.RawMessage(line)}, true
		}
		return map[string]any{"answer": line}, true
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(content.Options) {
		return map[string]any{"option_id": content.Options[n-1].ID}, true
	}
	verb := ""
	switch strings.ToLower(line) {
	case "":
		return nil, false
	case "y", "yes", "allow":
		verb = "allow"
	case "n", "no", "reject":
		verb = "reject"
	}
	for _, option := range content.Options {
		if verb != "" && strings.HasPrefix(option.Kind, verb) || option.ID == line || strings.EqualFold(option.Name, line) {
			return map[string]any{"option_id": option.ID}, true
		}
	}
	return nil, false
}
