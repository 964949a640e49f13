package conversation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

var update = flag.Bool("update", false, "write the screens in testdata")

// golden compares a screen with the one in testdata.
func (p *page) golden(name string) {
	p.t.Helper()
	var b strings.Builder
	for _, line := range strings.Split(p.text(), "\n") {
		b.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
	}
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		p.t.Errorf("%s differs (-update writes it):\n%s\nwant\n%s", file, got, want)
	}
}

// work is a turn with something of every kind.
func (p *page) work() *page {
	p.kids = []object{{"turn_id": "t9", "thread_id": "thread_9", "title": "look for the flag in the docs", "state": "active", "attention_policy": "blocking_until_terminal", "started_at": start, "created_seq": 12}}
	p.open()
	p.item("i1", "t1", "completed", user("the build is broken: 日本語の文字列 and 👨‍👩‍👧 in the log\nplease mend it"))
	p.started("t1")
	p.item("i2", "t1", "in_progress", object{"type": "reasoning", "text": "I should look at the build file first.\nThen at the compiler's output."})
	p.item("i3", "t1", "in_progress", object{"type": "plan", "entries": []object{{"content": "read the build file", "status": "completed"}, {"content": "mend the flag", "status": "in_progress"}, {"content": "run the tests", "status": "pending"}}})
	p.item("i4", "t1", "completed", object{"type": "tool_call", "title": "Read build.go", "kind": "read", "output": "package build\n\nfunc Build() {}\n"})
	p.item("i5", "t1", "failed", object{"type": "command_execution", "command": "go build ./...", "cwd": "/home/ada/project", "exit_code": 1, "output": "build.go:3: undefined: flag\n"})
	p.item("i6", "t1", "completed", said("The **flag** is missing.\n\n- `build.go` has no import\n- the tests pass\n\n```go\nimport \"flag\"\n```\n"))
	p.item("i7", "t1", "in_progress", object{"type": "file_change", "changes": []object{{"path": "/home/ada/project/build.go", "operation": "modify", "old_text": "package build\n\nfunc Build() {}\n", "new_text": "package build\n\nimport \"flag\"\n\nfunc Build() { flag.Parse() }\n"}}})
	p.item("i8", "t1", "pending", permission("Edit build.go", object{"subject": object{"item_id": "i7"}}))
	return p
}

func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			name := func(what string) string { return fmt.Sprintf("%s_%dx%d", what, size[0], size[1]) }
			p := newPage(t, size[0], size[1]).work()
			p.golden(name("question"))
			p.keys("<esc>", "a")
			p.later(time.Second)
			p.golden(name("answering"))
			if size[1] == 10 { // what it is about has no room
				p.keys("y")
				p.shows("Not allowed yet: … ")
				p.wants()
				p.keys("<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>", "<pgdown>")
			}
			p.keys("y")
			p.wants(screen.Respond{Item: "i8", Option: "once"})
			p.send(screen.Done{Action: screen.Respond{Item: "i8", Option: "once"}})
			p.item("i8", "t1", "completed", permission("Edit build.go", object{"subject": object{"item_id": "i7"}, "outcome": object{"type": "selected", "option_id": "once"}}))
			p.item("i9", "t1", "in_progress", object{"type": "command_execution", "command": "go test ./...", "output": "ok one\nok two\nok three\nok four\n"})
			p.event("turn/progress", object{"turn_id": "t1", "attempt": 1, "state": "running", "message": "testing"})
			p.later(72 * time.Second)
			p.golden(name("working"))
			p.keys("k", "k", "<space>")
			p.golden(name("unfolded"))
			p.keys("?")
			p.golden(name("keys"))
		})
	}
}

func TestAWindowThatIsTooSmallSaysSo(t *testing.T) {
	p := newPage(t, 19, 5).work()
	p.shows("too small")
	for w := range 60 {
		for h := range 20 {
			p.w, p.h = w, h
			p.check()
		}
	}
}

func TestWorkBetweenThreadsIsShownAsThat(t *testing.T) {
	p := newPage(t, 100, 30)
	p.kids = []object{{"turn_id": "t9", "thread_id": "thread_9", "title": "the date", "state": "active", "attention_policy": "notify_on_terminal", "outside": true, "started_at": start, "created_seq": 12}}
	p.open()
	asked := user("The thread lead asks this thread for work.")
	asked["origin"] = "agent"
	p.item("i1", "t1", "completed", asked)
	p.started("t1")
	p.shows("(asked by another agent)", "the date", "in a thread that is not below")
}
