package conversation

import (
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// helpCommand is the one text that is not for the agent: it shows the keys.
const helpCommand = "/help"

// mostCommands is how many commands of an agent are known.
const mostCommands = 200

// agentCommand is a command that the agent knows if a text begins with it.
type agentCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint"` // what follows it
}

// commands returns the commands of the thread's agent, as many as are kept.
func (m *Model) commands() []agentCommand {
	if m.thread.Config == nil {
		return nil
	}
	all := m.thread.Config.Commands
	return all[:min(len(all), mostCommands)]
}

// slash returns the word after the / with which a text begins; ok is false if it begins otherwise.
func slash(text string) (word string, ok bool) {
	if !strings.HasPrefix(text, "/") {
		return "", false
	}
	word, _, _ = strings.Cut(strings.ReplaceAll(text[1:], "\n", " "), " ")
	return word, true
}

// named returns the names that begin with the command that the text begins with: those of the
// agent, and help. exact is the command of the agent with just that name.
func (m *Model) named() (names []string, exact *agentCommand) {
	word, ok := slash(m.input.text)
	if !ok {
		return nil, nil
	}
	for _, c := range append([]agentCommand{{Name: helpCommand[1:]}}, m.commands()...) {
		if c.Name == "" || !strings.HasPrefix(c.Name, word) || strings.ContainsAny(c.Name, " \n\t") || c.Name != screen.OneLine(c.Name) {
			continue
		}
		names = append(names, c.Name)
		if c.Name == word && "/"+word != helpCommand {
			exact = &c
		}
	}
	return names, exact
}

// completes completes the command that is typed; false if none is.
func (m *Model) completes() bool {
	word, ok := slash(m.input.text)
	names, _ := m.named()
	if !ok || m.input.caret != len(word)+1 || len(names) == 0 {
		return false
	}
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	rest := strings.ToValidUTF8(common[len(word):], "")
	if len(names) == 1 && m.input.caret == len(m.input.text) && "/"+common != helpCommand {
		rest += " "
	}
	// Of several the line above names all.
	return m.input.insert(rest) && (rest != "" || len(names) > 1)
}

// commandRule returns the line above the input line with the command that the text
// begins with, or could; "" if there is none.
func (m *Model) commandRule(does string) string {
	names, exact := m.named()
	word, _ := slash(m.input.text)
	switch {
	case strings.TrimSpace(m.input.text) == helpCommand:
		return "─ Enter shows the keys "
	case exact != nil:
		text := "─ Enter " + does + " with the agent's command /" + word
		if exact.Hint != "" {
			text += " " + screen.OneLine(exact.Hint)
		}
		if exact.Description != "" {
			text += ": " + screen.OneLine(exact.Description)
		}
		return text + " "
	case len(names) > 0 && len(m.input.text) == len(word)+1:
		return "─ Tab completes /" + strings.Join(names, " /") + " "
	}
	return ""
}

// mark paints the command of the agent with which the text begins.
func (m *Model) mark(style screen.Style, row string) string {
	if _, exact := m.named(); exact != nil {
		if rest, ok := strings.CutPrefix(row, "/"+exact.Name); ok {
			return style.Paint("/"+exact.Name) + rest
		}
	}
	return row
}

// allKeys returns the page of help, with the commands of the agent.
func (m *Model) allKeys() []screen.Key {
	keys := allKeys
	for i, c := range m.commands() {
		if i == 0 {
			keys = append(keys[:len(keys):len(keys)], screen.Key{}, screen.Key{Does: "Commands of the agent, at the beginning of a text"})
		}
		if name := screen.OneLine(c.Name); name != "" {
			keys = append(keys, screen.Key{Name: "/" + name, Does: strings.TrimSpace(screen.OneLine(c.Hint) + " " + screen.OneLine(c.Description))})
		}
	}
	return keys
}
