package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// about is what the question is about: its text, command, directory and diff, in the
// order in which they count where there is little room. threadCwd is the directory of its
// thread.
func (p *painter) about(q *question, threadCwd string) []string {
	c, s := q.content, p.styles
	r := &rows{p: p}
	title := c.Title
	if c.Type == "question" {
		title = c.Message
	}
	r.wrapped(s.Waiting, "?", s.Strong, orNothing(screen.Clean(title)))
	said := map[string]bool{screen.OneLine(title): true}
	if c.URL != "" {
		r.list = append(r.list, indent(screen.Wrap("open "+screen.OneLine(c.URL), p.text()))...)
	}
	command, cwd := c.Subject.Command, c.Subject.Cwd
	if q.subject != nil {
		if command == "" {
			command = q.subject.content.Command
		}
		if cwd == "" {
			cwd = q.subject.content.Cwd
		}
	}
	if cwd == "" {
		cwd = threadCwd
	}
	if command != "" {
		for i, line := range screen.Wrap(screen.Clean(command), p.text()-2) {
			sign := "  "
			if i == 0 {
				sign = s.Working.Paint("$") + " "
			}
			r.list = append(r.list, "  "+sign+s.Strong.Paint(line))
		}
	}
	if cwd != "" && c.Type == "permission_request" {
		r.list = append(r.list, indent(screen.Wrap("in "+screen.OneLine(cwd), p.text()))...)
	}
	if d := screen.Clean(c.Description); d != "" && !said[screen.OneLine(d)] {
		r.list = append(r.list, indent(screen.Wrap(d, min(p.text(), widestProse)))...)
	}
	p.subjectOf(r, q)
	return r.list
}

// subjectOf draws the item that the question is about.
func (p *painter) subjectOf(r *rows, q *question) {
	it := q.subject
	switch {
	case it == nil && q.unread:
		r.add(p.styles.Failed, "(what it is about cannot be read)")
	case it == nil && q.content.Subject.ItemID != "":
		r.add(p.styles.Dim, "(reading what it is about …)")
	case it == nil:
	case len(it.diffs) > 0:
		inner := &rows{p: &painter{styles: p.styles, width: p.width - 2, now: p.now, cwd: p.cwd}}
		inner.p.diffs(inner, it.diffs, mostLines)
		r.list = append(r.list, indent(inner.list)...)
	default:
		if input := inputOf(it.content); input != "" && it.content.Command == "" {
			r.list = append(r.list, indent(screen.Wrap("with "+input, p.text()))...)
		}
	}
}

func indent(lines []string) (out []string) {
	for _, line := range lines {
		out = append(out, "  "+line)
	}
	return out
}

// answering is how one answers a question where it is drawn.
type answering struct {
	focused bool    // keys go to it …
	dead    bool    // … and do nothing yet
	marks   bool    // one of the options is chosen with the arrows
	line    *editor // what is typed
}

// answersIn draws the answers, with shorter words for what an option widens if room rows
// are not enough.
func (p *painter) answersIn(q *question, how answering, room int) (out []string, x, y int) {
	for _, widens := range []func(string) string{Widens, widensShort, nil} {
		if out, x, y = p.answers(q, how, widens); len(out) <= room {
			break
		}
	}
	return out, x, y
}

// answers draws the options, or the line for a typed answer. x and y say where the cursor
// is, x is -1 if nothing is typed there. widens says what an option widens, below it; nil:
// the option itself says it in a word.
func (p *painter) answers(q *question, how answering, widens func(kind string) string) (out []string, x, y int) {
	s := p.styles
	if q.sent {
		return []string{s.Dim.Paint("  sending the answer …")}, -1, 0
	}
	if q.typed() {
		return p.typedAnswer(q, how)
	}
	yes, no := q.optionOf("allow"), q.optionOf("reject")
	for i, option := range q.content.Options {
		key := ""
		switch i {
		case yes:
			key = "  [y]"
		case no:
			key = "  [n]"
		}
		sign := "  "
		if how.focused && how.marks && i == q.choice {
			sign = "▸ "
		}
		if widens == nil && strings.HasSuffix(option.Kind, "_always") {
			key = " (from now on)" + key
		}
		line := screen.Fit(fmt.Sprintf("%s%d %s", sign, i+1, screen.OneLine(option.Name)), p.width-len(key)) + key
		switch {
		case how.dead:
			line = s.Dim.Paint(line)
		case sign != "  ":
			line = s.Strong.Paint(line)
		}
		out = append(out, line)
		if widens == nil || widens(option.Kind) == "" {
			continue
		}
		for _, row := range screen.Wrap(widens(option.Kind), max(10, p.width-4)) {
			out = append(out, "    "+s.Dim.Paint(screen.Fit(row, p.width-4)))
		}
	}
	return out, -1, 0
}

// typedAnswer draws the field that is asked and the line in which it is typed.
func (p *painter) typedAnswer(q *question, by answering) (out []string, x, y int) {
	s := p.styles
	how := "text or JSON"
	if q.content.URL != "" {
		how = "Enter when done, n declines"
	}
	if q.over != "" {
		how = "Esc leaves"
		for _, line := range screen.Wrap(q.over+" Nothing is sent; Esc leaves.", p.text()) {
			out = append(out, "  "+s.Failed.Paint(line))
		}
	} else if q.form != nil && !q.form.Done() {
		f := q.form.Next()
		given, of := q.form.Progress()
		title := screen.OneLine(f.Title)
		if f.Description != "" {
			title += ": " + screen.OneLine(f.Description)
		}
		if of > 1 {
			title = strings.TrimSpace(fmt.Sprintf("(%d of %d) %s", given+1, of, title))
		}
		if title != "" {
			out = append(out, indent(screen.Wrap(title, p.text()))...)
		}
		for i, c := range f.Choices {
			out = append(out, screen.Fit(fmt.Sprintf("    %d %s", i+1, screen.OneLine(c.Title)), p.width))
		}
		how = f.How()
	}
	if q.why != "" {
		out = append(out, "  "+s.Failed.Paint(screen.Fit(q.why, p.text())))
	}
	rows, x, _ := by.line.rows(max(4, p.width-4), 1)
	line := "  " + s.Strong.Paint("»") + " " + rows[0]
	if by.line.text == "" {
		line = "  » " + s.Dim.Paint(screen.Fit(screen.OneLine(how), p.width-4))
	}
	out = append(out, line)
	if !by.focused {
		return out, -1, 0
	}
	return out, x + 4, len(out) - 1
}
