package conversation

import (
	"strings"
	"testing"

	"github.com/seed82539d15/holon/cmd/holon/dashboard/screen"
)

func TestTheCursorMovesByCharactersThatOneSees(t *testing.T) {
	for _, text := range []string{"abc", "日本語", "👨‍👩‍👧x", "🇩🇪🇫🇷", "e\u0301a", "👍🏽", "a\nb", "❤️x"} {
		var e editor
		e.insert(text)
		var stops []int
		for e.caret > 0 {
			stops = append([]int{e.caret}, stops...)
			before := e.caret
			if e.key("left"); e.caret >= before {
				t.Fatalf("%q: the cursor stays at %d", text, before)
			}
		}
		for _, want := range stops {
			if e.key("right"); e.caret != want {
				t.Errorf("%q: right leads to %d, want %d", text, e.caret, want)
			}
		}
		e.set(text)
		for range stops {
			e.key("backspace")
		}
		if e.text != "" {
			t.Errorf("%q: %q is left", text, e.text)
		}
	}
	var e editor
	e.insert("👨‍👩‍👧")
	if e.key("backspace"); e.text != "" {
		t.Errorf("half a family is left: %q", e.text)
	}
}

func TestTheEditorKnowsWordsAndLines(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"ctrl+w", "one two\nthree |"},
		{"ctrl+u", "one two\n|"},
		{"alt+left x", "one two\nthree x|four"},
		{"up x", "one twox|\nthree four"},
		{"up home x", "x|one two\nthree four"},
		{"up home delete", "|ne two\nthree four"},
		{"up home ctrl+k", "|\nthree four"},
		{"up up x", "one twox|\nthree four"},
		{"home backspace", "one two|three four"},
		{"up home alt+right x", "onex| two\nthree four"},
		{"up home down x", "one two\nx|three four"},
		{"home up end x", "one twox|\nthree four"},
	}
	for _, tc := range cases {
		var e editor
		e.insert("one two\nthree four")
		for _, key := range strings.Fields(tc.keys) {
			if !e.key(key) && len(key) == 1 {
				e.insert(key)
			}
		}
		if got := e.text[:e.caret] + "|" + e.text[e.caret:]; got != tc.want {
			t.Errorf("%s: %q, want %q", tc.keys, got, tc.want)
		}
	}
}

func TestTheCursorIsWhereTheTextIs(t *testing.T) {
	var e editor
	for _, tc := range []struct {
		text string
		x, y int
	}{{"", 0, 0}, {"ab", 2, 0}, {"日本", 4, 0}, {"abcdefgh", 0, 1}, {"abcdefghi", 1, 1}, {"日本語字", 0, 1}, {"a日本語字", 2, 1}, {"a\n", 0, 1}, {"👨‍👩‍👧b", 3, 0}} {
		e.set(tc.text)
		rows, x, y := e.rows(8, 5)
		if x != tc.x || y != tc.y {
			t.Errorf("%q: the cursor is at %d, %d, want %d, %d", tc.text, x, y, tc.x, tc.y)
		}
		for _, row := range rows {
			if screen.Width(row) > 8 {
				t.Errorf("%q: row %q", tc.text, row)
			}
		}
	}
	e.set(strings.Repeat("line\n", 50) + "end")
	rows, _, y := e.rows(20, 5)
	if len(rows) != 5 || y != 4 || rows[4] != "end" {
		t.Errorf("%q, the cursor in row %d", rows, y)
	}
}

// FuzzEditor presses keys in any text: the cursor stays in the text and on the screen.
func FuzzEditor(f *testing.F) {
	f.Add("a👨‍👩‍👧\nb", "lurdbkx", 10)
	f.Fuzz(func(t *testing.T, text, keys string, width int) {
		var e editor
		e.insert(text)
		names := map[rune]string{'l': "left", 'u': "up", 'r': "right", 'd': "down", 'b': "backspace", 'k': "ctrl+k", 'w': "ctrl+w", 'h': "home", 'e': "end", 'L': "alt+left", 'R': "alt+right"}
		for _, r := range keys {
			if name := names[r]; name == "" || !e.key(name) {
				e.insert(string(r))
			}
			width := 4 + abs(width)%100
			rows, x, y := e.rows(width, 4)
			if e.caret < 0 || e.caret > len(e.text) || y < 0 || y >= len(rows) || x < 0 || x > width {
				t.Fatalf("%q: cursor %d at %d, %d of %q", e.text, e.caret, x, y, rows)
			}
		}
	})
}

func TestDiffsCountAndShowWhatDiffers(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := []struct {
		before, after  *string
		added, removed int
		lines          string
	}{
		{text("a\nb\nc\n"), text("a\nx\nc\n"), 1, 1, " a|-b|+x| c"},
		{nil, text("a\nb"), 2, 0, "+a|+b"},
		{text("a\nb"), nil, 0, 2, "-a|-b"},
		{text(""), text("a"), 1, 0, "+a"},
		{text("a"), text("a"), 0, 0, ""},
		{text("1\n2\n3\n4\n5\n6\n7\n8\n9"), text("1\n2\n3\nX\n5\n6\n7\n8\nY"), 2, 2, " 1| 2| 3|-4|+X| 5| 6| 7| 8|-9|+Y"},
		{text("1\n2\n3\n4\n5\n6\n7\n8\n9\n10"), text("X\n2\n3\n4\n5\n6\n7\n8\n9\nY"), 2, 2, "-1|+X| 2| 3| 4|~2 equal lines| 7| 8| 9|-10|+Y"},
	}
	for _, tc := range cases {
		d := compare("x", tc.before, tc.after)
		var lines []string
		for _, line := range d.lines {
			lines = append(lines, string(line.sign)+line.text)
		}
		if got := strings.Join(lines, "|"); got != tc.lines || d.added != tc.added || d.removed != tc.removed {
			t.Errorf("+%d -%d %s, want +%d -%d %s", d.added, d.removed, got, tc.added, tc.removed, tc.lines)
		}
	}
	long := compare("x", text(strings.Repeat("a\n", 5000)), text(strings.Repeat("b\n", 5000)))
	if long.added != 5000 || long.removed != 5000 || len(long.lines) != keepDiff || long.more != 10_000-keepDiff {
		t.Errorf("+%d -%d, %d lines, %d more", long.added, long.removed, len(long.lines), long.more)
	}
}
