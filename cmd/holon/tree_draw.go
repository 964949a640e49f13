package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
	"github.com/seed82539d15/holon/threads"
	"github.com/seed82539d15/holon/turns"
)

// picture is a forest as lines for a person.
type picture struct{ lines []string }

func (p picture) text() string {
	if len(p.lines) == 0 {
		return ""
	}
	return strings.Join(p.lines, "\n") + "\n"
}

// branches are the parts of a tree's left side.
type branches struct{ fork, last, down, gap string }

var (
	branchesUTF8  = branches{"├─ ", "└─ ", "│  ", "   "}
	branchesASCII = branches{"|- ", "`- ", "|  ", "   "}
)

// treeRow is a line of a picture in its parts.
type treeRow struct {
	branch string
	sign   timeline.Sign
	name   string
	state  string
	id     string // if the name is another one
	aside  string // a line of its own, behind the branch
}

// picture draws the forest. On a terminal every line fits its width.
func (f *forest) picture(con *console) picture {
	live := con.isTerminal(con.out)
	d := treeDrawing{
		id: tableID(con), signs: con.signs(live), left: branchesUTF8, now: time.Now(),
	}
	if d.signs.ASCII {
		d.left = branchesASCII
	}
	if live {
		d.columns = con.columns() - 1
	}
	for _, root := range f.arrange() {
		d.add(root, "", "")
	}
	return picture{d.layout()}
}

// treeDrawing lays out a picture.
type treeDrawing struct {
	signs   timeline.Signs
	left    branches
	columns int // 0 = no bound
	now     time.Time
	rows    []treeRow
	id      func(string) string // how ids are shown
}

// add adds a thread and what is below it. branch leads to its line, below to those
// of its children.
func (d *treeDrawing) add(t *treeThread, branch, below string) {
	row := treeRow{branch: branch, name: d.id(t.ID)}
	title := t.Title
	if t.Turn != nil && t.Turn.Title != "" && !t.Turn.Outside { // the thread of outside work is not named by its owner
		title = t.Turn.Title
	}
	if title = timeline.OneLine(title); title != "" {
		row.name, row.id = title, d.id(t.ID)
	}
	row.sign, row.state = treeState(t, d.now)
	d.rows = append(d.rows, row)
	down := below + d.left.gap
	if len(t.Children)+len(t.Outside) > 0 {
		down = below + d.left.down
	}
	for _, q := range t.Questions {
		d.rows = append(d.rows,
			treeRow{branch: down, sign: timeline.SignAsk, aside: q.Text},
			treeRow{branch: down, aside: d.howToAnswer(q, down)})
	}
	children, done := hideJobs(t.Children)
	for i, work := range t.Outside {
		left := d.left.fork
		if i == len(t.Outside)-1 && len(t.Children) == 0 {
			left = d.left.last
		}
		row := treeRow{branch: below + left, name: d.id(work.TurnID)}
		if title := timeline.OneLine(work.Title); title != "" {
			row.name = title
		}
		row.sign, row.state = turnState(work, d.now)
		row.state += ", in thread " + timeline.OneLine(d.id(work.ThreadID))
		d.rows = append(d.rows, row)
	}
	if done > 0 {
		row := treeRow{branch: below + d.left.fork, sign: timeline.SignCompleted, name: fmt.Sprintf("%d jobs", done), state: "completed"}
		if len(children) == 0 {
			row.branch = below + d.left.last
		}
		d.rows = append(d.rows, row)
	}
	for i, child := range children {
		if i == len(children)-1 {
			d.add(child, below+d.left.last, below+d.left.gap)
		} else {
			d.add(child, below+d.left.fork, below+d.left.down)
		}
	}
}

// hideJobs leaves out the jobs that have completed and have nothing below them, if there are
// several, and counts them.
func hideJobs(children []*treeThread) (rest []*treeThread, done int) {
	for _, c := range children {
		if t := c.Turn; t != nil && t.Job != "" && t.State == turns.Completed && !t.InReview() && !t.StoppedEarly() && len(c.Children)+len(c.Questions) == 0 {
			done++
		} else {
			rest = append(rest, c)
		}
	}
	if done < 2 {
		return children, 0
	}
	return rest, done
}

// howToAnswer returns the command that answers a question, or the one that lists all if it
// does not fit.
func (d *treeDrawing) howToAnswer(q treeQuestion, branch string) string {
	text := "  holon respond " + timeline.OneLine(d.id(q.ItemID))
	if d.columns > 0 && timeline.Width(branch)+timeline.Width(text) > d.columns {
		text = "  holon respond"
	}
	return text
}

// The bounds of the columns on a terminal.
const (
	leastName  = 16
	leastState = 12
)

// layout makes the lines.
func (d *treeDrawing) layout() []string {
	names, states, ids := 0, 0, 0
	for _, r := range d.rows {
		if r.aside == "" {
			names = max(names, timeline.Width(r.branch)+2+timeline.Width(r.name))
			states = max(states, timeline.Width(r.state))
			ids = max(ids, timeline.Width(r.id))
		}
	}
	if d.columns > 0 {
		if names+2+states+2+ids > d.columns {
			ids = 0
		}
		if over := names + 2 + states - d.columns; over > 0 {
			cut := min(over, max(0, states-max(leastState, d.columns/2)))
			states -= cut
			names = max(min(names, leastName), names-(over-cut))
			states = max(min(states, leastState), min(states, d.columns-names-2))
		}
	}
	lines := make([]string, 0, len(d.rows))
	for _, r := range d.rows {
		line := d.signs.Dim(r.branch)
		if r.aside != "" {
			text := r.aside
			sign := ""
			if r.sign != (timeline.Sign{}) {
				sign = d.signs.Of(r.sign) + " "
			}
			if d.columns > 0 {
				text = timeline.Fit(text, max(leastState, d.columns-timeline.Width(r.branch)-len("? ")))
			}
			lines = append(lines, line+sign+text)
			continue
		}
		name := timeline.Fit(r.name, max(1, names-timeline.Width(r.branch)-2))
		line += d.signs.Of(r.sign) + " " + name
		line += strings.Repeat(" ", max(0, names-timeline.Width(r.branch)-2-timeline.Width(name))+2)
		state := timeline.Fit(r.state, states)
		line += state
		if ids > 0 && r.id != "" {
			line += strings.Repeat(" ", states-timeline.Width(state)+2) + d.signs.Dim(r.id)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// treeState describes what the turn of a thread does, or how the last one ended.
func treeState(t *treeThread, now time.Time) (sign timeline.Sign, text string) {
	sign, text = timeline.SignNone, "no turn yet"
	if t.Turn != nil {
		sign, text = turnState(t.Turn, now)
	}
	if len(t.Questions) > 0 {
		sign = timeline.SignAsk
	}
	switch more := t.Queued; {
	case t.Turn != nil && t.Turn.State == turns.Queued && more > 1:
		text += fmt.Sprintf(", %d more queued", more-1)
	case t.Turn != nil && t.Turn.State == turns.Active && more > 0:
		text += fmt.Sprintf(", %d queued", more)
	}
	if t.State != threads.Running && t.State != "" {
		text += " (" + timeline.OneLine(string(t.State)) + ")"
	}
	return sign, text
}

// turnState describes in a few words what a turn does, or how it ended.
func turnState(t *turns.Turn, now time.Time) (timeline.Sign, string) {
	s := timeline.TurnState{
		State: string(t.State), Progress: string(t.Progress), WaitsFor: len(t.WaitsFor), RetryAt: t.RetryAt.Time,
		StopReason: t.StopReason, Took: tookOf(t, now), Background: t.AttentionPolicy == turns.Notify,
	}
	if t.Review != nil {
		s.Review = string(t.Review.State)
	}
	if t.Error != nil {
		s.Why = t.Error.Message
	} else if t.State != turns.Completed {
		s.Why = t.Reason
	}
	return s.Words(now)
}
