package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// The commands of the section on inboxes work as they are written, one after the
// other.
func TestInboxCommandsOfTheReadmeWork(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## An inbox\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	commands, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("README.md has no section on inboxes with commands")
	}
	s := startServer(t)
	var all strings.Builder
	for line := range strings.Lines(commands) {
		line, _, _ = strings.Cut(line, "  #")
		command, ours := strings.CutPrefix(strings.TrimSpace(line), "bin/holon ")
		if !ours {
			t.Fatalf("not a command of holon: %s", line)
		}
		var args []string
		for _, word := range shellWord.FindAllString(command, -1) {
			args = append(args, strings.Trim(word, `'"`))
		}
		if command == "inbox" {
			eventually(t, "the ends of both turns arrive", func() bool { return strings.Count(s.want(args...), "ent_") >= 2 })
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "a turn of demo completed", "in 20m", "agent: hello", "Acknowledged 2 entries with 2 items.")
}
