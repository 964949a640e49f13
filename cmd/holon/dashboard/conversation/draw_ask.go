package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/form"
	wording "github.com/seed82539d15/holon/question"
)

// about returns the subject of the question, in the order in which it counts where there is little
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

// answersIn draws the answers. If room rows are not enough, an option says in fewer words
// what it widens, and a choice of a field takes one row. Only options may still be more
// than room rows: a typed answer never is, where room is at least 1.
func (p *painter) answersIn(q *question, how answering, room int) (out []string, x, y int) {
	if q.typed() && !q.sent {
		return p.typedAnswer(q, how, max(room, 1))
	}
	for _, widens := range []func(*question, int) string{widensLong, widensShort, nil} {
		if out, x, y = p.answers(q, how, widens); len(out) <= room {
			break
		}
	}
	return out, x, y
}

// answers draws the options. x is -1, as nothing is typed. widens says what an option
// widens, below it; nil: the option itself says it in a word.
func (p *painter) answers(q *question, how answering, widens func(q *question, i int) string) (out []string, x, y int) {
	s := p.styles
	if q.sent {
		return []string{s.Dim.Paint("  sending the answer …")}, -1, 0
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
		if widens == nil || widens(q, i) == "" {
			continue
		}
		for _, row := range screen.Wrap(widens(q, i), max(10, p.width-4)) {
			out = append(out, "    "+s.Dim.Paint(screen.Fit(row, p.width-4)))
		}
	}
	return out, -1, 0
}

// numbered returns the name of an option or a choice in rows of at most width columns.
func (p *painter) numbered(sign string, n int, name string, width int) (rows []string) {
	head := fmt.Sprintf("%s%d ", sign, n)
	for _, row := range unjoined(visible(name), max(10, width-screen.Width(head))) {
		rows = append(rows, head+row)
		head = strings.Repeat(" ", screen.Width(head))
	}
	return rows
}

// visible returns a text of the agent that a person decides by, in one line.
func visible(text string) string { return screen.Clean(wording.OneLine(text)) }

// typedAnswer draws the field that is asked and the line in which it is typed, in at most
// room rows. The line is always there.
func (p *painter) typedAnswer(q *question, by answering, room int) (out []string, x, y int) {
	s := p.styles
	how := "text or JSON"
	switch {
	case q.review != nil:
		how = "What is wrong? Enter sends it, Esc goes back."
	case q.content.URL != "":
		how = "Enter when done, n declines"
	}
	room-- // for the line
	why := q.why != "" && room > 0
	if why {
		room--
	}
	if q.over != "" {
		how = "Esc leaves"
		for _, line := range screen.Wrap(q.over+" Nothing is sent; Esc leaves.", p.text()) {
			out = append(out, "  "+s.Failed.Paint(line))
		}
		out = out[:min(len(out), room)]
	} else if q.form != nil && !q.form.Done() {
		how = q.form.Next().How()
		hidden := 0
		if out, hidden = p.field(q.form, room); hidden > 0 {
			how = wording.More(hidden) + ": " + how
		}
	}
	if why {
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

// field draws the next field of a form in at most room rows: its title, then its choices,
// whole where there is room. Else each choice is one row, then the title is shortened, and
// then the last choices are left out and counted. hidden is how many rows are left out
// that no row counts: all of them, if there is no room.
func (p *painter) field(f *form.Form, room int) (rows []string, hidden int) {
	next := f.Next()
	text := visible(next.Title)
	if next.Description != "" {
		text += ": " + visible(next.Description)
	}
	if given, of := f.Progress(); of > 1 {
		text = strings.TrimSpace(fmt.Sprintf("(%d of %d) %s", given+1, of, text))
	}
	var title, choices []string
	if text != "" {
		title = screen.Wrap(text, p.text())
	}
	for i, c := range next.Choices {
		choices = append(choices, p.numbered("    ", i+1, c.Title, p.width)...)
	}
	if len(title)+len(choices) <= room {
		return append(indent(title), choices...), 0
	}
	choices = nil
	for i, c := range next.Choices {
		choices = append(choices, screen.Fit(fmt.Sprintf("    %d %s", i+1, visible(c.Title)), p.width))
	}
	if room < 1 {
		return nil, min(len(title), 1) + len(choices)
	}
	if most := max(room-len(choices), 1); len(title) > most {
		title = append(title[:most-1:most-1], screen.Fit(strings.Join(title[most-1:], " "), p.text()))
	}
	title = indent(title)
	if len(title)+len(choices) <= room {
		return append(title, choices...), 0
	}
	if room == 1 {
		more := " " + wording.More(len(choices))
		return []string{screen.Fit(strings.Join(title, ""), max(p.width-screen.Width(more), 0)) + p.styles.Dim.Paint(more)}, 0
	}
	shown := room - 1 - len(title)
	more := screen.Fit("    "+wording.More(len(choices)-shown), p.width)
	return append(append(title, choices[:shown]...), p.styles.Dim.Paint(more)), 0
}
