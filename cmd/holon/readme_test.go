package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed82539d15/holon/bridges"
)

var shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// The commands of the document on inboxes work as they are written, one after the
// other.
func TestInboxCommandsOfTheDocumentWork(t *testing.T) {
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../docs/inbox.md", "Try it") {
		if len(args) == 1 && args[0] == "inbox" {
			eventually(t, "the ends of both turns arrive", func() bool { return strings.Count(s.want(args...), "ent_") >= 2 })
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "a turn of demo completed", "in 20m", "agent: hello", "Acknowledged 2 entries with 2 items.")

	pipe := blocksOf(t, "../../docs/inbox.md", "Try it")[1]
	input, command, _ := strings.Cut(strings.TrimPrefix(pipe, "echo "), " | holon ")
	if r := holon(t, s.data, strings.Trim(input, "'")+"\n", strings.Fields(command)...); r.code != exitOK {
		t.Errorf("%s: %+v", pipe, r)
	}
	contains(t, s.want("inbox", "me"), "Build 7 failed")
}

// commandsOf are the commands of the first block of a section.
func commandsOf(t *testing.T, file, title string) (list [][]string) {
	t.Helper()
	for line := range strings.Lines(blocksOf(t, file, title)[0]) {
		line, _, _ = strings.Cut(line, "  #")
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

// So do those of the document on the command, but for those that follow, fill a screen,
// or judge this machine or another one.
func TestCommandsOfTheDocumentWork(t *testing.T) {
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../docs/command.md", "Day by day") {
		if len(args) == 0 || slices.Contains([]string{"chat", "attach", "watch", "login", "doctor"}, args[0]) {
			continue
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "user: hello\nagent: hello\n", `"fix b": interrupted`, "holon_token_")
}

// So do both sections of commands on background work.
func TestWakingCommandsOfTheDocumentWork(t *testing.T) {
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../docs/background.md", "Wait, or be woken") {
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "all tests", `"all tests": completed in`, "\n  no warnings\n")
	eventually(t, "an end starts a turn of the owner", func() bool {
		return strings.Contains(s.want("items", "--thread=release", "-o=json"), `"docs\" in thread unit completed`)
	})
}

func TestBackgroundCommandsOfTheDocumentWork(t *testing.T) {
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../docs/background.md", "Try it") {
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

// So do those of the document on delivery: its phone is a ntfy server on loopback.
func TestPhoneCommandsOfTheDocumentWork(t *testing.T) {
	s, ntfy, _ := startNotifying(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../docs/delivery.md", "A phone in one minute") {
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "ntfy-all: sends final, questions of all threads through ntfy\n", "Delivered after ", "SUBSCRIPTION")
	eventually(t, "the test and the end arrive", func() bool { return len(ntfy.Published()) == 2 })
}

// The first commands begin where a reader is: without the source. Its address is that of
// the module. The two that a reader needs are targets of the Makefile, and the second one
// is what runs before a change lands.
func TestTheReadmeBeginsWithTheSource(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	path := regexp.MustCompile(`(?m)^module (\S+)$`).FindStringSubmatch(read("go.mod"))[1]
	want := []string{"git clone https://" + path + " && cd " + path[strings.LastIndexByte(path, '/')+1:], "make serve", "export PATH=$PWD/bin:$PATH", `holon run "hello"`, "make test"}
	var got []string
	for line := range strings.Lines(strings.Join(blocksOf(t, "../../README.md", "Start it"), "")) {
		command, _, _ := strings.Cut(line, "  #")
		got = append(got, strings.TrimSpace(command))
	}
	if !slices.Equal(got, want) {
		t.Errorf("it begins with %q, want %q", got, want)
	}
	for file, texts := range map[string][]string{"Makefile": {"\nserve: ", "\ntest: "}, ".ci/run": {"\nstep test make test ", "\nstep check make check\n"}} {
		for _, text := range texts {
			if !strings.Contains(read(file), text) {
				t.Errorf("%s lacks %q", file, text)
			}
		}
	}
}

// A reader has seen an answer before the 500th word, and needs no option for it: the
// server of make serve is where every command looks for it.
func TestTheFirstAnswerOfTheReadmeComesEarly(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(page), "\nholon run \"hello\"\n")
	if words := len(strings.Fields(before)); !found || words > 500 {
		t.Errorf("the first answer is there: %v, after %d words", found, words)
	}
	if strings.Contains(string(page), "--data") {
		t.Error("the README names a data directory")
	}
	makes := func(args ...string) string {
		out := strings.TrimSpace(command(t, "../..", append([]string{"make", "--no-print-directory", "-n", "serve", "LISTEN=127.0.0.1:1", "DATA="}, args...)...))
		return strings.TrimSpace(out[strings.LastIndexByte(out, '\n')+1:])
	}
	if got, want := makes(), "./bin/holon serve --listen 127.0.0.1:1"; got != want {
		t.Errorf("make serve runs %q, want %q", got, want)
	}
	if got, want := makes("DATA=data"), "./bin/holon serve --listen 127.0.0.1:1 --data data"; got != want {
		t.Errorf("make serve DATA=data runs %q, want %q", got, want)
	}
	s := startServer(t)
	contains(t, s.want("run", "hello"), "user: hello\nagent: hello\n")
}

// The commands of the README work, as those of the documents do.
func TestCommandsOfTheReadmeWork(t *testing.T) {
	s := startServer(t)
	var all strings.Builder
	for _, args := range commandsOf(t, "../../README.md", "Three words") {
		if slices.Contains([]string{"attach", "doctor"}, args[0]) {
			continue
		}
		all.WriteString(s.want(args...))
	}
	contains(t, all.String(), "fix b", `"fix b": interrupted`)
}

// The stream of the README is that of the server, whichever port it has taken.
func TestTheStreamOfTheReadmeFindsTheServer(t *testing.T) {
	s := startServer(t)
	s.want("run", "hello")
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\ncurl -N "\$\(holon (status --address)\)(/\S+)"\n`).FindStringSubmatch(string(page))
	if found == nil {
		t.Fatal("there is no such command")
	}
	answer, err := http.Get(strings.TrimSuffix(s.want(strings.Fields(found[1])...), "\n") + found[2])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for seen := ""; !strings.Contains(seen, "turn/completed"); seen += lines.Text() {
		if !lines.Scan() {
			t.Fatalf("%v after %s", lines.Err(), seen)
		}
	}
	if r := holon(t, freshDir(t), "", "status", "--address", "--url=http://127.0.0.1:1"); r.code != exitFailed || r.out != "" {
		t.Errorf("without a server: %+v", r)
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

// The changelog says in one place how inboxes stay as they were: for all by the configuration, and
// for one thread by a command.
func TestInboxesStayAsTheyWereAsTheChangelogSays(t *testing.T) {
	const file = "../../CHANGELOG.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var configuration string
	for _, f := range fencesOf(t, file) {
		if f.language == "toml" && strings.Contains(f.text, "wake_when") {
			configuration = f.text
		}
	}
	command := regexp.MustCompile("`holon inbox policy THREAD (--wake-when [^`]*)`\\. Over the wire: (.*)").FindStringSubmatch(string(page))
	if configuration == "" || command == nil {
		t.Fatal("there is no such configuration, or no such command")
	}
	const before = `{"wake_when":"each","wake_window_ms":0,"fallback":false}`
	set := func(s *server, from string) {
		t.Helper()
		all, _ := oneObject(t, s.want("inbox", "policy", "me", "-o=json"))["policy_set"].(map[string]any)
		got, err := json.Marshal(all[from])
		var was, is any
		if err == nil {
			err = errors.Join(json.Unmarshal([]byte(before), &was), json.Unmarshal(got, &is))
		}
		if err != nil || !reflect.DeepEqual(is, was) {
			t.Errorf("%s has set %s, want %s: %v", from, got, before, err)
		}
	}
	mailbox := []string{"call", "thread/start", `{"thread_id":"me","agent":"mailbox"}`}
	s := serveConfig(t, build(t, t.TempDir(), "./cmd/holon"), configuration)
	s.want(mailbox...)
	set(s.server, "server")
	one := startServer(t)
	one.want(mailbox...)
	one.want(append([]string{"inbox", "policy", "me"}, strings.Fields(command[1])...)...)
	set(one, "thread")
	for name, value := range oneObject(t, before) {
		if member := fmt.Sprintf("`%s: %v`", name, value); !strings.Contains(command[2], member) {
			t.Errorf("the changelog lacks %s over the wire", member)
		}
	}
}
