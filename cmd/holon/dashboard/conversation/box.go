package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	wording "github.com/seed82539d15/holon/question"
)

// questionBox draws the shown question in at most room rows: what it is about, above the
// options. x and y say where the caret is, x is -1 if nothing is typed there.
func (d drawing) questionBox(p *painter, room int) (rows []string, x, y int) {
	q := d.m.asks.front()
	v := &d.m.view
	if q == nil || room < 3 {
		return nil, -1, 0
	}
	if d.m.asks.dead(p.now) {
		d.redrawIn(p.now, d.m.asks.alive().Sub(p.now))
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
	how := answering{focused: d.m.focus == onQuestion, dead: d.m.asks.dead(p.now), marks: true, line: &d.m.answer}
	answers, x, y := p.answersIn(q, how, most-3)
	if len(answers) > most-2 { // the chosen one and those around it
		first := max(0, len(answers)-(most-2))
		if n := len(q.content.Options); n > 0 {
			first = min(first, max(0, len(answers)*q.choice/n-1))
		}
		answers, y = answers[first:first+most-2], y-first
	}
	about := p.about(q, d.m.thread.Summary.Cwd)
	window, all := most-1-len(answers), len(about)
	v.subjectMost, v.subjectPage = 0, window
	hidden := len(about) - window
	switch {
	case hidden <= 0:
		v.subjectTop, hidden = 0, 0
		q.see(0, all, all)
	case window >= 3:
		hidden++
		v.subjectMost = hidden
		v.subjectTop = min(v.subjectTop, hidden)
		shown := window - 1
		v.subjectPage = shown
		q.see(v.subjectTop, v.subjectTop+shown, all)
		about = append(about[v.subjectTop:v.subjectTop+shown:v.subjectTop+shown], p.styles.Dim.Paint(d.moreOf(hidden)))
		hidden = 0
	default:
		v.subjectMost = hidden
		v.subjectTop = min(v.subjectTop, hidden)
		q.see(v.subjectTop, v.subjectTop+window, all)
		about = about[v.subjectTop : v.subjectTop+window : v.subjectTop+window]
	}
	rows = append([]string{d.questionRule(p, hidden)}, about...)
	y += len(rows)
	return append(rows, answers...), x, y
}

func (d drawing) moreOf(hidden int) string {
	if d.m.focus == onQuestion {
		return "  " + wording.More(hidden) + ": PgDn, PgUp"
	}
	return "  " + wording.More(hidden) + ": a, then PgDn"
}

// scrollSubject scrolls what the question is about by as much as is visible of it, so that
// every line comes into sight; false if there is no more of it.
func (d drawing) scrollSubject(name string) bool {
	v := &d.m.view
	if v.subjectOf == "" || d.m.asks.front() == nil {
		return false
	}
	step := max(1, v.subjectPage)
	if name == "pgup" {
		step = -step
	}
	before := v.subjectTop
	v.subjectTop = max(0, min(v.subjectTop+step, v.subjectMost))
	return v.subjectTop != before
}

// questionRule returns the line above a question: how many there are, how one answers, and
// how many lines are hidden that no other row tells of.
func (d drawing) questionRule(p *painter, hidden int) string {
	text, gone := "─ The agent asks ", "─ The question is gone "
	if d.m.asks.front().review != nil {
		text, gone = "─ A result waits for your review ", "─ The review is over "
	}
	if n := len(d.m.asks.open); n > 1 {
		text += fmt.Sprintf("(1 of %d) ", n)
	}
	how := ""
	if d.m.asks.left != nil {
		text = gone
	}
	switch d.m.focus {
	case onTimeline:
		how = " a answers ─"
	case onInput:
		how = " Esc a answers ─"
	}
	switch {
	case d.m.focus != onQuestion && hidden > 0:
		more := " " + wording.More(hidden)
		how = screen.Widest(p.width-screen.Width(text), more+":"+how, more+" ─")
	case d.m.focus != onQuestion:
	case d.m.asks.left != nil:
		how = " Esc leaves ─"
	case hidden > 0:
		how = fmt.Sprintf(" PgDn: %d more ─", hidden)
	}
	if screen.Width(text)+screen.Width(how) > p.width {
		how = ""
	}
	return p.styles.Waiting.Paint(text + strings.Repeat("─", max(0, p.width-screen.Width(text)-screen.Width(how))) + how)
}
