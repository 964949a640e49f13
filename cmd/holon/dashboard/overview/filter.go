package overview

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// filterLine is where the person types what to filter by.
type filterLine struct {
	input textinput.Model
	open  bool
	from  string    // the thread that was selected, to which the selection returns
	asked string    // the text that the server is asked for …
	due   time.Time // … then; zero: it was, or need not be
}

func newFilterLine() filterLine { return filterLine{input: screen.NewInput(100)} }

func (f *filterLine) begin(text, selected string) {
	f.open, f.from = true, selected
	f.input.SetValue(text)
	f.input.CursorEnd()
}

const filterPrompt = "Filter: "

func (f *filterLine) line(width int) string {
	f.input.SetWidth(max(width-len(filterPrompt)-1, 1))
	return screen.Pad(filterPrompt+screen.Clean(f.input.View()), width)
}

// kept returns a line that says that a filter is kept, so that nobody takes the part for
// the whole; "" if all is shown. The filter is cut rather than the number, or the way
// out.
func (l *list) kept(width int) string {
	filter := screen.OneLine(l.filter)
	if strings.TrimSpace(filter) == "" {
		return ""
	}
	// What the numbers above count is counted; what only a filter lists is named beside it.
	all := l.local().all() + l.beyond.all()
	match, children, boxes := 0, 0, 0
	for _, t := range l.rows {
		switch {
		case t.shown():
			match++
		case t.Agent == mailbox:
			boxes++
		default:
			children++
		}
	}
	more, short := "", ""
	if children > 0 {
		more = " + " + screen.Plural(children, "child thread")
	}
	switch {
	case boxes == 1:
		more += " + 1 inbox"
	case boxes > 1:
		more += fmt.Sprintf(" + %d inboxes", boxes)
	}
	if n := children + boxes; n > 0 {
		short = fmt.Sprintf(" + %d", n)
	}
	end := fmt.Sprintf(" · %d of %s%s · Esc shows all", match, screen.Plural(all, "thread"), more)
	if short := fmt.Sprintf(" · %d of %d%s · Esc shows all", match, all, short); screen.Width(filterPrompt+filter+end) > width {
		end = short
	}
	return filterPrompt + screen.Fit(filter, max(width-len(filterPrompt)-screen.Width(end), 1)) + end
}

func (f *filterLine) caret() int {
	if c := f.input.Cursor(); c != nil {
		return len(filterPrompt) + c.X
	}
	return len(filterPrompt)
}

// filterKey takes a key while the filter is typed. The list follows each key.
func (m *Model) filterKey(key tea.KeyPressMsg) {
	switch key.String() {
	case "enter":
		m.filter.open, m.filter.from = false, ""
	case "esc":
		m.setFilter("")
		m.filter.open, m.filter.from = false, ""
	case "up":
		m.list.move(-1)
		m.filter.from = m.list.selected
	case "down":
		m.list.move(1)
		m.filter.from = m.list.selected
	default:
		m.filter.input, _ = m.filter.input.Update(key)
		m.setFilter(m.filter.input.Value())
	}
}

// Bounds of what the server is asked for.
const (
	callFilter  = "filter"
	filterAfter = 300 * time.Millisecond // after the last key
	filterRows  = 200
)

// findMore asks the server for threads that match the filter and are not held, soon after
// the last key.
func findMore(m *Model, now time.Time) []screen.Action {
	f, text := &m.filter, strings.TrimSpace(m.list.filter)
	if text != f.asked {
		f.asked, f.due, m.list.partly = text, now.Add(filterAfter), false
		if text == "" {
			f.due = time.Time{}
		}
	}
	if f.due.IsZero() || now.Before(f.due) {
		return nil
	}
	f.due = time.Time{}
	if beyond := m.list.beyond; !m.list.served || beyond == (Counts{AtLeast: beyond.AtLeast}) {
		return nil
	}
	params := map[string]any{"view": "summary", "order": "desc", "limit": filterRows, "text": text}
	return []screen.Action{screen.Call{Name: callFilter, Method: "thread/list", Params: params}}
}

// foundMore takes what the server has found. It is shown at once while the person types.
func foundMore(m *Model, msg screen.Done) {
	var page struct {
		Threads []Thread `json:"threads"`
		Next    string   `json:"next_cursor"`
	}
	if msg.Err != nil || json.Unmarshal(msg.Result, &page) != nil {
		return
	}
	m.list.found(page.Threads)
	if params, _ := msg.Action.(screen.Call).Params.(map[string]any); params["text"] == m.filter.asked {
		m.list.partly = page.Next != ""
	}
	if m.stale = true; m.filter.open {
		m.arrangeNow()
	}
}

func (m *Model) setFilter(text string) {
	if m.list.filter == text {
		return
	}
	m.list.filter = text
	m.arrangeNow()
	if m.list.index(m.filter.from) >= 0 {
		m.Select(m.filter.from)
	}
}
