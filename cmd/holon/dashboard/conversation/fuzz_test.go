package conversation

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
	"github.com/seed82539d15/holon/internal/sanitize"
)

// hostile are texts that want to act on the terminal.
var hostile = []string{
	"\x1b]52;c;aGVsbG8=\x07", "\x1b]0;title\x1b\\", "\x1b[2J\x1b[H", "\x1b[31mred", "\x1bc", "\x1bP1$r\x1b\\", "\x1b_x\x1b\\", "\x1b^x\x1b\\",
	"\x9b2J", "\u009b2J", "\u0090x\u009c", "\a\b\v\f\x00\x0e\x0f\x7f", "\r overwritten", "\u202e reordered \u2066", "\u2028next\u2029",
	"[text](\x1b]8;;http://x\x1b\\)", "`\x1b[?1049l`", "```\n\x1b]52;c;x\x07\n```", "| a | b |\n|---|---|\n| \x1b[5m | \u009d0;x\a |", "<http://x\x1b[1m>",
	"![i](http://x/\x1b]1337;File=:x\a)", "\xff\xfe\xc3", "👨‍👩‍👧‍👦 🇩🇪 e\u0301 日本", "\x1b[38;5;1", "\x1b[" + strings.Repeat("1;", 100) + "m", "&#27;[31m &#x9b;2J &#7;",
}

// FuzzPage puts a text everywhere where a server or an agent can, and types and pastes
// it: no picture has a control character but our own colours, in any size. Each input
// draws some twenty pages.
// fuzz: 2000x
func FuzzPage(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, 80, 24)
		f.Add(text, 40, 10)
	}
	f.Add(strings.Join(hostile, "\n"), 200, 60)
	f.Fuzz(func(t *testing.T, text string, w, h int) {
		everywhere(t, text, abs(w)%220, abs(h)%70, false)
	})
}

func abs(n int) int { return max(n, -n, 0) }

func TestHostileTextsDoNothing(t *testing.T) {
	for _, colour := range []bool{false, true} {
		for _, text := range hostile { // alone, so that none is cut away
			everywhere(t, text, 120, 200, colour)
		}
		everywhere(t, strings.Join(hostile, "\n"), 120, 200, colour)
		everywhere(t, strings.Join(hostile, " "), 40, 10, colour)
	}
}

func everywhere(t *testing.T, text string, w, h int, colour bool) {
	p := newPage(t, w, h)
	p.m = New(Options{Thread: thread, Write: true, Styles: screen.NewStyles(colour), Colour: colour})
	p.kids = []object{{"turn_id": text, "thread_id": text, "title": text, "state": "active", "created_seq": 1}}
	p.open()
	p.event("thread/updated", object{"title": text})
	p.started("t1")
	p.event("turn/progress", object{"turn_id": "t1", "state": "running", "message": text})
	p.item("a", "t1", "completed", user(text))
	p.item("b", "t1", "in_progress", said(""))
	p.delta("b", "t1", 0, text)
	p.item("c", "t1", "completed", said(text))
	p.item("d", "t1", "completed", object{"type": "reasoning", "text": text})
	p.item("e", "t1", "failed", object{"type": "tool_call", "title": text, "name": text, "output": text, "input": text, "error": text})
	p.item("f", "t1", "failed", object{"type": "command_execution", "command": text, "cwd": text, "output": text, "signal": text})
	p.item("g", "t1", "failed", object{"type": "file_change", "error": text, "changes": []object{{"path": text, "old_path": text, "operation": text, "old_text": text, "new_text": text + "\n" + text}}})
	p.item("h", "t1", "completed", object{"type": "plan", "entries": []object{{"content": text, "status": text}}})
	p.item("i", "t1", "completed", object{"type": "notice", "severity": "warning", "message": text})
	p.item("j", "t1", "completed", object{"type": "error", "kind": text, "message": text})
	p.item("k", "t1", "completed", object{"type": "extension", "native_kind": text})
	p.item("l", "t1", "completed", object{"type": text})
	p.item("m", "t1", "pending", permission(text, object{"description": text, "subject": object{"command": text, "cwd": text, "item_id": "g"}, "options": []object{{"option_id": text, "name": text, "kind": "allow_always"}, {"option_id": "n", "name": text, "kind": text}}}))
	p.text()
	p.keys("<esc>")
	for range 20 {
		p.keys("k", "<space>")
		p.check()
	}
	p.keys("a", "<tab>")
	p.text()
	p.item("m", "t1", "completed", permission(text, object{"resolved_by": text, "outcome": object{"type": text, "option_id": text}}))
	p.item("n", "t1", "pending", object{"type": "question", "message": text, "url": text})
	p.text()
	p.item("n", "t1", "completed", object{"type": "question", "message": text, "answer": text})
	p.item("o", "t1", "pending", object{"type": "question", "message": text, "schema": object{"type": "object", "properties": object{"x": object{"type": "string", "title": text, "description": text, "enum": []string{text, "b"}, "default": text}}}})
	p.later(time.Second)
	p.keys("<esc>", "a")
	p.send(paste(text))
	p.text()
	p.keys("<esc>", "<tab>")
	p.send(paste(text))
	for _, key := range []string{"<left>", "<up>", "<right>", "<down>", "<backspace>", "x"} {
		p.keys(key)
		p.check()
	}
	if !utf8.ValidString(p.m.input.text) {
		t.Errorf("the text is %q", p.m.input.text)
	}
	p.event("stream/rewind", object{"turn_id": "t1", "step": text, "new_epoch": 1, "reason": text})
	p.event("turn/failed", object{"turn_id": "t1", "error": object{"kind": text, "message": text}, "usage": object{"total_tokens": 5, "cost": object{"amount": 1, "currency": text}}})
	p.event("turn/interrupted", object{"turn_id": "t2", "reason": text})
	p.send(screen.Done{Action: screen.Retry{}, Err: errorOf(text)})
	for _, line := range strings.Split(p.text(), "\n") {
		for _, r := range clear(line) {
			if sanitize.Acts(r) {
				t.Fatalf("%q acts on the terminal in %q", r, line)
			}
		}
	}
}

// clear removes our own colours from a line.
func clear(line string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(line, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if end < 0 || after[end] != 'm' {
			b.WriteString("\x1b") // it is none
			line = after
			continue
		}
		line = after[end+1:]
	}
}

type errorOf string

func (e errorOf) Error() string { return string(e) }

func TestWithoutColourThereAreNoColours(t *testing.T) {
	p := newPage(t, 80, 40)
	p.m = New(Options{Thread: thread, Write: true, Styles: screen.NewStyles(false)})
	p.work()
	p.later(time.Second)
	text := p.text()
	for _, part := range []string{"\x1b[3", "\x1b[4", ";3", ";4", "\x1b[9", "\x1b[10"} {
		if strings.Contains(text, part) {
			t.Errorf("%q is in %q", part, text)
		}
	}
	if !strings.Contains(text, "\x1b[1m") {
		t.Error("there are no weights either: the test sees nothing")
	}
	coloured := newPage(t, 80, 40)
	coloured.m = New(Options{Thread: thread, Write: true, Styles: screen.NewStyles(true), Colour: true})
	coloured.work()
	coloured.shows("\x1b[32m+3\x1b[m", "\x1b[31m−1\x1b[m")
}
