package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// questionBox draws the shown question in at most room rows: what it is about, above the
// options. x and y say where the cursor is, x is -1 if nothing is typed there.
func (d drawing) questionBox(p *painter, room int) (rows []string, x, y int) {
	q := d.m.asks.front()
	v := &d.m.view
	if q == nil || room < 3 {
		return nil, -1, 0
	}
	if d.m.asks.dead(p.now) {
		d.redrawIn(p.now, deadFor-p.now.Sub(d.m.asks.since))
	}
	if v.subjectOf != q.id {
		v.subjectOf, v.subjectTop = q.id, 0
	}
	most := room
	switch {
	case d.m.focus != onQuestion && room > 12:
		most = room / 2
	case room > 12:
		most = room - 3
	}
	answers, x, y := d.answers(p, q, Widens)
	if len(answers) > most-3 {
		answers, x, y = d.answers(p, q, widensShort)
	}
	if len(answers) > most-2 { // the chosen one and those around it
		first := max(0, len(answers)-(most-2))
		if n := len(q.content.Options); n > 0 {
			first = min(first, max(0, len(answers)*q.choice/n-1))
		}
		answers, y = answers[first:first+most-2], y-first
	}
	about := d.about(p, q)
	window := most - 1 - len(answers)
	v.subjectRows = len(about)
	hidden := len(about) - window
	switch {
	case hidden <= 0:
		v.subjectTop, hidden = 0, 0
	case window >= 3:
		hidden++
		v.subjectTop = min(v.subjectTop, hidden)
		shown := window - 1
		about = append(about[v.subjectTop:v.subjectTop+shown:v.subjectTop+shown], p.styles.Dim.Paint(d.moreOf(hidden)))
		hidden = 0
	default:
		v.subjectTop = min(v.subjectTop, hidden)
		about = about[v.subjectTop : v.subjectTop+window]
	}
	rows = append([]string{d.questionRule(p, hidden)}, about...)
	y += len(rows)
	return append(rows, answers...), x, y
}

func (d drawing) moreOf(hidden int) string {
	if d.m.focus == onQuestion {
		return fmt.Sprintf("  … %d more lines: PgDn, PgUp", hidden)
	}
	return fmt.Sprintf("  … %d more lines: a, then PgDn", hidden)
}

// scrollSubject scrolls what the question is about; false if all of it is visible.
func (d drawing) scrollSubject(name string) bool {
	v := &d.m.view
	if v.subjectOf == "" || d.m.asks.front() == nil {
		return false
	}
	step := 5
	if name == "pgup" {
		step = -5
	}
	before := v.subjectTop
	v.subjectTop = max(0, min(v.subjectTop+step, v.subjectRows-1))
	return v.subjectTop != before || step > 0
}

// questionRule is the line above a question: how many there are, how one answers, and
// how many lines are hidden that no other row tells of.
func (d drawing) questionRule(p *painter, hidden int) string {
	text := "─ The agent asks "
	if n := len(d.m.asks.open); n > 1 {
		text = fmt.Sprintf("─ The agent asks (1 of %d) ", n)
	}
	how := ""
	switch d.m.focus {
	case onTimeline:
		how = " a answers ─"
	case onInput:
		how = " Esc a answers ─"
	}
	if hidden > 0 && d.m.focus == onQuestion {
		how = fmt.Sprintf(" PgDn: %d more ─", hidden)
	}
	if screen.Width(text)+screen.Width(how) > p.width {
		how = ""
	}
	return p.styles.Waiting.Paint(text + strings.Repeat("─", max(0, p.width-screen.Width(text)-screen.Width(how))) + how)
}

// about is what the question is about: its text, directory, command and diff.
func (d drawing) about(p *painter, q *question) []string {
	c, s := q.content, p.styles
	r := &rows{p: p}
	title := c.Title
	if c.Type == "question" {
		title = c.Message
	}
	r.wrapped(s.Waiting, "?", s.Strong, orNothing(screen.Clean(title)))
	said := map[string]bool{screen.OneLine(title): true}
	if d := screen.Clean(c.Description); d != "" && !said[screen.OneLine(d)] {
		r.list = append(r.list, indent(screen.Wrap(d, min(p.text(), widestProse)))...)
	}
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
		cwd = d.m.thread.Cwd
	}
	if cwd != "" && c.Type == "permission_request" {
		r.list = append(r.list, indent(screen.Wrap("in "+screen.OneLine(cwd), p.text()))...)
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
	d.subjectOf(p, r, q)
	return r.list
}

// subjectOf draws the item that the question is about.
func (d drawing) subjectOf(p *painter, r *rows, q *question) {
	it := q.subject
	switch {
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

// answers draws the options, or the line for a typed answer.
func (d drawing) answers(p *painter, q *question, widens func(kind string) string) (out []string, x, y int) {
	s := p.styles
	if q.sent {
		return []string{s.Dim.Paint("  sending the answer …")}, -1, 0
	}
	if q.typed() {
		return d.typedAnswer(p, q)
	}
	yes, no := q.optionOf("allow"), q.optionOf("reject")
	dead := d.m.asks.dead(p.now)
	for i, option := range q.content.Options {
		key := ""
		switch i {
		case yes:
			key = "  [y]"
		case no:
			key = "  [n]"
		}
		sign := "  "
		if d.m.focus == onQuestion && i == q.choice {
			sign = "▸ "
		}
		line := screen.Fit(fmt.Sprintf("%s%d %s", sign, i+1, screen.OneLine(option.Name)), p.width-len(key)) + key
		switch {
		case dead:
			line = s.Dim.Paint(line)
		case sign != "  ":
			line = s.Strong.Paint(line)
		}
		out = append(out, line)
		if more := widens(option.Kind); more != "" {
			for _, row := range screen.Wrap(more, max(10, p.width-4)) {
				out = append(out, "    "+s.Dim.Paint(screen.Fit(row, p.width-4)))
			}
		}
	}
	return out, -1, 0
}

// typedAnswer draws the field that is asked and the line in which it is typed.
func (d drawing) typedAnswer(p *painter, q *question) (out []string, x, y int) {
	s := p.styles
	how := "text or JSON"
	if q.content.URL != "" {
		how = "Enter when done, n declines"
	}
	if q.form != nil && !q.form.Done() {
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
	rows, x, _ := d.m.answer.rows(max(4, p.width-4), 1)
	line := "  " + s.Strong.Paint("»") + " " + rows[0]
	if d.m.answer.text == "" {
		line = "  » " + s.Dim.Paint(screen.Fit(screen.OneLine(how), p.width-4))
	}
	out = append(out, line)
	if d.m.focus != onQuestion {
		return out, -1, 0
	}
	return out, x + 4, len(out) - 1
}
