package screen

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestCleanLeavesNothingThatActsOnATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                            "plain",
		"a\x1b]52;c;aGk=\x07b":             "ab",
		"a\x1b[31mred":                     "ared",
		"bell\a":                           "bell␇",
		"a\tb":                             "a   b",
		"abcd\te\n\tf":                     "abcd    e\n    f",
		"a\rb":                             "a\nb",
		"\u202eabc":                        "\ufffdabc",
		"👩\u200d👩\u200d👧 family":           "👩 family",
		"👍🏽 ok":                            "👍 ok",
		"🇩🇪 flag":                          "DE flag",
		"1\ufe0f\u20e3 key":                "1 key",
		"\u2764\ufe0f heart":               "\u2764 heart",
		"\u0915\u094d\u200d\u0937 letters": "\u0915\u094d\u200d\u0937 letters",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// Terminals count a joined emoji as one character or as its parts. What is
// cleaned has one width by both rules, and by ours.
func TestCleanedTextHasOneWidth(t *testing.T) {
	for _, s := range []string{
		"👩‍👩‍👧‍👦 family", "👍🏽", "🇩🇪🇫🇷", "1️⃣", "❤️‍🔥", "🏳️‍🌈 flag", "漢字", "e\u0301", "한국어", "ｗｉｄｅ", "☎️", "👨🏿‍🚀",
	} {
		clean := OneLine(s)
		if a, b, c := Width(clean), ansi.StringWidth(clean), ansi.StringWidthWc(clean); a != b || b != c {
			t.Errorf("%q, cleaned %q, is %d columns wide for us, %d by emoji and %d by rune", s, clean, a, b, c)
		}
	}
}

func TestColoursKeepsColoursOnly(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[1;31mred\x1b[0m":           "\x1b[1;31mred\x1b[0m",
		"\x1b[38:2::1:2:3mtrue\x1b[m":    "\x1b[38:2::1:2:3mtrue\x1b[m",
		"a\x1b[2Jb":                      "ab",
		"a\x1b]8;;http://x\x1b\\b":       "ab",
		"a\x1b]52;c;aGk=\x07b\x1b[1mc":   "ab\x1b[1mc",
		"\x1b[31":                        "",
		"\x1b[?25lx":                     "x",
		"line\n\x1b[3mtwo\x1b[0m\u009b2": "line\n\x1b[3mtwo\x1b[0m",
		// A terminal joins also what a sequence is between.
		"👩\x1b[2J\u200d👧 family":       "👩 family",
		"👩\x1b[1m\u200d\x1b[m👧 family": "👩\x1b[1m\x1b[m👧 family",
		"👩\x1b[1m\u200d👧\x1b[m family": "👩\x1b[1m\x1b[m family",
	} {
		if got := Colours(in); got != want {
			t.Errorf("Colours(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFitAndPadGiveExactColumns(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"漢字漢字", 5, "漢字…"}, {"漢字漢字", 4, "漢… "},
		{"abc", 0, ""}, {"\x1b[31mabcdef\x1b[m", 3, "\x1b[31mab…\x1b[m"}, {"x\x1b[1my\x1b[mz", 3, "x\x1b[1my\x1b[mz"},
	} {
		if got := Pad(c.in, c.width); got != c.want || Width(got) != c.width {
			t.Errorf("Pad(%q, %d) = %q of %d columns, want %q", c.in, c.width, got, Width(got), c.want)
		}
	}
	if got := FitLeft("/home/me/project", 9); got != "…/project" {
		t.Errorf("FitLeft gives %q", got)
	}
	if got := Sides("a long title", "6 min", 12); got != "a lon… 6 min" {
		t.Errorf("Sides gives %q", got)
	}
	if got := Fill([]string{"abcdef"}, 3, 2); len(got) != 2 || got[0] != "ab…" || got[1] != "   " {
		t.Errorf("Fill gives %q", got)
	}
}

func TestWrapBreaksAtBlanks(t *testing.T) {
	for in, want := range map[string]string{
		"one two three":  "one two|three",
		"  indented row": "  indent|ed row",
		"abcdefghijkl m": "abcdefgh|ijkl m",
		"a\n\nb":         "a||b",
		"漢字漢字漢字":         "漢字漢字|漢字",
		"12345678 9":     "12345678|9",
		"ab cdefghi":     "ab|cdefghi",
		"":               "",
	} {
		if got := strings.Join(Wrap(in, 8), "|"); got != want {
			t.Errorf("Wrap(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestStylesWithoutColourSetNone(t *testing.T) {
	plain, coloured := NewStyles(false), NewStyles(true)
	if got := plain.Failed.Paint("x"); got != "\x1b[1mx\x1b[m" {
		t.Errorf("without colour a failure is %q", got)
	}
	if got := coloured.Failed.Paint("x"); got != "\x1b[1;31mx\x1b[m" {
		t.Errorf("in colour a failure is %q", got)
	}
	if got := plain.Working.Paint("x"); got != "x" {
		t.Errorf("without colour what works is %q", got)
	}
	row := coloured.Selected.Row("a " + coloured.Failed.Paint("b") + " c")
	if want := "\x1b[7ma \x1b[1;31mb\x1b[m\x1b[7m c\x1b[m"; row != want {
		t.Errorf("the selected row is %q, want %q", row, want)
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59 * time.Second: "59 s", 6*time.Minute + 59*time.Second: "6 min",
		3 * time.Hour: "3 h", 47 * time.Hour: "47 h", 49 * time.Hour: "2 d",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
		if d < 0 {
			continue
		}
		// It says the same until it changes, and something else then.
		next := SpanChanges(d)
		if got := Span(d + next - 1); got != want {
			t.Errorf("Span says %q already %s after %s", got, next-1, d)
		}
		if got := Span(d + next); got == want && d < 47*time.Hour {
			t.Errorf("Span still says %q %s after %s", got, next, d)
		}
	}
	for n, want := range map[int64]string{-1: "0", 999: "999", 1499: "1k", 999_499: "999k", 999_500: "1.0M", 2_340_000: "2.3M"} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %q, want %q", n, got, want)
		}
	}
	for want, got := range map[string]string{
		"$4.10": Money(4.1, "USD"), "<$0.01": Money(0.001, ""), "0.73 EUR": Money(0.73, "EUR"), "": Money(0, "USD"),
		"2.00 EUR…": Money(2, "EUROS\x1b[31m!"),
	} {
		if got != want {
			t.Errorf("Money gives %q, want %q", got, want)
		}
	}
}

func TestHelpLineAlwaysLeadsToAllKeys(t *testing.T) {
	keys := []Key{{Name: "n", Does: "new"}, {Name: "a", Does: "answer"}, {Name: "?", Does: "keys"}}
	for width, want := range map[int]string{80: "n new  a answer  ? keys", 15: "n new  ? keys", 12: "? keys", 6: "? keys", 3: "? …"} {
		if got := HelpLine(Styles{}, keys, width); got != want {
			t.Errorf("in %d columns the keys are %q, want %q", width, got, want)
		}
	}
}

func TestHelpPageCutsNothing(t *testing.T) {
	page := HelpPage(Styles{}, []Key{{Name: "a b", Does: "say all of it"}, {Name: "c", Does: "short"}}, 13)
	want := []string{"a b  say all", "     of it", "c    short"}
	if !reflect.DeepEqual(page, want) {
		t.Errorf("the page is %q, want %q", page, want)
	}
}

func FuzzNothingActs(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\x1b]52;c;x\x07", "👩‍👩‍👧", "\u202e", "a\tb\r\n", "\x9b2J", "\x1b[", "\xff\xfe", "\x1b[38;5;1mx\x1b[0m"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = width & 0xff
		clean := Clean(s)
		harmless(t, "Clean", clean)
		harmless(t, "OneLine", OneLine(s))
		coloured := Colours(s)
		for i := 0; i < len(coloured); {
			if n := sgr(coloured[i:]); n > 0 {
				coloured = coloured[:i] + coloured[i+n:]
				continue
			}
			i++
		}
		harmless(t, "Colours without colours", coloured)
		if again := Clean(coloured); again != coloured {
			t.Errorf("without its colours, Colours(%q) is %q, which Clean makes %q", s, coloured, again)
		}
		row := Pad(OneLine(s), width)
		if Width(row) != width {
			t.Errorf("Pad(%q, %d) has %d columns", s, width, Width(row))
		}
		if got := Width(FitLeft(OneLine(s), width)); got > width {
			t.Errorf("FitLeft(%q, %d) has %d columns", s, width, got)
		}
		for _, line := range Wrap(clean, width) {
			if Width(line) > max(width, 2) {
				t.Errorf("Wrap(%q, %d) has a line of %d columns", s, width, Width(line))
			}
		}
	})
}

func harmless(t *testing.T, what, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%s gives %q, which is no UTF-8", what, s)
	}
	for _, r := range s {
		if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Errorf("%s gives %q, which has the control character %U", what, s, r)
		}
	}
}

func TestNoticesTakeTheLinesThatTheyNeed(t *testing.T) {
	text := "Nothing to undo: u keeps a thread open for 5 s after x."
	for _, tc := range []struct {
		width, height int
		want          string
	}{
		{80, 24, text}, {40, 10, "Nothing to undo: u keeps a thread open|for 5 s after x."}, {40, 3, "Nothing to undo: u keeps a thread open …"},
	} {
		lines := NoticeLines(Style{}, text, tc.width, tc.height)
		for i, line := range lines {
			if Width(line) != tc.width {
				t.Errorf("%q has %d columns, want %d", line, Width(line), tc.width)
			}
			lines[i] = strings.TrimRight(line, " ")
		}
		if got := strings.Join(lines, "|"); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
	window := []string{"a", "b", "c", "d", "e", "f"}
	PutNotice(window, Style{}, "one two", 4)
	if got := strings.Join(window, "|"); got != "a|b|c|d|one |two " {
		t.Errorf("%q", got)
	}
}

func TestNarrowHelpLinesUseShortWords(t *testing.T) {
	keys := []Key{{Name: "w", Does: "next that waits", Short: "next"}, {Name: "?", Does: "keys"}}
	if wide, narrow := HelpLine(Styles{}, keys, 80), HelpLine(Styles{}, keys, 40); wide != "w next that waits  ? keys" || narrow != "w next  ? keys" {
		t.Errorf("%q, %q", wide, narrow)
	}
}
