package overview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/conversation"
	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// callAgents names the request for the agents of the server.
const callAgents = "agents"

// The fields of a form.
const (
	fieldPrompt = iota
	fieldAgent
	fieldDirectory
	fieldCount
)

// form asks for what a new thread needs. The prompt comes first, since the rest
// has good defaults.
type form struct {
	agents   []formAgent // "" first: the server's default
	agent    int
	terminal string // the directory that is proposed for agents that have none of their own; "" = none
	proposed string // what the field has because of that
	cwd      textinput.Model
	prompt   textarea.Model
	field    int
	sent     bool
	// nameless is true if the directory of the terminal has a name that cannot be sent.
	nameless bool
	frozen   time.Time // until when rows stay after the key that sent it
}

// formAgent is an agent in the answer to agent/list, with where it works for a thread
// without a directory, and whether its configuration says so.
type formAgent struct {
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Given     bool   `json:"directory_given"`
}

// openForm opens the form as it was left, or an empty one.
func (m *Model) openForm() []screen.Action {
	if m.form = m.draft; m.form == nil {
		m.form = newForm(m.cwd)
	}
	m.draft = nil
	return []screen.Action{screen.Call{Name: callAgents, Method: "agent/list"}}
}

func newForm(cwd string) *form {
	f := &form{agents: []formAgent{{}}, cwd: screen.NewInput(4096), prompt: textarea.New()}
	if f.nameless = !utf8.ValidString(cwd); !f.nameless { // the field would leave out what is no text
		f.terminal = cwd
	}
	f.propose()
	f.prompt.Prompt, f.prompt.ShowLineNumbers, f.prompt.EndOfBufferCharacter = "", false, ' '
	f.prompt.CharLimit = 0 // paste and formKey see to it
	f.prompt.SetVirtualCursor(false)
	f.prompt.SetStyles(textarea.Styles{})
	f.prompt.KeyMap.InsertNewline.SetKeys("alt+enter", "ctrl+j", "shift+enter")
	f.focus(fieldPrompt)
	return f
}

// setAgents takes the answer to agent/list. The chosen agent stays chosen.
func (f *form) setAgents(raw json.RawMessage) {
	var result struct {
		Agents []formAgent `json:"agents"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return
	}
	chosen := f.agents[f.agent].Name
	standard := formAgent{}
	if len(result.Agents) > 0 {
		standard = result.Agents[0]
		standard.Name = ""
	}
	f.agents = append([]formAgent{standard}, result.Agents...)
	f.agent = max(slices.IndexFunc(f.agents, func(a formAgent) bool { return a.Name == chosen }), 0)
	f.propose()
}

// propose fills the field of the directory, unless the person has written there: with the
// terminal's, if the agent has none of its own. An empty field shows where the agent works.
func (f *form) propose() {
	a := f.agents[f.agent]
	f.cwd.Placeholder = screen.OneLine(a.Directory)
	if f.cwd.Value() != f.proposed {
		return
	}
	if f.proposed = f.terminal; a.Given {
		f.proposed = ""
	}
	f.cwd.SetValue(f.proposed)
}

func (f *form) focus(field int) {
	f.field = (field + fieldCount) % fieldCount
	f.cwd.Blur()
	f.prompt.Blur()
	switch f.field {
	case fieldDirectory:
		f.cwd.Focus()
	case fieldPrompt:
		f.prompt.Focus()
	}
}

// update passes a message to the field.
func (f *form) update(msg tea.Msg) {
	switch f.field {
	case fieldDirectory:
		f.cwd, _ = f.cwd.Update(msg)
	case fieldPrompt:
		f.prompt, _ = f.prompt.Update(msg)
	}
}

// notUTF8 is said of a name of which a field would take a part only.
const notUTF8 = "That name is not UTF-8: another directory could have what is left of it."

// maxLines is how many lines a prompt can have: the text area cuts what has more.
const maxLines = 10_000

// paste puts a text into the field, unless it is too long.
func (f *form) paste(msg tea.PasteMsg) []screen.Action {
	msg.Content = strings.ReplaceAll(strings.ReplaceAll(msg.Content, "\r\n", "\n"), "\r", "\n")
	prompt := f.prompt.Value() + msg.Content
	switch {
	case f.sent:
		return say(startingNow)
	case f.field == fieldDirectory && strings.ContainsRune(msg.Content, utf8.RuneError): // also a byte that is not UTF-8
		return say(notUTF8)
	case f.field == fieldDirectory && !screen.Fits(f.cwd, msg.Content):
		return say("That is too long for a directory.")
	case f.field == fieldPrompt && len(prompt) > conversation.MaxTyped:
		return say(conversation.TooLong(msg.Content) + ": holon run - < FILE")
	case f.field == fieldPrompt && strings.Count(prompt, "\n") >= maxLines:
		return say(fmt.Sprintf("That has too many lines to paste it here (at most %d): holon run - < FILE", maxLines))
	}
	f.update(msg)
	return nil
}

// formKey takes a key while the form is open.
func (m *Model) formKey(key tea.KeyPressMsg) []screen.Action {
	f := m.form
	switch key.String() {
	case "esc":
		m.form, m.draft = nil, f
		return nil
	case "tab":
		f.focus(f.field + 1)
		return nil
	case "shift+tab":
		f.focus(f.field - 1)
		return nil
	case "enter":
		if strings.TrimSpace(f.prompt.Value()) == "/help" {
			f.prompt.Reset()
			m.help.Open = true
			return nil
		}
		if !f.sent {
			f.frozen = m.frozen
		}
		return f.send()
	}
	if f.sent {
		return say(startingNow)
	}
	if f.field == fieldPrompt && key.Text != "" && f.prompt.Length() >= conversation.MaxTyped {
		return say("The text is as long as it can be here.")
	}
	if f.field == fieldDirectory && strings.ContainsRune(key.Text, utf8.RuneError) {
		return say(notUTF8)
	}
	if f.field != fieldAgent {
		f.update(key)
		return nil
	}
	switch key.String() {
	case "left", "up", "h", "k":
		f.agent = (f.agent + len(f.agents) - 1) % len(f.agents)
	case "right", "down", "l", "j", "space":
		f.agent = (f.agent + 1) % len(f.agents)
	}
	f.propose()
	return nil
}

// startingNow is said of a key for a form that is sent: what it changed would go with the form.
const startingNow = "One moment: the thread is being started. The key did nothing."

// send starts the thread. The form stays until the server has answered.
func (f *form) send() []screen.Action {
	text := strings.TrimSpace(f.prompt.Value())
	switch {
	case f.sent:
		return nil
	case text == "":
		f.focus(fieldPrompt)
		return say("Type what the agent should do.")
	case f.nameless && strings.TrimSpace(f.cwd.Value()) == "" && !f.agents[f.agent].Given:
		f.focus(fieldDirectory)
		return say("The name of the directory you are in is not UTF-8. Type another one.")
	}
	f.sent = true
	return []screen.Action{screen.StartThread{Agent: f.agents[f.agent].Name, Cwd: strings.TrimSpace(f.cwd.Value()), Text: text}}
}

// labels of the fields have the same width.
const (
	labelPrompt    = "Prompt     "
	labelAgent     = "Agent      "
	labelDirectory = "Directory  "
	labelWidth     = len(labelPrompt)
)

// lines draws the form in at most height lines.
func (f *form) lines(styles screen.Styles, width, height int) []string {
	rows := max(min(6, height-4), 1)
	f.prompt.SetWidth(max(width-labelWidth, 4))
	f.prompt.SetHeight(rows)
	f.cwd.SetWidth(max(width-labelWidth-1, 1))
	head := "New thread "
	if f.sent {
		head = "Starting … "
	}
	lines := []string{styles.Title.Paint(head) + styles.Dim.Paint(strings.Repeat("─", max(width-screen.Width(head), 0)))}
	for i, row := range strings.Split(screen.Clean(f.prompt.View()), "\n") {
		if i == rows {
			break
		}
		lines = append(lines, f.label(styles, fieldPrompt, i)+screen.Pad(row, width-labelWidth))
	}
	agent := "the server's default"
	if name := f.agents[f.agent].Name; name != "" {
		agent = screen.OneLine(name)
	}
	if f.field == fieldAgent {
		agent = "‹ " + agent + " ›"
	}
	return append(lines,
		f.label(styles, fieldAgent, 0)+screen.Pad(agent, width-labelWidth),
		f.label(styles, fieldDirectory, 0)+screen.Pad(screen.Clean(f.cwd.View()), width-labelWidth))
}

// label marks the field that the keys go to.
func (f *form) label(styles screen.Styles, field, row int) string {
	text := [fieldCount]string{labelPrompt, labelAgent, labelDirectory}[field]
	switch {
	case row > 0:
		return screen.Pad("", labelWidth)
	case field == f.field:
		return styles.Selected.Paint(strings.TrimRight(text, " ")) + screen.Pad("", labelWidth-len(strings.TrimRight(text, " ")))
	}
	return styles.Dim.Paint(text)
}

// cursor returns where the person types, from the top of the panel.
func (f *form) cursor(width int) (x, y int, show bool) {
	switch f.field {
	case fieldPrompt:
		if c := f.prompt.Cursor(); c != nil {
			return min(labelWidth+c.X, width-1), 1 + c.Y, true
		}
	case fieldDirectory:
		if c := f.cwd.Cursor(); c != nil {
			return min(labelWidth+c.X, width-1), 2 + f.prompt.Height(), true
		}
	}
	return 0, 0, false
}
