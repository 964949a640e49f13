package sanitize

import (
	"strings"
	"testing"
)

// family is one emoji of several that joiners join.
const family = "👩\u200d👩\u200d👧"

func TestTextPlainAndLineMakeTextHarmless(t *testing.T) {
	cases := []struct{ name, in, text, plain, line string }{
		{"plain", "hello, wörld 日本 " + family + "\n\tx", "hello, wörld 日本 " + family + "\n\tx", "hello, wörld 日本 " + family + "\n\tx", "hello, wörld 日本 " + family + " x"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red", "red", "red"},
		{"cursor and clear", "a\x1b[2J\x1b[H\x1b[?25lb", "ab", "ab", "ab"},
		{"title by OSC and BEL", "a\x1b]0;owned\x07b", "ab", "ab", "ab"},
		{"link by OSC and ST", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text", "text", "text"},
		{"clipboard", "\x1b]52;c;aGk=\x07", "", "", ""},
		{"DCS", "a\x1bPq#0\x1b\\b", "ab", "ab", "ab"},
		{"SOS, PM and APC", "a\x1bXs\x1b\\b\x1b^p\x1b\\c\x1b_a\x1b\\d", "abcd", "abcd", "abcd"},
		{"single escape", "a\x1bcb\x1b7c", "abc", "abc", "abc"},
		{"charset", "a\x1b(0b", "ab", "ab", "ab"},
		{"8-bit CSI", "a\u009b31mb", "ab", "ab", "ab"},
		{"8-bit OSC with 8-bit end", "a\u009d0;x\u009cb", "ab", "ab", "ab"},
		{"8-bit DCS, SOS, PM, APC", "a\u0090q\u009cb\u0098s\x1b\\c\u009ep\u009cd\u009fa\ae", "abcde", "abcde", "abcde"},
		{"other C1", "a\u0084b\u009cc", "a\ufffdb\ufffdc", "abc", "a b c"},
		{"next line", "a\u0085b", "a\ufffdb", "ab", "a b"},
		{"raw C1 byte", "a\x9b31mb", "a\ufffd31mb", "a\ufffd31mb", "a\ufffd31mb"},
		{"bell, backspace, NUL, DEL", "a\a\b\x00\x7fb", "a␇␈␀␡b", "ab", "a b"},
		{"lone escape at the end", "a\x1b", "a", "a", "a"},
		{"CSI without an end", "a\x1b[31", "a", "a", "a"},
		{"OSC without an end", "a\x1b]0;b", "a", "a", "a"},
		{"8-bit CSI without an end", "a\u009b31", "a", "a", "a"},
		{"escape then control", "\x1b\ax", "␇x", "x", "x"},
		{"two escapes", "a\x1b\x1b[31mb", "ab", "ab", "ab"},
		{"OSC without an end stops at the line", "a\x1b]0;hidden\nvisible", "a\nvisible", "a\nvisible", "a visible"},
		{"OSC that is cancelled", "a\x1b]0;hidden\x18b\x1bPx\x1ac", "abc", "abc", "abc"},
		{"escape inside a string", "\x1b]0;a\x1b[31mb", "b", "b", "b"},
		{"CRLF", "a\r\nb", "a\nb", "a\nb", "a b"},
		{"overwriting by CR", "rm -rf /\rls", "rm -rf /\nls", "rm -rf /\nls", "rm -rf / ls"},
		{"CR at the end", "a\r", "a\n", "a\n", "a"},
		{"two CRs", "a\r\rb", "a\n\nb", "a\n\nb", "a b"},
		{"bidi override", "a\u202egnp.exe", "a\ufffdgnp.exe", "agnp.exe", "a gnp.exe"},
		{"bidi isolate and mark", "\u2066a\u2069\u200f\u061c", "\ufffda\ufffd\ufffd\ufffd", "a", "a"},
		{"zero width space, BOM, tag", "a\u200b\ufeff\U000e0041b", "ab", "ab", "ab"},
		{"line separators", "a\u2028b\u2029c", "a\nb\nc", "a\nb\nc", "a b c"},
		{"blanks", "  a \u00a0\u3000b  ", "  a \u00a0\u3000b  ", "  a \u00a0\u3000b  ", "a b"},
		{"invalid UTF-8", "a\xff\xc3b\xe2\x82", "a\ufffd\ufffdb\ufffd\ufffd", "a\ufffd\ufffdb\ufffd\ufffd", "a\ufffd\ufffdb\ufffd\ufffd"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := Text(tc.in); got != tc.text {
				t.Errorf("Text(%q) = %q, want %q", tc.in, got, tc.text)
			}
			if got := Plain(tc.in); got != tc.plain {
				t.Errorf("Plain(%q) = %q, want %q", tc.in, got, tc.plain)
			}
			if got := Line(tc.in, 100); got != tc.line {
				t.Errorf("Line(%q) = %q, want %q", tc.in, got, tc.line)
			}
		})
	}
}

func TestLiteralHidesNothing(t *testing.T) {
	for in, want := range map[string]string{
		"echo x\x1b]0;touch f;\a done": "echo x␛]0;touch f;␇ done", "a\u009d0;b\u009cc\u0085d": "a‹009d›0;b‹009c›c‹0085›d",
		"a\x1b[31mb\n\tc": "a␛[31mb\n\tc", "日本 " + family: "日本 " + family, "": "",
	} {
		if got := Text(Literal(in)); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestLinesAreCutByCharacters(t *testing.T) {
	long := strings.Repeat("日", 3*linePiece) // its characters lie across the pieces
	cases := []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"ab cd", 4, "ab …"}, {"ab   ", 2, "ab"}, {"日本語", 3, "日本語"}, {"日本語学", 3, "日本…"},
		{"ab\x1b[31m\x1b[0m", 2, "ab"}, {"\x1b[31mabc", 3, "abc"}, {"abc", 1, "…"}, {"", 1, ""},
		{strings.Repeat("\x1b[31m ", 5000) + "end", 3, "end"}, {strings.Repeat("a\r", linePiece) + "b", 3 * linePiece, strings.Repeat("a ", linePiece) + "b"},
		{long, len(long), long}, {long, 2 * linePiece, long[:3*(2*linePiece-1)] + "…"},
	}
	for _, tc := range cases {
		if got := Line(tc.in, tc.max); got != tc.want {
			t.Errorf("Line(%.40q, %d) = %.80q, want %.80q", tc.in, tc.max, got, tc.want)
		}
	}
}

func TestEndlessSequencesDoNotSwallowTheText(t *testing.T) {
	for _, start := range []string{"\x1b]", "\x1b[", "\x1bP", "\x1b ", "\u009b", "\u009d"} {
		if got := Text(start + strings.Repeat(" ", 2*maxString) + "seen"); !strings.HasSuffix(got, "seen") {
			t.Errorf("%q hides what follows", start)
		}
	}
}

func TestSequencesAreMeasured(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "", "\a": "", "\x1b": "\x1b", "\x1b[31mred": "\x1b[31m", "\x1b]0;x\x07y": "\x1b]0;x\x07", "\x1b]0;x\x1b\\y": "\x1b]0;x\x1b\\",
		"\x1bcx": "\x1bc", "\u009b31mé": "\u009b31m", "\x1b[31": "\x1b[31", "\x1b[é": "\x1b[", "\x1b]0;x\ny": "\x1b]0;x", "\u009d0;é\u009cx": "\u009d0;é\u009c",
	} {
		if got := in[:Sequence(in)]; got != want {
			t.Errorf("%q begins with the sequence %q, want %q", in, got, want)
		}
	}
}

// TestEachCharacterIsLookedAtOnce: no text makes the sanitizer hold back and look again,
// nor makes its result grow beyond its length.
func TestEachCharacterIsLookedAtOnce(t *testing.T) {
	for _, unit := range []string{"a", "\x1b", "\x1b[", "\x1b]", "\x1b]0;\x1b", "\u009b", "\r", "日", "\xe2", "\x1b[31m", "\u202e"} {
		s := strings.Repeat(unit, 10000)
		var z Stream
		var out []byte
		for len(s) > 0 { // byte by byte, which costs most
			out = z.Append(out, s[:1])
			s = s[1:]
			if len(z.partial) > 3 {
				t.Fatalf("%q: %d bytes are held back and looked at again", unit, len(z.partial))
			}
		}
		if out = z.Finish(out); len(out) > 3*10000*len(unit) { // U+FFFD and pictures have three bytes
			t.Errorf("%q: %d bytes became %d", unit, 10000*len(unit), len(out))
		}
	}
}
