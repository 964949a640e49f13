package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/form"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	wording "github.com/seed82539d15/holon/question"
	"github.com/seed82539d15/holon/rpc/client"
)

// questions are the agent's open questions. The first one is shown on the
// terminal.
type questions struct {
	from    io.Reader // where a person types; nil if there is no terminal
	screen  io.Writer // where they are asked
	lines   chan string
	over    chan struct{} // closed by end: no more lines are read
	reading bool
	open    []question
	refused string // why the person may not answer; "" = they may
}

type question struct {
	id      string
	of      string // the child turn whose agent asks; "" = the turn itself
	thread  string
	content timeline.Content
	form    *form.Form // nil: one answer for the whole question
	shown   bool
	phrase  string   // what is asked, in one line
	rows    []string // all that the phrase does not say
	written int      // how many of them were
}

func newQuestion(id string, content timeline.Content) question {
	return question{id: id, content: content}.withForm()
}

// withForm adds the form that a person fills in to answer.
func (q question) withForm() question {
	content := q.content
	if content.Type == "question" && content.URL == "" {
		q.form = form.New(content.Schema)
	}
	return q
}

// questionsAt finds a terminal for questions: stdin, or the controlling
// terminal if the prompt came from stdin. A terminal to show the question is
// needed too.
func questionsAt(con *console, piped bool) *questions {
	q := &questions{lines: make(chan string), over: make(chan struct{})}
	switch {
	case con.isTerminal(con.out):
		q.screen = con.out
	case con.isTerminal(con.err):
		q.screen = con.err
	default:
		return q
	}
	switch {
	case con.isTerminal(con.in):
		q.from = con.in
	case piped:
		if tty, err := os.Open("/dev/tty"); err == nil {
			q.from = tty
		}
	}
	return q
}

// read passes lines from the terminal on. Its goroutine ends with the process,
// because a read from a terminal cannot be cancelled.
func (q *questions) read() {
	if q.reading {
		return
	}
	q.reading = true
	go func() {
		defer close(q.lines)
		scanner := bufio.NewScanner(q.from)
		for scanner.Scan() {
			select {
			case q.lines <- scanner.Text():
			case <-q.over:
				return
			}
		}
	}()
}

// end stops the reading of lines. It is called once.
func (q *questions) end() { close(q.over) }

// answeredAtOnce is how long a question is held back: by then the agent's
// configuration may have answered it, and the person need not be asked.
const answeredAtOnce = 100 * time.Millisecond

// askSoon asks a question unless an answer comes at once.
func (r *turnRun) askSoon(q question) {
	r.asked = append(r.asked, q)
	if r.due == nil {
		r.due = time.After(answeredAtOnce)
	}
}

func (r *turnRun) askAll() error {
	if r.result.Seq < r.caughtUp { // what is read now is the past: it may have been answered
		r.due = time.After(answeredAtOnce)
		return nil
	}
	asked := r.asked
	r.asked, r.due = nil, nil
	for _, q := range asked {
		if err := r.ask(q); err != nil {
			return err
		}
	}
	return nil
}

// asker names who asks the question.
func (q question) asker() string {
	if q.of == "" {
		return "the agent"
	}
	return timeline.OneLine(q.of)
}

// ask asks the person a question, or says how to answer it elsewhere.
func (r *turnRun) ask(asked question) error {
	q := r.questions
	if q.refused != "" {
		return r.say(asked.asker() + " waits for an answer: " + q.refused)
	}
	if q.from == nil {
		how := "--allow or --reject"
		if len(asked.content.Options) == 0 {
			how = "--answer JSON"
		}
		return r.say(fmt.Sprintf("%s waits for an answer: holon respond %s %s", asked.asker(), shownID(r.con, asked.id), how))
	}
	asked.describe(r.ctx, r.client, asked.thread)
	q.open = append(q.open, asked.withForm())
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
	first := &q.open[0]
	v, drawn := r.view.(*timeline.Renderer)
	head := ""
	switch {
	case !drawn && first.of == "":
		head = "The agent asks: " + first.phrase + "\n"
	case !drawn:
		head = first.asker() + " asks: " + first.phrase + "\n"
	case first.of != "" && (first.shown || len(q.open) > 1):
		head = "  " + first.asker() + " asks: " + first.phrase + "\n"
	case !first.shown && (first.phrase != first.content.Phrase || q.screen != r.con.out):
		head = "  " + first.phrase + "\n" // the timeline has less
	}
	var rows []string
	if !first.shown {
		rows = first.first()
	}
	first.shown = true
	if drawn {
		if err := v.Ask(); err != nil {
			return err
		}
	}
	q.read()
	if _, err := io.WriteString(q.screen, head); err != nil {
		return err
	}
	if err := writeRows(q.screen, rows); err != nil {
		return err
	}
	_, err := io.WriteString(q.screen, promptText(*first))
	return err
}

// promptText returns the list of options and the prompt for the answer.
func promptText(q question) string {
	options := q.content.Options
	if q.form != nil {
		return q.form.Prompt()
	}
	var b strings.Builder
	yes, no := optionOf(options, "allow"), optionOf(options, "reject")
	b.WriteString(optionLines(options))
	switch {
	case len(options) > 0:
		fmt.Fprintf(&b, "  answer 1-%d", len(options))
		if yes >= 0 && no >= 0 {
			b.WriteString(", y or n")
		}
		b.WriteString(": ")
	case q.content.URL != "":
		b.WriteString("  open the page, then answer (done, or n to decline): ")
	default:
		b.WriteString("  answer (text or JSON): ")
	}
	return b.String()
}

// optionLines returns the options in numbered lines, each with what it allows or forbids beyond
// this one time.
func optionLines(options []timeline.Option) string {
	var b strings.Builder
	yes, no := optionOf(options, "allow"), optionOf(options, "reject")
	for i, option := range options {
		fmt.Fprintf(&b, "  %d) %s", i+1, wording.OneLine(option.Name))
		switch i {
		case yes:
			b.WriteString("  [y]")
		case no:
			b.WriteString("  [n]")
		}
		if more := wording.Widens(option.Kind); more != "" {
			b.WriteString(", and " + more)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// optionOf returns the index of the option that a verb (allow, reject) means; -1 = none.
func optionOf(options []timeline.Option, verb string) int {
	kinds := make([]string, len(options))
	for i, o := range options {
		kinds[i] = o.Kind
	}
	return wording.Choose(kinds, verb)
}

// beside writes something while a question is on the terminal, and shows the
// question again below it.
func (r *turnRun) beside(write func() error) error {
	q := r.questions
	if _, ok := r.view.(*timeline.Renderer); len(q.open) == 0 || !ok || q.screen != r.con.out {
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

// withdraw removes a question that has been answered elsewhere. A question that
// was answered here is already removed.
func (r *turnRun) withdraw(id string) error {
	q := r.questions
	r.asked = slices.DeleteFunc(r.asked, func(q question) bool { return q.id == id })
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

// next shows the next question, or lets the timeline continue.
func (r *turnRun) next() error {
	if len(r.questions.open) > 0 {
		return r.show()
	}
	if v, ok := r.view.(*timeline.Renderer); ok {
		return v.Answered()
	}
	return nil
}

// answer takes a line that the person typed.
func (r *turnRun) answer(line string, open bool) error {
	q := r.questions
	if !open {
		// The terminal is closed; open questions can still be answered elsewhere.
		q.lines, q.from = nil, nil
		waiting := q.open
		q.open = nil
		for _, question := range waiting {
			if err := r.ask(question); err != nil {
				return err
			}
		}
		return r.next()
	}
	if len(q.open) == 0 {
		return nil
	}
	first := &q.open[0]
	params, why := readAnswer(*first, line)
	if why != "" {
		if _, err := io.WriteString(q.screen, "  "+why+"\n"); err != nil {
			return err
		}
		return r.show()
	}
	if params == nil { // the next field of the form
		return r.show()
	}
	if rest := first.rest(params); len(rest) > 0 {
		if err := writeRows(q.screen, append(rest, askAgain)); err != nil {
			return err
		}
		return r.show()
	}
	id := first.id
	params["item_id"] = id
	q.open = q.open[1:]
	r.call("item/respond", params, func(err error) string {
		switch {
		case err == nil:
			return ""
		case client.IsKind(err, "already_resolved"):
			return "somebody else has answered already"
		case client.IsKind(err, client.KindForbidden):
			return fmt.Sprintf("you may not answer it: %v", err)
		}
		return fmt.Sprintf("the answer did not arrive (%v); try: holon respond %s", err, shownID(r.con, id))
	})
	return r.next()
}

// readAnswer turns a typed line into params of item/respond: an option's
// number, id or name, y or n for the option that allows or rejects, a field of
// a form, or, for other questions, JSON or else the text itself. why says what
// is wrong with it; params are nil if another field follows.
func readAnswer(q question, line string) (params map[string]any, why string) {
	line = strings.TrimSpace(line)
	content := q.content
	if q.form != nil {
		if why := q.form.Take(line); why != "" || !q.form.Done() {
			return nil, why
		}
		return map[string]any{"answer": q.form.Answer()}, ""
	}
	const none = "That is none of the answers."
	if len(content.Options) == 0 {
		switch {
		case line == "":
			return nil, none
		case content.URL != "" && isNo(line):
			return map[string]any{"outcome": "cancelled"}, ""
		case json.Valid([]byte(line)):
			return map[string]any{"answer": json.RawMessage(line)}, ""
		}
		return map[string]any{"answer": line}, ""
	}
	chosen := -1
	switch strings.ToLower(line) {
	case "y", "yes", "allow":
		chosen = optionOf(content.Options, "allow")
	case "n", "no", "reject":
		chosen = optionOf(content.Options, "reject")
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(content.Options) {
		chosen = n - 1
	}
	for i, option := range content.Options {
		if chosen < 0 && (option.ID == line || line != "" && strings.EqualFold(option.Name, line)) {
			chosen = i
		}
	}
	if chosen < 0 {
		return nil, none
	}
	return map[string]any{"option_id": content.Options[chosen].ID}, ""
}

func isNo(line string) bool {
	line = strings.ToLower(line)
	return line == "n" || line == "no"
}
