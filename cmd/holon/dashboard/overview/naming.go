package overview

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// naming is the line in which the person gives a thread a title.
type naming struct {
	thread string
	input  textinput.Model
	sent   bool
}

// mostTitle is how many characters of a title can be typed.
const mostTitle = 200

// name opens the line with the title that the thread has.
func name(m *Model, t *Thread) []screen.Action {
	if t.group() == closed {
		return say("It is closed: its title stays.")
	}
	m.naming = &naming{thread: t.ID, input: newInput(mostTitle)}
	m.naming.input.SetValue(t.Summary.Title)
	m.naming.input.CursorEnd()
	return nil
}

// nameKey takes a key while the title is typed. An empty title gives it back to the agent.
func nameKey(m *Model, key tea.KeyPressMsg) []screen.Action {
	n := m.naming
	switch {
	case key.String() == "esc":
		m.naming = nil
	case n.sent:
	case key.String() == "enter":
		n.sent = true
		return []screen.Action{screen.Rename{Thread: n.thread, Title: strings.TrimSpace(n.input.Value())}}
	default:
		n.input, _ = n.input.Update(key)
	}
	return nil
}

// named takes the end of a rename. A title that was refused can be changed.
func named(m *Model, thread string, err error) {
	if m.naming == nil || m.naming.thread != thread {
		return
	}
	if m.naming.sent = false; err == nil {
		m.naming = nil
	}
}

const namePrompt = "Title: "

// lines draw the line.
func (n *naming) lines(styles screen.Styles, width int) []string {
	n.input.SetWidth(max(width-len(namePrompt)-1, 1))
	head := "Rename " + screen.ShortID(n.thread) + ", empty: the agent names it "
	return []string{
		screen.Fit(styles.Title.Paint(screen.Fit(head, width))+styles.Dim.Paint(strings.Repeat("─", max(width-screen.Width(head), 0))), width),
		screen.Pad(namePrompt+screen.Clean(n.input.View()), width),
	}
}

// cursor is where the person types, from the top of the panel.
func (n *naming) cursor(width int) (x, y int, show bool) {
	if c := n.input.Cursor(); c != nil {
		return min(len(namePrompt)+c.X, width-1), 1, true
	}
	return 0, 0, false
}
