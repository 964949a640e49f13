package overview

import (
	"fmt"
	"strings"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// The smallest screen that can be used.
const (
	MinWidth  = 30
	MinHeight = 8
)

// Lines implements screen.Page.
func (m *Model) Lines(now time.Time, width, height int) []string {
	m.screen.width, m.screen.height = width, height
	if width < MinWidth || height < MinHeight {
		return TooSmall(width, height)
	}
	help := screen.Pad(screen.HelpLine(m.styles, m.keysOf(), width), width)
	if m.help.Open {
		return append(screen.Fill(m.help.Lines(m.styles, allKeys, width, height-1), width, height-1), help)
	}
	lines := []string{m.topLine(now, width)}
	if lost := m.ended.line(now, width); lost != "" {
		lines = append(lines, m.styles.Failed.Paint(screen.Pad(lost, width)))
	}
	if kept := m.list.kept(width); kept != "" && !m.filter.open {
		lines = append(lines, m.styles.Notice.Paint(screen.Pad(kept, width)))
	}
	panel := m.panel(now, width, height-(len(lines)-1)) // what is said above takes of its room
	m.screen.top = height - 1 - len(panel)
	if room := m.screen.top - len(lines); room >= 10 {
		if away := m.awayLines(now, width, min(room/3, mostAway)); len(away) > 0 {
			lines = append(append(lines, away...), "")
		}
	} else if room >= 5 {
		lines = append(lines, m.awayLines(now, width, 1)...)
	}
	lines = append(lines, m.listLines(now, width, m.screen.top-len(lines))...)
	lines = append(lines, panel...)
	return append(screen.Fill(lines, width, height-1), help)
}

// mostAway is how many lines what happened meanwhile takes: most of the screen is for the list.
const mostAway = 4

// TooSmall returns the message that a terminal is too small.
func TooSmall(width, height int) []string {
	lines := screen.Wrap(fmt.Sprintf("This window is too small: the dashboard needs %d × %d.", MinWidth, MinHeight), width)
	return screen.Fill(lines, width, height)
}

// topLine returns the state of everything in a line. What does not fit is left out
// from the end.
func (m *Model) topLine(now time.Time, width int) string {
	if !m.loaded {
		return screen.Pad("Reading the threads …", width)
	}
	n := m.list.totals()
	type part struct {
		text  string
		style screen.Style
	}
	parts := []part{{"nothing needs you", screen.Style{}}}
	beyond := m.list.beyond
	if m.list.unknown(n.NeedsYou) {
		parts[0].text = "nothing here needs you"
	}
	if n.NeedsYou == 1 && beyond.NeedsYou == 0 {
		parts[0] = part{"1 needs you", m.styles.Waiting}
	} else if n.NeedsYou > 0 {
		parts[0] = part{m.list.number(n.NeedsYou, beyond.NeedsYou) + " need you", m.styles.Waiting}
	}
	if !m.lost.IsZero() {
		parts = append([]part{{"as of " + m.lost.Format("15:04"), m.styles.Failed}}, parts...)
	}
	if !m.list.unknown(n.Working) {
		parts = append(parts, part{m.list.number(n.Working, beyond.Working) + " working", m.styles.Working})
	}
	if n.Failed > 0 {
		parts = append(parts, part{m.list.number(n.Failed, beyond.Failed) + " failed", m.styles.Failed})
	}
	if n.notTold > 0 {
		parts = append(parts, part{fmt.Sprintf("%d not told", n.notTold), m.styles.Notice})
	}
	if spent := m.today.on(now); spent != "" {
		parts = append(parts, part{spent + " today", screen.Style{}})
	}
	if !n.oldest.IsZero() {
		parts = append(parts, part{"oldest wait " + screen.Span(now.Sub(n.oldest)), screen.Style{}})
	}
	line, used := "", 0
	for i, p := range parts {
		sep := ""
		if i > 0 {
			sep = " · "
		}
		if used += screen.Width(sep + p.text); used > width {
			break
		}
		line += sep + p.style.Paint(p.text)
	}
	return screen.Pad(line, width)
}

// on returns what was spent on the day of now; "" if nothing was.
func (d Today) on(now time.Time) string {
	if d.Day != now.Format(time.DateOnly) {
		return ""
	}
	text := ""
	for _, spent := range d.Spent {
		amount := screen.Money(spent.Amount, spent.Currency)
		if text != "" && amount != "" {
			text += " + "
		}
		text += amount
	}
	return text
}

// entry is one line of the list: a heading of a group, a sentence or a thread.
type entry struct {
	heading string
	says    string
	thread  *Thread
}

// entries returns all lines of the list.
func (l *list) entries() []entry {
	var entries []entry
	last := groups
	for i, t := range l.rows {
		if g := l.in[i]; g != last {
			entries = append(l.rest(entries, last), entry{heading: l.heading(g)})
			last = g
		}
		entries = append(entries, entry{thread: t})
	}
	entries = l.rest(entries, last)
	switch {
	case l.filter != "":
		if l.partly {
			entries = append(entries, entry{says: "More match than are shown: type more of what you look for."})
		}
	case !l.closedShown && l.counts[closed]+l.beyond.Closed > 0:
		entries = append(entries, entry{says: l.heading(closed) + ": c shows them"})
	}
	return entries
}

// heading names a group, and says how many threads it has. Those that failed are among those
// that are idle, and counted by themselves.
func (l *list) heading(g group) string {
	beyond := l.beyond
	if l.filter != "" {
		beyond = Counts{}
	}
	counted := func(name string, n, beyond int) string {
		return name + " (" + l.number(n+beyond, beyond) + ")"
	}
	if g != done {
		return counted(groupNames[g], l.counts[g], beyond.more(g))
	}
	text := counted(groupNames[done], l.counts[done]-l.failed, beyond.Done)
	if l.failed+beyond.Failed > 0 {
		text += counted(", failed", l.failed, beyond.Failed)
	}
	return text
}

// rest reports how many threads of a group are not listed, behind those that are.
func (l *list) rest(entries []entry, g group) []entry {
	if g == groups || l.filter != "" || l.beyond.more(g) == 0 {
		return entries
	}
	n := l.beyond.more(g)
	return append(entries, entry{says: "  and " + l.number(n, n) + " more: / finds them"})
}

// visible returns the threads whose rows were drawn last.
func (m *Model) visible() []*Thread {
	var threads []*Thread
	entries := m.list.entries()
	for i := m.offset; i < min(m.offset+m.screen.rows, len(entries)); i++ {
		if t := entries[i].thread; t != nil {
			threads = append(threads, t)
		}
	}
	return threads
}

// InSight returns the threads that work and whose rows were drawn last.
func InSight(m *Model) (ids []string) {
	for _, t := range m.visible() {
		if t.Works() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// listLines returns the visible lines of the list, in exactly height lines.
func (m *Model) listLines(now time.Time, width, height int) []string {
	entries := m.list.entries()
	if len(m.list.rows) == 0 {
		entries = append(m.list.nothing(), entries...)
	}
	whole := height
	if len(entries) > height && height >= fewRows {
		height-- // for what is not in sight
	}
	m.screen.rows = max(height, 0)
	m.scroll(entries, height)
	columns := widths(width, m.list.used)
	lines := make([]string, 0, max(height, 0))
	for i := m.offset; i < min(m.offset+height, len(entries)); i++ {
		switch e := entries[i]; {
		case e.says != "":
			lines = append(lines, m.styles.Title.Paint(screen.Fit(e.says, width)))
		case e.thread == nil:
			lines = append(lines, heading(m.styles, e.heading, columns, len(lines) == 0))
		default:
			m.Drawn++
			lines = append(lines, m.row(e.thread, columns, now))
		}
	}
	if height < whole {
		lines = append(lines, m.styles.Dim.Paint(screen.Fit(outOfSight(entries, m.offset, height), width)))
	}
	return screen.Fill(lines, width, whole)
}

// fewRows is the height below which the list does not say what is out of sight.
const fewRows = 8

// outOfSight describes how many threads of a list are above and below what is in sight.
func outOfSight(entries []entry, offset, height int) string {
	above, below := 0, 0
	for i, e := range entries {
		switch {
		case e.thread == nil:
		case i < offset:
			above++
		case i >= offset+height:
			below++
		}
	}
	parts := []string{}
	if above > 0 {
		parts = append(parts, fmt.Sprintf("↑ %d more", above))
	}
	if below > 0 {
		parts = append(parts, fmt.Sprintf("↓ %d more", below))
	}
	return "  " + strings.Join(parts, " · ")
}

// nothing explains what to do where there are no threads.
func (l *list) nothing() []entry {
	switch {
	case l.threads == nil:
		return nil
	case l.filter != "":
		return []entry{{says: "No thread matches “" + screen.OneLine(l.filter) + "”: Esc shows all."}}
	}
	return []entry{{says: "No open threads. n starts one."}}
}

// scroll brings the selected row into sight, with its heading if it is the first
// of its group.
func (m *Model) scroll(entries []entry, height int) {
	at, end := 0, 0
	for i, e := range entries {
		if e.thread != nil && e.thread.ID == m.list.selected {
			at, end = i, i
		} else if e.says != "" && end == i-1 && i-at < height {
			end = i // what is said below it is in sight, too
		}
	}
	if at > 0 && entries[at-1].thread == nil && at-1 < m.offset {
		m.offset = at - 1
	}
	m.offset = min(m.offset, at)
	if end >= m.offset+height {
		m.offset = end - height + 1
	}
	m.offset = max(min(m.offset, len(entries)-height), 0)
}

// heading names a group. The first one also names the columns.
func heading(styles screen.Styles, text string, columns [columnCount]int, first bool) string {
	line := screen.Fit(text, columns[colTitle])
	if !first || columns[colNow] == 0 {
		return styles.Title.Paint(text)
	}
	names := "  " + cells(columns, func(i int) string {
		if i == colTitle {
			return ""
		}
		return table[i].name
	})
	names = names[min(screen.Width(line), len(names)):]
	return styles.Title.Paint(line) + styles.Dim.Paint(names)
}

// row returns the line of a thread.
func (m *Model) row(t *Thread, columns [columnCount]int, now time.Time) string {
	line := cells(columns, func(i int) string {
		if table[i].fit != nil {
			return table[i].fit(m, t, columns[i])
		}
		return table[i].cell(m, t, now)
	})
	if t.ID == m.list.selected {
		return m.styles.Selected.Paint(t.sign() + " " + line)
	}
	style := screen.Style{}
	switch {
	case t.group() == closed:
		style = m.styles.Dim
	case t.Summary.SeenSeq > 0 && t.Summary.SeenSeq < t.LatestSeq && t.group() == done:
		style = m.styles.Strong
	}
	return t.signStyle(m.styles).Paint(t.sign()) + " " + style.Paint(line)
}

func (t *Thread) signStyle(styles screen.Styles) screen.Style {
	switch t.Summary.Status {
	case statusWaiting:
		return styles.Waiting
	case statusWorking:
		return styles.Working
	case statusFailed:
		return styles.Failed
	case statusClosed:
		return styles.Dim
	}
	switch t.sign() {
	case "■":
		return styles.Waiting // as on its own page: it has not come to its own end
	case "·":
		return styles.Dim // no turn has come to an end
	}
	return styles.Done
}
