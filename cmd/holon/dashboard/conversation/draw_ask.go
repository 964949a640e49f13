package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	wording "github.com/seed82539d15/holon/question"
)

// about is what the question is about, in the order in which it counts where there is little
// room. threadCwd is the directory of its thread.
func (p *painter) about(q *question, threadCwd string) []string {
	words := q.words(threadCwd)
	if q.drawn != nil && q.drawnAt == p.width {
		return q.drawn
	}
	s := p.styles
	var out []string
	for i, row := range unjoined(screen.Clean(words.Phrase), min(p.text(), widestProse)) {
		if i == 0 {
			out = append(out, s.Waiting.Paint("?")+" "+s.Strong.Paint(row))
			continue
		}
		out = append(out, "  "+s.Strong.Paint(row))
	}
	for i, line := range words.Lines {
		sign, style := wording.Sign(line.Kind, i > 0 && words.Lines[i-1].Kind == line.Kind), screen.Style{}
		switch line.Kind {
		case wording.Command:
			style = s.Strong
		case wording.Added:
			style = s.Added
		case wording.Removed:
			style = s.Removed
		case wording.Same, wording.Gap:
			style = s.Dim
		case wording.Note:
			style = s.Failed
		}
		for j, row := range unjoined(screen.Clean(line.Text), p.text()-screen.Width(sign)) {
			if j > 0 && sign != "" {
				sign = "╎ " // it goes on
			}
			out = append(out, "  "+style.Paint(sign+row))
		}
	}
	if q.reading() {
		out = append(out, "  "+s.Dim.Paint("(reading what it is about …)"))
	}
	q.drawn, q.drawnAt = out, p.width
	return out
}

// unjoined breaks a line into rows so that no run of blanks is lost at the end of one.
func unjoined(text string, width int) []string {
	if !strings.Contains(text, "  ") {
		return screen.Wrap(text, width)
	}
	return screen.Chop(text, width)
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
	for _, widens := range []func(string) string{widensLong, widensShort, nil} {
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
		if longer := wording.Longer(option.Kind); widens == nil && longer != "" {
			key = " (" + longer + ")" + key
		}
		rows := p.numbered(sign, i+1, option.Name, p.width-len(key))
		if widens == nil { // there is little room
			rows = []string{screen.Fit(fmt.Sprintf("%s%d %s", sign, i+1, visible(option.Name)), p.width-len(key))}
		}
		rows[len(rows)-1] += key
		for _, row := range rows {
			switch {
			case how.dead:
				row = s.Dim.Paint(row)
			case sign != "  ":
				row = s.Strong.Paint(row)
			}
			out = append(out, row)
		}
		if widens == nil || widens(option.Kind) == "" {
			continue
		}
		for _, row := range screen.Wrap(widens(option.Kind), max(10, p.width-4)) {
			out = append(out, "    "+s.Dim.Paint(screen.Fit(row, p.width-4)))
		}
	}
	return out, -1, 0
}

// numbered is the name of an option or a choice in rows of at most width columns.
func (p *painter) numbered(sign string, n int, name string, width int) (rows []string) {
	head := fmt.Sprintf("%s%d ", sign, n)
	for _, row := range unjoined(visible(name), max(10, width-screen.Width(head))) {
		rows = append(rows, head+row)
		head = strings.Repeat(" ", screen.Width(head))
	}
	return rows
}

// visible is a text of the agent that a person decides by, in one line.
func visible(text string) string { return screen.Clean(wording.OneLine(text)) }

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
		title := visible(f.Title)
		if f.Description != "" {
			title += ": " + visible(f.Description)
		}
		if of > 1 {
			title = strings.TrimSpace(fmt.Sprintf("(%d of %d) %s", given+1, of, title))
		}
		if title != "" {
			out = append(out, indent(screen.Wrap(title, p.text()))...)
		}
		for i, c := range f.Choices {
			out = append(out, p.numbered("    ", i+1, c.Title, p.width)...)
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
