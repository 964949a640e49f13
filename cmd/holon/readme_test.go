package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
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
		if strings.HasPrefix(line, "export ") { // a server's tests set what it names
			continue
		}
		command, ours := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "bin/"), "holon")
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

// So do those of the section on the command, but for those that follow, fill a
// screen, or judge this machine or another one.
func TestCommandsOfTheReadmeWork(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, string(page), "With the command") {
		if len(args) == 0 || slices.Contains([]string{"chat", "attach", "watch", "login", "doctor"}, args[0]) {
			continue
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "user: hello\nagent: hello\n", `"fix b": interrupted`, "holon_token_")
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

// The phone of the README, and that of its document: a ntfy server on loopback.
func TestPhoneCommandsOfTheReadmeWork(t *testing.T) {
	for file, title := range map[string]string{"../../README.md": "Hear about it on your phone", "../../docs/delivery.md": "A phone in one minute"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, ntfy, _ := startNotifying(t)
		var all strings.Builder
		for _, args := range commandsOf(t, string(page), title) {
			all.WriteString(s.want(args...))
		}
		contains(t, all.String(), "ntfy-all: sends final, questions of all threads through ntfy\n", "Delivered after ", "SUBSCRIPTION")
		eventually(t, "the test and the end arrive", func() bool { return len(ntfy.Published()) == 2 })
	}
}

// The first commands begin where a reader is: without the source. Its address is that of
// the module.
func TestTheReadmeBeginsWithTheSource(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(string(mod))[1]
	_, section, _ := strings.Cut(string(page), "\n## Run your agent in it\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	first, _, _ := strings.Cut(block, "\n")
	if want := "git clone https://" + path + " && cd " + path[strings.LastIndexByte(path, '/')+1:]; first != want {
		t.Errorf("it begins with %q, want %q", first, want)
	}
}

// The table of docs/delivery.md has every member of an envelope, and no other type.
func TestTheEnvelopeIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/delivery.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What is sent\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, of := range []reflect.Type{reflect.TypeFor[bridges.Envelope](), reflect.TypeFor[bridges.Data]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("docs/delivery.md does not say what %s is", name)
			}
		}
	}
	for _, typ := range append(slices.Clone(bridges.EventTypes), bridges.TypeTest) {
		if !strings.Contains(section, "\n| `"+string(typ)+"` | ") {
			t.Errorf("docs/delivery.md has no row for %s", typ)
		}
	}
}
