package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	methodWord = regexp.MustCompile(`^[a-z]+/[a-z/_A-Z]+$`)
	snakeWord  = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)
	plainWord  = regexp.MustCompile(`^[a-z]+$`)
	metricWord = regexp.MustCompile(`^holon_[a-z_]+$`)
)

// What docs/coming-from.md says is here: methods, notifications, members, metrics and
// commands.
func TestWhatOthersComeToIsThere(t *testing.T) {
	s := startDelivering(t, hook("http://127.0.0.1:1/"))
	s.want("call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`)
	s.want("inbox", "send", "me", "hello") // some metrics are there once something has come
	_, metrics := s.fetch("/metrics")
	methods, members := wordsOfTheProtocol(t)
	checked := 0
	for _, word := range wordsHere(t) {
		checked++
		switch command, ours := strings.CutPrefix(word, "holon "); {
		case ours:
			root := newRootCommand(&globals{})
			fields := strings.Fields(command)
			cmd, rest, err := root.Find(fields)
			unknown := cmd.HasSubCommands() && len(rest) > 0 && plainWord.MatchString(rest[0])
			if err != nil || cmd == root || unknown {
				t.Errorf("%s: there is no such command", word)
				continue
			}
			for _, flag := range rest {
				if name, ok := strings.CutPrefix(flag, "--"); ok {
					name, _, _ = strings.Cut(name, "=")
					if cmd.Flag(name) == nil {
						t.Errorf("%s: there is no flag %s", word, flag)
					}
				}
			}
		case metricWord.MatchString(word):
			if !strings.Contains(metrics, "\n# HELP "+word+" ") {
				t.Errorf("%s: there is no such metric", word)
			}
		case methodWord.MatchString(word):
			if !slices.Contains(methods, word) {
				t.Errorf("%s: there is no such method or notification", word)
			}
		case snakeWord.MatchString(word):
			if !slices.Contains(members, word) {
				t.Errorf("%s: no message and no setting has this word", word)
			}
		default:
			checked--
		}
	}
	if checked < 150 {
		t.Errorf("%d words are checked", checked)
	}
}

// wordsHere are the code spans of the second column of the tables of words. A span that
// begins with a method or member counts as that.
func wordsHere(t *testing.T) (words []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/coming-from.md")
	if err != nil {
		t.Fatal(err)
	}
	here := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		if strings.HasPrefix(line, "| ") && strings.Contains(cells[2], " here ") || strings.Contains(cells[2], " why ") {
			here = strings.Contains(cells[2], " here ")
			continue
		}
		if !here {
			continue
		}
		for _, span := range codeSpan.FindAllString(cells[2], -1) {
			words = append(words, strings.Trim(span, "`"))
		}
	}
	return words
}

// wordsOfTheProtocol are its methods and notifications, and every word with an
// underscore that the protocol, the reference of agents or their tools have.
func wordsOfTheProtocol(t *testing.T) (methods, members []string) {
	t.Helper()
	var document struct {
		Methods       []struct{ Name string } `json:"methods"`
		Notifications []struct{ Name string } `json:"x-notifications"`
	}
	data, err := os.ReadFile("../../docs/openrpc.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	for _, m := range append(document.Methods, document.Notifications...) {
		methods = append(methods, m.Name)
	}
	text := string(data)
	for _, name := range []string{"protocol.md", "agents-reference.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(page)
	}
	return methods, regexp.MustCompile(`[a-z]+(_[a-z]+)+`).FindAllString(text, -1)
}
