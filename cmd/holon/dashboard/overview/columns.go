package overview

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/turns"
)

// column is one column of the list.
type column struct {
	name  string
	right bool // numbers
	cell  func(m *Model, t *Thread, now time.Time) string
	fit   func(m *Model, t *Thread, width int) string // in place of cell: what is cut elsewhere than at its end
}

// The columns in the order in which they are shown.
const (
	colTitle = iota
	colAgent
	colWhere
	colNow
	colFor
	colChildren
	colTokens
	colCost
	columnCount
)

// table are the columns. Their cells have no colours.
var table = [columnCount]column{
	colTitle:    {name: "THREAD", cell: func(_ *Model, t *Thread, _ time.Time) string { return t.title() }},
	colAgent:    {name: "AGENT", cell: func(_ *Model, t *Thread, _ time.Time) string { return t.Agent }},
	colWhere:    {name: "WHERE", fit: func(m *Model, t *Thread, width int) string { return m.list.where(t, width) }},
	colNow:      {name: "NOW", cell: now},
	colFor:      {name: "FOR", right: true, cell: howLong},
	colChildren: {name: "CHILDREN", cell: func(_ *Model, t *Thread, _ time.Time) string { return children(t) }},
	colTokens:   {name: "TOKENS", right: true, cell: func(_ *Model, t *Thread, _ time.Time) string { return tokens(t) }},
	colCost:     {name: "COST", right: true, cell: func(_ *Model, t *Thread, _ time.Time) string { return cost(t) }},
}

// widths chooses the columns for a width: those that fit and are in use, each as wide as what
// is in it, up to a bound. Titles and NOW get the rest. What is left out is in the details of
// the selected thread.
func widths(width int, used used) [columnCount]int {
	var w [columnCount]int
	w[colFor] = 6
	switch {
	case width >= 180:
		w[colAgent], w[colWhere], w[colChildren], w[colTokens], w[colCost] = 10, 34, 24, 6, 9
	case width >= 150:
		w[colAgent], w[colWhere], w[colChildren], w[colTokens], w[colCost] = 10, 34, 18, 6, 9
	case width >= 110:
		w[colAgent], w[colWhere], w[colTokens], w[colCost] = 8, 24, 6, 8
	case width >= 70:
		w[colWhere], w[colCost] = 14, 7
		if used[colCost] == 0 {
			w[colWhere] += 4
		}
	}
	for i := range w {
		if used[i] == 0 && i != colFor && i != colAgent && i != colWhere {
			w[i] = 0
		} else if w[i] > 0 && !table[i].right {
			w[i] = min(w[i], max(used[i], len(table[i].name)))
		}
	}
	left := width - 2 // the sign
	for _, n := range w {
		if n > 0 {
			left -= n + gap
		}
	}
	if width < 60 {
		w[colTitle] = left
		return w
	}
	// What titles do not need of their half is for NOW.
	left -= gap
	w[colTitle] = min(max((left+gap)/2, 16), max(used[colTitle], 16))
	w[colNow] = left - w[colTitle]
	return w
}

const gap = 2 // blanks between columns

// used says how wide the widest cell of a column is, 0 if nothing is in it.
type used [columnCount]int

func (u *used) note(l *list, t *Thread) {
	for i, cell := range [columnCount]string{
		colTitle: t.title(), colAgent: t.Agent, colWhere: l.where(t, math.MaxInt), colChildren: children(t), colTokens: tokens(t), colCost: cost(t),
	} {
		u[i] = max(u[i], screen.Width(cell))
	}
}

// cells joins cells to a line.
func cells(widths [columnCount]int, cell func(int) string) string {
	var b strings.Builder
	for i, n := range widths {
		if n == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		if table[i].right {
			b.WriteString(screen.PadLeft(cell(i), n))
		} else {
			b.WriteString(screen.Pad(cell(i), n))
		}
	}
	return b.String()
}

// where returns the directory with its branch, and the lines that the thread itself has changed:
// these are not cut, but what is before them. Two threads that write in one directory have a
// mark before it.
func (l *list) where(t *Thread, width int) string {
	if t.Summary.Cwd == "" {
		return ""
	}
	name := filepath.Base(t.directory())
	if l.crowded(t) {
		name = "!! " + name
	}
	if git := t.Summary.Git; git != nil && git.Branch != "" {
		name += " " + git.Branch
	}
	changed := t.Summary.Changed.String()
	if changed == "" {
		return name
	}
	return screen.Fit(name, max(width-screen.Width(changed)-1, 0)) + " " + changed
}

func now(m *Model, t *Thread, now time.Time) string {
	if at, ok := m.closing.of(t.ID); ok {
		return fmt.Sprintf("closes in %s: u keeps it", screen.Span(at.Sub(now)+time.Second-1))
	}
	if s := &t.Summary; turns.Silent(turns.SummaryStatus(s.Status), s.Text, s.Children.Working+s.Children.Waiting, s.UpdatedAt, now) {
		return t.paused("silent for " + screen.Span(now.Sub(s.UpdatedAt)) + ": holon doctor checks its agent")
	}
	if says := t.notTold(now.Location()); says != "" {
		return t.paused(says)
	}
	return t.now()
}

func howLong(_ *Model, t *Thread, now time.Time) string {
	if t.since().IsZero() {
		return ""
	}
	return screen.Span(now.Sub(t.since()))
}

func children(t *Thread) string {
	c := t.Summary.Children
	if c.Total == 0 {
		return ""
	}
	var parts []string
	if c.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d wait", c.Waiting))
	}
	if c.Working > 0 {
		parts = append(parts, fmt.Sprintf("%d work", c.Working))
	}
	if c.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", c.Failed))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%d done", c.Total)
	}
	return strings.Join(parts, ", ")
}

func tokens(t *Thread) string {
	if t.Summary.Spent == nil || t.Summary.Spent.TotalTokens == 0 {
		return ""
	}
	return screen.Tokens(t.Summary.Spent.TotalTokens)
}

func cost(t *Thread) string {
	if t.Summary.Spent == nil || t.Summary.Spent.Cost == nil {
		return ""
	}
	return screen.Money(t.Summary.Spent.Cost.Amount, t.Summary.Spent.Cost.Currency)
}
