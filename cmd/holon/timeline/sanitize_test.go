package timeline

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanMakesTextHarmless(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"plain", "hello, wörld 日本 👩‍👩‍👧\n\tx", "hello, wörld 日本 👩‍👩‍👧\n\tx"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"cursor and clear", "a\x1b[2J\x1b[H\x1b[?25lb", "ab"},
		{"title by OSC and BEL", "a\x1b]0;owned\x07b", "ab"},
		{"link by OSC and ST", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard", "\x1b]52;c;aGk=\x07", ""},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"8-bit CSI", "a\u009b31mb", "a\ufffd31mb"},
		{"8-bit OSC", "\u009d0;x\u009c", "\ufffd0;x\ufffd"},
		{"raw C1 byte", "a\x9b31mb", "a\ufffd31mb"},
		{"bell, backspace, NUL, DEL", "\a\b\x00\x7f", "␇␈␀␡"},
		{"lone escape at the end", "a\x1b", "a"},
		{"escape then control", "\x1b\ax", "␇x"},
		{"OSC without an end stops at the line", "a\x1b]0;hidden\nvisible", "a\nvisible"},
		{"CRLF", "a\r\nb", "a\nb"},
		{"overwriting by CR", "rm -rf /\rls", "rm -rf /\nls"},
		{"CR at the end", "a\r", "a\n"},
		{"two CRs", "a\r\rb", "a\n\nb"},
		{"bidi override", "a\u202egnp.exe", "a\ufffdgnp.exe"},
		{"bidi isolate and mark", "\u2066a\u2069\u200f\u061c", "\ufffda\ufffd\ufffd\ufffd"},
		{"zero width space, BOM, tag", "a\u200b\ufeff\U000e0041b", "ab"},
		{"line separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"invalid UTF-8", "a\xff\xc3b\xe2\x82", "a\ufffd\ufffdb\ufffd\ufffd"},
		{"escape inside a string", "\x1b]0;a\x1b[31mb", "b"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := Clean(tc.in); got != tc.want {
				t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestEndlessSequencesDoNotSwallowTheText(t *testing.T) {
	for _, start := range []string{"\x1b]", "\x1b[", "\x1bP", "\x1b "} {
		if got := Clean(start + strings.Repeat(" ", 2*maxString) + "seen"); !strings.HasSuffix(got, "seen") {
			t.Errorf("%q hides what follows", start)
		}
	}
}

func FuzzCleanIsHarmlessHoweverCut(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\xe2\x82\xac", 3)
	f.Add("\x1b]0;x\x1b\\\u202e", 1)
	f.Add("\xf0\x9f\x91\xa9\r", 2)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		whole := Clean(s)
		if !utf8.ValidString(whole) {
			t.Fatalf("%q is not UTF-8", whole)
		}
		for _, r := range whole {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || reorders(r) || invisible(r) {
				t.Fatalf("%q lets %U through", s, r)
			}
		}
		var z Sanitizer
		var pieces []byte
		step := max(1, cut%7)
		for rest := s; rest != ""; {
			n := min(step, len(rest))
			pieces = z.Append(pieces, rest[:n])
			rest = rest[n:]
		}
		if pieces = z.Finish(pieces); string(pieces) != whole {
			t.Fatalf("in pieces of %d: %q, whole: %q", step, pieces, whole)
		}
	})
}

func TestWidths(t *testing.T) {
	cases := map[string]int{"": 0, "abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "👍": 2, "ｱ": 1, "Ａ": 2, "한": 2, "…": 1, "\u1112\u1161\u11ab": 2, "🇩🇪": 2, "\u2630": 2, "👩\u200d🔬": 4, "❤️": 1}
	for s, want := range cases {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
	fits := []struct {
		in   string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"ab", 1, "…"}, {"ab", 0, ""}}
	for _, tc := range fits {
		if got := Fit(tc.in, tc.n); got != tc.want || Width(got) > tc.n {
			t.Errorf("%q in %d columns: %q, want %q", tc.in, tc.n, got, tc.want)
		}
	}
	if got := OneLine(" a\n\tb \x1b[1mc "); got != "a b c" {
		t.Errorf("one line: %q", got)
	}
}
