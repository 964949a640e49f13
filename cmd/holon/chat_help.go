package main

import (
	"strings"

	"github.com/seed82539d15/holon/cmd/holon/timeline"
)

// plainCommand is a command that the agent knows if a text begins with it.
type plainCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// mostPlainCommands is how many commands of an agent are listed.
const mostPlainCommands = 200

// commands returns the commands of the thread's agent, as many as are listed.
func (t talk) commands() []plainCommand {
	if t.Config == nil {
		return nil
	}
	return t.Config.Commands[:min(len(t.Config.Commands), mostPlainCommands)]
}

// command describes which command of the agent a text begins with, "" if it begins with none.
func (t talk) command(text string) string {
	word, _, _ := strings.Cut(text, " ")
	for _, c := range t.commands() {
		if c.Name != "" && word == "/"+c.Name {
			return ", with the agent's command " + timeline.OneLine(word)
		}
	}
	return ""
}

// help prints what a line does.
func (p *plainChat) help() error {
	lines := []string{
		"A line starts a turn, or is for the one that runs. While the agent asks, it is the answer.",
		"Ctrl-C interrupts the turn. Ctrl-D leaves: turns continue at the server.",
		"More: holon chat --help",
	}
	for i, c := range p.thread.commands() {
		if i == 0 {
			lines = append(lines, "Commands of the agent, at the beginning of a line:")
		}
		lines = append(lines, strings.TrimRight("  /"+timeline.OneLine(c.Name)+"  "+timeline.OneLine(c.Description), " "))
	}
	return p.say("%s", strings.Join(lines, "\n"))
}
