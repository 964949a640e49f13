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
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, string(page), "An inbox") {
		if len(args) == 1 && args[0] == "inbox" {
			eventually(t, "the ends of both turns arrive", func() bool { return strings.Count(s.want(args...), "ent_") >= 2 })
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "a turn of demo completed", "in 20m", "agent: hello", "Acknowledged 2 entries with 2 items.")
}

// commandsOf are the commands of the first block of a section.
func commandsOf(t *testing.T, page, title string) (list [][]string) {
	t.Helper()
	_, section, _ := strings.Cut(page, "\n## "+title+"\n")
	_, section, _ = strings.Cut(section, "```sh\n")
	commands, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatalf("there is no section %q with commands", title)
	}
	for line := range strings.Lines(commands) {
		line, _, _ = strings.Cut(line, "  #")
		command, ours := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "bin/"), "holon ")
		if !ours {
			t.Fatalf("not a command of holon: %s", line)
		}
		var args []string
		for _, word := range shellWord.FindAllString(command, -1) {
			args = append(args, strings.Trim(word, `'"`))
		}
		list = append(list, args)
	}
	return list
}

// So do those of the section on background work, and those of its document.
func TestBackgroundCommandsOfTheReadmeWork(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, string(page), "Background work") {
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "all tests", `"all tests": completed in`, "\n  no warnings\n")
	eventually(t, "an end starts a turn of the owner", func() bool {
		return strings.Contains(s.want("items", "--thread=main", "-o=json"), `"docs\" in thread tests completed`)
	})
}

func TestBackgroundCommandsOfTheDocumentWork(t *testing.T) {
	page, err := os.ReadFile("../../docs/background.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, string(page), "Try it") {
		switch args[0] {
		case "tree": // a person is slower than an agent
			eventually(t, "the question is asked", func() bool { return s.want("items", "--status=pending", "-o=jsonl") != "" })
		case "await":
			s.want("respond", itemIDs.FindString(s.want("items", "--status=pending", "-o=json")), "--allow")
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "all tests", "? lint", "May I fix 31 warnings?", `"lint": completed in`)
}
