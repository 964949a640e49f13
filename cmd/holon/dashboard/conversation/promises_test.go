package conversation

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

// The numbers that people are told: keys are dead for half a second.
func TestKeysAreDeadForHalfASecond(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.keys("<esc>")
	p.did()
	p.item("q1", "t1", "pending", permission("Read a file", nil))
	p.keys("a")
	p.now = p.now.Add(499 * time.Millisecond)
	p.keys("y")
	p.wants()
	p.now = p.now.Add(time.Millisecond)
	p.keys("y")
	p.wants(screen.Respond{Item: "q1", Option: "once"})
}

// Markdown is for completed messages of up to 32 kB.
func TestMarkdownEndsAt32kB(t *testing.T) {
	const bold = "**bold** "
	fits := bold + strings.Repeat("x\n", (32<<10-len(bold))/2)
	for text, rendered := range map[string]bool{fits: true, fits + "yy": false} {
		p := newPage(t, 80, 24).open()
		p.item("i1", "t1", "completed", said(text))
		p.keys("<esc>", "g")
		if got := strings.Contains(p.text(), "◆ \x1b[1mbold\x1b[m"); got != rendered {
			t.Errorf("%d bytes are rendered: %v, want %v", len(text), got, rendered)
		}
	}
}

// A message that says that it is plain is shown as it is.
func TestAPlainMessageIsShownAsItIs(t *testing.T) {
	p := newPage(t, 80, 24).open()
	plain := said("__init__.py <main>\n  - one\n\n\n  two")
	plain["format"] = "plain"
	p.item("i1", "t1", "completed", plain)
	p.shows("◆ __init__.py <main>", "    - one", "    two")
	p.item("i2", "t1", "completed", said("__init__.py"))
	p.shows("◆ \x1b[1minit\x1b[m.py")
	if n := len(p.m.marks.rows); n != 1 {
		t.Errorf("%d messages were rendered", n)
	}
}

// A message that still grows is shown as it is: rendering it at each delta would cost
// more than it helps.
func TestAnOpenMessageIsPlain(t *testing.T) {
	p := newPage(t, 80, 24).open()
	p.started("t1")
	p.item("i1", "t1", "in_progress", said(""))
	p.delta("i1", "t1", 0, "**bold** words")
	p.later(time.Second)
	p.shows("◆ **bold** words")
	if n := len(p.m.marks.rows); n != 0 {
		t.Errorf("%d messages were rendered", n)
	}
	p.item("i1", "t1", "completed", said("**bold** words"))
	p.shows("◆ \x1b[1mbold\x1b[m words")
}

// Lines that come and lines that go have colours of their own, and signs for those who
// see none.
func TestLinesOfADiffAreColoured(t *testing.T) {
	p := newPage(t, 80, 24)
	p.m = New(Options{Thread: thread, Write: true, Styles: screen.NewStyles(true), Colour: true})
	p.open()
	p.item("f1", "t1", "completed", object{"type": "file_change", "changes": []object{{"path": "a.go", "operation": "modify", "old_text": "old\n", "new_text": "new\nmore\n"}}})
	p.shows("\x1b[32m+2\x1b[m", "\x1b[31m−1\x1b[m", "\x1b[31m- old\x1b[m", "\x1b[32m+ new\x1b[m", "\x1b[32m+ more\x1b[m")
}

// Every line of what a question is about comes into sight by PgDn, in a window of any size.
func TestEveryLineOfAQuestionCanBeRead(t *testing.T) {
	description := ""
	for i := range 30 {
		description += fmt.Sprintf("point %02d\n", i)
	}
	for _, size := range [][2]int{{40, 10}, {60, 14}, {80, 24}, {120, 40}} {
		p := newPage(t, size[0], size[1]).open()
		p.started("t1")
		p.item("q1", "t1", "pending", permission("Run a command that has quite a long title, so that it takes lines", object{
			"description": description, "subject": object{"type": "command", "command": "go test ./...", "cwd": "/home/ada/elsewhere"},
		}))
		p.later(time.Second)
		p.keys("<esc>", "a")
		read := p.text()
		for range 60 {
			p.keys("<pgdown>")
			read += p.text()
		}
		for _, part := range append(strings.Fields(strings.ReplaceAll(description, "point ", "point_")), "? run go test ./...", "in /home/ada/elsewhere") {
			if part = strings.ReplaceAll(part, "_", " "); !strings.Contains(read, part) {
				t.Errorf("in %v %q is never shown", size, part)
			}
		}
		p.keys("<pgup>", "<pgdown>")
		p.shows("point 29")
	}
}

// What allows is not taken before every row of the question was on the screen, from the first
// to the last; what rejects is.
func TestNothingIsAllowedBeforeAllOfItWasOnTheScreen(t *testing.T) {
	asks := func() *page {
		p := newPage(t, 80, 24).open()
		p.started("t1")
		p.item("f1", "t1", "in_progress", object{"type": "file_change", "changes": []object{{"path": "/x", "operation": "add", "new_text": strings.Repeat("evil\n", 5000) + "the end\n"}}})
		p.item("q1", "t1", "pending", permission("Edit", object{"subject": object{"item_id": "f1"}}))
		p.later(time.Second)
		p.keys("<esc>", "a")
		p.did()
		return p
	}
	p := asks()
	p.shows("± write outside of its directory: /x (+5001 −0)", "more lines: PgDn")
	for _, key := range []string{"y", "1", "2", "<enter>"} {
		p.keys(key)
		p.wants()
		p.shows("Not allowed yet: … 4,9", "All at once: holon respond")
	}
	p.text()
	for i := 0; !strings.Contains(p.text(), "the end"); i++ {
		if i == 1000 {
			t.Fatal("the end is never shown")
		}
		p.keys("<pgdown>")
	}
	p.keys("y")
	p.wants(screen.Respond{Item: "q1", Option: "once"})
	p = asks()
	p.keys("n")
	p.wants(screen.Respond{Item: "q1", Option: "no"})
}
