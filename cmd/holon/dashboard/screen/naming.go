package screen

import (
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// NewInput returns a line to type in, which draws no cursor and no colour of its own.
func NewInput(limit int) textinput.Model {
	in := textinput.New()
	in.Prompt, in.CharLimit = "", limit
	in.SetVirtualCursor(false)
	in.SetStyles(textinput.Styles{})
	in.Focus()
	return in
}

// Fits reports whether a line has room for a text that is pasted.
func Fits(in textinput.Model, text string) bool {
	return utf8.RuneCountInString(in.Value()+text) <= in.CharLimit
}

// Naming is the line in which the person gives a thread a title.
type Naming struct {
	thread string
	input  textinput.Model
	sent   bool
}

// MostTitle is how many characters of a title can be typed.
const MostTitle = 200

// NamingKeys are the keys that a help line names meanwhile.
var NamingKeys = []Key{{Name: "Enter", Does: "rename"}, {Name: "Esc", Does: "leave"}}

// TitleStays is said of a thread that can get no other title.
const TitleStays = "It is closed: its title stays."

// NewNaming opens the line with the title that a thread has.
func NewNaming(thread, title string) *Naming {
	n := &Naming{thread: thread, input: NewInput(MostTitle)}
	n.input.SetValue(title)
	n.input.CursorEnd()
	return n
}

// Key takes a key while the title is typed. An empty title gives it back to the agent. left
// says that the person has left the line.
func (n *Naming) Key(key tea.KeyPressMsg) (actions []Action, left bool) {
	switch {
	case key.String() == "esc":
		return nil, true
	case n.sent:
	case key.String() == "enter":
		n.sent = true
		return []Action{Rename{Thread: n.thread, Title: strings.TrimSpace(n.input.Value())}}, false
	default:
		n.input, _ = n.input.Update(key)
	}
	return nil, false
}

// Paste puts a pasted text into the line; it returns why not, "" if it did.
func (n *Naming) Paste(msg tea.PasteMsg) (why string) {
	switch {
	case !Fits(n.input, msg.Content):
		return "That is too long for a title."
	case !n.sent:
		n.input, _ = n.input.Update(msg)
	}
	return ""
}

// Done takes the end of a rename. It reports whether the line is done with: a title that was
// refused can be changed.
func (n *Naming) Done(a Rename, err error) bool {
	if a.Thread != n.thread {
		return false
	}
	n.sent = false
	return err == nil
}

const namePrompt = "Title: "

// Lines draws the line, below a rule.
func (n *Naming) Lines(styles Styles, width int) []string {
	n.input.SetWidth(max(width-len(namePrompt)-1, 1))
	head := "Rename " + ShortID(n.thread) + ", empty: the agent names it "
	return []string{
		Fit(styles.Title.Paint(Fit(head, width))+styles.Dim.Paint(strings.Repeat("─", max(width-Width(head), 0))), width),
		Pad(namePrompt+Clean(n.input.View()), width),
	}
}

// Cursor returns where the person types, from the top of Lines.
func (n *Naming) Cursor(width int) (x, y int, show bool) {
	if c := n.input.Cursor(); c != nil {
		return min(len(namePrompt)+c.X, width-1), 1, true
	}
	return 0, 0, false
}
