package conversation

import (
	"fmt"
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/cmd/holon/timeline"
	wording "github.com/seed82539d15/holon/question"
)

func (p *painter) tool(r *rows, e *entry) {
	it, s := e.item, p.styles
	sign, style := "⚙", s.Working
	if it.content.Type == "command_execution" {
		sign = "$"
	}
	text := strings.Trim(screen.Clean(string(it.body.text)), "\n")
	var lines []string
	if text != "" {
		lines = strings.Split(text, "\n")
	}
	var tail []string
	if ending := it.content.Ending(it.status); ending != "" && !it.open() {
		style = s.Failed
		tail = append(tail, "✗ "+screen.OneLine(ending))
	} else if it.open() {
		tail = append(tail, "at work")
	}
	switch {
	case e.expanded:
		tail = append(tail, "▾")
	case len(lines) > 0:
		tail = append(tail, "▸ "+screen.Plural(len(lines), "line"))
	case e.expandable():
		tail = append(tail, "▸")
	}
	r.head(style, sign, screen.OneLine(it.content.Headline()), strings.Join(tail, " "))
	switch {
	case e.expanded:
		p.expanded(r, it, lines)
	case it.open() && len(lines) > 0:
		for _, line := range lines[max(0, len(lines)-tailOfOpen):] {
			r.add(s.Dim, "│ "+line)
		}
	}
}

// expanded draws what a tool got and gave.
func (p *painter) expanded(r *rows, it *item, lines []string) {
	s := p.styles
	if it.content.Cwd != "" {
		r.add(s.Dim, "in "+screen.OneLine(it.content.Cwd))
	}
	if input := inputOf(it.content); input != "" {
		for _, line := range screen.Wrap("input "+input, p.text()-2) {
			r.add(s.Dim, "│ "+line)
		}
	}
	if it.body.before > 0 {
		r.add(s.Dim, "│ … "+size(it.body.before)+" before this")
	}
	for i, line := range lines {
		if i == mostLines {
			r.add(s.Dim, "│ "+wording.More(len(lines)-mostLines))
			break
		}
		for _, row := range screen.Wrap(line, p.text()-2) {
			r.add(screen.Style{}, "│ "+row)
		}
	}
	p.rest(r, it)
}

// inputOf returns the input that a tool was called with, if its headline does not say it.
func inputOf(c timeline.Content) string {
	text := screen.OneLine(string(c.Input))
	if text == "{}" || text == "null" || c.Type == "command_execution" {
		return ""
	}
	return screen.Fit(text, 2000)
}

func (p *painter) plan(r *rows, it *item, newest bool) {
	done := 0
	for _, entry := range it.content.Entries {
		if entry.Status == "completed" {
			done++
		}
	}
	title := fmt.Sprintf("plan, %d of %d done", done, len(it.content.Entries))
	if !newest {
		r.head(p.styles.Dim, "☰", p.styles.Dim.Paint(title+" (an earlier one)"), "")
		return
	}
	r.head(p.styles.Working, "☰", title, "")
	for i, entry := range it.content.Entries {
		if i == 100 {
			r.add(p.styles.Dim, fmt.Sprintf("… %d more", len(it.content.Entries)-i))
			break
		}
		style := screen.Style{}
		switch entry.Status {
		case "completed":
			style = p.styles.Dim
		case "in_progress":
			style = p.styles.Strong
		}
		mark := timeline.PlanMark(entry.Status)
		for j, line := range screen.Wrap(screen.OneLine(entry.Content), p.text()-4) {
			if j > 0 {
				mark = "    "
			}
			r.add(style, mark+line)
		}
	}
}

func (p *painter) files(r *rows, e *entry) {
	it := e.item
	most := shortDiff
	if e.expanded {
		most = mostLines
	}
	p.diffs(r, it.diffs, most)
	if len(it.diffs) == 0 {
		r.head(p.styles.Working, "±", "a change of files", "")
	}
	if it.status == "failed" || it.status == "interrupted" {
		r.add(p.styles.Failed, "! the change has "+map[bool]string{true: "failed", false: "not been made"}[it.status == "failed"]+": "+screen.OneLine(it.content.Error))
	}
}

// diffs draws changed files, each with its counts and at most some lines.
func (p *painter) diffs(r *rows, diffs []diff, most int) {
	s := p.styles
	for _, d := range diffs {
		title := p.path(screen.OneLine(d.title))
		counts := ""
		if !d.unknown {
			counts = fmt.Sprintf(" (+%d −%d)", d.added, d.removed)
		}
		room := p.text() - screen.Width(counts)
		line := s.Working.Paint("±") + " " + screen.Fit(title, max(room, 4))
		if counts != "" {
			line += " (" + s.Added.Paint(fmt.Sprintf("+%d", d.added)) + " " + s.Removed.Paint(fmt.Sprintf("−%d", d.removed)) + ")"
		}
		r.list = append(r.list, screen.Fit(line, p.width))
		for i, change := range d.lines {
			if i == most {
				r.add(s.Dim, wording.More(len(d.lines)-most+d.more))
				break
			}
			p.diffLine(r, change)
		}
		if len(d.lines) <= most && d.more > 0 {
			r.add(s.Dim, wording.More(d.more))
		}
	}
}

func (p *painter) diffLine(r *rows, line diffLine) {
	text := strings.ReplaceAll(screen.Clean(line.text), "\n", " ")
	switch line.sign {
	case '+':
		r.add(p.styles.Added, "+ "+text)
	case '-':
		r.add(p.styles.Removed, "- "+text)
	case '~':
		r.add(p.styles.Dim, "⋯ "+text)
	case '!':
		r.add(p.styles.Dim, "! "+text)
	default:
		r.add(p.styles.Dim, "  "+text)
	}
}
